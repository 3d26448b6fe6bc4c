use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use steersman_watches::procedure::{
    Change, Concurrency, Cron, JobStep, Procedure, RunHistory, ScheduleSource, Step, Trigger, Work,
};

use super::decide::{UNKNOWN, next_action, run_state};
use super::due::due;
use super::job::{job_name, seen};
use super::known::{Known, KnownResource, KnownRun, Marks, Plan};
use super::record::{Outcome, ProcedureRecord, Stop, begun_mark, is_begun_mark};
use super::report::{Phase, result_of};
use super::state::{Action, Claim, Observed, RunState, Seen};
use super::work::Work as Due;
use crate::coordination::{Want, Wanted};
use crate::release::SigningKeys;

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
        Seen::Gone { idempotent: false }
    );
    // Who has deleted it has not ended it.
    assert_eq!(
        job(deleted(&["steersman.dev/procedure"]), json!({"active": 1})),
        Seen::Running("1 pod active".to_owned())
    );
}

#[test]
fn what_a_job_says_is_json_or_a_text() {
    assert_eq!(result_of(" {\"a\": 1}\n"), json!({"a": 1}));
    assert_eq!(result_of("7"), json!("7"));
    assert_eq!(result_of("{broken"), json!("{broken"));
}

fn schedule(cron: Cron, deadline: Option<Duration>) -> ScheduleSource {
    ScheduleSource {
        cron,
        time_zone: None,
        jitter: Duration::ZERO,
        deadline,
        concurrency: Concurrency::Forbid,
    }
}

#[test]
fn a_missed_time_is_made_up_for_once_unless_it_is_too_late() {
    let hourly = || Cron::Fixed("0 * * * *".to_owned());
    let hour = |hours: i64| at(hours * 3600);
    let next = |deadline: Option<u64>, last, now| {
        let source = schedule(hourly(), deadline.map(Duration::from_secs));
        due(&source, "uid", None, (last, now))
            .unwrap()
            .map(|due| due.tick)
    };
    assert_eq!(next(None, hour(5), at(5 * 3600 + 60)), Some(hour(6)));
    assert_eq!(next(None, hour(5), at(9 * 3600 + 60)), Some(hour(9)));
    assert_eq!(next(Some(30), hour(5), at(9 * 3600 + 60)), Some(hour(10)));
    assert_eq!(next(Some(120), hour(5), at(9 * 3600 + 60)), Some(hour(9)));
    // A year later, it is the last one, too.
    assert_eq!(next(None, hour(5), at(9000 * 3600 + 60)), Some(hour(9000)));
}

#[test]
fn a_schedule_that_is_none_or_never_comes_is_said() {
    let at_path = schedule(Cron::Value("backup.schedule".to_owned()), None);
    let words = |cron: &str| {
        let found = due(&at_path, "uid", Some(cron), (at(0), at(1)));
        found.map(|due| due.is_some()).map_err(|error| error.to_string())
    };
    assert_eq!(words(""), Ok(false));
    assert_eq!(words("@hourly"), Ok(true));
    assert_eq!(
        words("0 0 30 2 *").unwrap_err(),
        "the time of its schedule never comes"
    );
    assert!(
        words("* * * * * *")
            .unwrap_err()
            .contains("it has 6 fields, not five")
    );
    assert!(due(&at_path, "uid", None, (at(0), at(1))).unwrap().is_none());
}

#[test]
fn many_resources_with_one_schedule_do_not_begin_at_once() {
    let source = ScheduleSource {
        jitter: ScheduleSource::JITTER,
        ..schedule(Cron::Fixed("0 3 * * *".to_owned()), None)
    };
    let mut starts: BTreeMap<i64, usize> = BTreeMap::new();
    for number in 0..1000 {
        let found = due(&source, &format!("uid-{number}"), None, (at(0), at(1)));
        let start = found.unwrap().unwrap().start;
        *starts.entry(start.as_second()).or_default() += 1;
    }
    assert!(starts.len() > 25, "{starts:?}");
    assert!(starts.values().all(|count| *count < 80), "{starts:?}");
}

