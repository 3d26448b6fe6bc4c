//! What a run says, as far as people are told of it.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::style::Tone;

/// A run of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunView {
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// Empty where nobody has looked for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) procedure: String,
    /// The name of the one that something is done with.
    pub(super) resource: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) parameters: Map<String, Value>,
    /// Empty before an operator has seen it.
    pub(super) phase: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    /// Which one is under way.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) step: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<StepView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
}

/// One part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepView {
    pub(super) name: String,
    pub(super) state: String,
    /// The first one is 1.
    pub(super) attempt: u64,
    /// The Job of the last attempt; empty for a step that makes none, or none yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) job: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

impl RunView {
    /// Reads a run. What is not as it should be in its status counts as absent.
    pub(super) fn of(kind: &str, procedure: &str, object: &DynamicObject) -> Self {
        let status = object.data.get("status").unwrap_or(&Value::Null);
        let mut parameters = object
            .data
            .get("spec")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let resource = parameters.remove("resource").unwrap_or_default();
        let created = object.metadata.creation_timestamp.as_ref();
        let steps = status["steps"].as_array();
        Self {
            kind: kind.to_owned(),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone().unwrap_or_default(),
            procedure: procedure.to_owned(),
            resource: resource.as_str().unwrap_or_default().to_owned(),
            parameters,
            phase: text(status, "phase"),
            message: text(status, "message"),
            step: text(status, "step"),
            created_at: created.map(|time| time.0),
            started_at: time(status, "startedAt"),
            ended_at: time(status, "endedAt"),
            steps: steps.into_iter().flatten().map(StepView::of).collect(),
            result: Some(&status["result"])
                .filter(|result| !result.is_null())
                .cloned(),
        }
    }

    /// How it is named on the command line.
    pub(super) fn words(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Whether nothing becomes of it any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed" | "Cancelled")
    }

    /// Where it is, for people.
    pub(super) fn phase(&self) -> &str {
        if self.phase.is_empty() {
            "Pending"
        } else {
            &self.phase
        }
    }

    /// How the phase looks.
    pub(super) fn tone(&self) -> Tone {
        match self.phase.as_str() {
            "Succeeded" => Tone::Good,
            "Failed" => Tone::Bad,
            "Running" | "Finishing" | "Cancelled" => Tone::Doubtful,
            _ => Tone::Faint,
        }
    }

    /// How long it took, or takes until now; nothing before it has begun.
    pub(super) fn took(&self, now: Timestamp) -> Option<String> {
        Some(span(self.started_at?, self.ended_at.unwrap_or(now)))
    }
}

impl StepView {
    fn of(status: &Value) -> Self {
        Self {
            name: text(status, "name"),
            state: text(status, "state"),
            attempt: status["attempt"].as_u64().unwrap_or(1),
            job: text(status, "job"),
            started_at: time(status, "startedAt"),
            ended_at: time(status, "endedAt"),
            message: text(status, "message"),
        }
    }
}

fn text(status: &Value, key: &str) -> String {
    status[key].as_str().unwrap_or_default().to_owned()
}

fn time(status: &Value, key: &str) -> Option<Timestamp> {
    status[key].as_str()?.parse().ok()
}

/// How much lies between two times, in its two largest units: `45s`, `3m20s`, `5h`, `3d4h`.
pub(super) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let first = units.iter().position(|(length, _)| seconds >= *length);
    let first = first.unwrap_or(units.len() - 1);
    let mut text = String::new();
    let mut rest = seconds;
    for (length, unit) in units.iter().skip(first).take(2) {
        let count = rest / length;
        rest %= length;
        if count > 0 || text.is_empty() {
            let _ = write!(text, "{count}{unit}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_have_their_two_largest_units() {
        let check = |seconds: i64, expect: &str| {
            let from = Timestamp::from_second(1_000_000).unwrap();
            let to = Timestamp::from_second(1_000_000 + seconds).unwrap();
            assert_eq!(span(from, to), expect, "{seconds}");
        };
        check(-5, "0s");
        check(0, "0s");
        check(59, "59s");
        check(200, "3m20s");
        check(3600, "1h");
        check(3605, "1h");
        check(100_000, "1d3h");
    }

    #[test]
    fn what_is_odd_in_a_status_is_absent() {
        let object = |value: Value| serde_json::from_value::<DynamicObject>(value).unwrap();
        let run = RunView::of("WebBackup", "backup", &object(json!({"metadata": {"name": "a"}})));
        assert_eq!(
            (run.phase(), run.is_over(), run.words()),
            ("Pending", false, "WebBackup/a".to_owned())
        );
        let run = RunView::of(
            "WebBackup",
            "backup",
            &object(json!({
                "metadata": {"name": "a"},
                "spec": {"resource": "shop", "depth": 2},
                "status": {"phase": "Failed", "startedAt": "soon", "steps": [{"name": "dump", "attempt": "x"}, 1]},
            })),
        );
        assert!(run.is_over());
        assert_eq!(run.started_at, None);
        assert_eq!(run.resource, "shop");
        assert_eq!(json!(run.parameters), json!({"depth": 2}));
        assert_eq!(run.steps[0].attempt, 1);
        assert_eq!(
            run.steps[1],
            StepView {
                attempt: 1,
                ..StepView::default()
            }
        );
    }
}
