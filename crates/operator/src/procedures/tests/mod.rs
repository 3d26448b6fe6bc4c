mod due;

use jiff::Timestamp;
use serde_json::json;
use steersman_watches::procedure::{JobStep, Procedure, RunHistory, Step, Work};

use super::cache::Written;
use super::decide::{UNKNOWN, next_action, run_state};
use super::job::{job_name, seen};
use super::record::{Outcome, ProcedureRecord, Stop, begun_mark, is_begun_mark};
use super::report::{Phase, result_of};
use super::state::{Action, Claim, Observed, RunState, Seen};
use super::words::masked_result;
use crate::release::SigningKeys;
use crate::status::Redactor;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn step(name: &str) -> Step {
    Step {
        name: name.to_owned(),
        work: Work::Job(JobStep {
            file: "job.yaml".to_owned(),
            idempotent: false,
        }),
        timeout: None,
    }
}

/// Two steps, and one that follows in any case.
fn procedure(retries: u32) -> Procedure {
    Procedure {
        name: "restore".to_owned(),
        run_kind: "WebRestore".to_owned(),
        parameters: Vec::new(),
        steps: vec![step("copy"), step("load")],
        finally: vec![step("clean")],
        schedule: None,
        on: None,
        before: None,
        exclusive: false,
        confirm: false,
        retries,
        timeout: None,
        history: RunHistory::default(),
    }
}

fn failed(why: &str) -> Outcome {
    Outcome::Failed(why.to_owned())
}

/// Carries a run out whose steps come to these outcomes, and gives the steps with their tries, and the end.
fn carry_out(procedure: &Procedure, outcomes: &[(Outcome, Option<Stop>)]) -> (Vec<String>, Phase) {
    let mut record = ProcedureRecord::begin(procedure, ("uid", Some(1)), None, at(0));
    let mut told = Vec::new();
    for (outcome, stop) in outcomes {
        let open = record.open().unwrap_or_else(|| panic!("it has ended: {told:?}"));
        told.push(format!("{} {}", open.name, open.attempt));
        record.note_outcome(outcome.clone(), stop.as_ref(), at(1));
        record.advance(procedure, stop.as_ref(), at(2));
    }
    assert_eq!(record.open(), None, "there is another step");
    (told, Phase::of(Some(&record), procedure))
}

#[test]
fn steps_follow_each_other_and_the_last_ones_follow_in_any_case() {
    use Outcome::Succeeded;
    let all = |outcomes: &[Outcome]| -> Vec<(Outcome, Option<Stop>)> {
        outcomes.iter().map(|outcome| (outcome.clone(), None)).collect()
    };
    for (retries, outcomes, told, phase) in [
        (
            0,
            all(&[Succeeded, Succeeded, Succeeded]),
            &["copy 1", "load 1", "clean 1"][..],
            Phase::Succeeded,
        ),
        (
            0,
            all(&[failed("a"), Succeeded]),
            &["copy 1", "clean 1"],
            Phase::Failed,
        ),
        (
            1,
            all(&[failed("a"), Succeeded, Succeeded, Succeeded]),
            &["copy 1", "copy 2", "load 1", "clean 1"],
            Phase::Succeeded,
        ),
        (
            1,
            all(&[Succeeded, failed("a"), failed("b"), failed("c"), Succeeded]),
            &["copy 1", "load 1", "load 2", "clean 1", "clean 2"],
            Phase::Failed,
        ),
        (
            0,
            all(&[Succeeded, Succeeded, failed("a")]),
            &["copy 1", "load 1", "clean 1"],
            Phase::Failed,
        ),
        (
            3,
            vec![(failed("stopped"), Some(Stop::Cancelled)), (Succeeded, None)],
            &["copy 1", "clean 1"],
            Phase::Cancelled,
        ),
        // It has succeeded before it was stopped.
        (
            3,
            vec![(Succeeded, Some(Stop::Late)), (Succeeded, None)],
            &["copy 1", "clean 1"],
            Phase::Failed,
        ),
        (
            1,
            vec![
                (failed("late"), Some(Stop::StepLate)),
                (Succeeded, None),
                (Succeeded, None),
                (Succeeded, None),
            ],
            &["copy 1", "copy 2", "load 1", "clean 1"],
            Phase::Succeeded,
        ),
    ] {
        let found = carry_out(&procedure(retries), &outcomes);
        let told: Vec<String> = told.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(found, (told, phase), "{outcomes:?}");
    }
}

