//! Why a history can't be read or written.

use steersman_cluster::RequestError;
use steersman_model::Revision;

use crate::release::codec::CodecError;
use crate::release::secret::MAX_SECRET_BYTES;

/// The history of a release can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The server refused a request.
    #[error("failed to {attempt} the history of release {release}")]
    Request {
        /// A verb: `read`, `write`, `take over`, `delete` or `disown`.
        attempt: &'static str,
        /// By its name, which is the resource's.
        release: String,
        /// What the server said.
        source: RequestError,
    },
    /// A Secret is no revision.
    #[error("Secret {secret} is not a release; nothing is changed until it is mended or deleted")]
    Codec {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
        /// Why.
        source: CodecError,
    },
    /// The record does not fit its Secret.
    #[error(
        "Secret {secret} holds a release that is not its own; nothing is changed until it is mended or deleted"
    )]
    Mismatch {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
    },
    /// A later Helm keeps the release in another way.
    #[error("Secret {secret} is of type {kind}, which this version can't read; nothing is changed")]
    Format {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
        /// Its type.
        kind: String,
    },
    /// Another custom resource has a release of this name.
    #[error("duplicate release name: release {release} in namespace {namespace} belongs to {owner}")]
    Owned {
        /// By its name, which both resources want.
        release: String,
        /// The one in which both releases would be.
        namespace: String,
        /// The other resource, such as `Site web (example.com/v1)`.
        owner: String,
    },
    /// A part of a revision is not there.
    #[error(
        "Secret {secret}, a part of a release, is missing; nothing is changed until it is back or the release deleted"
    )]
    Part {
        /// By its name, such as `steersman.release.v1.web.v3.0123456789.1`.
        secret: String,
    },
    /// A revision is too large even in parts.
    #[error(
        "release {release} takes {size} bytes without its manifest; a Secret holds at most {MAX_SECRET_BYTES}"
    )]
    TooLarge {
        /// By its name.
        release: String,
        /// In bytes, as the Secret would hold it: packed, and in base64.
        size: usize,
    },
    /// Another process has written this revision.
    #[error("revision {revision} of release {release} was written by somebody else meanwhile")]
    Taken {
        /// By its name.
        release: String,
        /// The number that was free when the revisions were read.
        revision: Revision,
    },
}
