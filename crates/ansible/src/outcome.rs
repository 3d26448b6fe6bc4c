//! What has become of a run, out of its events.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use steersman_model::{CUT_OFF, DurationError, parse_duration};

use crate::events::{Event, EventKind, HostStats, Place};

/// The host whose numbers a resource's status has.
const LOCALHOST: &str = "localhost";
/// The collection of the modules that an operator knows.
const COLLECTION: &str = "operator_sdk.util";
/// How many failures are remembered, the newest ones, and of how many items of a loop.
const MOST_FAILURES: usize = 100;
const MOST_ITEMS: usize = 10;
/// The longest message that is remembered, in bytes. It is much longer than what is shown of one: secrets are masked before that is
/// cut.
const LONGEST_MESSAGE: usize = 64 << 10;
/// The most that is remembered of all messages.
const MOST_BYTES: usize = 1 << 20;
/// How many tasks are remembered that have begun on a host and have no result.
const MOST_BEGUN: usize = 1000;
/// What is said of one at the end: Ansible goes on without it, and counts no failure.
const NO_RESULT: &str = "it was begun, and has come to no result: no process could be started for it";
/// Begins what Ansible says of a module that has crashed. Why, it leaves to standard error.
const CRASH: &str = "MODULE FAILURE";
/// What ansible-operator says where a task gives no message.
const NO_MESSAGE: &str = "unknown playbook failure";

/// What a finished playbook has done.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The numbers that a resource's status has.
    pub result: AnsibleResult,
    /// By host, what has become of its tasks.
    pub stats: BTreeMap<String, HostStats>,
    /// What has failed, in its order; empty if and only if the run was successful. What was rescued or ignored is left out.
    pub failed: Vec<FailedTask>,
    /// What the first task that calls `requeue_after` asks for.
    pub requeue_after: Option<Result<Duration, DurationError>>,
    /// The exit status of ansible-runner. It is for logs: [`Outcome::failed`] says whether the run was successful.
    pub exit_status: Option<i32>,
    /// The folder of the run, where something has failed and that folder has no space left: many modules do not say so.
    pub without_space: Option<PathBuf>,
    /// How many events could not be read; their tasks count by the stats.
    pub unreadable: u64,
    /// How many events were left out of the log, which was too slow.
    pub unlogged: u64,
}

impl Outcome {
    /// Whether no task has failed but those that were rescued or ignored, and each host could be reached.
    pub fn is_successful(&self) -> bool {
        self.failed.is_empty()
    }
}

/// `ansibleResult` of a condition: what the tasks on localhost came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct AnsibleResult {
    /// Done, whether or not something has changed.
    pub ok: u64,
    /// Of these, how many have changed something.
    pub changed: u64,
    /// Not needed.
    pub skipped: u64,
    /// Failed, and neither ignored nor rescued.
    pub failures: u64,
    /// When the playbook was done, such as `2026-07-01T08:15:30.25+00:00`.
    pub completion: String,
}

/// A task that has failed on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedTask {
    /// Its name.
    pub task: Option<String>,
    /// The role that it belongs to.
    pub role: Option<String>,
    /// The play that it belongs to.
    pub play: Option<String>,
    /// As the inventory calls it.
    pub host: Option<String>,
    /// Where it is written.
    pub place: Option<Place>,
    /// Its module.
    pub action: Option<String>,
    /// What the module says; of a loop, what it says of the items that have failed, a line for each.
    pub message: String,
}

