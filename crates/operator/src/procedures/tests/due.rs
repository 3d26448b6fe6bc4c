//! What is due by itself: schedules, requests, and runs that the release wants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_watches::procedure::{
    Change, Concurrency, Cron, Procedure, RunHistory, ScheduleSource, Trigger,
};

use super::super::due::due;
use super::super::known::{End, Known, KnownResource, KnownRun, Marks, Plan};
use super::super::work::Work as Due;
use super::{at, procedure};
use crate::coordination::{Want, Wanted};

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

#[test]
fn a_schedule_asks_for_the_first_time_after_the_last_success() {
    let mut procedure = procedure(0);
    procedure.schedule = Some(schedule(Cron::Fixed("0 * * * *".to_owned()), None));
    let mut resource = known(&[]).resource.unwrap();
    resource.created = at(60);
    let mut plan = Plan::default();
    let expected = |resource: &KnownResource, plan: &Plan| {
        let expected = resource.expected(&procedure, plan);
        expected.map(|time| time.as_second() / 60)
    };
    assert_eq!(expected(&resource, &plan), Some(60));
    plan.success = Some(at(7200));
    assert_eq!(expected(&resource, &plan), Some(180));
    "backup, restore".clone_into(&mut resource.suspended);
    assert_eq!(expected(&resource, &plan), None);
}

fn how(has_succeeded: bool) -> End {
    if has_succeeded {
        End::Succeeded
    } else {
        End::Failed
    }
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
            is_open_gate: false,
            has_ended: ended.is_some(),
            end: ended.map(|has_succeeded| (how(has_succeeded), at(*tick + 1))),
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
            complaint: None,
            plans: vec![Plan::default()],
        }),
        runs: runs.collect(),
        going: BTreeMap::new(),
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
        .work(&key, (&[Arc::new(procedure)], Some(&[])), at(second))
        .into_iter()
        .map(|work| match work {
            Due::Make(making) => format!(
                "make {:?} {:?}",
                making.scheduled_at.map(Timestamp::as_second),
                making.request
            ),
            Due::Cancel { name, .. } => format!("cancel {name}"),
            Due::Delete { name, .. } => format!("delete {name}"),
            Due::LetGo { uid, .. } => format!("let go of {uid}"),
            Due::LetGoOfFormer => "let go of those of former runs".to_owned(),
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
    resource.request = Some(Ok(("restore".to_owned(), "a".to_owned())));
    resource.suspended = "true".to_owned();
    let made = vec!["make None Some(\"a\")".to_owned()];
    assert_eq!(work(&mut asked, Concurrency::Forbid, 61), (made, None));
    assert_eq!(work(&mut asked, Concurrency::Forbid, 62), (Vec::new(), None));
    asked.resource.as_mut().unwrap().request = Some(Ok(("another".to_owned(), "b".to_owned())));
    assert_eq!(work(&mut asked, Concurrency::Forbid, 63), (Vec::new(), None));
    // What is wrong with one is said once, and not of a resource that goes.
    for (is_deleting, told) in [(true, 0), (false, 1), (false, 0)] {
        let resource = asked.resource.as_mut().unwrap();
        resource.request = Some(Err("no such procedure".to_owned()));
        resource.is_deleting = is_deleting;
        let (found, _) = work(&mut asked, Concurrency::Forbid, 64);
        assert_eq!(found.len(), told, "{found:?}");
    }
}

#[test]
fn a_request_that_an_annotation_can_not_make_is_told_once_whatever_the_status_says() {
    let all = [Arc::new(Procedure {
        confirm: true,
        ..procedure(0)
    })];
    let key = (Some("a".to_owned()), "shop".to_owned());
    let mut asked = known(&[]);
    asked.resource.as_mut().unwrap().request = Some(Ok(("restore".to_owned(), "a".to_owned())));
    for told in [1, 0, 0] {
        let found = asked.work(&key, (&all, Some(&[])), at(61));
        assert_eq!(found.len(), told);
        // It has the one before.
        asked.resource.as_mut().unwrap().plans[0].request = Some("0".to_owned());
    }
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
    // Ends that nobody has signed, and those that nobody has looked at, take the place of none.
    let mut forged = known(&runs);
    let mut all = forged.runs.values_mut();
    all.next().unwrap().end = None;
    for run in all {
        run.end = Some((End::Unsigned, at(1000)));
    }
    let more = known(&runs).runs.into_iter();
    forged
        .runs
        .extend(more.map(|(uid, run)| (format!("genuine-{uid}"), run)));
    let (told, _) = work(&mut forged, Concurrency::Forbid, 301);
    assert_eq!(told.len(), 5, "{told:?}");
    let left = |end| {
        forged
            .runs
            .values()
            .filter(|run| run.end.map(|(end, _)| end) == end)
            .count()
    };
    assert_eq!(
        [None, Some(End::Unsigned), Some(End::Succeeded), Some(End::Failed)].map(left),
        [1, 1, 2, 1]
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
        name: format!("shop-resize-{from}"),
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
        let work = known.work(&key, (&resize, Some(wants)), at(1)).into_iter();
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
    let run = |end: Option<(End, Timestamp)>| KnownRun {
        procedure: 0,
        name: name.clone(),
        owners: vec!["uid".to_owned()],
        is_ours: true,
        scheduled_at: None,
        request: None,
        has_ended: end.is_some(),
        is_open_gate: false,
        end,
    };
    // The next one waits for it, and what has failed is kept while it is wanted.
    settled.runs.insert("run".to_owned(), run(None));
    assert_eq!(done(&mut settled, &[changing(2)]), Vec::<String>::new());
    settled
        .runs
        .insert("run".to_owned(), run(Some((End::Failed, at(1)))));
    assert_eq!(done(&mut settled, &[changing(1)]), Vec::<String>::new());
    let next = done(&mut settled, &[changing(2)]);
    assert_eq!(next[0], format!("delete {name}"));
    assert!(next[1].starts_with("make ") && next[1] != made[0], "{next:?}");

    // Nobody knows what is wanted before the release was looked at.
    let mut unseen = known(&[]);
    unseen
        .runs
        .insert("run".to_owned(), run(Some((End::Failed, at(1)))));
    assert!(unseen.work(&key, (&resize, None), at(1)).is_empty());

    // It is made again when it is gone, and nothing is made of what is suspended.
    let mut gone = known(&[]);
    assert_eq!(done(&mut gone, &[changing(1)]), made);
    gone.note_gone(Some(&run(Some((End::Failed, at(1))))));
    assert_eq!(done(&mut gone, &[changing(1)]), made);
    gone.resource.as_mut().unwrap().suspended = "restore".to_owned();
    assert_eq!(done(&mut gone, &[changing(2)]), Vec::<String>::new());
}
