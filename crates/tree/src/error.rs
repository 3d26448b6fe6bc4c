//! Why a release can't be looked at.

use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_model::{DocumentsError, InvalidReleaseName};
use steersman_operator::release::HistoryError;

/// Why a release can't be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The server refuses to show an object, or does not answer.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nobody knows which kinds the server has.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No release is called so.
    #[error(transparent)]
    Name(#[from] InvalidReleaseName),
    /// Its revisions can't be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// Its namespace can't be found out.
    #[error("failed to look for release {release}")]
    Namespace {
        /// Its name.
        release: String,
        /// What the server said.
        source: RequestError,
    },
    /// What is stored is no list of objects.
    #[error(transparent)]
    Manifest(#[from] DocumentsError),
}

impl TreeError {
    /// Whether whoever asks has no right to what is looked at.
    pub fn is_denied(&self) -> bool {
        RequestError::behind(self).is_some_and(RequestError::is_denied)
    }
}
