//! One event, as far as it is used.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What has happened, as far as it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A play begins.
    PlayStart,
    /// A task begins, on all of its hosts.
    TaskStart,
    /// A task begins on a host.
    HostStart,
    /// A task is done on a host.
    Ok,
    /// A task has failed on a host; whether that counts is told by [`Event::ignores_errors`] and by the stats at the end.
    Failed,
    /// A task was not needed on a host.
    Skipped,
    /// A host can't be reached.
    Unreachable,
    /// A task with a loop is done with an item.
    ItemOk,
    /// A task with a loop has failed with an item.
    ItemFailed,
    /// What has become of all hosts: the last event of a playbook.
    Stats,
    /// A line that belongs to no task, such as why a playbook can't be read.
    Verbose,
    /// Any other, by [`Event::name`].
    Other,
}

impl EventKind {
    fn of(name: &str) -> Self {
        match name {
            "playbook_on_play_start" => Self::PlayStart,
            "playbook_on_task_start" => Self::TaskStart,
            "runner_on_start" => Self::HostStart,
            "runner_on_ok" => Self::Ok,
            "runner_on_failed" => Self::Failed,
            "runner_on_skipped" => Self::Skipped,
            "runner_on_unreachable" => Self::Unreachable,
            "runner_item_on_ok" => Self::ItemOk,
            "runner_item_on_failed" => Self::ItemFailed,
            "playbook_on_stats" => Self::Stats,
            "verbose" => Self::Verbose,
            _ => Self::Other,
        }
    }
}

/// What ansible-runner said at one moment.
///
/// Where `no_log` is set Ansible has taken out what is not to be seen: [`TaskResult::message`] says so.
///
/// ```
/// use steersman_ansible::{Event, EventKind};
///
/// let event = Event::parse(serde_json::json!({
///     "uuid": "5f1b", "event": "runner_on_failed", "stdout": "fatal: [localhost]: FAILED!",
///     "event_data": {
///         "task": "create it", "task_path": "/opt/ansible/roles/web/tasks/main.yml:7", "host": "localhost",
///         "res": {"msg": "there is no such namespace"},
///     },
/// })).expect("an event of a task");
/// assert_eq!(event.kind, EventKind::Failed);
/// assert_eq!(event.place.expect("a place").line, 7);
/// assert_eq!(event.result.expect("a result").message.as_deref(), Some("there is no such namespace"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What has happened.
    pub kind: EventKind,
    /// The same in Ansible's words, such as `runner_on_ok`.
    pub name: String,
    /// Drawn by Ansible for each event.
    pub uuid: String,
    /// When it was made, as ISO 8601 with the offset `+00:00`; empty where Ansible did not say.
    pub created: String,
    /// What ansible-playbook has printed for it, with colours where these are on.
    pub stdout: String,
    /// The name of the play.
    pub play: Option<String>,
    /// The name of the task.
    pub task: Option<String>,
    /// Tells tasks of one name apart.
    pub task_uuid: Option<String>,
    /// The role that the task belongs to.
    pub role: Option<String>,
    /// The host that it happened on.
    pub host: Option<String>,
    /// Where the task is written.
    pub place: Option<Place>,
    /// The module, as the task names it.
    pub action: Option<String>,
    /// The module with its collection, where Ansible says which.
    pub resolved_action: Option<String>,
    /// The arguments of the task as one text, without those of `no_log`.
    pub task_args: Option<String>,
    /// Whether the task says that its failures do not count.
    pub ignores_errors: bool,
    /// What the module gave back.
    pub result: Option<TaskResult>,
    /// By host, what has become of its tasks; with [`EventKind::Stats`] only.
    pub stats: BTreeMap<String, HostStats>,
    /// All that was said, as far as it is not too long; with [`Detail::Everything`](super::Detail::Everything) only.
    pub data: Option<Value>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its path, absolute as a rule.
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl Place {
    /// `FILE:LINE`
    fn parse(text: &str) -> Option<Self> {
        let (file, line) = text.rsplit_once(':')?;
        Some(Self {
            file: file.to_owned(),
            line: line.parse().ok()?,
        })
    }
}

