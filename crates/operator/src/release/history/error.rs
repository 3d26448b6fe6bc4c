//! Why a history can't be read or written.

use steersman_cluster::RequestError;
use steersman_model::{DocumentsError, Revision, in_words};
use steersman_watches::controls::ADOPT_CHART;

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
    /// There is no room for it beside the others.
    #[error(
        "Secret {secret} is not read: the revisions of its release take more than {} of memory; nothing is changed until it is \
         deleted or the operator may have more memory",
        in_words(*allowed)
    )]
    Memory {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
        /// No more bytes than these.
        allowed: usize,
    },
    /// The objects of a revision take too much memory.
    #[error(
        "Secret {secret} is not read; nothing is changed until it is deleted or the operator may have more memory"
    )]
    Objects {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
        /// How much it is, and which object.
        source: DocumentsError,
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
    /// Another operator has signed it, and this process is not to take its place.
    #[error(
        "Secret {secret} is signed with the key {key}, which this process does not have: the release is another operator's, \
         and is left alone; --leader-election-namespace names the namespace of its keys"
    )]
    OtherKey {
        /// By its name, such as `sh.helm.release.v1.web.v3`.
        secret: String,
        /// The beginning of the key's digest.
        key: String,
    },
    /// A release of Helm's that only has the same name.
    #[error(
        "release {release} in namespace {namespace} was made from chart {chart}, not from {wanted}, and is left alone; the \
         annotation {ADOPT_CHART}: {chart} has it taken over"
    )]
    OtherChart {
        /// By its name, which is the resource's.
        release: String,
        /// Where its Secrets are.
        namespace: String,
        /// By its name, as the record has it.
        chart: String,
        /// That of the resource's own.
        wanted: String,
    },
    /// The values that a resource without any would keep are nobody's word.
    #[error(
        "the values of revision {revision} of release {release} are not reused, as the operator has not written them; give \
         the resource values of its own"
    )]
    Values {
        /// By its name, which is the resource's.
        release: String,
        /// That of which values would be taken.
        revision: Revision,
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

impl HistoryError {
    /// The error of a Secret with something that can't be unpacked.
    pub(super) fn unpacking(secret: &str, source: CodecError) -> Self {
        let secret = secret.to_owned();
        match source {
            CodecError::TooLarge(allowed) => Self::Memory { secret, allowed },
            source => Self::Codec { secret, source },
        }
    }

    /// Whether more memory helps.
    pub fn is_about_memory(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Objects { .. })
    }
}
