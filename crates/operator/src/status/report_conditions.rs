//! The conditions that a report calls for: one table, from what is reported and what the status says so far.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use steersman_model::Revision;

use super::conditions::ConditionChange::{Keep, Set};
use super::conditions::{Condition, ConditionChange, ConditionStatus, ConditionType, Reason, find, text};
use super::release_report::{AtGate, Awaits, Deployed, Failure, FailureStage, Prospect, TestsReport};

/// The longest message of a condition. etcd takes objects of 1.5 MB; people read less.
const MAX_MESSAGE: usize = 32 * 1024;

/// After so many failures in a row a release that was ready counts as not ready. Their pauses take 7.5 seconds: a lost
/// connection, a conflict, an election in etcd and a webhook that is restarted are over by then. What is not over is
/// worth a look.
const TRIES: u32 = 5;
/// It counts as not ready, too, when the next try comes later than this after the first failure, as where the server
/// asks for long pauses.
const PATIENCE: Duration = Duration::from_mins(1);

/// The status as it is before a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before<'a> {
    pub(super) conditions: &'a [Value],
    /// What the report has looked at; who waits does not count conditions of an earlier one.
    pub(super) generation: Option<i64>,
    pub(super) now: Timestamp,
}

/// The same as [`progressing_conditions`] where a revision waits. What has failed before is over: it was begun, or goes on.
pub(super) fn gate_conditions(gate: &AtGate) -> Vec<ConditionChange> {
    let reason = match gate.awaits {
        Awaits::Objects => Reason::DependentsProgressing,
        Awaits::Stage => Reason::StageProgressing,
        Awaits::Approval => Reason::ApprovalRequired,
    };
    let mut conditions = progressing_conditions(reason, &gate.message);
    let is_over = |kind| matches!(kind, ConditionType::ReleaseFailed | ConditionType::Irreconcilable);
    conditions.retain(|change| !is_over(change.kind()));
    conditions
}

/// Something is being done or waited for; whether anything is deployed, and what failed last, stays as it is.
pub(super) fn progressing_conditions(reason: Reason, message: &str) -> Vec<ConditionChange> {
    let message = limited(message);
    let mut conditions = of_helm_operator();
    conditions.push(Set(Condition::fails(
        ConditionType::Ready,
        reason,
        message.clone(),
    )));
    conditions.push(Set(Condition::holds(ConditionType::Reconciling, reason, message)));
    conditions
}

/// A revision is deployed.
pub(super) fn deployed_conditions(deployed: &Deployed, before: Before<'_>) -> Vec<ConditionChange> {
    let reason = if deployed.revision == Revision::FIRST {
        Reason::InstallSuccessful
    } else {
        Reason::UpgradeSuccessful
    };
    let notes = match &deployed.notes {
        Some(notes) => notes,
        None => find(before.conditions, ConditionType::Deployed)
            .map(|condition| text(condition, "message"))
            .unwrap_or_default(),
    };
    let mut conditions = vec![
        Set(Condition::holds(ConditionType::Initialized, Reason::None, "")),
        Set(Condition::holds(ConditionType::Deployed, reason, limited(notes))),
    ];
    conditions.extend(tests_condition(deployed));
    let health = &deployed.health;
    let name = &deployed.release;
    if health.is_ready() {
        let message = format!(
            "release {name} revision {} is deployed and ready",
            deployed.revision
        );
        conditions.push(Set(Condition::holds(
            ConditionType::Ready,
            Reason::ReleaseReady,
            message,
        )));
    } else if health.not_ready().iter().any(|object| object.failed) {
        conditions.push(Set(Condition::fails(
            ConditionType::Ready,
            Reason::DependentsFailed,
            health.message(),
        )));
    } else {
        let reason = Reason::DependentsProgressing;
        conditions.push(Set(Condition::fails(
            ConditionType::Ready,
            reason,
            health.message(),
        )));
        conditions.push(Set(Condition::holds(
            ConditionType::Reconciling,
            reason,
            "workloads are not ready yet",
        )));
    }
    conditions
}

/// What the tests of the deployed revision have come to. It is no part of what makes a release ready.
fn tests_condition(deployed: &Deployed) -> Option<ConditionChange> {
    let revision = deployed.revision;
    let kind = ConditionType::TestSuccess;
    let condition = match deployed.tests.as_ref()? {
        TestsReport::Running => {
            let message = format!("the tests of revision {revision} are running");
            Condition::unknown(kind, Reason::Progressing, message)
        }
        TestsReport::Succeeded(count) => {
            let message = format!("all tests of revision {revision} have succeeded: {count}");
            Condition::holds(kind, Reason::TestSucceeded, message)
        }
        TestsReport::Failed(why) => {
            let message = limited(&format!("a test of revision {revision} has failed: {why}"));
            Condition::fails(kind, Reason::TestFailed, message)
        }
    };
    Some(Set(condition))
}

/// Something failed; whether anything is deployed stays as it is.
pub(super) fn failed_conditions(failure: &Failure, before: Before<'_>) -> Vec<ConditionChange> {
    let message = limited(&failure.message);
    let (mut conditions, reason) = match failure.stage {
        FailureStage::Transient => (of_helm_operator(), Reason::ProgressingWithRetry),
        stage => lasting_failure(stage, &message),
    };
    match failure.prospect {
        Prospect::Stalled => {
            conditions.push(Set(Condition::fails(
                ConditionType::Ready,
                reason,
                message.clone(),
            )));
            conditions.push(Set(Condition::holds(ConditionType::Stalled, reason, message)));
        }
        Prospect::Retry { failures, pause } => {
            conditions.push(if is_outlasted(failures, pause, before) {
                Keep(ConditionType::Ready)
            } else {
                Set(Condition::fails(ConditionType::Ready, reason, message.clone()))
            });
            let retried = Reason::ProgressingWithRetry;
            conditions.push(Set(Condition::holds(
                ConditionType::Reconciling,
                retried,
                message,
            )));
        }
    }
    conditions
}

