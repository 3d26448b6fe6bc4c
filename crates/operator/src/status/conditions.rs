//! The vocabulary of conditions, turned into text in one place.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The field `type` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// The operator has seen the resource. helm-operator's.
    Initialized,
    /// A revision is deployed. helm-operator's.
    Deployed,
    /// The last release action failed. helm-operator's; absent when it did not.
    ReleaseFailed,
    /// The resource can't be reconciled. helm-operator's; absent when it can.
    Irreconcilable,
    /// Everything is as the resource says and works. kstatus'.
    Ready,
    /// The operator is on it. kstatus'; absent when it is not.
    Reconciling,
    /// Only a change of the resource, the chart or the cluster helps. kstatus'; absent otherwise.
    Stalled,
    /// The resource asks to be left alone. helm-operator's successor's; absent when it does not.
    Paused,
    /// The tests of the deployed revision have succeeded. Flux'; absent where none were begun.
    TestSuccess,
    /// A field that the watch adds to the status can't be told; absent otherwise.
    FieldsIncomplete,
}

impl ConditionType {
    /// All types that the operator writes; conditions of other types are left to others.
    pub const ALL: [Self; 10] = [
        Self::Initialized,
        Self::Deployed,
        Self::ReleaseFailed,
        Self::Irreconcilable,
        Self::Ready,
        Self::Reconciling,
        Self::Stalled,
        Self::Paused,
        Self::TestSuccess,
        Self::FieldsIncomplete,
    ];

    /// As it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initialized => "Initialized",
            Self::Deployed => "Deployed",
            Self::ReleaseFailed => "ReleaseFailed",
            Self::Irreconcilable => "Irreconcilable",
            Self::Ready => "Ready",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Paused => "Paused",
            Self::TestSuccess => "TestSuccess",
            Self::FieldsIncomplete => "FieldsIncomplete",
        }
    }

    /// helm-operator's conditions have no `observedGeneration`.
    fn has_generation(self) -> bool {
        matches!(
            self,
            Self::Ready | Self::Reconciling | Self::Stalled | Self::TestSuccess
        )
    }
}

/// Why a condition is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing to say.
    None,
    /// The first revision is deployed.
    InstallSuccessful,
    /// A later revision is deployed.
    UpgradeSuccessful,
    /// The release is gone.
    UninstallSuccessful,
    /// The first revision could not be deployed.
    InstallError,
    /// A later revision could not be deployed.
    UpgradeError,
    /// The release could not be removed.
    UninstallError,
    /// A reconcile failed.
    ReconcileError,
    /// The values can't be made.
    ErrorGettingValues,
    /// The stored revisions can't be read.
    ErrorGettingReleaseState,
    /// The release is deployed and its objects are ready.
    ReleaseReady,
    /// The release is deployed and some of its objects are not ready yet.
    DependentsProgressing,
    /// The release is deployed and some of its objects have given up.
    DependentsFailed,
    /// A stage of the release is waited for.
    StageProgressing,
    /// The next stage of the release waits until somebody says that it may begin.
    ApprovalRequired,
    /// A stage of the release was not ready in time, or has failed.
    StageFailed,
    /// Something is being done for the release.
    Progressing,
    /// Another revision waits for what the release depends on.
    DependencyNotReady,
    /// Another revision waits for a run of a procedure.
    ProcedureNotFinished,
    /// Another revision waits for a run of a procedure, and that has failed.
    ProcedureFailed,
    /// The last attempt failed; another one follows.
    ProgressingWithRetry,
    /// The chart can't be rendered with these values.
    RenderFailed,
    /// The release is being removed.
    Uninstalling,
    /// An annotation asks for a pause.
    PauseReconcileAnnotationTrue,
    /// Only a dry run is asked for.
    DryRun,
    /// Each hook of `helm test` has come to a good end.
    TestSucceeded,
    /// One has not, and those behind it were not run.
    TestFailed,
    /// An expression has no result that can be told.
    NoResult,
}

impl Reason {
    /// As it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::InstallSuccessful => "InstallSuccessful",
            Self::UpgradeSuccessful => "UpgradeSuccessful",
            Self::UninstallSuccessful => "UninstallSuccessful",
            Self::InstallError => "InstallError",
            Self::UpgradeError => "UpgradeError",
            Self::UninstallError => "UninstallError",
            Self::ReconcileError => "ReconcileError",
            Self::ErrorGettingValues => "ErrorGettingValues",
            Self::ErrorGettingReleaseState => "ErrorGettingReleaseState",
            Self::ReleaseReady => "ReleaseReady",
            Self::DependentsProgressing => "DependentsProgressing",
            Self::DependentsFailed => "DependentsFailed",
            Self::StageProgressing => "StageProgressing",
            Self::ApprovalRequired => "ApprovalRequired",
            Self::StageFailed => "StageFailed",
            Self::Progressing => "Progressing",
            Self::DependencyNotReady => "DependencyNotReady",
            Self::ProcedureNotFinished => "ProcedureNotFinished",
            Self::ProcedureFailed => "ProcedureFailed",
            Self::ProgressingWithRetry => "ProgressingWithRetry",
            Self::RenderFailed => "RenderFailed",
            Self::Uninstalling => "Uninstalling",
            Self::PauseReconcileAnnotationTrue => "PauseReconcileAnnotationTrue",
            Self::DryRun => "DryRun",
            Self::TestSucceeded => "TestSucceeded",
            Self::TestFailed => "TestFailed",
            Self::NoResult => "NoResult",
        }
    }
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// The operator has nothing to go by.
    Unknown,
}