/// What a module gave back, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskResult {
    /// `msg`; where that is no text, its JSON; with `no_log` what Ansible says in its place.
    pub message: Option<String>,
    /// What a program wrote to standard error.
    pub stderr: Option<String>,
    /// Where in Python an exception was raised.
    pub exception: Option<String>,
    /// `period`, which the module `requeue_after` gives.
    pub period: Option<String>,
    /// The item of a loop that this is about, where it is a text or a number.
    pub item: Option<String>,
    /// Whether something is different now.
    pub changed: bool,
}

/// How many tasks went which way on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Done, whether or not something has changed.
    pub ok: u64,
    /// Of these, how many have changed something.
    pub changed: u64,
    /// Not needed.
    pub skipped: u64,
    /// Failed, and neither ignored nor rescued.
    pub failures: u64,
    /// Failed, because there was no connection.
    pub unreachable: u64,
    /// Failed in a block whose `rescue` took over.
    pub rescued: u64,
    /// Failed, with `ignore_errors`.
    pub ignored: u64,
}

impl Event {
    /// Reads an event, or none of what ansible-runner says of itself, which has no `uuid`.
    ///
    /// Fields that are missing, or of another type than Ansible's, count as absent. What is longer than a log line should
    /// be is not cut here, and what was cut before has [`CUT_OFF`](steersman_model::CUT_OFF) at its end.
    pub fn parse(mut event: Value) -> Option<Self> {
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let uuid = text("uuid").to_owned();
        if uuid.is_empty() {
            return None;
        }
        let (name, created, stdout) = (text("event"), text("created"), text("stdout"));
        let (name, created, stdout) = (name.to_owned(), created.to_owned(), stdout.to_owned());
        let data = event.get_mut("event_data").map(Value::take).unwrap_or_default();
        let of_data = |name: &str| text_of(data.get(name)?).filter(|text| !text.is_empty());
        let kind = EventKind::of(&name);
        Some(Self {
            kind,
            name,
            uuid,
            created,
            stdout,
            play: of_data("play"),
            task: of_data("task"),
            task_uuid: of_data("task_uuid"),
            role: of_data("role"),
            host: of_data("host"),
            place: of_data("task_path").and_then(|path| Place::parse(&path)),
            action: of_data("task_action"),
            resolved_action: of_data("resolved_action"),
            task_args: of_data("task_args"),
            ignores_errors: data.get("ignore_errors") == Some(&Value::Bool(true)),
            result: data.get("res").and_then(Value::as_object).map(TaskResult::of),
            stats: if kind == EventKind::Stats {
                stats(&data)
            } else {
                BTreeMap::new()
            },
            data: Some(data),
        })
    }

    /// What ansible-playbook has printed for it, as a log can have it: without colours, and without the lines around it that are
    /// empty.
    pub fn text(&self) -> String {
        crate::plain::plain(&self.stdout).trim().to_owned()
    }

    /// Whether its task calls a module, named with its collection or without.
    pub fn calls(&self, collection: &str, module: &str) -> bool {
        let full = |action: &str| {
            let rest = action.strip_prefix(collection);
            rest.and_then(|rest| rest.strip_prefix('.')) == Some(module)
        };
        let action = self.action.as_deref().unwrap_or_default();
        action == module || full(action) || self.resolved_action.as_deref().is_some_and(full)
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let result = self.result.as_ref();
        let of_result = result.map(|result| [&result.message, &result.stderr, &result.exception]);
        let texts = [&self.task_args, &self.task, &self.play];
        let lengths = texts
            .into_iter()
            .chain(of_result.into_iter().flatten())
            .map(|text| text.as_ref().map_or(0, String::len));
        size_of::<Self>() + self.stdout.len() + lengths.sum::<usize>()
    }
}

impl TaskResult {
    fn of(result: &Map<String, Value>) -> Self {
        let text = |name: &str| text_of(result.get(name)?).filter(|text| !text.is_empty());
        Self {
            message: text("msg").or_else(|| text("censored")),
            stderr: text("stderr").or_else(|| text("module_stderr")),
            exception: text("exception"),
            period: text("period"),
            item: text("item").filter(|_| !result.get("item").is_some_and(Value::is_object)),
            changed: result.get("changed") == Some(&Value::Bool(true)),
        }
    }
}

