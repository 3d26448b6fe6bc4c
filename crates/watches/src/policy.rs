//! What a watch wants done about objects that others write, too.

use std::time::Duration;

/// What is done about fields that the chart renders and another manager has set to something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// They are set to what the chart says, and become ours. Helm's and helm-operator's.
    #[default]
    Overwrite,
    /// The object stays as it is, and the release fails.
    Fail,
}

/// What is done about the definitions in a chart's `crds/` folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrdPolicy {
    /// Those that are missing are created; others stay as they are. Helm's.
    #[default]
    Create,
    /// Each revision creates or replaces them, whoever wrote them.
    CreateReplace,
    /// They are left to whoever installs them.
    Skip,
}

/// When the tests of a chart run: the hooks of `helm test`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestPolicy {
    /// Whether they do once after each revision that is deployed, and not only where a resource asks for it.
    pub after_each_revision: bool,
    /// How long each may take; `None` is as long as other hooks.
    pub timeout: Option<Duration>,
}
