//! Why an object could not be applied.

use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_model::{ApiKind, ObjectId};

use super::crds::CrdError;
use crate::apply::repair::claims::ClaimsError;
use crate::apply::repair::merged_lists::HealError;

/// An object could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No such kind is served, and the chart does not define it.
    #[error("{origin}: no matches for kind `{}` in version `{}`; its definition must be installed first", api.kind, api.api_version())]
    UnknownKind {
        /// The template.
        origin: String,
        /// As the chart names it, such as `Widget` in `acme.com/v1`.
        api: ApiKind,
    },
    /// Two documents are one object.
    #[error("{origin}: {id} is rendered twice")]
    Duplicate {
        /// The template of the second.
        origin: String,
        /// The one that both documents are, such as `Deployment default/web`.
        id: Box<ObjectId>,
    },
    /// The object carries no mark of the resource, nor of Helm's release of this name.
    #[error(
        "{id} exists and cannot be imported into the current release: invalid ownership metadata; {reason}"
    )]
    Foreign {
        /// Whose name and kind the chart wants as well, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// By which of Helm's rules.
        reason: String,
    },
    /// A field can't be changed.
    #[error("failed to apply {id}: {fields} can't be changed in place; {advice}")]
    Immutable {
        /// The one with the field, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// The fields, as the server names them.
        fields: String,
        /// What helps.
        advice: &'static str,
        /// What the server said.
        source: RequestError,
    },
    /// The claims of a set can't become as large, or as small, as its templates ask for.
    #[error("failed to apply {id}, which {state}")]
    Claims {
        /// Whose claims they are, such as `StatefulSet default/store`.
        id: Box<ObjectId>,
        /// What becomes of it: it stays as it is, or is not created.
        state: &'static str,
        /// Which claim, and why.
        source: Box<ClaimsError>,
    },
    /// Others manage fields that the chart renders, and are not to be overruled.
    #[error(
        "failed to apply {id}: {fields}; leave it to them (`driftDetection.ignore` of the watch), or let the chart \
         have it (`conflicts: overwrite`)"
    )]
    Conflict {
        /// The one with the fields, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// The fields, and who manages them.
        fields: String,
        /// What the server said.
        source: RequestError,
    },
    /// The server refused a request.
    #[error("failed to {attempt} {id}")]
    Request {
        /// A verb with what goes between it and the object, such as `read` or `take over the fields of`.
        attempt: &'static str,
        /// What the request was about, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
    /// A definition was applied but is not in effect.
    #[error(transparent)]
    Crd(#[from] CrdError),
    /// What keeps an object from being applied could not be taken out of it.
    #[error("failed to make {id} ready to be applied")]
    Heal {
        /// The one that the server refuses as it is, such as `Service default/web`.
        id: Box<ObjectId>,
        /// Why.
        source: HealError,
    },
}