fn observed(record: Option<ProcedureRecord>, seen: Option<Seen>) -> Observed {
    Observed {
        deleting: false,
        has_finalizer: true,
        record,
        claim: Claim::New,
        refused: None,
        held: None,
        stop: None,
        seen,
    }
}

#[test]
fn a_run_that_was_not_begun_is_refused_before_it_is_held_up() {
    let new = Observed {
        has_finalizer: false,
        ..observed(None, None)
    };
    let words = || Some("words".to_owned());
    for (observed, action) in [
        (new.clone(), Some(Action::Begin)),
        (
            Observed {
                claim: Claim::Begun,
                ..observed(None, None)
            },
            Some(Action::TakeUp),
        ),
        (
            Observed {
                claim: Claim::Begun,
                ..observed(None, Some(Seen::Running("1 pod active".to_owned())))
            },
            Some(Action::StopJob),
        ),
        (
            Observed {
                claim: Claim::Begun,
                ..observed(None, Some(Seen::Stopping))
            },
            None,
        ),
        (
            Observed {
                claim: Claim::Over,
                ..new.clone()
            },
            Some(Action::Refuse(UNKNOWN.to_owned())),
        ),
        (
            Observed {
                claim: Claim::Ended,
                ..new.clone()
            },
            None,
        ),
        (
            Observed {
                refused: words(),
                held: words(),
                ..new.clone()
            },
            Some(Action::Refuse("words".to_owned())),
        ),
        (
            Observed {
                held: words(),
                stop: Some(Stop::Cancelled),
                ..new.clone()
            },
            Some(Action::Cancel),
        ),
        (
            Observed {
                held: words(),
                ..new.clone()
            },
            None,
        ),
        (
            Observed {
                deleting: true,
                ..new.clone()
            },
            None,
        ),
        (
            Observed {
                deleting: true,
                ..observed(None, None)
            },
            Some(Action::RemoveFinalizer),
        ),
    ] {
        assert_eq!(next_action(run_state(observed.clone())), action, "{observed:?}");
    }
}

#[test]
fn what_was_begun_is_brought_to_its_end() {
    let record = ProcedureRecord::begin(&procedure(0), ("uid", Some(1)), None, at(0));
    let with = |seen: Seen, stop: Option<Stop>| {
        let observed = Observed {
            stop,
            ..observed(Some(record.clone()), Some(seen))
        };
        next_action(run_state(observed))
    };
    let running = || Seen::Running("1 pod active".to_owned());
    let gone = |idempotent| Seen::Gone { idempotent };
    let cancelled = || Some(Stop::Cancelled);
    let stopped = Some(Action::NoteOutcome(failed("the run is cancelled")));
    assert_eq!(with(Seen::NotMade, None), Some(Action::Make));
    assert_eq!(with(Seen::NotMade, cancelled()), stopped);
    assert_eq!(with(running(), None), None);
    assert_eq!(with(running(), cancelled()), Some(Action::StopJob));
    assert_eq!(with(Seen::Deleted, None), Some(Action::StopJob));
    assert_eq!(with(Seen::Stopping, cancelled()), None);
    assert_eq!(with(gone(false), cancelled()), stopped);
    assert_eq!(with(gone(true), None), Some(Action::MakeAgain));
    assert!(matches!(
        with(gone(false), None),
        Some(Action::NoteOutcome(Outcome::Failed(_)))
    ));
    // Its UID is noted before it is stopped.
    let made = Seen::Made("uid".to_owned());
    assert_eq!(with(made, cancelled()), Some(Action::NoteJob("uid".to_owned())));
    let ended = Seen::Ended(Outcome::Succeeded);
    assert_eq!(
        with(ended, cancelled()),
        Some(Action::NoteOutcome(Outcome::Succeeded))
    );
    assert_eq!(run_state(observed(Some(record.clone()), None)), RunState::Between);
    let held = |stop| Observed {
        held: Some("it is paused".to_owned()),
        stop,
        ..observed(Some(record.clone()), Some(Seen::NotMade))
    };
    assert_eq!(next_action(run_state(held(None))), None);
    assert_eq!(next_action(run_state(held(cancelled()))), stopped);
    let without = Observed {
        has_finalizer: false,
        ..observed(Some(record), Some(Seen::NotMade))
    };
    assert_eq!(next_action(run_state(without)), Some(Action::AddFinalizer));
}