/// What a failure that is not of the connection makes of helm-operator's conditions, and why nothing is ready for it.
fn lasting_failure(stage: FailureStage, message: &str) -> (Vec<ConditionChange>, Reason) {
    let (irreconcilable, release_failed) = match stage {
        FailureStage::State => (Reason::ErrorGettingReleaseState, None),
        FailureStage::Values => (Reason::ErrorGettingValues, None),
        FailureStage::Procedure => (Reason::ProcedureFailed, None),
        FailureStage::Reconcile | FailureStage::Transient => (Reason::ReconcileError, None),
        FailureStage::RenderInstall | FailureStage::Install => {
            (Reason::ReconcileError, Some(Reason::InstallError))
        }
        FailureStage::RenderUpgrade | FailureStage::Upgrade => {
            (Reason::ReconcileError, Some(Reason::UpgradeError))
        }
        FailureStage::Unready { first: true, .. } => (Reason::ReconcileError, Some(Reason::InstallError)),
        FailureStage::Unready { first: false, .. } => (Reason::ReconcileError, Some(Reason::UpgradeError)),
        FailureStage::Uninstall => (Reason::ReconcileError, Some(Reason::UninstallError)),
    };
    let mut conditions = vec![
        Set(Condition::holds(ConditionType::Initialized, Reason::None, "")),
        Keep(ConditionType::Deployed),
        Keep(ConditionType::TestSuccess),
        Set(Condition::holds(
            ConditionType::Irreconcilable,
            irreconcilable,
            message,
        )),
    ];
    if let Some(reason) = release_failed {
        conditions.push(Set(Condition::holds(
            ConditionType::ReleaseFailed,
            reason,
            message,
        )));
    }
    let is_unready = match stage {
        FailureStage::Unready { of_stage, .. } => Some(of_stage),
        _ => None,
    };
    let rendering = matches!(stage, FailureStage::RenderInstall | FailureStage::RenderUpgrade);
    let reason = match release_failed {
        _ if is_unready.is_some() => unready(is_unready == Some(true)),
        _ if rendering => Reason::RenderFailed,
        Some(reason) => reason,
        None => irreconcilable,
    };
    (conditions, reason)
}

fn unready(of_stage: bool) -> Reason {
    if of_stage {
        Reason::StageFailed
    } else {
        Reason::DependentsFailed
    }
}

/// Whether a release that was ready counts as ready although a try has failed: what is deployed is what the resource
/// says, and runs on.
fn is_outlasted(failures: u32, pause: Duration, before: Before<'_>) -> bool {
    let Some(ready) = find(before.conditions, ConditionType::Ready) else {
        return false;
    };
    let of_generation = ready.get("observedGeneration").and_then(Value::as_i64);
    if text(ready, "status") != ConditionStatus::True.as_str() || of_generation != before.generation {
        return false;
    }
    // The status has the first failure, whichever process met it.
    let since = find(before.conditions, ConditionType::Reconciling)
        .and_then(|reconciling| text(reconciling, "lastTransitionTime").parse::<Timestamp>().ok());
    let failing = since.map_or(Duration::ZERO, |since| {
        Duration::try_from(before.now.duration_since(since)).unwrap_or_default()
    });
    failures < TRIES && failing + pause <= PATIENCE
}

/// The release goes, once `blockers` are gone; before the first deletion nothing is known of them.
pub(super) fn uninstalling_conditions(blockers: &[String]) -> Vec<ConditionChange> {
    let (conditions, message) = if blockers.is_empty() {
        (of_helm_operator(), "the release is being uninstalled".to_owned())
    } else {
        let message = limited(&format!(
            "Waiting until all resources are deleted. Still there: {}",
            blockers.join(", ")
        ));
        let deployed = Reason::UninstallSuccessful;
        let deployed = Condition::fails(ConditionType::Deployed, deployed, message.clone());
        let initialized = Condition::holds(ConditionType::Initialized, Reason::None, "");
        (vec![Set(initialized), Set(deployed)], message)
    };
    going(conditions, message)
}

/// The release goes, once something else has ended.
pub(super) fn uninstalling_after_conditions(message: &str) -> Vec<ConditionChange> {
    going(of_helm_operator(), limited(message))
}

fn going(mut conditions: Vec<ConditionChange>, message: String) -> Vec<ConditionChange> {
    let reason = Reason::Uninstalling;
    conditions.push(Set(Condition::fails(
        ConditionType::Ready,
        reason,
        message.clone(),
    )));
    conditions.push(Set(Condition::holds(ConditionType::Reconciling, reason, message)));
    conditions
}

/// helm-operator's conditions as they are: the next change of a release is what changes them.
fn of_helm_operator() -> Vec<ConditionChange> {
    vec![
        Set(Condition::holds(ConditionType::Initialized, Reason::None, "")),
        Keep(ConditionType::Deployed),
        Keep(ConditionType::ReleaseFailed),
        Keep(ConditionType::Irreconcilable),
        Keep(ConditionType::TestSuccess),
    ]
}

pub(super) fn limited(text: &str) -> String {
    if text.len() <= MAX_MESSAGE {
        return text.to_owned();
    }
    let end = (0..=MAX_MESSAGE)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}