/// A resource of a minute ago with runs, each by its time, and whether it has succeeded where it has ended.
fn known(runs: &[(i64, Option<bool>)]) -> Known {
    let runs = runs.iter().enumerate().map(|(number, (tick, ended))| {
        let run = KnownRun {
            procedure: 0,
            name: format!("shop-restore-{}", tick / 60),
            owners: vec!["uid".to_owned()],
            is_ours: true,
            scheduled_at: Some(at(*tick)),
            request: None,
            ended: ended.map(|has_succeeded| (has_succeeded, at(*tick + 1))),
        };
        (format!("uid-{number}"), run)
    });
    Known {
        resource: Some(KnownResource {
            uid: "uid".to_owned(),
            marks: Marks::of(&ObjectMeta::default()),
            created: at(0),
            is_deleting: false,
            suspended: String::new(),
            request: None,
            plans: vec![Plan::default()],
        }),
        runs: runs.collect(),
        next: None,
    }
}

/// What is done for a resource at this second, and when to look again.
fn work(known: &mut Known, concurrency: Concurrency, second: i64) -> (Vec<String>, Option<i64>) {
    let source = ScheduleSource {
        concurrency,
        ..schedule(Cron::Fixed("* * * * *".to_owned()), None)
    };
    let procedure = Procedure {
        schedule: Some(source),
        history: RunHistory {
            succeeded: 2,
            failed: 1,
        },
        ..procedure(0)
    };
    let key = (Some("a".to_owned()), "shop".to_owned());
    let told = known
        .work(&key, (&[Arc::new(procedure)], &[]), at(second))
        .into_iter()
        .map(|work| match work {
            Due::Make(making) => format!(
                "make {:?} {:?}",
                making.scheduled_at.map(Timestamp::as_second),
                making.request
            ),
            Due::Cancel { name, .. } => format!("cancel {name}"),
            Due::Delete { name, .. } => format!("delete {name}"),
            Due::Complain { words, .. } => words,
        });
    (told.collect(), known.next.map(Timestamp::as_second))
}

#[test]
fn a_run_is_made_once_for_its_time_and_waits_for_the_one_before() {
    use Concurrency::{Allow, Forbid, Replace};
    let none = Vec::<String>::new;
    let mut new = known(&[]);
    assert_eq!(work(&mut new, Forbid, 59), (none(), Some(60)));
    let made = vec!["make Some(60) None".to_owned()];
    // Who makes a run can't say that it is for another time.
    let mut forged = known(&[(60, None)]);
    for run in forged.runs.values_mut() {
        run.scheduled_at = Some(at(9_000_000_000));
    }
    assert_eq!(work(&mut forged, Allow, 61).0, made);
    assert_eq!(work(&mut new, Forbid, 61), (made.clone(), None));
    assert_eq!(work(&mut new, Forbid, 62), (none(), Some(120)));
    // The one before is under way.
    let later = || vec!["make Some(120) None".to_owned()];
    assert_eq!(work(&mut known(&[(60, None)]), Forbid, 121), (none(), None));
    assert_eq!(work(&mut known(&[(60, None)]), Allow, 121).0, later());
    let replaced = vec!["cancel shop-restore-1".to_owned(), later().remove(0)];
    assert_eq!(work(&mut known(&[(60, None)]), Replace, 121).0, replaced);
    assert_eq!(work(&mut known(&[(60, Some(true))]), Forbid, 121).0, later());
    let mut suspended = known(&[]);
    suspended.resource.as_mut().unwrap().suspended = "backup, restore".to_owned();
    assert_eq!(work(&mut suspended, Forbid, 61), (none(), None));
    let mut going = known(&[]);
    going.resource.as_mut().unwrap().is_deleting = true;
    assert_eq!(work(&mut going, Forbid, 61), (none(), None));
}

