//! Why a history can't be read or written.

use crate::release::codec::CodecError;
use crate::release::secret::MAX_SECRET_BYTES;
use steersman_cluster::RequestError;
use steersman_model::Revision;

/// The history of a release can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The server refused a request.
    #[error("failed to {attempt} the history of release {release}")]
    Request {
        /// What was attempted.
        attempt: &'static str,
        /// The release.
        release: String,
        /// What the server said.
        source: RequestError,
    },
    /// A Secret is no revision.
    #[error("Secret {secret} is not a release; nothing is changed until it is mended or deleted")]
    Codec {
        /// The Secret.
        secret: String,
        /// Why.
        source: CodecError,
    },
    /// The record does not fit its Secret.
    #[error(
        "Secret {secret} holds a release that is not its own; nothing is changed until it is mended or deleted"
    )]
    Mismatch {
        /// The Secret.
        secret: String,
    },
    /// A later Helm keeps the release in another way.
    #[error("Secret {secret} is of type {kind}, which this version can't read; nothing is changed")]
    Format {
        /// The Secret.
        secret: String,
        /// Its type.
        kind: String,
    },
    /// Another custom resource has a release of this name.
    #[error("duplicate release name: release {release} in namespace {namespace} belongs to {owner}")]
    Owned {
        /// The release.
        release: String,
        /// Its namespace.
        namespace: String,
        /// Whose it is.
        owner: String,
    },
    /// A part of a revision is not there.
    #[error(
        "Secret {secret}, a part of a release, is missing; nothing is changed until it is back or the release deleted"
    )]
    Part {
        /// The Secret.
        secret: String,
    },
    /// A revision is too large even in parts.
    #[error(
        "release {release} takes {size} bytes without its manifest; a Secret holds at most {MAX_SECRET_BYTES}"
    )]
    TooLarge {
        /// The release.
        release: String,
        /// How many.
        size: usize,
    },
    /// Another process has written this revision.
    #[error("revision {revision} of release {release} was written by somebody else meanwhile")]
    Taken {
        /// The release.
        release: String,
        /// The revision.
        revision: Revision,
    },
}
