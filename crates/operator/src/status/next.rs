//! From what happened to what the status says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{Condition, ConditionType, Reason, merge, second};
use super::dry_run::{dry_run_status, forget_dry_run};
use super::release_report::{Deployed, ManifestInStatus, ReleaseReport};
use super::report_conditions::{deployed_conditions, failed_conditions, uninstalling_conditions};

/// The status that says `report`, given the status that is there.
///
/// ```
/// use jiff::Timestamp;
/// use serde_json::{Value, json};
/// use steersman_operator::status::{Failure, FailureStage, ReleaseReport, next_status};
///
/// let failure = Failure {
///     stage: FailureStage::RenderInstall,
///     message: "template: web/templates/deployment.yaml:7:12: nil pointer".to_owned(),
///     stalled: true,
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
    let before = current
        .get("conditions")
        .and_then(Value::as_array)
        .unwrap_or(&no_conditions);
    let wanted = match report {
        ReleaseReport::Deployed(deployed) => deployed_conditions(deployed, before),
        ReleaseReport::Failed(failure) => failed_conditions(failure, before),
        ReleaseReport::Uninstalling(blockers) => uninstalling_conditions(blockers),
        ReleaseReport::Paused => return paused_status(current, before, now),
        ReleaseReport::DryRun(dry_run) => return dry_run_status(current, dry_run, generation),
    };
    let mut next = current.as_object().cloned().unwrap_or_default();
    next.insert(
        "conditions".to_owned(),
        merge(before, &wanted, generation, now).into(),
    );
    next.insert("observedGeneration".to_owned(), json!(generation));
    if let ReleaseReport::Deployed(deployed) = report {
        let mut chart = BTreeMap::from([("name", &deployed.chart), ("version", &deployed.chart_version)]);
        if let Some(version) = &deployed.app_version {
            chart.insert("appVersion", version);
        }
        next.insert("deployedRelease".to_owned(), deployed_release(deployed, current));
        next.insert("revision".to_owned(), json!(deployed.revision));
        match deployed.deployed_at {
            Some(time) => next.insert("lastDeployed".to_owned(), second(time).into()),
            None => next.remove("lastDeployed"),
        };
        next.insert("chart".to_owned(), json!(chart));
        next.insert("health".to_owned(), deployed.health.to_json());
    }
    let mut next = Value::Object(next);
    forget_dry_run(current, &mut next);
    next
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
fn paused_status(current: &Value, before: &[Value], now: Timestamp) -> Value {
    let is = |condition: &Value, kind: ConditionType| {
        condition.get("type").and_then(Value::as_str) == Some(kind.as_str())
    };
    let mut conditions: Vec<Value> = before
        .iter()
        .filter(|condition| {
            !is(condition, ConditionType::Paused) && !is(condition, ConditionType::Reconciling)
        })
        .cloned()
        .collect();
    let since: Vec<Value> = before
        .iter()
        .filter(|condition| is(condition, ConditionType::Paused))
        .cloned()
        .collect();
    let message = "an annotation of the resource asks for a pause";
    let paused = Condition::holds(
        ConditionType::Paused,
        Reason::PauseReconcileAnnotationTrue,
        message,
    );
    conditions.extend(merge(&since, &[paused], None, now));
    let mut next = current.as_object().cloned().unwrap_or_default();
    next.insert("conditions".to_owned(), conditions.into());
    Value::Object(next)
}

#[cfg(test)]
mod tests {
    use steersman_model::{ObjectId, ReleaseName, Revision};

    use super::super::health::{Health, HealthSummary};
    use super::super::release_report::{Failure, FailureStage};
    use super::*;

    /// `Type=Status Reason` of each condition, after reports one after the other.
    fn check(reports: &[ReleaseReport], expect: &[&str]) {
        let mut status = json!({});
        for report in reports {
            status = next_status(&status, report, Some(1), Timestamp::UNIX_EPOCH);
        }
        let conditions = status["conditions"].as_array().unwrap();
        let short: Vec<String> = conditions
            .iter()
            .map(|condition| {
                let text = |key: &str| condition[key].as_str().unwrap_or_default();
                format!("{}={} {}", text("type"), text("status"), text("reason"))
                    .trim()
                    .to_owned()
            })
            .collect();
        assert_eq!(short, expect);
    }

    fn deployed(revision: u32, health: Option<Health>) -> ReleaseReport {
        let id = ObjectId {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "web".to_owned(),
        };
        ReleaseReport::Deployed(Deployed {
            release: ReleaseName::new("web").unwrap(),
            revision: Revision(revision),
            deployed_at: Timestamp::from_second(i64::from(revision) * 3600).ok(),
            chart: "web".to_owned(),
            chart_version: "1.0.0".to_owned(),
            app_version: None,
            notes: Some("thanks".to_owned()),
            health: HealthSummary::new([(&id, health)]),
            manifest: ManifestInStatus::LeftOut,
        })
    }

    fn failed(stage: FailureStage, stalled: bool) -> ReleaseReport {
        ReleaseReport::Failed(Failure {
            stage,
            message: "web/templates/a.yaml:1:2: boom".to_owned(),
            stalled,
        })
    }

