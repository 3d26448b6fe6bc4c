//! What `status` prints, as text or JSON.

use serde::Serialize;
use steersman_model::ObjectId;

/// What `status` prints of one custom resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReleaseView {
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// Whether the operator has done what the resource says, and every object does what it is there for.
    pub(super) ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deleting_since: Option<String>,
    /// Whether the operator has seen the last change of the resource.
    pub(super) observed: bool,
    pub(super) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stages: Vec<StageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) release: Option<RevisionView>,
    pub(super) objects: Vec<ObjectView>,
    /// What could not be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unknown: Vec<String>,
}

/// A condition of the resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// A part of the release that is applied when what comes before it is ready.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StageView {
    pub(super) name: String,
    pub(super) revision: u64,
    pub(super) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) since: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// The newest revision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RevisionView {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) revision: u32,
    pub(super) status: &'static str,
    pub(super) description: String,
    pub(super) chart: String,
    pub(super) chart_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) app_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_deployed: Option<String>,
}

/// An object of the release, or one that a controller has made of such an object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectView {
    #[serde(flatten)]
    pub(super) id: ObjectId,
    pub(super) health: Verdict,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<PodView>,
    /// What controllers have made of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) children: Vec<ObjectView>,
}

/// How an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ready,
    Progressing,
    Failed,
    Missing,
}

/// What is to be said of a pod alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodView {
    pub(super) phase: String,
    pub(super) containers: usize,
    pub(super) ready_containers: usize,
    pub(super) restarts: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting: Vec<WaitingView>,
}

/// A container that does not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingView {
    pub(super) container: String,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}
