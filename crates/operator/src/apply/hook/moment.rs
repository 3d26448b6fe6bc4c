//! The moments of a release's life at which hooks run.

/// When hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the first object of a new release.
    PreInstall,
    /// After the last object of a new release.
    PostInstall,
    /// Before the first object of a later revision.
    PreUpgrade,
    /// After the last object of a later revision.
    PostUpgrade,
    /// Before the first object is deleted.
    PreDelete,
    /// After the last object is deleted.
    PostDelete,
    /// Before the deployed revision is applied again, as a later one has failed.
    PreRollback,
    /// After that.
    PostRollback,
}

impl Moment {
    /// Every moment at which the operator runs hooks.
    pub const ALL: [Self; 8] = [
        Self::PreInstall,
        Self::PostInstall,
        Self::PreUpgrade,
        Self::PostUpgrade,
        Self::PreDelete,
        Self::PostDelete,
        Self::PreRollback,
        Self::PostRollback,
    ];

    /// Helm's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
        }
    }
}
