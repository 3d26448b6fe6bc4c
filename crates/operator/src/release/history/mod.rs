//! Where revisions are kept: Helm's Secrets.

mod error;
mod find;
mod read;
mod remove;
mod surplus;
mod write;

use std::sync::Arc;

pub use error::HistoryError;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Client;
use kube::api::Api;
use steersman_cluster::RequestError;
use steersman_model::{Digest, ReleaseName, Revision};
pub use surplus::surplus;

pub use write::Updated;

use super::codec::Room;
use super::index::ReleaseIndex;
use super::parts::Parts;
use super::record::ReleaseRecord;
use super::secret::secret_name;
use super::signature::{KeptContent, SignedContent, Signer, SigningKeys};
use super::stored::{KeptUp, Snapshot};
use crate::budget::{Allowance, Budget, Share};

/// In so many other namespaces a release is looked for: others may have written Secrets with its name.
const MOST_NAMESPACES: usize = 100;
/// So many Secrets are read in each of them.
const MOST_ELSEWHERE: usize = 32;

/// The revisions of one release.
#[derive(Clone)]
pub struct History {
    secrets: Api<Secret>,
    release: ReleaseName,
    namespace: String,
    owner: OwnerReference,
    signer: Arc<Signer>,
    /// Knows the names of the Secrets; without it, they are listed.
    index: Option<Arc<ReleaseIndex>>,
    share: Arc<Share>,
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
    /// What procedures keep up, with the operator's word for it; `None` where there are no keys.
    pub(crate) fn vouched(&self, kept: KeptUp) -> Option<KeptUp> {
        let mac = self.macs(&kept).into_iter().next()?;
        Some(KeptUp {
            mac: Some(mac),
            ..kept
        })
    }

    /// The UID of the custom resource.
    pub(crate) fn owner_uid(&self) -> &str {
        &self.owner.uid
    }

    /// The keys that vouch for it.
    pub(crate) fn keys(&self) -> Arc<SigningKeys> {
        self.signer.keys()
    }

    fn vouches(&self, kept: &KeptUp) -> bool {
        kept.mac.is_some_and(|mac| self.macs(kept).contains(&mac))
    }

    fn macs(&self, kept: &KeptUp) -> Vec<Digest> {
        self.keys().macs(&KeptContent {
            namespace: &self.namespace,
            owner_uid: &self.owner.uid,
            kept,
        })
    }

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
            index: None,
            share: Arc::new(Arc::new(Budget::default()).share(0)),
        }
    }

    /// The same history, which is read as far as there is room in this share of the memory.
    #[must_use]
    pub fn within(self, share: Arc<Share>) -> Self {
        Self { share, ..self }
    }

    /// The same history, whose Secrets are found by the names that `index` knows.
    #[must_use]
    pub fn with_index(self, index: Arc<ReleaseIndex>) -> Self {
        Self {
            index: Some(index),
            ..self
        }
    }

    /// Another namespace in which the owner has a release of this name, as a signed revision says: before, releases were
    /// there. What others have written tells nothing of the kind, nor does it hinder: what can't be read is no revision.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn former_namespace(&self) -> Result<Option<String>, HistoryError> {
        let Some(index) = &self.index else {
            return Ok(None);
        };
        let beside = index.namespaces_beside(&self.namespace, &self.release, MOST_NAMESPACES);
        for namespace in beside.await {
            let there = Self {
                secrets: Api::namespaced(self.secrets.clone().into_client(), &namespace),
                namespace,
                ..self.clone()
            };
            if there.has_signed().await? {
                return Ok(Some(there.namespace));
            }
        }
        Ok(None)
    }

    /// Whether a revision is signed of those that say that they are the owner's. They are read one at a time, as others may
    /// have written many.
    async fn has_signed(&self) -> Result<bool, HistoryError> {
        let own = |metadata: &ObjectMeta| {
            let mut owners = metadata.owner_references.iter().flatten();
            let is_own = owners.any(|owner| owner.uid == self.owner.uid);
            metadata.name.clone().filter(|_| is_own)
        };
        for name in self.find_metadata(MOST_ELSEWHERE, own).await? {
            let found = self.secrets.get_opt(&name).await;
            let Some(secret) = found.map_err(|error| self.failed("read", error))? else {
                continue;
            };
            let (mut room, allowance) = self.room().await;
            match self.read(secret, &mut room, allowance.objects).await {
                Ok(stored) if stored.is_signed() => return Ok(true),
                Err(HistoryError::Request { source, .. }) if source.is_transient() => {
                    return Err(self.refused("read", source));
                }
                Err(error) if error.is_about_memory() && !self.share.is_large() => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(false)
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

    /// Waits for the memory that reading revisions takes.
    async fn room(&self) -> (Room, Allowance) {
        let allowance = self.share.take().await;
        (Room::new(allowance.records), allowance)
    }

    fn key(&self, revision: Revision) -> String {
        secret_name(self.release.as_str(), revision)
    }

    /// The Secret `name` is there, or may be, whenever the watch tells of it.
    fn note(&self, name: &str, uid: Option<&str>) {
        if let Some(index) = &self.index {
            index.note(&self.namespace, &self.release, name, uid);
        }
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
