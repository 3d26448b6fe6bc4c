//! From what happened to what the status says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::status::conditions::{
    Condition, ConditionChange, ConditionType, Reason, find, merge, second, text,
};
use crate::status::dry_run::{dry_run_status, forget_dry_run};
use crate::status::release_report::{Deployed, DeployedChart, ManifestInStatus, ReleaseReport};
use crate::status::report_conditions::{
    Before, deployed_conditions, failed_conditions, gate_conditions, limited, progressing_conditions,
    uninstalling_after_conditions, uninstalling_conditions,
};

/// The key of what procedures have put over the values.
const OVERLAY_FIELD: &str = "overlay";

/// The status field that says which request for tests was acted on last.
const TEST_FIELD: &str = "lastHandledTest";

/// The status that says `report`, given the status that is there.
///
/// ```
/// use jiff::Timestamp;
/// use serde_json::{Value, json};
/// use steersman_operator::status::{Failure, FailureStage, Prospect, ReleaseReport, next_status};
///
/// let failure = Failure {
///     stage: FailureStage::RenderInstall,
///     message: "template: web/templates/deployment.yaml:7:12: nil pointer".to_owned(),
///     prospect: Prospect::Stalled,
///     stages: None,
/// };
/// let status = next_status(&Value::Null, &ReleaseReport::Failed(failure), Some(3), Timestamp::UNIX_EPOCH);
/// assert_eq!(status["observedGeneration"], 3);
/// let conditions = status["conditions"].as_array().unwrap();
/// let stalled = conditions.iter().find(|condition| condition["type"] == "Stalled").unwrap();
/// assert_eq!(stalled["reason"], "RenderFailed");
/// assert_eq!(stalled["lastTransitionTime"], "1970-01-01T00:00:00Z");
/// ```
pub fn next_status(
    current: &Value,
    report: &ReleaseReport,
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let no_conditions = Vec::new();
    let conditions = current
        .get("conditions")
        .and_then(Value::as_array)
        .unwrap_or(&no_conditions);
    let before = Before {
        conditions,
        generation,
        now,
    };
    let changes = match report {
        ReleaseReport::Progressing(message) => progressing_conditions(Reason::Progressing, message),
        ReleaseReport::AtGate(gate) => gate_conditions(gate),
        ReleaseReport::DependencyNotReady(dependent) => {
            progressing_conditions(Reason::DependencyNotReady, &dependent.message)
        }
        ReleaseReport::AwaitsProcedure(dependent) => {
            progressing_conditions(Reason::ProcedureNotFinished, &dependent.message)
        }
        ReleaseReport::Deployed(deployed) => deployed_conditions(deployed, before),
        ReleaseReport::Failed(failure) => failed_conditions(failure, before),
        ReleaseReport::Uninstalling(blockers) => uninstalling_conditions(blockers),
        ReleaseReport::UninstallingAfter(what) => uninstalling_after_conditions(what),
        ReleaseReport::Paused => return paused_status(current, before),
        ReleaseReport::DryRun(dry_run) => {
            let mut status = dry_run_status(current, dry_run, generation);
            drop_condition(&mut status, ConditionType::Paused);
            return held_status(&status, before, Reason::DryRun, "only a dry run is asked for");
        }
    };
    let mut next = current.as_object().cloned().unwrap_or_default();
    next.insert(
        "conditions".to_owned(),
        merge(conditions, &changes, generation, now).into(),
    );
    next.insert("observedGeneration".to_owned(), json!(generation));
    match next_stages(current, report, now) {
        Some(Value::Null) => drop(remove(&mut next, "stages")),
        Some(stages) => drop(next.insert("stages".to_owned(), stages)),
        None => {}
    }
    match next_overlay(report) {
        Some(Value::Null) => drop(remove(&mut next, OVERLAY_FIELD)),
        Some(overlay) => drop(next.insert(OVERLAY_FIELD.to_owned(), overlay)),
        None => {}
    }
    if let ReleaseReport::Deployed(deployed) = report {
        show(deployed, current, &mut next);
    }
    let mut next = Value::Object(next);
    forget_dry_run(current, &mut next);
    next
}

/// The status that shows what is deployed, given the one that is there, and says what that does otherwise: another report follows.
pub fn status_showing(
    current: &Value,
    deployed: &Deployed,
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let conditions = current.get("conditions").and_then(Value::as_array);
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    let before = Before {
        conditions,
        generation,
        now,
    };
    let all = deployed_conditions(deployed, before);
    let shown = ConditionType::ALL.map(|kind| {
        let is_of_deployed = matches!(kind, ConditionType::Deployed | ConditionType::TestSuccess);
        let changed = all.iter().find(|change| change.kind() == kind && is_of_deployed);
        changed.cloned().unwrap_or(ConditionChange::Keep(kind))
    });
    let mut next = current.as_object().cloned().unwrap_or_default();
    let conditions = merge(conditions, &shown, generation, now);
    next.insert("conditions".to_owned(), conditions.into());
    show(deployed, current, &mut next);
    Value::Object(next)
}

/// Puts what is deployed into a status.
fn show(deployed: &Deployed, current: &Value, next: &mut Map<String, Value>) {
    let DeployedChart {
        name,
        version,
        app_version,
    } = &deployed.chart;
    let mut chart = BTreeMap::from([("name", name), ("version", version)]);
    if let Some(version) = app_version {
        chart.insert("appVersion", version);
    }
    next.insert("deployedRelease".to_owned(), deployed_release(deployed, current));
    next.insert("revision".to_owned(), json!(deployed.revision));
    match deployed.deployed_at {
        Some(time) => next.insert("lastDeployed".to_owned(), second(time).into()),
        None => remove(next, "lastDeployed"),
    };
    next.insert("chart".to_owned(), json!(chart));
    match &deployed.handled_test {
        Some(request) => next.insert(TEST_FIELD.to_owned(), request.as_str().into()),
        // Its tests did not come to an end before another revision, and are yet to be run.
        None => next.remove(TEST_FIELD),
    };
    next.insert("health".to_owned(), deployed.health.to_json());
}

