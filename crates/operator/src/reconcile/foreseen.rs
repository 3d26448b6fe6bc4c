//! What a reconcile would do, as it is told.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::state::Cause;
use crate::status::Redactor;
use steersman_model::ObjectId;
use steersman_model::Revision;

/// What a reconcile of a custom resource would do.
#[derive(Debug)]
pub struct Preview {
    /// The release's name.
    pub release: String,
    /// The release's namespace.
    pub namespace: String,
    /// What would be done.
    pub plan: Plan,
    /// Whether annotations keep it from being done.
    pub paused: bool,
    /// The hooks that would run, in order, such as `pre-upgrade Job web-migrate`.
    pub hooks: Vec<String>,
    /// The objects that the release has or would have.
    pub objects: Vec<ObjectPreview>,
    /// Objects that carry the marks of the release's resource and that no revision names.
    pub strays: Vec<ObjectId>,
    /// Masks the secrets of the release as it is and as it would be.
    pub redactor: Redactor,
}

/// What would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The first revision would be installed.
    Install,
    /// Another revision would follow.
    Upgrade(Revision, Cause),
    /// The revision, which Helm or helm-operator deployed, would become ours as it is.
    TakeOver(Revision),
    /// The last revision would be brought into effect, from its stored manifest.
    Recover(Revision),
    /// The revision is deployed, and only what others have changed would be put back.
    Keep(Revision),
    /// The resource is being deleted.
    Leave,
}

impl fmt::Display for Plan {
    /// What goes on after the release's name: `would be upgraded to revision 2, as …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install => f.write_str("would be installed"),
            Self::Upgrade(revision, cause) => {
                let why = match cause {
                    Cause::TakenOver => "the last one is not the operator's",
                    Cause::Identity => "the last one is of another resource of this name",
                    Cause::Chart => "the chart has changed",
                    Cause::Values => "the values have changed",
                    Cause::Lookups => "what the chart looks up has changed",
                    Cause::NotDeployed => "the last one is not deployed",
                };
                write!(f, "would be upgraded to revision {revision}, as {why}")
            }
            Self::TakeOver(revision) => write!(f, "revision {revision} would be taken over as it is"),
            Self::Recover(revision) => write!(
                f,
                "revision {revision} would be applied, as that has not succeeded yet"
            ),
            Self::Keep(revision) => write!(f, "revision {revision} would stay"),
            Self::Leave => f.write_str("is being deleted"),
        }
    }
}

/// What would become of an object.
#[derive(Debug)]
pub struct ObjectPreview {
    /// Which object.
    pub id: ObjectId,
    /// It as it is in the cluster, if it is there.
    pub live: Option<Value>,
    /// Who else owns fields of it.
    pub managers: BTreeSet<String>,
    /// What would become of it.
    pub fate: Fate,
    /// JSON pointers to the values that would go with the fields of its former manager.
    pub dropped: Vec<String>,
}

/// What would become of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It would be this.
    Applied(Value),
    /// It would be deleted.
    Deleted,
    /// No revision wants it any longer, and it would stay, as the chart asks for that.
    Kept,
    /// It would not be applied, for this reason.
    Refused(String),
}

impl ObjectPreview {
    /// Whether a reconcile would change anything of it.
    pub fn differs(&self) -> bool {
        match (&self.fate, &self.live) {
            (Fate::Applied(value), Some(live)) => value != live,
            (Fate::Applied(_), None) | (Fate::Deleted | Fate::Refused(_), _) => true,
            (Fate::Kept, _) => false,
        }
    }
}
