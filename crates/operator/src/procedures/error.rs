//! Why a run does not go on now.

use std::time::Duration;

use steersman_cluster::RequestError;

use crate::reconcile::StepJobError;

/// Why a step of a run can't be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The server refuses something, or does not answer.
    #[error("failed to {attempt} {what}")]
    Request {
        /// A verb.
        attempt: &'static str,
        /// The kind and the name.
        what: String,
        /// What the server said.
        source: RequestError,
    },
    /// The chart, its values or its bounds are in the way.
    #[error(transparent)]
    Job(#[from] StepJobError),
    /// The server does not take a Job.
    #[error("failed to create Job {name}: {words}")]
    Refused {
        /// As the operator has called it.
        name: String,
        /// What the server said, without secrets.
        words: String,
        /// Whether the same may succeed later.
        is_transient: bool,
        /// When to try again, where the server says so.
        retry_after: Option<Duration>,
    },
    /// The run, or what it was begun for, has changed in the meantime.
    #[error("the run is another one than a moment ago")]
    Lost,
}

impl StepError {
    pub(super) fn request(attempt: &'static str, what: &str, source: kube::Error) -> Self {
        Self::Request {
            attempt,
            what: what.to_owned(),
            source: source.into(),
        }
    }

    pub(super) fn pods(job: &str, source: RequestError) -> Self {
        Self::Request {
            attempt: "read the pods of",
            what: format!("Job {job}"),
            source,
        }
    }

    pub(super) fn secrets(job: &str, source: RequestError) -> Self {
        Self::Request {
            attempt: "read",
            what: format!("the Secrets of Job {job}"),
            source,
        }
    }

    pub(super) fn lost() -> Self {
        Self::Lost
    }

    /// Whether the same may succeed later without anybody changing anything.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Request { source, .. } => source.is_transient() || source.is_conflict(),
            Self::Refused { is_transient, .. } => *is_transient,
            Self::Job(error) => error.is_transient(),
            Self::Lost => true,
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Request { source, .. } => source.retry_after(),
            Self::Refused { retry_after, .. } => *retry_after,
            Self::Job(error) => error.retry_after(),
            Self::Lost => None,
        }
    }
}
