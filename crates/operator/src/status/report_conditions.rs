//! The conditions that a report calls for.

use serde_json::Value;
use steersman_model::Revision;

use super::conditions::{Condition, ConditionStatus, ConditionType, Reason};
use super::release_report::{Deployed, Failure, FailureStage};

/// The longest message of a condition. etcd takes objects of 1.5 MB; people read less.
const MAX_MESSAGE: usize = 32 * 1024;

/// A revision is deployed.
pub(super) fn deployed_conditions(deployed: &Deployed, before: &[Value]) -> Vec<Condition> {
    let reason = if deployed.revision == Revision::FIRST {
        Reason::InstallSuccessful
    } else {
        Reason::UpgradeSuccessful
    };
    let notes = match &deployed.notes {
        Some(notes) => limited(notes),
        None => kept(before, ConditionType::Deployed).map_or_else(String::new, |condition| condition.message),
    };
    let mut conditions = vec![
        Condition::holds(ConditionType::Initialized, Reason::None, ""),
        Condition::holds(ConditionType::Deployed, reason, notes),
    ];
    let health = &deployed.health;
    let name = &deployed.release;
    if health.is_ready() {
        let message = format!(
            "release {name} revision {} is deployed and ready",
            deployed.revision
        );
        conditions.push(Condition::holds(
            ConditionType::Ready,
            Reason::ReleaseReady,
            message,
        ));
    } else if health.not_ready().iter().any(|object| object.failed) {
        conditions.push(Condition::fails(
            ConditionType::Ready,
            Reason::DependentsFailed,
            health.message(),
        ));
    } else {
        let reason = Reason::DependentsProgressing;
        conditions.push(Condition::fails(ConditionType::Ready, reason, health.message()));
        conditions.push(Condition::holds(
            ConditionType::Reconciling,
            reason,
            "workloads are not ready yet",
        ));
    }
    conditions
}

/// Something failed; whether anything is deployed stays as `before`.
pub(super) fn failed_conditions(failure: &Failure, before: &[Value]) -> Vec<Condition> {
    let message = limited(&failure.message);
    if failure.stage == FailureStage::Transient {
        let mut conditions = vec![Condition::holds(ConditionType::Initialized, Reason::None, "")];
        conditions.extend(kept(before, ConditionType::Deployed));
        let reason = Reason::ProgressingWithRetry;
        conditions.push(Condition::fails(ConditionType::Ready, reason, message.clone()));
        conditions.push(Condition::holds(ConditionType::Reconciling, reason, message));
        return conditions;
    }
    let (irreconcilable, release_failed) = match failure.stage {
        FailureStage::State => (Reason::ErrorGettingReleaseState, None),
        FailureStage::Values => (Reason::ErrorGettingValues, None),
        FailureStage::Reconcile | FailureStage::Transient => (Reason::ReconcileError, None),
        FailureStage::RenderInstall | FailureStage::Install => {
            (Reason::ReconcileError, Some(Reason::InstallError))
        }
        FailureStage::RenderUpgrade | FailureStage::Upgrade => {
            (Reason::ReconcileError, Some(Reason::UpgradeError))
        }
        FailureStage::Uninstall => (Reason::ReconcileError, Some(Reason::UninstallError)),
    };
    let mut conditions = vec![Condition::holds(ConditionType::Initialized, Reason::None, "")];
    conditions.extend(kept(before, ConditionType::Deployed));
    conditions.push(Condition::holds(
        ConditionType::Irreconcilable,
        irreconcilable,
        message.clone(),
    ));
    if let Some(reason) = release_failed {
        conditions.push(Condition::holds(
            ConditionType::ReleaseFailed,
            reason,
            message.clone(),
        ));
    }
    let rendering = matches!(
        failure.stage,
        FailureStage::RenderInstall | FailureStage::RenderUpgrade
    );
    let reason = match release_failed {
        _ if rendering => Reason::RenderFailed,
        Some(reason) => reason,
        None => irreconcilable,
    };
    conditions.push(Condition::fails(ConditionType::Ready, reason, message.clone()));
    conditions.push(if failure.stalled {
        Condition::holds(ConditionType::Stalled, reason, message)
    } else {
        Condition::holds(ConditionType::Reconciling, Reason::ProgressingWithRetry, message)
    });
    conditions
}

/// The release goes, once `blockers` are gone.
pub(super) fn uninstalling_conditions(blockers: &[String]) -> Vec<Condition> {
    let (deployed, message) = if blockers.is_empty() {
        (
            Reason::UninstallSuccessful,
            "the release is uninstalled".to_owned(),
        )
    } else {
        let message = format!(
            "Waiting until all resources are deleted. Still there: {}",
            blockers.join(", ")
        );
        (Reason::UninstallSuccessful, limited(&message))
    };
    vec![
        Condition::holds(ConditionType::Initialized, Reason::None, ""),
        Condition::fails(ConditionType::Deployed, deployed, message.clone()),
        Condition::fails(ConditionType::Ready, Reason::Uninstalling, message.clone()),
        Condition::holds(ConditionType::Reconciling, Reason::Uninstalling, message),
    ]
}

/// One of our conditions as it was, for reports that do not touch it.
fn kept(before: &[Value], kind: ConditionType) -> Option<Condition> {
    let text = |value: &Value, key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let found = before
        .iter()
        .find(|condition| text(condition, "type") == kind.as_str())?;
    let reasons = [
        Reason::InstallSuccessful,
        Reason::UpgradeSuccessful,
        Reason::UninstallSuccessful,
    ];
    Some(Condition {
        kind,
        status: match text(found, "status").as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: reasons
            .into_iter()
            .find(|reason| reason.as_str() == text(found, "reason"))
            .unwrap_or(Reason::None),
        message: limited(&text(found, "message")),
    })
}

fn limited(text: &str) -> String {
    if text.len() <= MAX_MESSAGE {
        return text.to_owned();
    }
    let end = (0..=MAX_MESSAGE)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}