fn drop_condition(status: &mut Value, kind: ConditionType) {
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(|condition| text(condition, "type") != kind.as_str());
    }
}

/// Takes a field away: the patch has a null in its place.
pub(super) fn remove(status: &mut Map<String, Value>, field: &str) -> Option<Value> {
    status.get_mut(field).map(Value::take)
}

/// What the status says of values by procedures after a report; `None` where that says nothing of them. Null takes them away.
fn next_overlay(report: &ReleaseReport) -> Option<Value> {
    match report {
        ReleaseReport::Deployed(deployed) => Some(deployed.overlay.clone().unwrap_or_default()),
        ReleaseReport::AwaitsProcedure(dependent) => Some(dependent.overlay.clone().unwrap_or_default()),
        _ => None,
    }
}

/// What the status says of stages after a report; `None` where that says nothing of them. Null takes them away.
fn next_stages(current: &Value, report: &ReleaseReport, now: Timestamp) -> Option<Value> {
    let before = current.get("stages").and_then(Value::as_array);
    let stages = match report {
        ReleaseReport::AtGate(gate) => &gate.stages,
        ReleaseReport::Deployed(deployed) => &deployed.stages,
        ReleaseReport::Failed(failure) => failure.stages.as_ref()?,
        ReleaseReport::DependencyNotReady(dependent) | ReleaseReport::AwaitsProcedure(dependent) => {
            dependent.stages.as_ref()?
        }
        // None begins any longer.
        ReleaseReport::Uninstalling(_) | ReleaseReport::UninstallingAfter(_) => return Some(Value::Null),
        _ => return None,
    };
    let entries = stages.iter().map(|stage| {
        let is_it = |entry: &&Value| {
            entry.get("name").and_then(Value::as_str) == Some(&stage.name)
                && entry.get("revision") == Some(&json!(stage.revision))
                && entry.get("state").and_then(Value::as_str) == Some(stage.state.as_str())
        };
        let known = before.into_iter().flatten().find(is_it);
        let known = known.and_then(|entry| entry.get("since")).cloned();
        let since = match stage.since {
            Some(since) => second(since).into(),
            None => known.unwrap_or_else(|| second(now).into()),
        };
        let mut entry = json!({ "name": stage.name, "revision": stage.revision, "state": stage.state.as_str(), "since": since });
        if !stage.message.is_empty() {
            entry["message"] = limited(&stage.message).into();
        }
        entry
    });
    let entries: Vec<Value> = entries.collect();
    Some(if entries.is_empty() {
        Value::Null
    } else {
        entries.into()
    })
}

fn deployed_release(deployed: &Deployed, current: &Value) -> Value {
    let mut release = json!({ "name": deployed.release.as_str() });
    let manifest = match &deployed.manifest {
        ManifestInStatus::LeftOut => None,
        ManifestInStatus::AsBefore => current.pointer("/deployedRelease/manifest").cloned(),
        ManifestInStatus::Text(text) => Some(Value::String(text.clone())),
    };
    if let Some(manifest) = manifest {
        release["manifest"] = manifest;
    }
    release
}

/// What is known stays as it is; of the generation nothing was observed.
fn paused_status(current: &Value, before: Before<'_>) -> Value {
    let reason = Reason::PauseReconcileAnnotationTrue;
    let message = "an annotation of the resource asks for a pause";
    let changes: Vec<ConditionChange> = ConditionType::ALL
        .into_iter()
        .filter(|kind| *kind != ConditionType::Reconciling)
        .map(|kind| match kind {
            ConditionType::Paused => ConditionChange::Set(Condition::holds(kind, reason, message)),
            _ => ConditionChange::Keep(kind),
        })
        .collect();
    let mut next = current.as_object().cloned().unwrap_or_default();
    let conditions = merge(before.conditions, &changes, before.generation, before.now);
    next.insert("conditions".to_owned(), conditions.into());
    held_status(&Value::Object(next), before, reason, message)
}

/// `status` where nothing is done. A resource of which no operator has said anything is not ready for this reason: who finds
/// no word about it takes it for one that needs none.
fn held_status(status: &Value, before: Before<'_>, reason: Reason, message: &str) -> Value {
    let held = [Reason::PauseReconcileAnnotationTrue, Reason::DryRun].map(Reason::as_str);
    let is_known = |kind| {
        let said = find(before.conditions, kind);
        said.is_some_and(|said| !held.contains(&text(said, "reason")))
    };
    if is_known(ConditionType::Ready) || is_known(ConditionType::Deployed) {
        return status.clone();
    }
    let changes = ConditionType::ALL.map(|kind| match kind {
        ConditionType::Ready => ConditionChange::Set(Condition::fails(kind, reason, message)),
        _ => ConditionChange::Keep(kind),
    });
    let mut next = status.as_object().cloned().unwrap_or_default();
    let conditions = next.get("conditions").and_then(Value::as_array);
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    let conditions = merge(conditions, &changes, before.generation, before.now);
    next.insert("conditions".to_owned(), conditions.into());
    Value::Object(next)
}

#[cfg(test)]
mod tests;
