//! Why a reconcile of a resource that runs are made for has failed.

use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_model::ObjectId;

use super::run::RunFailure;
use crate::apply::PruneError;
use crate::dependents::FindError;

/// Why a reconcile has failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Run(#[from] RunFailure),
    #[error("failed to {attempt} the resource")]
    Request {
        attempt: &'static str,
        source: RequestError,
    },
    #[error(transparent)]
    Discovery(DiscoveryError),
    #[error(transparent)]
    Find(Box<FindError>),
    #[error("failed to delete {object}, which goes with the resource")]
    Dependent { object: String, source: RequestError },
    #[error("failed to find what goes with the resource")]
    Look(#[source] Box<PruneError>),
    #[error("nothing is deleted: annotation steersman.dev/deletion-policy is neither `delete` nor `orphan`")]
    DeletionPolicy,
    #[error("{words}")]
    Tasks { words: String },
}

impl Failure {
    pub(super) fn request(attempt: &'static str, source: RequestError) -> Self {
        Self::Request { attempt, source }
    }

    pub(super) fn dependent(id: &ObjectId, source: RequestError) -> Self {
        let object = id.to_string();
        Self::Dependent { object, source }
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Request { source, .. } if source.is_conflict())
    }

    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Run(failure) if failure.is_cancelled())
    }
}