    #[test]
    fn a_deployed_release_is_ready_when_its_objects_are() {
        check(
            &[deployed(1, Some(Health::Ready))],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=True ReleaseReady",
            ],
        );
        check(
            &[deployed(
                2,
                Some(Health::Progressing("0 of 1 pods updated".to_owned())),
            )],
            &[
                "Initialized=True",
                "Deployed=True UpgradeSuccessful",
                "Ready=False DependentsProgressing",
                "Reconciling=True DependentsProgressing",
            ],
        );
        check(
            &[deployed(
                1,
                Some(Health::Failed("BackoffLimitExceeded".to_owned())),
            )],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=False DependentsFailed",
            ],
        );
    }

    #[test]
    fn a_failure_leaves_deployed_as_it_was_and_a_success_removes_the_failure() {
        check(
            &[failed(FailureStage::RenderInstall, true)],
            &[
                "Initialized=True",
                "ReleaseFailed=True InstallError",
                "Irreconcilable=True ReconcileError",
                "Ready=False RenderFailed",
                "Stalled=True RenderFailed",
            ],
        );
        check(
            &[
                deployed(1, Some(Health::Ready)),
                failed(FailureStage::Upgrade, false),
            ],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "ReleaseFailed=True UpgradeError",
                "Irreconcilable=True ReconcileError",
                "Ready=False UpgradeError",
                "Reconciling=True ProgressingWithRetry",
            ],
        );
        check(
            &[
                failed(FailureStage::Upgrade, false),
                deployed(2, Some(Health::Ready)),
            ],
            &[
                "Initialized=True",
                "Deployed=True UpgradeSuccessful",
                "Ready=True ReleaseReady",
            ],
        );
    }

    #[test]
    fn an_uninstallation_names_what_is_still_there() {
        let report = ReleaseReport::Uninstalling(vec!["Service default/web (finalizers: x)".to_owned()]);
        let status = next_status(&json!({}), &report, Some(1), Timestamp::UNIX_EPOCH);
        let message = status
            .pointer("/conditions/1/message")
            .and_then(Value::as_str)
            .unwrap();
        assert!(
            message.starts_with("Waiting until all resources are deleted."),
            "{message}"
        );
        assert!(message.contains("Service default/web"), "{message}");
    }

    #[test]
    fn a_pause_leaves_everything_else_as_it_is() {
        check(
            &[deployed(1, None), ReleaseReport::Paused, ReleaseReport::Paused],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=False DependentsProgressing",
                "Paused=True PauseReconcileAnnotationTrue",
            ],
        );
        check(
            &[ReleaseReport::Paused, deployed(1, Some(Health::Ready))],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=True ReleaseReady",
            ],
        );
        let before = next_status(&json!({}), &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
        let paused = next_status(&before, &ReleaseReport::Paused, Some(2), Timestamp::UNIX_EPOCH);
        assert_eq!(paused["observedGeneration"], 1);
    }

    #[test]
    fn a_status_of_any_shape_becomes_one() {
        for before in [
            json!(null),
            json!("text"),
            json!([]),
            json!({"conditions": null}),
            json!({"conditions": "x"}),
        ] {
            let status = next_status(&before, &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
            assert_eq!(
                status.pointer("/conditions/0/type"),
                Some(&json!("Initialized")),
                "{before}"
            );
            assert_eq!(status["revision"], 1, "{before}");
        }
        let theirs = json!({"theirs": 1, "conditions": [{"type": "Theirs", "status": "True"}, "none"]});
        let status = next_status(&theirs, &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
        assert_eq!(
            (&status["theirs"], &status["conditions"][0]["type"]),
            (&json!(1), &json!("Theirs"))
        );
    }

    #[test]
    fn the_time_of_the_deployed_revision_moves_with_it_and_conditions_do_not() {
        let status = |before: &Value, report: &ReleaseReport| {
            let status = next_status(before, report, Some(1), Timestamp::UNIX_EPOCH);
            let since = status["conditions"][1]["lastTransitionTime"].clone();
            (status["lastDeployed"].clone(), since, status)
        };
        let (first, since, before) = status(&json!({}), &deployed(1, None));
        assert_eq!(first, "1970-01-01T01:00:00Z");
        let (failed_since, _, before) = status(&before, &failed(FailureStage::Upgrade, false));
        assert_eq!(failed_since, first);
        let (second, still, before) = status(&before, &deployed(2, None));
        assert_eq!(second, "1970-01-01T02:00:00Z");
        assert_eq!(still, since);
        let mut unknown = deployed(2, None);
        if let ReleaseReport::Deployed(deployed) = &mut unknown {
            deployed.deployed_at = None;
        }
        assert_eq!(status(&before, &unknown).0, Value::Null);
    }

    #[test]
    fn the_same_report_gives_the_same_status() {
        let first = next_status(&json!({}), &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(100).unwrap();
        assert_eq!(next_status(&first, &deployed(1, None), Some(1), later), first);
    }
}