#[test]
fn a_request_is_followed_once_and_needs_no_suspension_to_end() {
    let mut asked = known(&[]);
    let resource = asked.resource.as_mut().unwrap();
    resource.request = Some(("restore".to_owned(), "a".to_owned()));
    resource.suspended = "true".to_owned();
    let made = vec!["make None Some(\"a\")".to_owned()];
    assert_eq!(work(&mut asked, Concurrency::Forbid, 61), (made, None));
    assert_eq!(work(&mut asked, Concurrency::Forbid, 62), (Vec::new(), None));
    asked.resource.as_mut().unwrap().request = Some(("another".to_owned(), "b".to_owned()));
    assert_eq!(work(&mut asked, Concurrency::Forbid, 63), (Vec::new(), None));
}

#[test]
fn of_the_runs_that_have_ended_the_last_ones_stay_and_those_of_others() {
    let runs = [
        (60, Some(true)),
        (120, Some(false)),
        (180, Some(true)),
        (240, Some(true)),
        (300, Some(false)),
    ];
    let mut ended = known(&runs);
    let (told, _) = work(&mut ended, Concurrency::Forbid, 301);
    assert_eq!(told, ["delete shop-restore-1", "delete shop-restore-2"]);
    let mut of_others = known(&runs);
    of_others.runs.values_mut().for_each(|run| run.is_ours = false);
    assert_eq!(
        work(&mut of_others, Concurrency::Forbid, 301).0,
        Vec::<String>::new()
    );
    // Also where the resource is gone.
    let mut left = known(&runs);
    left.resource = None;
    assert_eq!(work(&mut left, Concurrency::Forbid, 301).0.len(), 2);
}

#[test]
fn a_run_that_the_release_wants_is_made_once_and_stays_as_long_as_it_is_wanted() {
    let key = (Some("a".to_owned()), "shop".to_owned());
    let changing = |from: i64| Want {
        procedure: 0,
        what: Wanted::Change(
            Change {
                from: from.into(),
                to: (from + 1).into(),
            },
            4,
        ),
    };
    let on = Trigger {
        path: "size".to_owned(),
        by: Some(1),
    };
    let resize = [Arc::new(Procedure {
        on: Some(on),
        history: RunHistory {
            succeeded: 0,
            failed: 0,
        },
        ..procedure(0)
    })];
    let done = |known: &mut Known, wants: &[Want]| -> Vec<String> {
        let work = known.work(&key, (&resize, wants), at(1)).into_iter();
        let told = work.map(|work| match work {
            Due::Make(making) => format!("make {}", making.name()),
            Due::Delete { name, .. } => format!("delete {name}"),
            other => panic!("{other:?}"),
        });
        told.collect()
    };
    let mut settled = known(&[]);
    let made = done(&mut settled, &[changing(1)]);
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(done(&mut settled, &[changing(1)]), Vec::<String>::new());
    let name = made[0].strip_prefix("make ").unwrap().to_owned();
    let run = |ended| KnownRun {
        procedure: 0,
        name: name.clone(),
        owners: vec!["uid".to_owned()],
        is_ours: true,
        scheduled_at: None,
        request: None,
        ended,
    };
    // The next one waits for it, and what has failed is kept while it is wanted.
    settled.runs.insert("run".to_owned(), run(None));
    assert_eq!(done(&mut settled, &[changing(2)]), Vec::<String>::new());
    settled.runs.insert("run".to_owned(), run(Some((false, at(1)))));
    assert_eq!(done(&mut settled, &[changing(1)]), Vec::<String>::new());
    let next = done(&mut settled, &[changing(2)]);
    assert_eq!(next[0], format!("delete {name}"));
    assert!(next[1].starts_with("make ") && next[1] != made[0], "{next:?}");

    // It is made again when it is gone, and nothing is made of what is suspended.
    let mut gone = known(&[]);
    assert_eq!(done(&mut gone, &[changing(1)]), made);
    gone.note_gone(Some(&run(Some((false, at(1))))));
    assert_eq!(done(&mut gone, &[changing(1)]), made);
    gone.resource.as_mut().unwrap().suspended = "restore".to_owned();
    assert_eq!(done(&mut gone, &[changing(2)]), Vec::<String>::new());
}
