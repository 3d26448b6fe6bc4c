//! What there is to be said of a release. Its JSON is what `steersman status` prints.

use serde::Serialize;
use steersman_model::ObjectId;

/// One custom resource, its release and the objects of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseView {
    /// Of the resource, such as `Shop`.
    pub kind: String,
    /// `None` where the kind has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Of the resource.
    pub name: String,
    /// Whether the operator has done what the resource says, and every object that may be read does what it is there for.
    pub ready: bool,
    /// Since when it is being deleted, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleting_since: Option<String>,
    /// Whether the operator has seen the last change of the resource.
    pub observed: bool,
    /// As the status has them.
    pub conditions: Vec<Condition>,
    /// Those of the newest revision, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageView>,
    /// Objects that differ from what the release wants and are not put back at once; `None` where none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftView>,
    /// The newest revision; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<RevisionView>,
    /// Of the revision that is deployed, or of the newest where none is.
    pub objects: Vec<ObjectView>,
    /// What could not be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// A condition of the resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A part of the release that is applied when what comes before it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageView {
    /// As watches.yaml has it.
    pub name: String,
    /// Of which revision it is.
    pub revision: u64,
    /// Such as `Progressing`.
    pub state: String,
    /// In RFC 3339.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub since: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl StageView {
    /// As annotations name it: `REVISION/STAGE`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.revision, self.name)
    }
}

/// Drift that is left, as the status tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftView {
    /// How many objects.
    pub total: u64,
    /// The first of them.
    pub objects: Vec<String>,
    /// Why they are not put back, for people.
    pub message: String,
}

impl DriftView {
    /// All of it on one line, such as `2 objects differ: ConfigMap a, …: they stay so`.
    pub fn line(&self) -> String {
        let named = self.objects.join(", ");
        let more = if (self.objects.len() as u64) < self.total {
            ", …"
        } else {
            ""
        };
        let what = if self.total == 1 {
            "object differs"
        } else {
            "objects differ"
        };
        format!(
            "{} {what} from what the release wants: {named}{more}; {}",
            self.total, self.message
        )
    }
}

/// The newest revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionView {
    /// Of the release.
    pub name: String,
    /// In which it is stored.
    pub namespace: String,
    /// Its number, from 1.
    pub revision: u32,
    /// Helm's word, such as `deployed`.
    pub status: &'static str,
    /// What has come of it, for people.
    pub description: String,
    /// The name of the chart.
    pub chart: String,
    /// The version of the chart.
    pub chart_version: String,
    /// The version of what is in the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// In RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_deployed: Option<String>,
}

/// An object of the release, or one that a controller has made of such an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectView {
    /// Which one it is.
    #[serde(flatten)]
    pub id: ObjectId,
    /// How it is.
    pub health: Verdict,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Of a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodView>,
    /// What controllers have made of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ObjectView>,
}

impl ReleaseView {
    /// The resource, such as `Shop default/museum`.
    pub fn title(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

impl ObjectView {
    /// The object, such as `Deployment web`, with its namespace where that is not the `usual` one.
    pub fn label(&self, usual: Option<&str>) -> String {
        let ObjectId {
            kind,
            namespace,
            name,
            ..
        } = &self.id;
        match namespace.as_deref() {
            Some(namespace) if Some(namespace) != usual => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        }
    }
}

/// How an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It does what it is there for, or its kind tells nothing of that.
    Ready,
    /// It is on the way.
    Progressing,
    /// It has given up.
    Failed,
    /// It is not there.
    Missing,
    /// Whoever asks may not read it.
    Unknown,
}

impl Verdict {
    /// Whether people need not look at it.
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// Whether it contradicts that all is well.
    pub(crate) fn is_bad(self) -> bool {
        !matches!(self, Self::Ready | Self::Unknown)
    }
}

/// What is to be said of a pod alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodView {
    /// Such as `Running`.
    pub phase: String,
    /// How many containers it has, with init containers that go on beside them.
    pub containers: usize,
    /// How many of these are ready.
    pub ready_containers: usize,
    /// Of all containers.
    pub restarts: u64,
    /// Containers that do not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingView>,
}

/// A container that does not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingView {
    /// Empty where the pod has no node.
    pub container: String,
    /// One word, or how it has ended.
    pub reason: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}
