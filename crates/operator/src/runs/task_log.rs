//! What the log says of the tasks of runs, in ansible-operator's words.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::Arc;

use steersman_ansible::{Detail, Event, EventKind, Events};

use super::progress::Progress;
use super::spans::TaskSpans;
use crate::status::LearningRedactor;

/// How much of what a run has printed is kept for `ANSIBLE_DEBUG_LOGS`, in bytes: its end.
const PRINTED: usize = 256 << 10;

/// Which events the log has (`--ansible-log-events`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogEvents {
    /// That a task begins, what `debug` prints, what was done with an item of a loop, and what has failed.
    #[default]
    Tasks,
    /// All that Ansible says, with its data.
    Everything,
    /// `nothing` of `--ansible-log-events`.
    Nothing,
}

/// The word is none of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLogEvents;

impl FromStr for LogEvents {
    type Err = UnknownLogEvents;

    /// In capitals or not. Nothing at all is what it is by default.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.to_ascii_lowercase().as_str() {
            "" | "tasks" => Ok(Self::Tasks),
            "everything" => Ok(Self::Everything),
            "nothing" => Ok(Self::Nothing),
            _ => Err(UnknownLogEvents),
        }
    }
}

/// What the log is to say of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLogOptions {
    /// By `--ansible-log-events`.
    pub events: LogEvents,
    /// Whether it has all that is printed for a task (`ANSIBLE_VERBOSITY`); an annotation of the resource says so, too.
    pub is_verbose: bool,
    /// Whether it has all that a run has printed when that has ended (`ANSIBLE_DEBUG_LOGS`).
    pub shows_output: bool,
}

impl TaskLogOptions {
    /// How much of an event has to be kept for it.
    pub(super) fn detail(self) -> Detail {
        match self.events {
            LogEvents::Everything => Detail::Everything,
            LogEvents::Tasks | LogEvents::Nothing => Detail::Tasks,
        }
    }
}

/// Writes the log of one run. Secrets that are known by then are masked; what tasks with `no_log` are given and give back Ansible
/// itself leaves out.
pub(super) struct TaskLog {
    pub(super) options: TaskLogOptions,
    /// The name of the run.
    pub(super) job: String,
    pub(super) redactor: Arc<LearningRedactor>,
    /// Gets the tasks that have begun, whatever the log has.
    pub(super) progress: Arc<Progress>,
}

impl TaskLog {
    /// Writes what is said until nothing more is; traces get the tasks of it.
    pub(super) async fn write(self, mut events: Events, mut spans: TaskSpans) {
        let mut printed = Printed::default();
        while let Some(event) = events.next().await {
            spans.note(&event, &self.redactor);
            self.progress.note(&event, &self.redactor);
            self.note(&event);
            if self.options.shows_output {
                printed.add(event.text());
            }
        }
        for text in &printed.texts {
            tracing::info!(
                job = self.job,
                stdout = self.redactor.mask(text),
                "Ansible Debug Result"
            );
        }
    }

    fn note(&self, event: &Event) {
        match self.options.events {
            LogEvents::Nothing => {}
            LogEvents::Everything => self.note_all(event),
            LogEvents::Tasks => self.note_task(event),
        }
    }

    fn note_all(&self, event: &Event) {
        let data = event.data.as_ref().map(ToString::to_string).unwrap_or_default();
        let (data, stdout) = (self.redactor.mask(&data), self.redactor.mask(&event.text()));
        tracing::info!(
            job = self.job,
            event_type = event.name,
            EventData = data,
            stdout,
            "Ansible event"
        );
    }

