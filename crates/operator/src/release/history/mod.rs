//! Where revisions are kept: Helm's Secrets.

mod error;
mod read;
mod remove;
mod surplus;
mod write;

use std::sync::Arc;

pub use error::HistoryError;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::Api;
use steersman_cluster::RequestError;
use steersman_model::{ReleaseName, Revision};
pub use surplus::surplus;

use super::parts::Parts;
use super::record::ReleaseRecord;
use super::signature::{SignedContent, Signer};
use super::stored::Snapshot;

/// The revisions of one release.
#[derive(Clone)]
pub struct History {
    secrets: Api<Secret>,
    release: ReleaseName,
    namespace: String,
    owner: OwnerReference,
    signer: Arc<Signer>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("release", &self.release)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl History {
    /// The history of `release` in `namespace`; its Secrets belong to `owner`, and `signer` vouches for them.
    pub fn new(
        client: Client,
        release: ReleaseName,
        namespace: &str,
        owner: OwnerReference,
        signer: Arc<Signer>,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            release,
            namespace: namespace.to_owned(),
            owner,
            signer,
        }
    }

    /// What a signature of a revision is over.
    fn content<'a>(
        &'a self,
        record: &'a ReleaseRecord,
        snapshot: &'a Snapshot,
        parts: Option<Parts>,
    ) -> SignedContent<'a> {
        SignedContent {
            namespace: &self.namespace,
            owner_uid: &self.owner.uid,
            record,
            snapshot,
            parts,
        }
    }

    fn key(&self, revision: Revision) -> String {
        format!("sh.helm.release.v1.{}.v{revision}", self.release)
    }

    fn failed(&self, attempt: &'static str, error: kube::Error) -> HistoryError {
        self.refused(attempt, error.into())
    }

    fn refused(&self, attempt: &'static str, source: RequestError) -> HistoryError {
        HistoryError::Request {
            attempt,
            release: self.release.to_string(),
            source,
        }
    }
}