#[test]
fn what_follows_in_any_case_follows_where_nobody_knows_what_was_done() {
    let mut record = ProcedureRecord::take_up(&procedure(0), "uid", UNKNOWN.to_owned(), at(0));
    assert_eq!(record.open().unwrap().name, "clean");
    assert_eq!(Phase::of(Some(&record), &procedure(0)), Phase::Finishing);
    record.note_outcome(Outcome::Succeeded, None, at(1));
    assert_eq!(
        Phase::of(Some(&record), &procedure(0)),
        Phase::Finishing,
        "between two steps, too"
    );
    record.advance(&procedure(0), None, at(2));
    assert_eq!(Phase::of(Some(&record), &procedure(0)), Phase::Failed);
    assert_eq!(record.failure.as_deref(), Some(UNKNOWN));
}

#[test]
fn a_record_that_others_have_changed_is_not_believed() {
    let keys = SigningKeys::new([("key-1".to_owned(), vec![7; 32])]);
    let mut record = ProcedureRecord::begin(&procedure(0), ("uid", Some(1)), None, at(0));
    record.note_job("job");
    let written = record.sign(&keys, "run").unwrap();
    assert_eq!(ProcedureRecord::read(&written, &keys, "run"), Some(record));
    assert_eq!(ProcedureRecord::read(&written, &keys, "another"), None);
    let mark = begun_mark(&keys, "run");
    assert!(is_begun_mark(&mark, &keys, "run"));
    assert!(!is_begun_mark(&mark, &keys, "another") && !is_begun_mark("run", &keys, "run"));
    for (place, value) in [
        ("/steps/0/job", json!("other")),
        ("/steps/0/attempt", json!(2)),
        ("/resourceUid", json!("other")),
    ] {
        let mut other = written.clone();
        *other.pointer_mut(place).unwrap() = value;
        assert_eq!(ProcedureRecord::read(&other, &keys, "run"), None, "{place}");
    }
}

#[test]
fn the_name_of_a_job_is_short_and_another_one_for_each_try() {
    let name = job_name("west-backup", "uid", "copy", 1);
    assert!(name.starts_with("west-backup-copy-") && name == job_name("west-backup", "uid", "copy", 1));
    assert_ne!(name, job_name("west-backup", "uid", "copy", 2));
    assert_ne!(name, job_name("west-backup", "other", "copy", 1));
    let long = job_name(&"a".repeat(253), "uid", "copy", 1);
    assert!(long.len() <= 63 && !long.contains("--"), "{long}");
    assert!(job_name(&format!("{}.b", "a".repeat(51)), "uid", "copy", 1).len() <= 63);
}

