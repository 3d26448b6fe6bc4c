//! What an operator does about values that others have changed.
//!
//! The words are those of Flux' `HelmRelease.spec.driftDetection`.

mod ignore;
mod retain;
mod selector;
mod target;

pub use ignore::{FieldPath, IgnoreRule, without_ignored};
pub use retain::{is_retained, retain};
pub use selector::parse_selector;
pub use target::{Candidate, Pattern, Target};

/// What a watch does about drift.
///
/// ```
/// use steersman_watches::drift::{DriftDetection, DriftMode, FieldPath, IgnoreRule, Target};
///
/// let drift = DriftDetection {
///     mode: DriftMode::Warn,
///     ignore: vec![IgnoreRule { paths: vec![FieldPath::parse("/spec/replicas")?], target: Target::default() }],
/// };
/// assert_ne!(drift, DriftDetection::default(), "without a word of it, drift is corrected");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftDetection {
    /// Whether drift is corrected.
    pub mode: DriftMode,
    /// Which values are left to others.
    pub ignore: Vec<IgnoreRule>,
}

/// Whether drift is corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftMode {
    /// What others changed is applied again as the release has it.
    #[default]
    Enabled,
    /// Drift is reported by an event and in the log, and stays.
    Warn,
    /// Drift is not looked for.
    Disabled,
}
