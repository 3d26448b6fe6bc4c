//! Hooks: documents with the annotation `helm.sh/hook`.

use super::Manifest;
use super::head::Head;

/// The annotation that makes a document a hook.
pub(crate) const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
const OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// A document that is applied at certain events instead of with the release.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// The object, and the template that rendered it.
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
    /// `pre-install`: after rendering, before the first object is created.
    PreInstall,
    /// `post-install`: after all objects were created.
    PostInstall,
    /// `pre-delete`: before the first object is deleted.
    PreDelete,
    /// `post-delete`: after all objects were deleted.
    PostDelete,
    /// `pre-upgrade`: after rendering, before the first object is changed.
    PreUpgrade,
    /// `post-upgrade`: after all objects were changed.
    PostUpgrade,
    /// `pre-rollback`: before an earlier revision is applied again.
    PreRollback,
    /// `post-rollback`: after an earlier revision was applied again.
    PostRollback,
    /// `test`, also written `test-success`
    Test,
}

/// When a hook's object is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletePolicy {
    /// `before-hook-creation`: when it is about to be created again; what Helm does where no policy is named.
    BeforeHookCreation,
    /// `hook-succeeded`: as soon as it has done its work.
    HookSucceeded,
    /// `hook-failed`: as soon as it has failed.
    HookFailed,
    /// Anything else, which has no effect.
    Other(String),
}

/// When a hook's log is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputLogPolicy {
    /// `hook-succeeded`: when it has done its work.
    HookSucceeded,
    /// `hook-failed`: when it did not do its work.
    HookFailed,
    /// Anything else, which has no effect.
    Other(String),
}

impl Hook {
    /// The hook for these events; none if one of them is unknown, which makes Helm drop the
    /// document.
    pub(super) fn new(manifest: Manifest, events: &str, head: &Head) -> Option<Self> {
        let events = list(events)
            .map(|event| HookEvent::parse(&event))
            .collect::<Option<_>>()?;
        let policies = |annotation| head.annotation(annotation).into_iter().flat_map(list);
        Some(Self {
            manifest,
            events,
            weight: head
                .annotation(WEIGHT)
                .and_then(|weight| weight.parse().ok())
                .unwrap_or(0),
            delete_policies: policies(DELETE_POLICY).map(DeletePolicy::parse).collect(),
            output_log_policies: policies(OUTPUT_LOG_POLICY).map(OutputLogPolicy::parse).collect(),
        })
    }
}

fn list(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|item| item.trim().to_lowercase())
}

impl HookEvent {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }
}

impl DeletePolicy {
    fn parse(text: String) -> Self {
        match text.as_str() {
            "before-hook-creation" => Self::BeforeHookCreation,
            "hook-succeeded" => Self::HookSucceeded,
            "hook-failed" => Self::HookFailed,
            _ => Self::Other(text),
        }
    }
}

impl OutputLogPolicy {
    fn parse(text: String) -> Self {
        match text.as_str() {
            "hook-succeeded" => Self::HookSucceeded,
            "hook-failed" => Self::HookFailed,
            _ => Self::Other(text),
        }
    }
}
