//! What has changed in a run since it was last told of.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use super::view::{RunView, StepView, span};
use crate::cli::style::{Style, Tone, harmless};

/// What was told of a run.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// How far each step was, by its name.
    steps: BTreeMap<String, (u64, Progress)>,
    /// What the run as a whole waits for.
    waits: String,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    #[default]
    Pending,
    Running,
    Ended,
}

/// One line, and when what it says has happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News {
    at: Option<Timestamp>,
    tone: Tone,
    text: String,
}

impl Told {
    /// What is to be told now, in the order of the steps.
    pub(super) fn news(&mut self, run: &RunView) -> Vec<News> {
        let mut news = Vec::new();
        for step in &run.steps {
            let before = self.steps.get(&step.name).copied();
            let now = (step.attempt, step.progress());
            if before.is_some_and(|before| before >= now) {
                continue;
            }
            news.extend(step.news(before.unwrap_or_default(), now));
            self.steps.insert(step.name.clone(), now);
        }
        let is_held = matches!(run.phase(), "Pending" | "Finishing");
        if is_held && !run.message.is_empty() && run.message != self.waits {
            news.push(News {
                at: None,
                tone: Tone::Faint,
                text: format!("{}: {}", run.phase(), run.message),
            });
            self.waits.clone_from(&run.message);
        }
        news
    }
}

impl StepView {
    fn progress(&self) -> Progress {
        match self.state.as_str() {
            "Running" => Progress::Running,
            "Succeeded" | "Failed" | "Skipped" => Progress::Ended,
            _ => Progress::Pending,
        }
    }

    /// That it has begun, that it has ended, or both.
    fn news(&self, before: (u64, Progress), now: (u64, Progress)) -> Vec<News> {
        let mut news = Vec::new();
        let was_begun = before.0 == now.0 && before.1 >= Progress::Running;
        let is_begun = now.1 >= Progress::Running && self.state != "Skipped";
        if is_begun && !was_begun {
            news.push(News {
                at: self.started_at,
                tone: Tone::Doubtful,
                text: self.beginning(),
            });
        }
        if now.1 == Progress::Ended {
            news.push(self.end());
        }
        news
    }

    fn beginning(&self) -> String {
        let mut text = format!("step {} begins", self.name);
        if self.attempt > 1 {
            let _ = write!(text, ", attempt {}", self.attempt);
        }
        if !self.job.is_empty() {
            let _ = write!(text, ", job {}", self.job);
        }
        text
    }

    fn end(&self) -> News {
        let (tone, word) = match self.state.as_str() {
            "Succeeded" => (Tone::Good, "has succeeded"),
            "Skipped" => (Tone::Faint, "is skipped"),
            _ => (Tone::Bad, "has failed"),
        };
        let mut text = format!("step {} {word}", self.name);
        if let (Some(from), Some(to)) = (self.started_at, self.ended_at) {
            let _ = write!(text, " after {}", span(from, to));
        }
        if tone != Tone::Good && !self.message.is_empty() {
            let _ = write!(text, ": {}", self.message);
        }
        News {
            at: self.ended_at,
            tone,
            text,
        }
    }
}

impl News {
    /// As it is printed.
    pub(super) fn line(&self, style: Style) -> String {
        let text = style.paint(self.tone, &harmless(&self.text).replace(['\n', '\t'], " "));
        match self.at {
            Some(at) => format!("{at}  {text}"),
            None => text,
        }
    }
}

/// The result of a run as it is printed: a text as it is, everything else as JSON; further lines stand below the first.
pub(super) fn result(result: &Value) -> String {
    let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
    let text = harmless(text.trim_end());
    if text.contains('\n') {
        let lines = text.lines().map(|line| format!("\n  {line}"));
        return format!("result:{}", lines.collect::<String>());
    }
    format!("result: {text}")
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use serde_json::json;

    use super::*;

    fn run(phase: &str, message: &str, steps: Value) -> RunView {
        let object: DynamicObject = serde_json::from_value(json!({
            "metadata": {"name": "a"},
            "status": {"phase": phase, "message": message, "steps": steps},
        }))
        .unwrap();
        RunView::of("WebBackup", "backup", &object)
    }

    fn check(told: &mut Told, run: &RunView, expect: &[&str]) {
        let news = told.news(run);
        let lines: Vec<String> = news.iter().map(|news| news.line(Style::default())).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn each_beginning_and_each_end_is_told_once() {
        let told = &mut Told::default();
        let dump = |state: &str, attempt: u32, ended: Option<&str>| {
            json!({"name": "dump", "state": state, "attempt": attempt, "job": format!("a-dump-{attempt}"),
                "startedAt": "2026-01-02T03:00:00Z", "endedAt": ended, "message": "exit\ncode 1"})
        };
        let send = |state: &str| json!({"name": "send", "state": state});
        check(told, &run("", "", json!(null)), &[]);
        let waits = run("Pending", "waits for the release", json!([]));
        check(told, &waits, &["Pending: waits for the release"]);
        check(told, &waits, &[]);
        let first = run("Running", "", json!([dump("Running", 1, None), send("Pending")]));
        check(
            told,
            &first,
            &["2026-01-02T03:00:00Z  step dump begins, job a-dump-1"],
        );
        check(told, &first, &[]);
        let failed = dump("Failed", 1, Some("2026-01-02T03:01:30Z"));
        check(
            told,
            &run("Running", "", json!([failed])),
            &["2026-01-02T03:01:30Z  step dump has failed after 1m30s: exit code 1"],
        );
        let again = dump("Running", 2, None);
        check(
            told,
            &run("Running", "", json!([again])),
            &["2026-01-02T03:00:00Z  step dump begins, attempt 2, job a-dump-2"],
        );
        let ended = dump("Succeeded", 2, Some("2026-01-02T03:00:05Z"));
        check(
            told,
            &run("Finishing", "", json!([ended, send("Skipped")])),
            &[
                "2026-01-02T03:00:05Z  step dump has succeeded after 5s",
                "step send is skipped",
            ],
        );
    }

    #[test]
    fn what_has_begun_and_ended_unseen_is_told_whole() {
        let step = json!({"name": "dump", "state": "Succeeded", "attempt": 1,
            "startedAt": "2026-01-02T03:00:00Z", "endedAt": "2026-01-02T03:00:05Z"});
        check(
            &mut Told::default(),
            &run("Succeeded", "done", json!([step])),
            &[
                "2026-01-02T03:00:00Z  step dump begins",
                "2026-01-02T03:00:05Z  step dump has succeeded after 5s",
            ],
        );
    }

    #[test]
    fn a_result_is_a_text_or_json() {
        let check = |value: Value, expect: &str| assert_eq!(result(&value), expect);
        check(json!("s3://backups/1\n"), "result: s3://backups/1");
        check(json!("a\nb\u{1b}"), "result:\n  a\n  b\u{fffd}");
        check(json!({"size": 3}), "result: {\"size\":3}");
        check(json!(3), "result: 3");
    }
}
