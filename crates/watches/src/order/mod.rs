//! In which order the objects of a release are applied, and what is waited for in between.

mod annotations;
mod levels;
mod resource_groups;
#[cfg(test)]
mod tests;

use std::time::Duration;

use steersman_model::{ObjectId, RenderedObject};

use crate::controls::WaitControl;
use crate::drift::{Candidate, Target};
pub use annotations::{AnnotationError, Convention, Level};

/// How long objects may take to become ready where nothing else is said: Helm's `--timeout`.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// What the objects are called that no stage claims.
pub const UNCLAIMED: &str = "unclaimed";

/// What a revision waits for before it counts as deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long its objects may take to become ready, each stage for itself.
    pub timeout: Duration,
    /// Whether a Job counts as ready only when it is complete: Helm's `--wait-for-jobs`.
    pub jobs: bool,
}

impl Default for Wait {
    /// Helm's own numbers.
    fn default() -> Self {
        Self {
            timeout: DEFAULT_TIMEOUT,
            jobs: false,
        }
    }
}

/// A part of a release that is applied when what comes before it is ready.
#[derive(Clone, Debug)]
pub struct Stage {
    /// By which it is told apart and acted on.
    pub name: String,
    /// Which objects are in it: those for which any of these matches.
    pub objects: Vec<Target>,
    /// How long its objects may take to become ready, where it says so itself.
    pub timeout: Option<Duration>,
    /// Whether it begins only when somebody has said so.
    pub approve: bool,
    /// The line of the file on which it starts.
    pub line: u32,
}

/// It is the same wherever it stands.
impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        let parts = |stage: &Self| (stage.timeout, stage.approve);
        self.name == other.name && self.objects == other.objects && parts(self) == parts(other)
    }
}

impl Eq for Stage {}

/// Two stages claim one object, so that it is not known when it is to be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "stages {first} (line {first_line} of watches.yaml) and {second} (line {second_line}) both claim {object}"
)]
pub struct ClaimedTwice {
    /// With the namespace of the release where it names none.
    pub object: ObjectId,
    /// The name of a stage.
    pub first: String,
    /// Where that starts in watches.yaml.
    pub first_line: u32,
    /// The name of one behind it.
    pub second: String,
    /// Where that starts in watches.yaml.
    pub second_line: u32,
}

/// In which order the objects of a release are applied.
///
/// ```
/// use steersman_model::RenderedObject;
/// use steersman_watches::order::{Order, Stage};
/// use steersman_watches::drift::{Pattern, Target};
///
/// let database = Stage {
///     name: "database".to_owned(),
///     objects: vec![Target { kind: Some(Pattern::new("StatefulSet")?), ..Target::default() }],
///     timeout: None,
///     approve: false,
///     line: 1,
/// };
/// let order = Order { stages: vec![database], ..Order::default() };
/// let set = serde_json::json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}});
/// let objects = RenderedObject::from_document("web/templates/db.yaml", &set).map_err(|error| error.to_string())?;
/// assert_eq!(order.stage_of(&objects[0], "shop"), Ok(Some(0)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// What every revision waits for; `None` where a revision counts as deployed when its objects are applied.
    pub wait: Option<Wait>,
    /// In the order in which they begin. What none of them claims comes before the first one.
    pub stages: Vec<Stage>,
    /// Whose annotations in the chart say the stages, where the entry names none.
    pub convention: Option<Convention>,
}

impl Order {
    /// What a revision of a resource waits for, whose annotation says `asked`. Stages are waited for in any case.
    pub fn wait(&self, asked: Option<WaitControl>) -> Option<Wait> {
        let usual = self.wait.unwrap_or_default();
        match asked {
            None => self.wait,
            Some(WaitControl::No) => None,
            Some(WaitControl::Yes) => Some(usual),
            Some(WaitControl::AtMost(timeout)) => Some(Wait { timeout, ..usual }),
        }
    }

    /// The place of the stage that claims an object of a release in `namespace`; `None` where none does. What matches is what
    /// the chart renders: an object that names no namespace counts as one of the release's.
    ///
    /// # Errors
    /// Two stages claim it.
    pub fn stage_of(
        &self,
        object: &RenderedObject,
        namespace: &str,
    ) -> Result<Option<usize>, Box<ClaimedTwice>> {
        if self.stages.is_empty() {
            return Ok(None);
        }
        let id = ObjectId {
            group: object.api.group.clone(),
            kind: object.api.kind.clone(),
            namespace: Some(object.namespace.clone().unwrap_or_else(|| namespace.to_owned())),
            name: object.name.clone(),
        };
        let candidate = Candidate::applied(&object.api.version, &object.value);
        let claims = |stage: &Stage| stage.objects.iter().any(|target| target.matches(&id, &candidate));
        let mut claiming = self.stages.iter().enumerate().filter(|(_, stage)| claims(stage));
        let Some((place, first)) = claiming.next() else {
            return Ok(None);
        };
        match claiming.next() {
            None => Ok(Some(place)),
            Some((_, second)) => Err(Box::new(ClaimedTwice {
                first: first.name.clone(),
                first_line: first.line,
                second: second.name.clone(),
                second_line: second.line,
                object: id,
            })),
        }
    }
}
