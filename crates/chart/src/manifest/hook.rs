//! Hooks: documents with the annotation `helm.sh/hook`.

use super::Manifest;

/// A document that is applied at certain events instead of with the release.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// The document.
    pub manifest: Manifest,
    /// When it is applied.
    pub events: Vec<HookEvent>,
    /// Hooks of one event run by weight, the lowest first, then by kind in install order.
    pub weight: i64,
    /// When it is deleted; as Helm, before a new one is applied where nothing is said.
    pub delete_policies: Vec<DeletePolicy>,
    /// When its log is shown.
    pub output_log_policies: Vec<OutputLogPolicy>,
}

/// A moment in the life of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    /// `pre-install`
    PreInstall,
    /// `post-install`
    PostInstall,
    /// `pre-delete`
    PreDelete,
    /// `post-delete`
    PostDelete,
    /// `pre-upgrade`
    PreUpgrade,
    /// `post-upgrade`
    PostUpgrade,
    /// `pre-rollback`
    PreRollback,
    /// `post-rollback`
    PostRollback,
    /// `test`, also written `test-success`
    Test,
}

/// When a hook's object is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletePolicy {
    /// `before-hook-creation`
    BeforeHookCreation,
    /// `hook-succeeded`
    HookSucceeded,
    /// `hook-failed`
    HookFailed,
    /// Anything else, which has no effect.
    Other(String),
}

/// When a hook's log is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputLogPolicy {
    /// `hook-succeeded`
    HookSucceeded,
    /// `hook-failed`
    HookFailed,
    /// Anything else, which has no effect.
    Other(String),
}
