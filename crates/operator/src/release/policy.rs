//! What flags say of releases.

use std::num::NonZeroUsize;
use std::time::Duration;

/// What releases keep, wait for, and do when they fail. The words are those of Helm's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasePolicy {
    /// How many revisions of a release are kept; `None` is all of them.
    pub history_max: Option<NonZeroUsize>,
    /// How long a hook may take; `None` is as long as it likes.
    pub hook_timeout: Option<Duration>,
    /// Whether a failed upgrade goes back to the deployed revision, and a failed installation is
    /// uninstalled. An annotation of the resource overrides it.
    pub rollback_on_failure: bool,
}

impl Default for ReleasePolicy {
    /// Helm's own numbers.
    fn default() -> Self {
        Self {
            history_max: NonZeroUsize::new(10),
            hook_timeout: Some(Duration::from_mins(5)),
            rollback_on_failure: false,
        }
    }
}
