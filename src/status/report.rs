//! From what happened to what the status says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{Condition, ConditionStatus, ConditionType, Reason, merge};
use super::dry_run::{DryRun, dry_run_status, forget_dry_run};
use super::health::{Health, UNSEEN};
use crate::apply::ObjectId;
use crate::release::{ReleaseName, Revision};

/// At most so many objects that are not ready are listed.
const MAX_NOT_READY: usize = 10;
/// The longest message of a condition. etcd takes objects of 1.5 MB; people read less.
const MAX_MESSAGE: usize = 32 * 1024;

/// What a reconcile ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A revision is deployed, now or since long.
    Deployed(Deployed),
    /// Something failed.
    Failed(Failure),
    /// The release is being removed; these objects are still there.
    Uninstalling(Vec<String>),
    /// Nothing was done, as the resource asks for.
    Paused,
    /// Nothing was done; this would have been.
    DryRun(DryRun),
}

/// A deployed revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployed {
    /// The release.
    pub release: ReleaseName,
    /// The revision.
    pub revision: Revision,
    /// The chart's name.
    pub chart: String,
    /// The chart's version.
    pub chart_version: String,
    /// The version of the application inside.
    pub app_version: Option<String>,
    /// The notes that the chart rendered, secrets masked; `None` leaves the message as it is.
    pub notes: Option<String>,
    /// How its objects are.
    pub health: HealthSummary,
    /// Its manifest.
    pub manifest: ManifestInStatus,
}

/// The manifest in the status of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ManifestInStatus {
    /// There is none.
    #[default]
    LeftOut,
    /// It stays as it is.
    AsBefore,
    /// It becomes this, in which secrets are masked.
    Text(String),
}

/// A failed reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where it failed.
    pub stage: FailureStage,
    /// The error with all its causes, secrets masked.
    pub message: String,
    /// Whether only a change helps, so that nothing is retried soon.
    pub stalled: bool,
}

/// Where a reconcile failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureStage {
    /// The stored revisions can't be read.
    State,
    /// The values can't be made.
    Values,
    /// The chart can't be rendered as a first revision.
    RenderInstall,
    /// The chart can't be rendered as a later revision.
    RenderUpgrade,
    /// The first revision can't be applied.
    Install,
    /// A later revision can't be applied.
    Upgrade,
    /// Drift can't be corrected.
    Reconcile,
    /// The release can't be removed.
    Uninstall,
    /// The server did not answer, or asks for patience.
    Transient,
}

/// How the objects of a release are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthSummary {
    ready: usize,
    not_ready: Vec<NotReady>,
    unseen: bool,
}

/// An object that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// Which.
    pub id: ObjectId,
    /// Why.
    pub reason: String,
    /// Whether it has given up.
    pub failed: bool,
}

impl HealthSummary {
    /// Sums up the verdicts on objects. An object whose verdict is not known yet is not ready.
    pub fn new<'a>(verdicts: impl IntoIterator<Item = (&'a ObjectId, Option<Health>)>) -> Self {
        let mut summary = Self::default();
        for (id, verdict) in verdicts {
            summary.unseen |= matches!(verdict, None | Some(Health::Unseen));
            let (reason, failed) = match verdict {
                Some(Health::Ready) => {
                    summary.ready += 1;
                    continue;
                }
                Some(Health::Unseen) => (UNSEEN.to_owned(), false),
                Some(Health::Progressing(reason)) => (reason, false),
                Some(Health::Failed(reason)) => (reason, true),
                None => ("nothing is known of it yet".to_owned(), false),
            };
            summary.not_ready.push(NotReady {
                id: id.clone(),
                reason,
                failed,
            });
        }
        summary
    }

    /// Whether the first word is missing of what has become of an object.
    pub fn is_unseen(&self) -> bool {
        self.unseen
    }

    /// Whether every object is ready.
    pub fn is_ready(&self) -> bool {
        self.not_ready.is_empty()
    }

    /// The objects that are not ready.
    pub fn not_ready(&self) -> &[NotReady] {
        &self.not_ready
    }

    fn total(&self) -> usize {
        self.ready + self.not_ready.len()
    }

    fn message(&self) -> String {
        let named: Vec<String> = self
            .not_ready
            .iter()
            .take(3)
            .map(|object| format!("{}: {}", object.id, object.reason))
            .collect();
        let more = self.not_ready.len().saturating_sub(named.len());
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        format!(
            "{} of {} workloads are ready; {}{more}",
            self.ready,
            self.total(),
            named.join("; ")
        )
    }

    fn to_json(&self) -> Value {
        let listed = self.not_ready.iter().take(MAX_NOT_READY).map(|object| {
            let mut entry = BTreeMap::from([
                ("kind", object.id.kind.as_str()),
                ("name", object.id.name.as_str()),
                ("message", object.reason.as_str()),
            ]);
            if let Some(namespace) = &object.id.namespace {
                entry.insert("namespace", namespace);
            }
            json!(entry)
        });
        json!({ "ready": self.ready, "total": self.total(), "notReady": listed.collect::<Vec<_>>() })
    }
}