#[test]
fn a_job_says_how_far_it_is() {
    let job = |metadata: serde_json::Value, status: serde_json::Value| {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": status});
        seen(&serde_json::from_value(job).unwrap())
    };
    let condition = |kind: &str| json!({"conditions": [{"type": kind, "status": "True", "reason": "Late", "message": "so"}]});
    let deleted =
        |finalizers: &[&str]| json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers});
    assert_eq!(
        job(json!({}), condition("Complete")),
        Seen::Ended(Outcome::Succeeded)
    );
    assert_eq!(
        job(json!({}), condition("Failed")),
        Seen::Ended(failed("Late: so"))
    );
    // Its pods go when somebody deletes it, which counts as a failure of theirs.
    let failed_at = |second: u32| {
        let mut status = condition("Failed");
        status["conditions"][0]["lastTransitionTime"] = format!("2026-01-01T00:00:0{second}Z").into();
        status
    };
    let deleted_at_1 =
        json!({"deletionTimestamp": "2026-01-01T00:00:01Z", "finalizers": ["steersman.dev/procedure"]});
    assert_eq!(
        job(deleted_at_1.clone(), failed_at(0)),
        Seen::Ended(failed("Late: so"))
    );
    assert_eq!(job(deleted_at_1.clone(), failed_at(1)), Seen::Deleted);
    // That it would fail was known before.
    let mut failing = failed_at(2);
    let target =
        json!({"type": "FailureTarget", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    failing["conditions"].as_array_mut().unwrap().push(target);
    assert_eq!(job(deleted_at_1, failing), Seen::Ended(failed("Late: so")));
    assert_eq!(
        job(json!({}), json!({"active": 2})),
        Seen::Running("2 pods active".to_owned())
    );
    assert_eq!(
        job(deleted(&["foregroundDeletion"]), json!({"active": 1})),
        Seen::Stopping
    );
    assert_eq!(
        job(deleted(&["steersman.dev/procedure"]), json!({})),
        Seen::Deleted,
        "its pods tell whether it is gone"
    );
}

#[test]
fn a_secret_is_masked_however_json_writes_it() {
    let values =
        json!({"password": "https://user:s3cr3tpathword/with/slash", "token": "p\u{e4}ssw\u{f6}rd-geheim"});
    let redactor = Redactor::new([], &values);
    for said in [
        r#"{"b": "https:\/\/user:s3cr3tpathword\/with\/slash"}"#,
        r#"{"b": ["\u0070\u00e4ssw\u00f6rd-geheim"]}"#,
        r#"{"\u0070\u00e4ssw\u00f6rd-geheim": 1}"#,
        r#"{"b": "https://user:s3cr3tpathword/with/slash"}"#,
        // Between others, line by line, and alone.
        r#"[app] failed: {"b": "https:\/\/user:s3cr3tpathword\/with\/slash"} at 7 [x]"#,
        "{\"a\": 1}\n{\"b\": \"\\u0070\\u00e4ssw\\u00f6rd-geheim\"}\n{\"c\": 2}",
        r#"said "\u0070\u00e4ssw\u00f6rd-geheim", and ended"#,
    ] {
        let told = masked_result(said, &redactor).to_string();
        assert!(!told.contains("s3cr3t") && !told.contains("geheim"), "{told}");
        assert!(told.contains("****"), "{told}");
    }
    assert_eq!(masked_result(r#"{"size": 7}"#, &redactor), json!({"size": 7}));
    assert_eq!(masked_result("done", &redactor), json!("done"));
    let plain = r#"[app] "a \"b\"" of {"size":  7, "broken": [1"#;
    assert_eq!(masked_result(plain, &redactor), json!(plain));
}

#[test]
fn what_a_job_says_is_json_or_a_text() {
    assert_eq!(result_of(" {\"a\": 1}\n"), json!({"a": 1}));
    assert_eq!(result_of("7"), json!("7"));
    assert_eq!(result_of("{broken"), json!("{broken"));
}

#[test]
fn the_end_of_a_run_that_was_begun_is_remembered() {
    let mut without_last_steps = procedure(0);
    without_last_steps.finally.clear();
    let taken_up = ProcedureRecord::take_up(&without_last_steps, "uid", UNKNOWN.to_owned(), at(1));
    let under_way = ProcedureRecord::begin(&without_last_steps, ("uid", Some(1)), None, at(0));
    let refused = ProcedureRecord::unbegun("no such resource".to_owned(), false, at(1));
    for (record, is_remembered) in [(&taken_up, true), (&under_way, false), (&refused, false)] {
        let mut written = Written::default();
        written.may_be(record);
        assert_eq!(written.ended(), None, "{record:?}");
        written.is(record);
        assert_eq!(written.ended().is_some(), is_remembered, "{record:?}");
    }
}
