//! The table of reports and the conditions that they call for.

use std::time::Duration;

use steersman_model::{ObjectId, ReleaseName, Revision};

use super::*;
use crate::status::dry_run::DryRunStatus;
use crate::status::health::{Health, HealthSummary};
use crate::status::release_report::{
    AtGate, Awaits, Dependent, Failure, FailureStage, Prospect, StageState, StageStatus, TestsReport,
};

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
    ReleaseReport::Deployed(Box::new(Deployed {
        release: ReleaseName::new("web").unwrap(),
        revision: Revision(revision),
        deployed_at: Timestamp::from_second(i64::from(revision) * 3600).ok(),
        chart: DeployedChart {
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            app_version: None,
        },
        notes: Some("thanks".to_owned()),
        health: HealthSummary::new([(&id, health)]),
        stages: Vec::new(),
        tests: None,
        handled_test: None,
        overlay: None,
        manifest: ManifestInStatus::LeftOut,
    }))
}

fn failed(stage: FailureStage, prospect: Prospect) -> ReleaseReport {
    ReleaseReport::Failed(Failure {
        stage,
        message: "web/templates/a.yaml:1:2: boom".to_owned(),
        prospect,
        stages: None,
    })
}

fn progressing() -> ReleaseReport {
    ReleaseReport::Progressing("release web is being installed".to_owned())
}

