//! What a template knows about the release that it is rendered for.

/// The release: `.Release` in templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseInfo {
    /// Its name.
    pub name: String,
    /// The namespace that it is installed into.
    pub namespace: String,
    /// Its number, from 1.
    pub revision: u32,
    /// What is being done.
    pub operation: Operation,
}

/// What is being done with a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// It is new: `.Release.IsInstall`.
    #[default]
    Install,
    /// It replaces an earlier revision: `.Release.IsUpgrade`.
    Upgrade,
}