    fn note_task(&self, event: &Event) {
        let Some(task) = &event.task else { return };
        let mask = |text: &str| self.redactor.mask(text);
        let (job, event_type, stdout) = (&self.job, &event.name, mask(&event.text()));
        if self.options.is_verbose {
            if !stdout.is_empty() {
                tracing::info!(job, event_type, "{stdout}");
            }
            return;
        }
        let args = || mask(event.task_args.as_deref().unwrap_or_default());
        let is_debug = event.calls("ansible.builtin", "debug");
        let is_quiet = is_debug || event.calls("ansible.builtin", "set_fact");
        match event.kind {
            EventKind::TaskStart if !is_quiet => {
                let name = mask(task);
                tracing::info!(job, event_type, EventData.Name = name, "[playbook task start]");
            }
            EventKind::Ok if is_debug => {
                let args = args();
                tracing::info!(
                    job,
                    event_type,
                    EventData.TaskArgs = args,
                    stdout,
                    "[playbook debug]"
                );
            }
            EventKind::ItemOk if !stdout.is_empty() => {
                let name = mask(task);
                tracing::info!(job, event_type, EventData.Task = name, stdout, "[playbook item]");
            }
            EventKind::Failed | EventKind::Unreachable => {
                let (task, args) = (mask(task), args());
                let place = event.place.as_ref();
                let path = place.map(|place| format!("{}:{}", place.file, place.line));
                tracing::error!(
                    job,
                    event_type,
                    EventData.Task = task,
                    EventData.TaskArgs = args,
                    EventData.FailedTaskPath = path,
                    stdout,
                    "[playbook task failed]"
                );
            }
            _ => {}
        }
    }
}

/// The end of what a run has printed, event by event.
#[derive(Default)]
struct Printed {
    texts: VecDeque<String>,
    bytes: usize,
}