/// The status that says `report`, given the status that is there.
pub fn next_status(current: &Value, report: &Report, generation: Option<i64>, now: Timestamp) -> Value {
    let no_conditions = Vec::new();
    let before = current
        .get("conditions")
        .and_then(Value::as_array)
        .unwrap_or(&no_conditions);
    let wanted = match report {
        Report::Deployed(deployed) => deployed_conditions(deployed, before),
        Report::Failed(failure) => failed_conditions(failure, before),
        Report::Uninstalling(blockers) => uninstalling_conditions(blockers),
        Report::Paused => return paused_status(current, before, now),
        Report::DryRun(dry_run) => return dry_run_status(current, dry_run, generation),
    };
    let mut next = current.as_object().cloned().unwrap_or_default();
    next.insert(
        "conditions".to_owned(),
        merge(before, &wanted, generation, now).into(),
    );
    next.insert("observedGeneration".to_owned(), json!(generation));
    if let Report::Deployed(deployed) = report {
        let mut chart = BTreeMap::from([("name", &deployed.chart), ("version", &deployed.chart_version)]);
        if let Some(version) = &deployed.app_version {
            chart.insert("appVersion", version);
        }
        next.insert("deployedRelease".to_owned(), deployed_release(deployed, current));
        next.insert("revision".to_owned(), json!(deployed.revision));
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

fn deployed_conditions(deployed: &Deployed, before: &[Value]) -> Vec<Condition> {
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
    } else if health.not_ready.iter().any(|object| object.failed) {
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

fn failed_conditions(failure: &Failure, before: &[Value]) -> Vec<Condition> {
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

fn uninstalling_conditions(blockers: &[String]) -> Vec<Condition> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `Type=Status Reason` of each condition, after reports one after the other.
    fn check(reports: &[Report], expect: &[&str]) {
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

    fn deployed(revision: u32, health: Option<Health>) -> Report {
        let id = ObjectId {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "web".to_owned(),
        };
        Report::Deployed(Deployed {
            release: ReleaseName::new("web").unwrap(),
            revision: Revision(revision),
            chart: "web".to_owned(),
            chart_version: "1.0.0".to_owned(),
            app_version: None,
            notes: Some("thanks".to_owned()),
            health: HealthSummary::new([(&id, health)]),
            manifest: ManifestInStatus::LeftOut,
        })
    }

    fn failed(stage: FailureStage, stalled: bool) -> Report {
        Report::Failed(Failure {
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
        let report = Report::Uninstalling(vec!["Service default/web (finalizers: x)".to_owned()]);
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
            &[deployed(1, None), Report::Paused, Report::Paused],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=False DependentsProgressing",
                "Paused=True PauseReconcileAnnotationTrue",
            ],
        );
        check(
            &[Report::Paused, deployed(1, Some(Health::Ready))],
            &[
                "Initialized=True",
                "Deployed=True InstallSuccessful",
                "Ready=True ReleaseReady",
            ],
        );
        let before = next_status(&json!({}), &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
        let paused = next_status(&before, &Report::Paused, Some(2), Timestamp::UNIX_EPOCH);
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
    fn the_same_report_gives_the_same_status() {
        let first = next_status(&json!({}), &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(100).unwrap();
        assert_eq!(next_status(&first, &deployed(1, None), Some(1), later), first);
    }
}
