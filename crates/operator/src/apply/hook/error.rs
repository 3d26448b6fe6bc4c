//! Why a hook failed.

use std::time::Duration;

use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_model::{ApiKind, DocumentsError, ObjectId, RESOURCE_POLICY};

use super::run::has_an_end;
use super::wait::HookWait;
use crate::apply::ownership::PruneError;
use crate::release::HistoryError;

/// A hook failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The hook is no object.
    #[error("failed to read {event} hook")]
    Document {
        /// When it was to run.
        event: &'static str,
        /// Why.
        source: DocumentsError,
    },
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No such kind is served.
    #[error("{event} hook {path}: no matches for kind `{api}`")]
    UnknownKind {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// The kind, with its version: `acme.com/v1, Kind=Widget`.
        api: Box<ApiKind>,
    },
    /// An object of that name is not the release's.
    #[error("{event} hook {path}: {id} exists and is not of this release; {reason}")]
    Foreign {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that is there, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// By which rule.
        reason: String,
    },
    /// The hook ran before, and is not to be deleted.
    #[error(
        "{event} hook {path}: {id} exists already, {state}; delete it to have it run again, or add \
         before-hook-creation to its delete policy"
    )]
    Exists {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that is there, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// What became of it.
        state: String,
    },
    /// The hook ran before, and its object says that it is to be kept, whatever its delete policy.
    #[error(
        "{event} hook {path}: {id} exists already, and its annotation {RESOURCE_POLICY} keeps it; delete it, or take the \
         annotation off, to have it run again"
    )]
    Kept {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that is there, such as `Job default/migrate`.
        id: Box<ObjectId>,
    },
    /// The server refused a request.
    #[error("{event} hook {path}: failed to {attempt} {id}")]
    Request {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// A verb: `read` or `create`.
        attempt: &'static str,
        /// What the request was about, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
    /// The hook has started, and can't be looked at: it may still be running, whatever the server answers.
    #[error("{event} hook {path}: failed to look whether {id} has ended")]
    Unseen {
        /// When it was started.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that was started, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
    /// An earlier run of the hook can't be deleted.
    #[error("{event} hook {path}: the earlier one can't be deleted")]
    Delete {
        /// When it was to run.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that is there, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// Why.
        source: Box<PruneError>,
    },
    /// The hook ran and failed.
    #[error("{event} hook {path}: {id} failed: {reason}")]
    Failed {
        /// When it ran.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that ran, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// What its status says.
        reason: String,
    },
    /// The hook ran, and that can't be written down.
    #[error("{event} hook {path}: failed to write down that it has run")]
    Journal {
        /// When it ran.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that ran, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// Why.
        source: Box<HistoryError>,
    },
    /// Nothing has failed: there is something to wait for, and the release is left until that has come.
    #[error("{0}")]
    Waiting(Box<HookWait>),
    /// The hook did not come to an end.
    #[error("{event} hook {path}: {id} is not done after {} s: {state}", timeout.as_secs())]
    Timeout {
        /// When it ran.
        event: &'static str,
        /// Its template.
        path: String,
        /// The one that is still running, such as `Job default/migrate`.
        id: Box<ObjectId>,
        /// How long it was waited for.
        timeout: Duration,
        /// What it was doing.
        state: String,
    },
}

impl HookError {
    /// Whether a request had no answer that says anything, so that the same may succeed later.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Unseen { .. })
            || RequestError::behind(self).is_some_and(RequestError::is_transient)
    }

    /// Whether it is about the hook that is waited for: nothing is known of what comes after that.
    pub(crate) fn is_of(&self, wait: &HookWait) -> bool {
        let (Self::Request { event, id, .. }
        | Self::Unseen { event, id, .. }
        | Self::Delete { event, id, .. }
        | Self::Journal { event, id, .. }) = self
        else {
            return false;
        };
        *event == wait.event && **id == wait.id
    }

    /// Whether a Job or Pod that may have been started can't be read.
    pub(super) fn is_of_unread(&self) -> bool {
        let Self::Request {
            attempt: "read", id, ..
        } = self
        else {
            return false;
        };
        has_an_end(id)
    }
}