/// So many failures in a row, and so many seconds until the next try.
fn retried(failures: u32, pause: u64) -> Prospect {
    Prospect::Retry {
        failures,
        pause: Duration::from_secs(pause),
    }
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
        &[failed(FailureStage::RenderInstall, Prospect::Stalled)],
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
            progressing(),
            failed(FailureStage::Upgrade, retried(1, 1)),
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
            failed(FailureStage::Upgrade, retried(1, 1)),
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
fn what_is_being_done_is_said_and_takes_nothing_away_that_is_still_so() {
    check(
        &[progressing()],
        &[
            "Initialized=True",
            "Ready=False Progressing",
            "Reconciling=True Progressing",
        ],
    );
    check(
        &[
            deployed(1, Some(Health::Ready)),
            failed(FailureStage::Upgrade, Prospect::Stalled),
            progressing(),
        ],
        &[
            "Initialized=True",
            "Deployed=True InstallSuccessful",
            "ReleaseFailed=True UpgradeError",
            "Irreconcilable=True ReconcileError",
            "Ready=False Progressing",
            "Reconciling=True Progressing",
        ],
    );
    check(
        &[deployed(1, None), ReleaseReport::Uninstalling(Vec::new())],
        &[
            "Initialized=True",
            "Deployed=True InstallSuccessful",
            "Ready=False Uninstalling",
            "Reconciling=True Uninstalling",
        ],
    );
    let status = next_status(&json!({}), &progressing(), Some(4), Timestamp::UNIX_EPOCH);
    assert_eq!(status["observedGeneration"], 4);
    assert_eq!(
        status["conditions"][2]["message"],
        "release web is being installed"
    );
}

#[test]
fn a_release_that_was_ready_outlasts_some_failures_and_no_more_than_a_minute() {
    let ready = next_status(
        &json!({}),
        &deployed(1, Some(Health::Ready)),
        Some(1),
        Timestamp::UNIX_EPOCH,
    );
    let first = failed(FailureStage::Transient, retried(1, 1));
    let failing = next_status(&ready, &first, Some(1), Timestamp::UNIX_EPOCH);
    let outlasts = |generation, seconds, stage, prospect| {
        let now = Timestamp::from_second(seconds).unwrap();
        let status = next_status(&failing, &failed(stage, prospect), Some(generation), now);
        let conditions = status["conditions"].as_array().unwrap();
        let is_true = |kind| {
            let found = find(conditions, kind);
            found.is_some_and(|condition| condition["status"] == "True")
        };
        let goes_on = is_true(ConditionType::Reconciling);
        assert_ne!(goes_on, is_true(ConditionType::Stalled), "{status:#}");
        is_true(ConditionType::Ready)
    };
    for stage in [FailureStage::Transient, FailureStage::Reconcile] {
        assert!(outlasts(1, 0, stage, retried(1, 1)));
        assert!(outlasts(1, 52, stage, retried(4, 8)));
        // Too many, too long, or not before that is over.
        assert!(!outlasts(1, 8, stage, retried(5, 8)));
        assert!(!outlasts(1, 61, stage, retried(2, 0)));
        assert!(!outlasts(1, 10, stage, retried(2, 51)));
        // What helps is a change, or the resource says something else by now.
        assert!(!outlasts(1, 0, stage, Prospect::Stalled));
        assert!(!outlasts(2, 0, stage, retried(1, 1)));
    }
    // Of a release that was not ready, nothing is believed.
    let not_ready = next_status(&json!({}), &progressing(), Some(1), Timestamp::UNIX_EPOCH);
    let status = next_status(&not_ready, &first, Some(1), Timestamp::UNIX_EPOCH);
    assert_eq!(status["conditions"][1]["reason"], "ProgressingWithRetry");
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
fn a_resource_of_which_nothing_is_known_is_not_ready_while_it_is_held() {
    check(
        &[ReleaseReport::Paused],
        &[
            "Ready=False PauseReconcileAnnotationTrue",
            "Paused=True PauseReconcileAnnotationTrue",
        ],
    );
    let dry_run = ReleaseReport::DryRun(DryRunStatus {
        summary: "would be installed".to_owned(),
        hooks: Vec::new(),
        stages: Vec::new(),
        objects: Vec::new(),
    });
    check(std::slice::from_ref(&dry_run), &["Ready=False DryRun"]);
    check(&[ReleaseReport::Paused, dry_run.clone()], &["Ready=False DryRun"]);
    check(
        &[dry_run.clone(), ReleaseReport::Paused],
        &[
            "Ready=False PauseReconcileAnnotationTrue",
            "Paused=True PauseReconcileAnnotationTrue",
        ],
    );
    // helm-operator has said something.
    let theirs = json!({"conditions": [{"type": "Deployed", "status": "True"}]});
    for report in [ReleaseReport::Paused, dry_run] {
        let status = next_status(&theirs, &report, Some(1), Timestamp::UNIX_EPOCH);
        let conditions = status["conditions"].as_array().unwrap();
        assert_eq!(find(conditions, ConditionType::Ready), None, "{status}");
    }
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

fn unready(message: &str) -> ReleaseReport {
    ReleaseReport::Failed(Failure {
        stage: FailureStage::Unready {
            first: true,
            of_stage: true,
        },
        message: message.to_owned(),
        prospect: Prospect::Stalled,
        stages: None,
    })
}

fn at_gate() -> ReleaseReport {
    ReleaseReport::AtGate(AtGate {
        message: "is not ready yet".to_owned(),
        awaits: Awaits::Stage,
        stages: vec![StageStatus {
            name: "a".to_owned(),
            revision: Revision(1),
            state: StageState::Progressing,
            since: None,
            message: "is not ready yet".to_owned(),
        }],
    })
}

#[test]
fn what_has_failed_of_a_revision_is_over_where_it_waits_again() {
    let waiting = [
        "Initialized=True",
        "Ready=False StageProgressing",
        "Reconciling=True StageProgressing",
    ];
    check(&[unready("was not ready within 60s"), at_gate()], &waiting);
}

#[test]
fn what_is_told_beside_stages_leaves_changes_or_drops_them() {
    let now = Timestamp::UNIX_EPOCH;
    let before = next_status(&json!({}), &at_gate(), Some(1), now);
    let after = |stages: Option<Vec<StageStatus>>| {
        let mut report = unready("was not ready within 60s");
        *report.stages_beside().unwrap() = stages;
        next_status(&before, &report, Some(1), now)["stages"].clone()
    };
    assert_eq!(after(None), before["stages"]);
    assert_eq!(after(Some(vec![])), Value::Null);
    let failed = StageStatus {
        name: "a".to_owned(),
        revision: Revision(1),
        state: StageState::Failed,
        since: None,
        message: "was not ready within 60s".to_owned(),
    };
    assert_eq!(after(Some(vec![failed]))[0]["state"], "Failed");
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
    let failure = failed(FailureStage::Upgrade, retried(1, 1));
    let (failed_since, _, before) = status(&before, &failure);
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
fn what_is_deployed_is_shown_while_something_is_waited_for() {
    let waits = ReleaseReport::AwaitsProcedure(Dependent {
        message: "waits for WebBackup".to_owned(),
        stages: None,
        overlay: None,
    });
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let first = next_status(&json!({}), &deployed(1, Some(Health::Ready)), Some(1), at(1));
    let waiting = next_status(&first, &waits, Some(1), at(2));
    let ReleaseReport::Deployed(second) = deployed(2, Some(Health::Ready)) else {
        unreachable!("it is deployed");
    };
    let shown = status_showing(&waiting, &second, Some(1), at(3));
    let next = next_status(&shown, &waits, Some(1), at(3));
    assert_eq!(
        (&next["revision"], &next["lastDeployed"]),
        (&json!(2), &json!("1970-01-01T02:00:00Z"))
    );
    let condition = |kind: &str| {
        let all = next["conditions"].as_array().unwrap();
        let found = all.iter().find(|condition| condition["type"] == kind).unwrap();
        json!([found["status"], found["reason"], found["lastTransitionTime"]])
    };
    assert_eq!(
        condition("Deployed"),
        json!(["True", "UpgradeSuccessful", "1970-01-01T00:00:01Z"])
    );
    assert_eq!(
        condition("Ready"),
        json!(["False", "ProcedureNotFinished", "1970-01-01T00:00:02Z"])
    );
}

#[test]
fn the_same_report_gives_the_same_status() {
    let first = next_status(&json!({}), &deployed(1, None), Some(1), Timestamp::UNIX_EPOCH);
    let later = Timestamp::from_second(100).unwrap();
    assert_eq!(next_status(&first, &deployed(1, None), Some(1), later), first);
}

#[test]
fn tests_say_how_they_ended_and_leave_the_release_as_ready_as_it_is() {
    let tested = |tests| {
        let ReleaseReport::Deployed(mut report) = deployed(2, Some(Health::Ready)) else {
            unreachable!("it is one")
        };
        report.tests = tests;
        report.handled_test = Some("today".to_owned());
        ReleaseReport::Deployed(report)
    };
    let now = Timestamp::UNIX_EPOCH;
    let mut status = Value::Null;
    for (tests, expect) in [
        (TestsReport::Running, ("Unknown", "Progressing")),
        (TestsReport::Succeeded(2), ("True", "TestSucceeded")),
        (TestsReport::Failed("boom".to_owned()), ("False", "TestFailed")),
    ] {
        status = next_status(&status, &tested(Some(tests)), Some(1), now);
        let said = |kind: &str| {
            let conditions = status["conditions"].as_array().unwrap();
            let found = conditions
                .iter()
                .find(|condition| condition["type"] == kind)
                .unwrap();
            let text = |key: &str| found[key].as_str().unwrap().to_owned();
            (text("status"), text("reason"))
        };
        assert_eq!(said("TestSuccess"), (expect.0.to_owned(), expect.1.to_owned()));
        assert_eq!(said("Ready").0, "True");
        assert_eq!(status["lastHandledTest"], "today");
    }
    let retaken = next_status(&status, &deployed(3, Some(Health::Ready)), Some(2), now);
    assert_eq!(retaken.get("lastHandledTest"), None);
    // What is done next says nothing of them, and another revision was not tested.
    for (report, is_there) in [(progressing(), true), (deployed(3, Some(Health::Ready)), false)] {
        let next = next_status(&status, &report, Some(2), now);
        let mut conditions = next["conditions"].as_array().unwrap().iter();
        assert_eq!(
            conditions.any(|condition| condition["type"] == "TestSuccess"),
            is_there
        );
    }
}