impl Printed {
    fn add(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        self.texts.push_back(text);
        while self.bytes > PRINTED
            && let Some(first) = self.texts.pop_front()
        {
            self.bytes -= first.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use expect_test::{Expect, expect};
    use serde_json::{Value, json};
    use steersman_ansible::Event;

    use super::{LogEvents, PRINTED, Printed, TaskLog, TaskLogOptions};
    use crate::status::{LearningRedactor, Redactor};
    use crate::telemetry::{Encoder, LogOptions, TimeEncoding, Verbosity, subscriber};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that these events lead to, without their times.
    fn check(options: TaskLogOptions, events: &[Value], expect: &Expect) {
        let redactor = LearningRedactor::default();
        redactor.learn(Redactor::new([], &json!({"password": "correct horse"})));
        let log = TaskLog {
            options,
            job: "17".to_owned(),
            redactor: Arc::new(redactor),
            progress: Arc::default(),
        };
        let buffer = Buffer::default();
        let of_log = LogOptions {
            encoder: Encoder::Json,
            verbosity: Verbosity::Info,
            time: TimeEncoding::Rfc3339,
        };
        tracing::subscriber::with_default(subscriber(of_log, buffer.clone()), || {
            for event in events {
                log.note(&Event::parse(event.clone()).expect("an event"));
            }
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("ts");
            format!("{line}\n")
        });
        expect.assert_eq(&lines.collect::<String>());
    }

    fn event(name: &str, stdout: &str, data: &Value) -> Value {
        json!({"uuid": "u", "event": name, "stdout": stdout, "event_data": data})
    }

    fn of_a_role() -> [Value; 7] {
        let task = |action: &str| json!({"task": "make it", "task_action": action, "task_args": "msg=correct horse"});
        let mut failing = task("kubernetes.core.k8s");
        failing["task_path"] = json!("/opt/ansible/roles/web/tasks/main.yml:7");
        [
            event(
                "playbook_on_play_start",
                "PLAY [web] ***",
                &json!({"play": "web"}),
            ),
            event(
                "playbook_on_task_start",
                "TASK [make it] ***",
                &task("kubernetes.core.k8s"),
            ),
            event("playbook_on_task_start", "TASK [make it] ***", &task("set_fact")),
            event(
                "runner_on_ok",
                "ok: [localhost] => correct horse",
                &task("ansible.builtin.debug"),
            ),
            event("runner_on_ok", "ok: [localhost]", &task("kubernetes.core.k8s")),
            event(
                "runner_item_on_ok",
                "ok: [localhost] => (item=a)",
                &task("kubernetes.core.k8s"),
            ),
            event("runner_on_failed", "fatal: [localhost]: FAILED!", &failing),
        ]
    }

    #[test]
    fn tasks_are_told_in_the_words_of_ansible_operator_with_secrets_masked() {
        check(
            TaskLogOptions::default(),
            &of_a_role(),
            &expect![[r#"
            {"EventData.Name":"make it","event_type":"playbook_on_task_start","job":"17","level":"info","logger":"logging_event_handler","msg":"[playbook task start]"}
            {"EventData.TaskArgs":"msg=********","event_type":"runner_on_ok","job":"17","level":"info","logger":"logging_event_handler","msg":"[playbook debug]","stdout":"ok: [localhost] => ********"}
            {"EventData.Task":"make it","event_type":"runner_item_on_ok","job":"17","level":"info","logger":"logging_event_handler","msg":"[playbook item]","stdout":"ok: [localhost] => (item=a)"}
            {"EventData.FailedTaskPath":"/opt/ansible/roles/web/tasks/main.yml:7","EventData.Task":"make it","EventData.TaskArgs":"msg=********","event_type":"runner_on_failed","job":"17","level":"error","logger":"logging_event_handler","msg":"[playbook task failed]","stdout":"fatal: [localhost]: FAILED!"}
        "#]],
        );
    }

    #[test]
    fn a_verbose_log_has_what_is_printed_for_each_task() {
        let options = TaskLogOptions {
            is_verbose: true,
            ..TaskLogOptions::default()
        };
        check(
            options,
            &of_a_role(),
            &expect![[r#"
            {"event_type":"playbook_on_task_start","job":"17","level":"info","logger":"logging_event_handler","msg":"TASK [make it] ***"}
            {"event_type":"playbook_on_task_start","job":"17","level":"info","logger":"logging_event_handler","msg":"TASK [make it] ***"}
            {"event_type":"runner_on_ok","job":"17","level":"info","logger":"logging_event_handler","msg":"ok: [localhost] => ********"}
            {"event_type":"runner_on_ok","job":"17","level":"info","logger":"logging_event_handler","msg":"ok: [localhost]"}
            {"event_type":"runner_item_on_ok","job":"17","level":"info","logger":"logging_event_handler","msg":"ok: [localhost] => (item=a)"}
            {"event_type":"runner_on_failed","job":"17","level":"info","logger":"logging_event_handler","msg":"fatal: [localhost]: FAILED!"}
        "#]],
        );
    }

    #[test]
    fn everything_is_told_with_its_data_and_nothing_not_at_all() {
        let of = |events| TaskLogOptions {
            events,
            ..TaskLogOptions::default()
        };
        check(
            of(LogEvents::Everything),
            &of_a_role()[..2],
            &expect![[r#"
            {"EventData":"{\"play\":\"web\"}","event_type":"playbook_on_play_start","job":"17","level":"info","logger":"logging_event_handler","msg":"Ansible event","stdout":"PLAY [web] ***"}
            {"EventData":"{\"task\":\"make it\",\"task_action\":\"kubernetes.core.k8s\",\"task_args\":\"msg=********\"}","event_type":"playbook_on_task_start","job":"17","level":"info","logger":"logging_event_handler","msg":"Ansible event","stdout":"TASK [make it] ***"}
        "#]],
        );
        check(of(LogEvents::Nothing), &of_a_role(), &expect![[""]]);
    }

    #[test]
    fn words_for_events_are_read_in_any_case() {
        for (word, expect) in [
            ("Everything", Ok(LogEvents::Everything)),
            ("NOTHING", Ok(LogEvents::Nothing)),
            ("tasks", Ok(LogEvents::Tasks)),
            ("", Ok(LogEvents::Tasks)),
            ("task", Err(super::UnknownLogEvents)),
        ] {
            assert_eq!(word.parse(), expect, "{word}");
        }
    }

    #[test]
    fn of_what_is_printed_the_end_is_kept() {
        let mut printed = Printed::default();
        for number in 0..1000 {
            printed.add(format!("{number:0>1024}"));
        }
        printed.add(String::new());
        assert!(printed.bytes <= PRINTED && printed.texts.len() == PRINTED / 1024);
        assert!(printed.texts.back().unwrap().ends_with("999"));
    }
}