/// A text as it is, a list of texts as lines, anything else as JSON.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let lines: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            Some(lines.join("\n"))
        }
        other => Some(other.to_string()),
    }
}

type Field = fn(&mut HostStats) -> &mut u64;

fn stats(data: &Value) -> BTreeMap<String, HostStats> {
    let mut stats: BTreeMap<String, HostStats> = BTreeMap::new();
    let fields: [(&str, Field); 7] = [
        ("ok", |host| &mut host.ok),
        ("changed", |host| &mut host.changed),
        ("skipped", |host| &mut host.skipped),
        ("failures", |host| &mut host.failures),
        ("dark", |host| &mut host.unreachable),
        ("rescued", |host| &mut host.rescued),
        ("ignored", |host| &mut host.ignored),
    ];
    for (name, field) in fields {
        for (host, count) in data.get(name).and_then(Value::as_object).into_iter().flatten() {
            *field(stats.entry(host.clone()).or_default()) = count.as_u64().unwrap_or_default();
        }
    }
    stats
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Event, EventKind, HostStats};

    fn event(data: Value) -> Event {
        Event::parse(json!({"uuid": "u", "event": "runner_on_failed", "event_data": data})).expect("an event")
    }

    #[test]
    fn what_ansible_runner_says_of_itself_is_no_event() {
        assert_eq!(
            Event::parse(json!({"status": "starting", "env": {"TOKEN": "x"}})),
            None
        );
        assert_eq!(Event::parse(json!([1])), None);
        assert_eq!(Event::parse(json!({"uuid": 5})), None);
    }

    #[test]
    fn fields_of_other_types_count_as_absent_or_as_text() {
        for data in [
            json!(null),
            json!([]),
            json!({"res": 1, "task": null, "task_path": "no line"}),
        ] {
            let event = event(data);
            assert_eq!((event.result, event.task, event.place), (None, None, None));
        }
        assert_eq!(event(json!({"task": 5})).task.as_deref(), Some("5"));
    }

    #[test]
    fn messages_that_are_no_texts_are_told() {
        let message = |result: Value| {
            let result = event(json!({ "res": result })).result.expect("a result");
            result.message
        };
        assert_eq!(message(json!({"msg": "a"})).as_deref(), Some("a"));
        assert_eq!(message(json!({"msg": ["a", "b"]})).as_deref(), Some("a\nb"));
        assert_eq!(message(json!({"msg": {"a": 1}})).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(
            message(json!({"msg": null, "censored": "hidden"})).as_deref(),
            Some("hidden")
        );
        assert_eq!(message(json!({"msg": ""})), None);
        assert_eq!(message(json!({})), None);
    }

    #[test]
    fn a_log_gets_text_without_colours() {
        let event =
            Event::parse(json!({"uuid": "u", "stdout": "\r\n\u{1b}[0;32mok: [localhost]\u{1b}[0m\r\n"}));
        assert_eq!(event.expect("an event").text(), "ok: [localhost]");
    }

    #[test]
    fn stats_are_told_by_host() {
        let event = Event::parse(json!({
            "uuid": "u", "event": "playbook_on_stats",
            "event_data": {"ok": {"a": 2, "b": 1}, "dark": {"b": 1}, "rescued": 0, "changed": {"a": "x"}},
        }))
        .expect("an event");
        assert_eq!(event.kind, EventKind::Stats);
        let host = |ok, unreachable| HostStats {
            ok,
            unreachable,
            ..HostStats::default()
        };
        assert_eq!(
            event.stats.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), host(2, 0)), ("b".to_owned(), host(1, 1))]
        );
    }

    #[test]
    fn modules_are_known_by_both_names() {
        let calls = |action: &str, resolved: &str| {
            let event = event(json!({"task_action": action, "resolved_action": resolved}));
            event.calls("operator_sdk.util", "requeue_after")
        };
        assert!(calls("requeue_after", ""));
        assert!(calls("operator_sdk.util.requeue_after", ""));
        assert!(calls("other", "operator_sdk.util.requeue_after"));
        assert!(!calls("other.util.requeue_after", "other.util.requeue_after"));
        assert!(!calls("", ""));
    }
}