impl ConditionStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition as it should be. In the status it has the time since when it holds or does not, too.
///
/// ```
/// use steersman_operator::status::{Condition, ConditionStatus, ConditionType, Reason};
///
/// let ready = Condition::fails(ConditionType::Ready, Reason::DependentsProgressing, "0 of 1 workloads are ready");
/// assert_eq!(ready.status, ConditionStatus::False);
/// assert_eq!((ready.kind.as_str(), ready.reason.as_str()), ("Ready", "DependentsProgressing"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// At most one condition of a type is in a status.
    pub kind: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why.
    pub reason: Reason,
    /// The same for people.
    pub message: String,
}

impl Condition {
    /// The status `True`.
    pub fn holds(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: ConditionStatus::True,
            reason,
            message: message.into(),
        }
    }

    /// A condition that does not hold.
    pub fn fails(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: ConditionStatus::False,
            reason,
            message: message.into(),
        }
    }
}

impl Condition {
    /// A condition of which nobody knows yet.
    pub fn unknown(kind: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: ConditionStatus::Unknown,
            ..Self::fails(kind, reason, message)
        }
    }
}

/// What becomes of a condition. One of ours of which nothing is said goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConditionChange {
    /// It is this from now on.
    Set(Condition),
    /// It stays as it is, if it is there: what it says is still so, and of the generation that it says it of.
    Keep(ConditionType),
}

impl ConditionChange {
    pub(super) fn kind(&self) -> ConditionType {
        match self {
            Self::Set(condition) => condition.kind,
            Self::Keep(kind) => *kind,
        }
    }
}

/// The condition of this type, as it stands in a status.
pub(super) fn find(conditions: &[Value], kind: ConditionType) -> Option<&Value> {
    let is_it = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(kind.as_str());
    conditions.iter().find(is_it)
}

/// A field of a condition, as it stands in a status; empty where it is not there.
pub(super) fn text<'a>(condition: &'a Value, key: &str) -> &'a str {
    condition.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// `current` with our conditions as `changes` says, in the order of [`ConditionType::ALL`];
/// those of others stay. A condition whose status does not change keeps its transition time.
pub(super) fn merge(
    current: &[Value],
    changes: &[ConditionChange],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Value> {
    let mut merged: Vec<Value> = current
        .iter()
        .filter(|found| {
            !ConditionType::ALL
                .iter()
                .any(|kind| kind.as_str() == text(found, "type"))
        })
        .cloned()
        .collect();
    for kind in ConditionType::ALL {
        let before = find(current, kind);
        let condition = match changes.iter().find(|change| change.kind() == kind) {
            Some(ConditionChange::Set(condition)) => condition,
            Some(ConditionChange::Keep(_)) => {
                merged.extend(before.cloned());
                continue;
            }
            // No report says anything of it: what is projected does.
            None if kind == ConditionType::FieldsIncomplete => {
                merged.extend(before.cloned());
                continue;
            }
            None => continue,
        };
        let since = before
            .filter(|before| text(before, "status") == condition.status.as_str())
            .map(|before| text(before, "lastTransitionTime").to_owned())
            .filter(|since| !since.is_empty());
        let mut entry = Map::new();
        entry.insert("type".to_owned(), kind.as_str().into());
        entry.insert("status".to_owned(), condition.status.as_str().into());
        if condition.reason != Reason::None {
            entry.insert("reason".to_owned(), condition.reason.as_str().into());
        }
        if !condition.message.is_empty() {
            entry.insert("message".to_owned(), condition.message.as_str().into());
        }
        entry.insert(
            "lastTransitionTime".to_owned(),
            since.unwrap_or_else(|| second(now)).into(),
        );
        if kind.has_generation() {
            entry.insert("observedGeneration".to_owned(), json!(generation));
        }
        merged.push(Value::Object(entry));
    }
    merged
}

/// Kubernetes' times have no fractions of a second.
pub(crate) fn second(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_alone() {
        let first = merge(
            &[],
            &[ConditionChange::Set(Condition::holds(
                ConditionType::Ready,
                Reason::ReleaseReady,
                "",
            ))],
            Some(1),
            at(0),
        );
        assert_eq!(first[0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let reworded = [ConditionChange::Set(Condition::holds(
            ConditionType::Ready,
            Reason::ReleaseReady,
            "other words",
        ))];
        let second = merge(&first, &reworded, Some(2), at(60));
        assert_eq!(second[0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(second[0]["observedGeneration"], 2);
        let turned = [ConditionChange::Set(Condition::fails(
            ConditionType::Ready,
            Reason::DependentsFailed,
            "",
        ))];
        assert_eq!(
            merge(&second, &turned, Some(2), at(60))[0]["lastTransitionTime"],
            "1970-01-01T00:01:00Z"
        );
    }

    #[test]
    fn conditions_of_others_stay_and_ours_that_are_not_wanted_go() {
        let current = [
            json!({"type": "Theirs", "status": "True"}),
            json!({"type": "ReleaseFailed", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}),
        ];
        let initialized = Condition::holds(ConditionType::Initialized, Reason::None, "");
        let merged = merge(&current, &[ConditionChange::Set(initialized)], None, at(0));
        let types: Vec<_> = merged
            .iter()
            .map(|condition| condition["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["Theirs", "Initialized"]);
        assert_eq!(merged[1].get("reason"), None);
    }

    #[test]
    fn what_is_kept_says_the_same_of_the_same_generation() {
        let ready = json!({"type": "Ready", "status": "True", "reason": "Theirs", "observedGeneration": 1, "more": []});
        let keep = [
            ConditionChange::Keep(ConditionType::Ready),
            ConditionChange::Keep(ConditionType::Deployed),
        ];
        assert_eq!(
            merge(std::slice::from_ref(&ready), &keep, Some(2), at(9)),
            [ready]
        );
    }
}
