//! Runs that begin by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_model::Digest;
use steersman_testkit::cluster::{OperatorProcess, number_of_releases, seconds_of_waiting};

use super::{BACKUP, annotate, begin, end_pod, released, runs, wait_job, wait_phase, with_procedures};
use crate::bench::{Bench, PATIENCE};

/// The names of runs, and what has made each.
async fn made(bench: &Bench, kind: &str) -> Vec<(String, String)> {
    let found = runs(bench, kind).list(&ListParams::default()).await.unwrap();
    let told = found.items.into_iter().map(|run| {
        let annotations = run.metadata.annotations.unwrap_or_default();
        let trigger = annotations.get("steersman.dev/trigger").cloned();
        (run.metadata.name.unwrap(), trigger.unwrap_or_default())
    });
    told.collect()
}

pub(super) async fn wait_made(bench: &Bench, kind: &str, count: usize) -> Vec<(String, String)> {
    for _ in 0..1800 {
        let found = made(bench, kind).await;
        if found.len() == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{count} runs did not come: {:?}", made(bench, kind).await);
}

/// Waits for a run of this kind with this annotation, and gives it.
async fn wait_annotated(bench: &Bench, kind: &str, (annotation, value): (&str, &str)) -> Value {
    let is_it = |run: &Value| (run["metadata"]["annotations"][annotation] == value).then(|| run.clone());
    let what = format!("the {kind} of {value}");
    let all = watcher::Config::default();
    bench.wait_some(&what, &runs(bench, kind), all, is_it).await
}

fn name_of(run: &Value) -> String {
    run["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Waits for the run of a request, and gives its name.
async fn wait_request(bench: &Bench, request: &str) -> String {
    let run = wait_annotated(bench, "WebBackup", ("steersman.dev/request", request)).await;
    assert_eq!(
        run["metadata"]["annotations"]["steersman.dev/trigger"],
        "annotation"
    );
    name_of(&run)
}

#[tokio::test]
async fn a_request_in_an_annotation_is_followed_once() {
    let procedures = "  - {name: backup, job: procedures/job.yaml, history: {succeeded: 1}}
  - {name: restore, job: procedures/job.yaml, confirm: true}
";
    let Some(bench) = with_procedures("procedureasked", &["WebBackup", "WebRestore"], procedures).await
    else {
        return;
    };
    let operator = released(&bench).await;
    for request in ["a", "b"] {
        let value = format!("backup@{request}");
        annotate(&bench.webs(), "shop", "steersman.dev/run", &value).await;
        let name = wait_request(&bench, request).await;
        let job = wait_job(&bench, "WebBackup", &name, "job", 1).await;
        end_pod(&bench, &job, "Succeeded", "").await;
        bench
            .wait("the request", &bench.webs(), "shop", |web| {
                let shown = web.pointer("/status/procedures/backup")?;
                (shown["lastRequest"] == request && shown["phase"] == "Succeeded").then_some(())
            })
            .await;
    }
    // Of those that have ended there is place for one.
    let kept = wait_made(&bench, "WebBackup", 1).await;
    operator.kill().await.unwrap();
    let api = runs(&bench, "WebBackup");
    api.delete(&kept[0].0, &Default::default()).await.unwrap();
    bench.wait_gone(&api, &kept[0].0).await;
    let operator = bench.ready_operator().await;
    annotate(&bench.webs(), "shop", "steersman.dev/run", "restore@c").await;
    let words = bench.wait_event("ProcedureUnusable").await;
    assert!(
        words.contains("procedure restore needs somebody's word"),
        "{words}"
    );
    assert_eq!(made(&bench, "WebBackup").await, [], "it was followed before");

    // Nor is one followed again whose run somebody has taken away before it was begun.
    annotate(&bench.webs(), "shop", "steersman.dev/pause", "true").await;
    annotate(&bench.webs(), "shop", "steersman.dev/run", "backup@d").await;
    let held = wait_request(&bench, "d").await;
    bench
        .wait("the request", &bench.webs(), "shop", |web| {
            (web.pointer("/status/procedures/backup/lastRequest")? == "d").then_some(())
        })
        .await;
    let shown = bench.webs().get("shop").await.unwrap();
    assert_eq!(
        shown.data["status"]["procedures"]["backup"]["phase"], "Succeeded",
        "of the last that was begun"
    );
    api.delete(&held, &Default::default()).await.unwrap();
    bench.wait_gone(&api, &held).await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    annotate(&bench.webs(), "shop", "steersman.dev/pause", "false").await;
    // What is asked for next comes behind it.
    annotate(&bench.webs(), "shop", "steersman.dev/run", "backup@e").await;
    let next = wait_request(&bench, "e").await;
    let left: Vec<String> = made(&bench, "WebBackup")
        .await
        .into_iter()
        .map(|run| run.0)
        .collect();
    assert_eq!(left, [next]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_of_others_under_the_name_of_one_that_is_due_is_said_and_the_other_one_comes_when_it_is_gone() {
    let Some(bench) = with_procedures("proceduretaken", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    let uid = bench.webs().get("shop").await.unwrap().metadata.uid.unwrap();
    let digest = Digest::of(format!("{uid}/one").as_bytes()).to_string();
    let name = format!("shop-backup-{}", &digest[..10]);
    begin(&bench, "WebBackup", &name, json!({})).await;
    let job = wait_job(&bench, "WebBackup", &name, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", &name, "Succeeded").await;
    annotate(&bench.webs(), "shop", "steersman.dev/run", "backup@one").await;
    let words = bench.wait_event("ProcedureUnusable").await;
    let said = format!("there is a WebBackup {name} of somebody else's");
    assert!(words.contains(&said), "{words}");
    let web = bench.webs().get("shop").await.unwrap();
    let request = web.data.pointer("/status/procedures/backup/lastRequest");
    assert_eq!(request, None, "it was not followed");

    let api = runs(&bench, "WebBackup");
    api.delete(&name, &Default::default()).await.unwrap();
    let again = wait_job(&bench, "WebBackup", &name, "job", 1).await;
    assert_ne!(again, job);
    operator.stop().await.unwrap();
}

/// One after the other, the next one in place of one that works, both at once, one that may not be late, and one by the clocks of
/// another place.
const SCHEDULES: &str = "  - name: backup
    job: procedures/job.yaml
    schedule: {value: backup.schedule, jitter: 0s}
  - name: swap
    job: procedures/job.yaml
    schedule: {value: backup.schedule, jitter: 0s, concurrency: replace}
  - name: both
    job: procedures/job.yaml
    schedule: {value: backup.schedule, jitter: 0s, concurrency: allow}
  - name: late
    steps: [{wait: ready}]
    schedule: {value: backup.schedule, jitter: 0s, deadline: 1s}
  - name: there
    steps: [{wait: ready}]
    schedule: {value: there.schedule, jitter: 0s, timeZone: Asia/Kolkata}
";

/// Before UTC, all the year.
const KOLKATA: SignedDuration = SignedDuration::from_mins(330);

/// The first whole minute after this.
fn minute_after(time: Timestamp) -> Timestamp {
    Timestamp::from_second((time.as_second() / 60 + 1) * 60).unwrap()
}

/// The run for this time of a schedule.
async fn wait_tick(bench: &Bench, kind: &str, tick: Timestamp) -> String {
    let of_tick = ("steersman.dev/scheduled-at", &*tick.to_string());
    name_of(&wait_annotated(bench, kind, of_tick).await)
}

/// When a procedure has succeeded last, as the metrics tell.
async fn last_success(operator: &OperatorProcess, procedure: &str) -> Option<String> {
    let page = operator.metrics().await.unwrap();
    let is_it = |line: &&str| {
        line.starts_with("steersman_procedure_last_success_timestamp_seconds{")
            && line.contains(&format!("procedure=\"{procedure}\""))
    };
    let line = page.lines().find(is_it)?;
    Some(line.rsplit(' ').next()?.to_owned())
}

#[tokio::test]
async fn schedules_make_runs_and_of_those_that_were_missed_the_last_one() {
    let kinds = ["WebBackup", "WebSwap", "WebBoth", "WebLate", "WebThere"];
    let Some(bench) = with_procedures("procedureschedule", &kinds, SCHEDULES).await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let spec = |schedule: &str| json!({"message": "one", "backup": {"schedule": schedule}});
    bench.apply_web("shop", spec("* * * * *")).await;
    bench.wait_revision("shop", 1).await;
    let (backup, trigger) = wait_made(&bench, "WebBackup", 1).await[0].clone();
    assert_eq!(trigger, "schedule");
    let run = runs(&bench, "WebBackup").get(&backup).await.unwrap();
    assert_eq!(run.metadata.owner_references.unwrap()[0].name, "shop");
    let tick = &run.metadata.annotations.unwrap()["steersman.dev/scheduled-at"];
    let first: Timestamp = tick.parse().unwrap();
    let second = minute_after(first);
    let there = (second + KOLKATA).strftime("%M %H * * *").to_string();
    let mut both_schedules = spec("* * * * *");
    both_schedules["there"] = json!({ "schedule": there });
    bench.apply_web("shop", both_schedules).await;
    let job = wait_job(&bench, "WebBackup", &backup, "job", 1).await;
    let swapped = wait_tick(&bench, "WebSwap", first).await;
    let both = wait_tick(&bench, "WebBoth", first).await;
    for (kind, name) in [("WebSwap", &swapped), ("WebBoth", &both)] {
        wait_job(&bench, kind, name, "job", 1).await;
    }
    let late = wait_tick(&bench, "WebLate", first).await;
    wait_phase(&bench, "WebLate", &late, "Succeeded").await;
    let succeeded = last_success(&operator, "late").await;
    assert!(succeeded.is_some());
    operator.kill().await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    let operator = bench.ready_operator().await;

    // One that waits for the one before comes behind it.
    let other = wait_tick(&bench, "WebBoth", second).await;
    for name in [&both, &other] {
        wait_job(&bench, "WebBoth", name, "job", 1).await;
    }
    wait_phase(&bench, "WebSwap", &swapped, "Cancelled").await;
    let other = wait_tick(&bench, "WebSwap", second).await;
    wait_job(&bench, "WebSwap", &other, "job", 1).await;
    wait_tick(&bench, "WebThere", second).await;
    assert_eq!(made(&bench, "WebThere").await.len(), 1);
    assert_eq!(made(&bench, "WebBackup").await.len(), 1);
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", &backup, "Succeeded").await;
    wait_tick(&bench, "WebBackup", second).await;
    bench
        .wait("its time in the status", &bench.webs(), "shop", |web| {
            let shown = web.pointer("/status/procedures/backup/lastSchedule")?;
            (*shown == second.to_string()).then_some(())
        })
        .await;
    let times = times(&bench, "WebLate").await;
    let is_second = |(at, _): &(String, Timestamp)| *at == second.to_string();
    assert!(!times["shop"].iter().any(is_second), "{times:?}");
    assert_eq!(last_success(&operator, "late").await, succeeded);

    bench.apply_web("shop", spec("every day")).await;
    let words = bench.wait_event("ProcedureUnusable").await;
    assert!(words.contains("`every day` is no schedule"), "{words}");
    // Nor is what is no text.
    let number = json!({"message": "one", "backup": {"schedule": 5}});
    bench.apply_web("shop", number).await;
    bench
        .wait_event_with("ProcedureUnusable", "`5` is no schedule")
        .await;
    operator.stop().await.unwrap();
}

/// A test looks so long at what does nothing.
const WINDOW: usize = 10;

/// So much more memory a process may have after it has done nothing, in KiB.
const GROWTH: u64 = 2048;

/// What a process has of the memory for itself, in KiB.
fn memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.unwrap().parse().unwrap()
}

/// By resource: the times for which it has runs, and when each was made.
async fn times(bench: &Bench, kind: &str) -> BTreeMap<String, Vec<(String, Timestamp)>> {
    let found = runs(bench, kind).list(&ListParams::default()).await.unwrap();
    let mut times: BTreeMap<String, Vec<(String, Timestamp)>> = BTreeMap::new();
    for run in found.items {
        let resource = run.data["spec"]["resource"].as_str().unwrap().to_owned();
        let annotations = run.metadata.annotations.unwrap();
        let made = run.metadata.creation_timestamp.unwrap().0;
        let tick = annotations["steersman.dev/scheduled-at"].clone();
        times.entry(resource).or_default().push((tick, made));
    }
    times
}

#[expect(clippy::print_stdout, reason = "what many of them take is to be seen")]
#[tokio::test]
async fn many_schedules_cost_nothing_between_their_times_and_lose_none_of_them() {
    let procedures = "  - name: sweep
    steps: [{wait: ready}]
    schedule: {value: schedule, jitter: 20s}
    history: {succeeded: 100}
";
    let Some(bench) = with_procedures("proceduresmany", &["WebSweep"], procedures).await else {
        return;
    };
    let here = [("WATCH_NAMESPACE", bench.namespace.as_str())];
    let start = || bench.start(bench.folder.path(), &["--reconcile-period=0s"], &here);
    let operator = start();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let names: Vec<String> = (0..number_of_releases(20))
        .map(|number| format!("web-{number}"))
        .collect();
    let spec = |schedule: &str| json!({"message": "one", "schedule": schedule});
    for name in &names {
        bench.apply_web(name, spec("0 0 1 1 *")).await;
    }
    for name in &names {
        bench.wait_revision(name, 1).await;
    }
    // Events are written behind what they tell of.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let window = seconds_of_waiting(WINDOW);
    let process = operator.id().await.unwrap();
    let before = memory(process);
    tokio::time::sleep(window).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    let others = audit.filter(|request| request.verb != "watch" && request.resource != "leases");
    assert!(others.is_empty(), "{others}");
    let after = memory(process);
    println!(
        "{} schedules for {window:?}: no request; {before} KiB before it, {after} KiB after it",
        names.len(),
    );
    assert!(after <= before + GROWTH, "{before} KiB, then {after} KiB");

    // Runs of a time that are not over when the next one comes have that left out.
    let minutes = if names.len() > 100 { 5 } else { 1 };
    for name in &names {
        bench.apply_web(name, spec(&format!("*/{minutes} * * * *"))).await;
    }
    let (now, period) = (Timestamp::now().as_second(), minutes * 60);
    let tick = Timestamp::from_second((now / period + 1) * period).unwrap();
    let until = tick.duration_since(Timestamp::now()).as_secs();
    tokio::time::sleep(Duration::from_secs(u64::try_from(until).unwrap() + 8)).await;
    operator.kill().await.unwrap();
    let before: usize = times(&bench, "WebSweep").await.values().map(Vec::len).sum();
    let operator = start();
    let wanted = tick.to_string();
    let mut found = times(&bench, "WebSweep").await;
    let begun = std::time::Instant::now();
    let has_it = |times: &Vec<(String, Timestamp)>| times.iter().any(|(at, _)| *at == wanted);
    while found.values().filter(|times| has_it(times)).count() < names.len() {
        assert!(begun.elapsed() < PATIENCE, "{wanted} is lost: {found:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
        found = times(&bench, "WebSweep").await;
    }
    let mut starts = BTreeSet::new();
    for (name, times) in &found {
        let of_tick: Vec<_> = times.iter().filter(|(at, _)| *at == wanted).collect();
        assert_eq!(of_tick.len(), 1, "{name}: {times:?}");
        starts.extend(of_tick.iter().map(|(_, made)| made.as_second()));
    }
    println!(
        "{before} runs before the restart, starts in {} seconds; {} KiB",
        starts.len(),
        memory(operator.id().await.unwrap())
    );
    assert!(starts.len() >= 5, "{starts:?}");
    operator.stop().await.unwrap();
}