impl fmt::Display for FailedTask {
    /// `task "create it" of role web (main.yml:7) on localhost: there is no such namespace`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            Some(task) => write!(f, "task {task:?}")?,
            None => write!(f, "a task")?,
        }
        if let Some(role) = &self.role {
            write!(f, " of role {role}")?;
        }
        if let Some(Place { file, line }) = &self.place {
            write!(f, " ({file}:{line})")?;
        }
        if let Some(host) = self.host.as_ref().filter(|host| *host != LOCALHOST) {
            write!(f, " on {host}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Makes an [`Outcome`] of the events of a run, one after the other.
///
/// ```
/// use serde_json::json;
/// use steersman_ansible::{Event, Summary};
///
/// let mut summary = Summary::default();
/// let events = [
///     json!({"uuid": "1", "event": "runner_on_failed", "event_data": {"host": "localhost", "res": {"msg": "no"}}}),
///     json!({"uuid": "2", "event": "playbook_on_stats", "event_data": {"ok": {"localhost": 2}, "rescued": {"localhost": 1}}}),
/// ];
/// for event in events.into_iter().filter_map(Event::parse) {
///     summary.note(&event);
/// }
/// let outcome = summary.finish(Some(0), 0).expect("the stats have come");
/// assert!(outcome.is_successful());
/// assert_eq!(outcome.result.ok, 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Summary {
    failures: VecDeque<FailedTask>,
    /// What was said of the items of the loop that is under way, by its host and task.
    items: BTreeMap<(Option<String>, Option<String>), Vec<String>>,
    bytes_of_items: usize,
    /// Which tasks have begun on a host and have no result yet.
    begun: BTreeMap<(Option<String>, Option<String>), FailedTask>,
    requeue_after: Option<Result<Duration, DurationError>>,
    stats: Option<(BTreeMap<String, HostStats>, String)>,
}

impl Summary {
    /// Takes note of the next event.
    pub fn note(&mut self, event: &Event) {
        match event.kind {
            EventKind::HostStart if self.begun.len() < MOST_BEGUN => {
                self.begun
                    .insert(loop_of(event), failed_task(event, NO_RESULT.to_owned()));
            }
            EventKind::Ok | EventKind::Failed | EventKind::Skipped | EventKind::Unreachable => {
                self.begun.remove(&loop_of(event));
            }
            _ => {}
        }
        match event.kind {
            EventKind::ItemFailed => self.note_item(event),
            EventKind::Failed | EventKind::Unreachable => self.note_failure(event),
            EventKind::Ok | EventKind::ItemOk => self.note_requeue(event),
            // A loop that has failed says so behind its items; the next task has none of these.
            EventKind::TaskStart => {
                self.items.clear();
                self.bytes_of_items = 0;
            }
            EventKind::Stats => self.stats = Some((event.stats.clone(), event.created.clone())),
            _ => {}
        }
    }

    /// The outcome, or none where the stats have not come: the playbook was not finished.
    ///
    /// Only the stats tell what was rescued, as numbers. So of the failures on a host the last ones count, as many as the
    /// stats have; in a playbook that goes on after a failure it may be another one that was rescued.
    ///
    /// A task without a result has failed, as far as no event was lost: `lost` events may have been these results. So has a run
    /// with an exit status other than 0 of which nothing else is known.
    pub fn finish(self, exit_status: Option<i32>, lost: u64) -> Option<Outcome> {
        let (stats, created) = self.stats?;
        let mut left: BTreeMap<&str, u64> = stats
            .iter()
            .map(|(host, stats)| (host.as_str(), stats.failures + stats.unreachable))
            .collect();
        let mut failed = Vec::new();
        for failure in self.failures.into_iter().rev() {
            let host = failure.host.as_deref().unwrap_or(LOCALHOST);
            if let Some(left) = left.get_mut(host).filter(|left| **left > 0) {
                *left -= 1;
                failed.push(failure);
            }
        }
        failed.reverse();
        // Their events were lost, or are too many to be remembered.
        for (host, _) in left.iter().filter(|(_, left)| **left > 0) {
            if !failed
                .iter()
                .any(|failure: &FailedTask| failure.host.as_deref() == Some(host))
            {
                failed.push(FailedTask {
                    host: Some((*host).to_owned()),
                    message: NO_MESSAGE.to_owned(),
                    ..FailedTask::default()
                });
            }
        }
        if self.begun.len() as u64 > lost {
            failed.extend(self.begun.into_values().take(MOST_FAILURES));
        }
        if let Some(status) = exit_status.filter(|status| *status != 0)
            && failed.is_empty()
        {
            failed.push(FailedTask {
                message: format!("ansible-runner ended with status {status}, and no task has failed"),
                ..FailedTask::default()
            });
        }
        let local = stats.get(LOCALHOST).copied().unwrap_or_default();
        Some(Outcome {
            result: AnsibleResult {
                ok: local.ok,
                changed: local.changed,
                skipped: local.skipped,
                failures: local.failures,
                completion: completion(&created),
            },
            stats,
            failed,
            // Zero asks for no other one, as with ansible-operator: else runs would never end.
            requeue_after: self.requeue_after.filter(|period| *period != Ok(Duration::ZERO)),
            exit_status,
            without_space: None,
            unreadable: lost,
            unlogged: 0,
        })
    }

    fn note_item(&mut self, event: &Event) {
        let Some(result) = event.result.as_ref().filter(|_| !event.ignores_errors) else {
            return;
        };
        let message = result.message.as_deref().unwrap_or(NO_MESSAGE);
        let message = match &result.item {
            Some(item) => format!("{item}: {message}"),
            None => message.to_owned(),
        };
        let messages = self.items.entry(loop_of(event)).or_default();
        if messages.len() < MOST_ITEMS && self.bytes_of_items < MOST_BYTES {
            let message = short(message);
            self.bytes_of_items += message.len();
            messages.push(message);
        }
    }

    fn note_failure(&mut self, event: &Event) {
        let items = self.items.remove(&loop_of(event)).unwrap_or_default();
        if event.ignores_errors {
            return;
        }
        let result = event.result.clone().unwrap_or_default();
        let mut message = if items.is_empty() {
            result.message.unwrap_or_else(|| NO_MESSAGE.to_owned())
        } else {
            items.join("\n")
        };
        if message.starts_with(CRASH)
            && let Some(raised) = result.stderr.as_deref().and_then(raised)
        {
            message = format!("{}\n{raised}", message.trim_end());
        }
        self.failures.push_back(failed_task(event, short(message)));
        let mut bytes: usize = self.failures.iter().map(|failure| failure.message.len()).sum();
        while self.failures.len() > MOST_FAILURES || bytes > MOST_BYTES {
            bytes -= self
                .failures
                .pop_front()
                .map_or(bytes, |failure| failure.message.len());
        }
    }

    fn note_requeue(&mut self, event: &Event) {
        let period = event.result.as_ref().and_then(|result| result.period.as_ref());
        if let Some(period) = period.filter(|_| event.calls(COLLECTION, "requeue_after")) {
            self.requeue_after.get_or_insert_with(|| parse_duration(period));
        }
    }
}

/// What a program in Python has ended with: what is behind the last line of a traceback.
fn raised(stderr: &str) -> Option<&str> {
    let mut at = 0;
    let mut found = None;
    let mut is_inside = false;
    for line in stderr.split_inclusive('\n') {
        let is_indented = line.starts_with(' ');
        if is_inside && !is_indented && !line.trim().is_empty() {
            found = Some(at);
        }
        is_inside = is_indented;
        at += line.len();
    }
    Some(stderr[found?..].trim())
}

fn failed_task(event: &Event, message: String) -> FailedTask {
    FailedTask {
        task: event.task.clone(),
        role: event.role.clone(),
        play: event.play.clone(),
        host: event.host.clone(),
        place: event.place.clone(),
        action: event.resolved_action.clone().or_else(|| event.action.clone()),
        message,
    }
}

fn loop_of(event: &Event) -> (Option<String>, Option<String>) {
    (event.host.clone(), event.task_uuid.clone())
}

fn short(mut text: String) -> String {
    if text.len() > LONGEST_MESSAGE {
        text.truncate(text.floor_char_boundary(LONGEST_MESSAGE));
        text.extend([CUT_OFF, '…']);
    }
    text
}

/// A time as ansible-operator writes it: Python's, without the zeros at its end.
fn completion(created: &str) -> String {
    match created.split_once("+00:00") {
        Some((time, "")) if time.contains('.') => {
            let time = time.trim_end_matches('0').trim_end_matches('.');
            format!("{time}+00:00")
        }
        _ => created.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use steersman_model::CUT_OFF;

    use super::{LONGEST_MESSAGE, Outcome, Summary, completion, short};
    use crate::events::Event;

    fn summary(events: &[(&str, Value)]) -> Summary {
        let mut summary = Summary::default();
        for (name, data) in events {
            let event = json!({
                "uuid": "u", "event": name, "created": "2026-07-01T08:15:30.250000+00:00", "event_data": data,
            });
            summary.note(&Event::parse(event).expect("an event"));
        }
        summary
    }

    fn outcome(events: &[(&str, Value)]) -> Outcome {
        summary(events).finish(None, 0).expect("stats")
    }

    fn failed(task: &str, message: &str) -> (&'static str, Value) {
        let data = json!({"host": "localhost", "task": task, "task_uuid": task, "res": {"msg": message}});
        ("runner_on_failed", data)
    }

    fn stats(counts: Value) -> (&'static str, Value) {
        let hosts = counts.as_object().expect("counts").iter();
        let data: Value = hosts
            .map(|(name, count)| (name.clone(), json!({ "localhost": count })))
            .collect();
        ("playbook_on_stats", data)
    }

    fn messages(outcome: &Outcome) -> Vec<String> {
        outcome.failed.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_stats_there_is_no_outcome() {
        assert_eq!(summary(&[failed("a", "b")]).finish(Some(4), 0), None);
    }

    #[test]
    fn numbers_are_those_of_localhost() {
        let data = json!({
            "ok": {"localhost": 5, "other": 9}, "changed": {"localhost": 2}, "skipped": {"localhost": 1},
            "failures": {"other": 0}, "dark": {}, "ignored": 0,
        });
        let outcome = outcome(&[("playbook_on_stats", data)]);
        assert_eq!(
            serde_json::to_value(&outcome.result).expect("JSON"),
            json!({
                "ok": 5, "changed": 2, "skipped": 1, "failures": 0, "completion": "2026-07-01T08:15:30.25+00:00",
            })
        );
        assert!(outcome.is_successful());
    }

    #[test]
    fn what_was_rescued_has_not_failed() {
        let rescued = failed("a", "rescued");
        let all = outcome(&[rescued.clone(), stats(json!({"rescued": 1}))]);
        assert!(all.is_successful());
        let one = outcome(&[
            rescued,
            failed("b", "not rescued"),
            stats(json!({"rescued": 1, "failures": 1})),
        ]);
        assert_eq!(messages(&one), ["task \"b\": not rescued"]);
    }

    #[test]
    fn what_is_ignored_has_not_failed() {
        let mut ignored = failed("a", "ignored");
        ignored.1["ignore_errors"] = json!(true);
        assert!(outcome(&[ignored, stats(json!({"ignored": 1, "ok": 1}))]).is_successful());
    }

    #[test]
    fn a_task_that_has_begun_and_has_no_result_has_failed() {
        let of = |task: &str, host: &str| json!({"host": host, "task": task, "task_uuid": task, "res": {}});
        let start = |task: &str| ("runner_on_start", of(task, "localhost"));
        let events = [
            start("a"),
            ("runner_on_ok", of("a", "localhost")),
            start("b"),
            ("runner_on_start", of("b", "far")),
            ("runner_on_skipped", of("b", "localhost")),
            ("runner_on_unreachable", of("b", "far")),
            start("c"),
            ("runner_item_on_ok", of("c", "localhost")),
            failed("c", "rescued"),
            start("d"),
            stats(json!({"ok": 1, "rescued": 1})),
        ];
        let expected =
            "task \"d\": it was begun, and has come to no result: no process could be started for it";
        assert_eq!(messages(&outcome(&events)), [expected]);
        let lost = summary(&events).finish(Some(0), 1).expect("stats");
        assert!(lost.is_successful() && lost.unreadable == 1);
        let without = [
            start("a"),
            ("runner_on_ok", of("a", "localhost")),
            stats(json!({"ok": 1})),
        ];
        assert!(
            summary(&without)
                .finish(Some(0), 0)
                .expect("stats")
                .is_successful()
        );
        let status = summary(&without).finish(Some(250), 0).expect("stats");
        assert_eq!(
            messages(&status),
            ["a task: ansible-runner ended with status 250, and no task has failed"]
        );
    }

    #[test]
    fn hosts_without_a_connection_have_failed() {
        let data = json!({
            "host": "far", "task": "ping", "role": "web", "task_path": "/r/web/tasks/main.yml:3",
            "res": {"msg": "no route", "unreachable": true},
        });
        let outcome = outcome(&[
            ("runner_on_unreachable", data),
            ("playbook_on_stats", json!({"dark": {"far": 1}})),
        ]);
        assert_eq!(
            messages(&outcome),
            ["task \"ping\" of role web (/r/web/tasks/main.yml:3) on far: no route"]
        );
    }

    #[test]
    fn failures_whose_events_were_lost_count() {
        let lost = outcome(&[stats(json!({"failures": 1}))]);
        assert_eq!(messages(&lost), ["a task: unknown playbook failure"]);
    }

    #[test]
    fn a_loop_says_what_is_wrong_with_its_items() {
        let item = |item: Value| {
            let result = json!({"item": item, "msg": "no"});
            let data = json!({"host": "localhost", "task_uuid": "a", "res": result});
            ("runner_item_on_failed", data)
        };
        let failure = failed("a", "One or more items failed");
        let outcome = outcome(&[
            item(json!("x")),
            (
                "runner_item_on_ok",
                json!({"host": "localhost", "task_uuid": "a", "res": {}}),
            ),
            item(json!({"name": "y"})),
            failure,
            stats(json!({"failures": 1})),
        ]);
        assert_eq!(messages(&outcome), ["task \"a\": x: no\nno"]);
    }

    #[test]
    fn a_module_that_has_crashed_says_why() {
        let message = |stderr: &str| {
            let result = json!({"msg": "MODULE FAILURE: No start of json char found\nSee stdout/stderr for the exact error",
                "module_stderr": stderr});
            let failed = json!({"host": "localhost", "res": result});
            let events = [
                ("runner_on_failed", failed),
                ("playbook_on_stats", json!({"failures": {"localhost": 1}})),
            ];
            let outcome = summary(&events).finish(None, 0).expect("the stats have come");
            outcome.failed[0]
                .message
                .lines()
                .skip(2)
                .collect::<Vec<_>>()
                .join("|")
        };
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    read()\n";
        assert_eq!(
            message(&format!(
                "{trace}KeyError: 'a'\n\nDuring handling of the above exception:\n\n{trace}ApiException: (502)\nReason: Bad Gateway\n\n"
            )),
            "ApiException: (502)|Reason: Bad Gateway"
        );
        assert_eq!(message("killed\n"), "");
    }

    #[test]
    fn the_first_period_counts() {
        let requeue = |event: &'static str, action: &str, result: Value| {
            (
                event,
                json!({"host": "localhost", "task_action": action, "res": result}),
            )
        };
        let period = |events: &[(&str, Value)]| {
            let mut events = events.to_vec();
            events.push(stats(json!({"ok": 1})));
            outcome(&events).requeue_after
        };
        let ok = "runner_on_ok";
        let full = "operator_sdk.util.requeue_after";
        assert_eq!(
            period(&[
                requeue(ok, "debug", json!({"period": "1h"})),
                requeue("runner_on_failed", full, json!({"period": "2h", "msg": "failed"})),
                requeue(ok, full, json!({"censored": "hidden"})),
                requeue(ok, "requeue_after", json!({"period": "1m30s"})),
                requeue(ok, full, json!({"period": "5s"})),
            ]),
            Some(Ok(Duration::from_secs(90)))
        );
        assert_eq!(period(&[]), None);
        assert_eq!(period(&[requeue(ok, full, json!({"period": "0s"}))]), None);
        let wrong = period(&[requeue(ok, full, json!({"period": "10"}))]);
        assert!(wrong.is_some_and(|period| period.is_err()));
    }

    #[test]
    fn of_very_many_failures_the_last_are_told() {
        let mut events: Vec<(&str, Value)> = (0..500).map(|n| failed(&n.to_string(), "no")).collect();
        events.push(stats(json!({"failures": 500})));
        let outcome = outcome(&events);
        assert_eq!(outcome.failed.len(), 100);
        assert_eq!(outcome.failed[99].task.as_deref(), Some("499"));
        let long = short("ä".repeat(LONGEST_MESSAGE));
        assert_eq!(long, format!("{}{CUT_OFF}…", "ä".repeat(LONGEST_MESSAGE / 2)));
    }

    #[test]
    fn long_messages_are_kept_for_who_masks_them_within_a_bound() {
        let long = "x".repeat(LONGEST_MESSAGE);
        let mut events: Vec<(&str, Value)> = (0..50).map(|n| failed(&n.to_string(), &long)).collect();
        events.push(stats(json!({"failures": 50})));
        let outcome = outcome(&events);
        assert_eq!(outcome.failed.len(), 16);
        assert!(outcome.failed.iter().all(|failure| failure.message == long));
        assert_eq!(outcome.failed[15].task.as_deref(), Some("49"));
    }

    #[test]
    fn times_have_no_zeros_at_their_end() {
        assert_eq!(
            completion("2026-07-01T08:15:30.100000+00:00"),
            "2026-07-01T08:15:30.1+00:00"
        );
        assert_eq!(
            completion("2026-07-01T08:15:30+00:00"),
            "2026-07-01T08:15:30+00:00"
        );
        assert_eq!(completion(""), "");
    }
}
