//! The stages of a revision, and how far it has come with them.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use steersman_model::ObjectId;

/// A part of a revision that is applied when what comes before it is ready.
///
/// It is written down with the revision, before anything of it is applied: what watches.yaml says later is of other revisions.
/// A revision that only waits is one stage without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageRecord {
    /// As watches.yaml has it; empty for all of a revision that only waits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Which objects, by their places in the manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<usize>,
    /// How long they may take to become ready, in seconds.
    pub timeout: u64,
    /// Whether a Job is ready only when it is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub jobs: bool,
    /// Whether it begins only when somebody has said so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// Whether somebody has said so, and it is applied once more: for that nobody is asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// When the last of its objects was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Timestamp>,
    /// When they were ready, or somebody had it be passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Timestamp>,
    /// Those of the objects that were applied that were not ready when somebody had it be passed over: no later stage waits for
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<ObjectId>,
    /// Which request to apply it once more was followed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<String>,
}

/// How far a revision has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The stage at this place is next to be applied.
    Before(usize),
    /// The stage at this place is applied, and is waited for.
    At(usize),
    /// All stages are ready, or there are none.
    Past,
}

impl Position {
    /// How far a revision with these stages has come.
    ///
    /// ```
    /// use jiff::Timestamp;
    /// use steersman_operator::release::{Position, StageRecord};
    ///
    /// let mut stages = vec![StageRecord::default(), StageRecord::default()];
    /// assert_eq!(Position::of(&stages), Position::Before(0));
    /// stages[0].applied = Some(Timestamp::UNIX_EPOCH);
    /// assert_eq!(Position::of(&stages), Position::At(0));
    /// stages[0].ready = Some(Timestamp::UNIX_EPOCH);
    /// assert_eq!(Position::of(&stages), Position::Before(1));
    /// assert_eq!(Position::of(&[]), Position::Past);
    /// ```
    pub fn of(stages: &[StageRecord]) -> Self {
        let next = stages.iter().position(|stage| stage.ready.is_none());
        match next.map(|place| (place, stages.get(place).and_then(|stage| stage.applied))) {
            Some((place, Some(_))) => Self::At(place),
            Some((place, None)) => Self::Before(place),
            None => Self::Past,
        }
    }
}

/// Whether anything of a revision with these stages was applied and noted.
pub fn has_begun(stages: &[StageRecord]) -> bool {
    !stages.is_empty() && Position::of(stages) != Position::Before(0)
}

/// What was not ready as these stages were passed over: no later one waits for it.
pub fn passed_over(stages: &[StageRecord]) -> BTreeSet<&ObjectId> {
    stages.iter().flat_map(|stage| &stage.passed).collect()
}

impl StageRecord {
    /// When its objects have to be ready; `None` before they are applied.
    pub fn deadline(&self) -> Option<Timestamp> {
        let timeout = Duration::from_secs(self.timeout);
        self.applied?.checked_add(timeout).ok()
    }

    /// The same before anything of it was done.
    #[must_use]
    pub(crate) fn into_unbegun(self) -> Self {
        Self {
            approved: false,
            applied: None,
            ready: None,
            passed: Vec::new(),
            ..self
        }
    }
}
