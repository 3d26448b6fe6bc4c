//! Runs of the procedures of a release.

use kube::Client;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::Resource;
use steersman_model::harmless;

use crate::observe::text;

/// So many are asked for at a time.
const PAGE: u32 = 100;
/// So many are told, the last ones.
const MOST: usize = 20;

/// A run, as its status has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunView {
    /// Such as `WebBackup`.
    pub kind: String,
    /// Of the run.
    pub name: String,
    /// How far it is, in one word.
    pub phase: String,
    /// What it waits for, or why it has failed.
    pub message: String,
    /// When it was made, in RFC 3339.
    pub created: String,
    /// When it has ended, in RFC 3339; empty before that.
    pub ended: String,
    /// What its Jobs have said: texts as they are, all else as JSON.
    pub result: String,
    /// How far each step is.
    pub steps: Vec<StepView>,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepView {
    /// As watches.yaml has it.
    pub name: String,
    /// How far it is, in one word.
    pub state: String,
    /// What it waits for, or why it has failed.
    pub message: String,
}

/// The last runs of one kind for a resource, the last one first.
///
/// # Errors
/// They can't be listed.
pub async fn runs_of(
    client: &Client,
    runs: &Resource,
    (namespace, name): (Option<&str>, &str),
) -> Result<Vec<RunView>, RequestError> {
    let objects = runs.objects::<DynamicObject>(client, namespace);
    let mut pages = Pages::of(&objects, ListParams::default().limit(PAGE));
    let mut views: Vec<RunView> = Vec::new();
    while let Some(page) = pages.next().await? {
        let meant = page
            .iter()
            .filter(|run| run.data.pointer("/spec/resource").and_then(Value::as_str) == Some(name));
        views.extend(meant.map(|run| view(&runs.api.kind, run)));
        views.sort_by(|one, other| {
            other
                .created
                .cmp(&one.created)
                .then_with(|| one.name.cmp(&other.name))
        });
        views.truncate(MOST);
    }
    Ok(views)
}

fn view(kind: &str, run: &DynamicObject) -> RunView {
    let status = run.data.get("status").unwrap_or(&Value::Null);
    let steps = status["steps"].as_array().into_iter().flatten();
    let created = run.metadata.creation_timestamp.as_ref();
    let phase = text(status, "phase");
    RunView {
        kind: kind.to_owned(),
        name: run.metadata.name.clone().unwrap_or_default(),
        phase: if phase.is_empty() {
            "Pending".to_owned()
        } else {
            phase
        },
        message: text(status, "message"),
        created: created.map(|time| time.0.to_string()).unwrap_or_default(),
        ended: text(status, "endedAt"),
        result: match &status["result"] {
            Value::Null => String::new(),
            Value::String(text) => harmless(text),
            value => harmless(&value.to_string()),
        },
        steps: steps
            .map(|step| StepView {
                name: text(step, "name"),
                state: text(step, "state"),
                message: text(step, "message"),
            })
            .collect(),
    }
}
