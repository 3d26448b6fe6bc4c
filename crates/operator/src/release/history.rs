//! Where revisions are kept: Helm's Secrets.

use std::num::NonZeroUsize;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::codec::{CodecError, decode};
use super::parts::{Overflow, PART_KEY, PART_TYPE, Parts};
use super::record::ReleaseRecord;
use super::secret::{
    MAX_SECRET_BYTES, PART_LABEL, PARTS_KEY, PackError, Packed, RELEASE_KEY, SECRET_TYPE, SNAPSHOT_KEY,
    is_barrier, pack,
};
use super::stored::Stored;
use steersman_cluster::{RequestError, is_named, orphan_patch};
use steersman_model::FIELD_MANAGER;
use steersman_model::ReleaseName;
use steersman_model::{ReleaseStatus, Revision};

/// What the types of all of Helm's versions begin with.
const SECRET_TYPES: &str = "helm.sh/release.";

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

/// The revisions of one release.
#[derive(Clone)]
pub struct History {
    secrets: Api<Secret>,
    release: ReleaseName,
    namespace: String,
    owner: OwnerReference,
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
    /// The history of `release` in `namespace`; its Secrets belong to `owner`.
    pub fn new(client: Client, release: ReleaseName, namespace: &str, owner: OwnerReference) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            release,
            namespace: namespace.to_owned(),
            owner,
        }
    }

    /// All revisions that are there, the oldest first.
    ///
    /// # Errors
    /// A Secret can't be read, is no release, or belongs to a release of somebody else's.
    pub async fn load(&self) -> Result<Vec<Stored>, HistoryError> {
        let (revisions, unreadable) = self.load_readable().await?;
        match unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(revisions),
        }
    }

    /// All revisions that can be read, the oldest first, and why others can't.
    ///
    /// # Errors
    /// The Secrets can't be listed, or they belong to a release of somebody else's.
    pub async fn load_readable(&self) -> Result<(Vec<Stored>, Vec<HistoryError>), HistoryError> {
        let selector = format!("owner=helm,name={}", self.release);
        let found = self
            .secrets
            .list(&ListParams::default().labels(&selector))
            .await
            .map_err(|error| self.failed("read", error))?;
        let (mut revisions, mut unreadable) = (Vec::new(), Vec::new());
        for secret in found.items {
            let kind = secret.type_.clone().unwrap_or_default();
            if !kind.starts_with(SECRET_TYPES) || secret.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let read = if kind == SECRET_TYPE {
                self.read(secret).await
            } else {
                let secret = secret.metadata.name.unwrap_or_default();
                Err(HistoryError::Format { secret, kind })
            };
            match read {
                Ok(stored) => revisions.push(stored),
                Err(error @ (HistoryError::Owned { .. } | HistoryError::Request { .. })) => {
                    return Err(error);
                }
                Err(error) => unreadable.push(error),
            }
        }
        revisions.sort_by_key(|stored| stored.record.version);
        Ok((revisions, unreadable))
    }

    /// One revision; `None` when it is not there.
    ///
    /// # Errors
    /// As [`History::load`].
    pub async fn get(&self, revision: Revision) -> Result<Option<Stored>, HistoryError> {
        let found = self.secrets.get_opt(&self.key(revision)).await;
        match found.map_err(|error| self.failed("read", error))? {
            Some(secret) => self.read(secret).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read(&self, secret: Secret) -> Result<Stored, HistoryError> {
        let name = secret.metadata.name.clone().unwrap_or_default();
        let ours = (
            self.owner.api_version.as_str(),
            self.owner.kind.as_str(),
            self.owner.name.as_str(),
        );
        let mut owners = secret.metadata.owner_references.iter().flatten();
        if let Some(other) = owners.find(|owner| owner.controller == Some(true) && !is_named(owner, ours)) {
            return Err(HistoryError::Owned {
                release: self.release.to_string(),
                namespace: self.namespace.clone(),
                owner: format!("{} {} ({})", other.kind, other.name, other.api_version),
            });
        }
        let managers = secret.metadata.managed_fields.into_iter().flatten();
        let managers = managers.filter_map(|entry| entry.manager).collect();
        let data = secret.data.unwrap_or_default();
        let text = data
            .get(RELEASE_KEY)
            .map(|bytes| bytes.0.as_slice())
            .unwrap_or_default();
        let mut record: ReleaseRecord = decode(text).map_err(|source| HistoryError::Codec {
            secret: name.clone(),
            source,
        })?;
        if record.name != self.release.as_str() || name != self.key(record.version) {
            return Err(HistoryError::Mismatch { secret: name });
        }
        let snapshot = data
            .get(SNAPSHOT_KEY)
            .and_then(|bytes| serde_json::from_slice(&bytes.0).ok());
        let parts = data.get(PARTS_KEY).map(|bytes| serde_json::from_slice(&bytes.0));
        let parts: Option<Parts> = parts.transpose().map_err(|_| HistoryError::Codec {
            secret: name.clone(),
            source: CodecError::Json,
        })?;
        if let Some(parts) = parts {
            if !parts.is_plausible() {
                return Err(HistoryError::Mismatch { secret: name });
            }
            let overflow = self.read_parts(&name, parts).await?;
            (record.manifest, record.hooks) = (overflow.manifest, overflow.hooks);
        }
        if let Some(hooks) = &mut record.hooks {
            hooks.retain(|hook| !is_barrier(hook));
        }
        Ok(Stored {
            record,
            snapshot: snapshot.unwrap_or_default(),
            managers,
            parts,
        })
    }

    /// Writes a revision that is not there yet.
    ///
    /// # Errors
    /// It is there, is too large, or the server refuses it.
    pub async fn create(&self, stored: &Stored, now: Timestamp) -> Result<(), HistoryError> {
        let packed = self.pack(stored, ("createdAt", now))?;
        self.write_parts(stored, &packed).await?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.secrets.create(&parameters, &packed.secret).await {
            Ok(secret) => self.confirm(&secret.metadata),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Err(HistoryError::Taken {
                release: self.release.to_string(),
                revision: stored.record.version,
            }),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Writes a revision over what is stored of it.
    ///
    /// # Errors
    /// It is too large, or the server refuses it.
    pub async fn update(&self, stored: &Stored, now: Timestamp) -> Result<(), HistoryError> {
        let packed = self.pack(stored, ("modifiedAt", now))?;
        self.write_parts(stored, &packed).await?;
        let secret = packed.secret;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = json!({ "metadata": { "labels": secret.metadata.labels }, "data": secret.data });
        let name = self.key(stored.record.version);
        match self
            .secrets
            .patch_metadata(&name, &parameters, &Patch::Merge(patch))
            .await
        {
            Ok(secret) => self.confirm(&secret.metadata),
            // Somebody deleted it while it was in use.
            Err(kube::Error::Api(status)) if status.is_not_found() => self.create(stored, now).await,
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Makes a revision that somebody else wrote ours: it gets our snapshot and our owner, and the
    /// record stays as it is.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn take_over(&self, stored: &Stored) -> Result<(), HistoryError> {
        let snapshot = ByteString(serde_json::to_vec(&stored.snapshot).unwrap_or_default());
        let patch = json!({
            "metadata": { "ownerReferences": [self.owner] },
            "data": { SNAPSHOT_KEY: snapshot },
        });
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let name = self.key(stored.record.version);
        match self
            .secrets
            .patch_metadata(&name, &parameters, &Patch::Merge(patch))
            .await
        {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed("take over", error)),
        }
    }

    /// Deletes a revision with its parts.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn delete(&self, stored: &Stored) -> Result<(), HistoryError> {
        let name = self.key(stored.record.version);
        let parts = stored.parts.into_iter().flat_map(|parts| parts.names(&name));
        for name in std::iter::once(name.clone()).chain(parts) {
            match self.secrets.delete(&name, &DeleteParams::default()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(self.failed("delete", error)),
            }
        }
        Ok(())
    }

    /// Deletes all revisions, the oldest first, so that the inventory is there until the end. Parts
    /// of revisions that can't be read go with their owner.
    ///
    /// # Errors
    /// The server refuses a request. Secrets that are no releases are deleted too when they
    /// belong to nobody else.
    pub async fn purge(&self) -> Result<(), HistoryError> {
        let selector = format!("owner=helm,name={}", self.release);
        let found = self
            .secrets
            .list_metadata(&ListParams::default().labels(&selector))
            .await
            .map_err(|error| self.failed("read", error))?;
        let mut secrets: Vec<ObjectMeta> = found.items.into_iter().map(|object| object.metadata).collect();
        // Helm's own command line writes no owner. Labels alone make no release: anybody writes them.
        let prefix = format!("sh.helm.release.v1.{}.v", self.release);
        secrets.retain(|metadata| {
            let mut owners = metadata.owner_references.iter().flatten();
            let is_named = metadata
                .name
                .as_ref()
                .is_some_and(|name| name.starts_with(&prefix));
            is_named && owners.all(|owner| owner.uid == self.owner.uid)
        });
        secrets.sort_by_key(|metadata| {
            let version = metadata.labels.as_ref().and_then(|labels| labels.get("version"));
            version
                .and_then(|version| version.parse::<u32>().ok())
                .unwrap_or_default()
        });
        for metadata in secrets {
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: metadata.uid.clone(),
                    resource_version: None,
                }),
                ..DeleteParams::default()
            };
            match self
                .secrets
                .delete(&metadata.name.unwrap_or_default(), &parameters)
                .await
            {
                Ok(_) => {}
                Err(error) => {
                    let error = RequestError::from(error);
                    if !error.is_not_found() && !error.is_other_uid() {
                        return Err(self.refused("delete", error));
                    }
                }
            }
        }
        Ok(())
    }

    /// Orphans all revisions: their Secrets lose their owner, so that they outlive it.
    ///
    /// # Errors
    /// The server refuses a request.
    pub async fn orphan(&self) -> Result<(), HistoryError> {
        let parts = format!("{PART_LABEL}={}", self.release);
        for selector in [format!("owner=helm,name={}", self.release), parts] {
            self.orphan_selected(&selector).await?;
        }
        Ok(())
    }

    async fn orphan_selected(&self, selector: &str) -> Result<(), HistoryError> {
        let found = self
            .secrets
            .list_metadata(&ListParams::default().labels(selector))
            .await
            .map_err(|error| self.failed("read", error))?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        for metadata in found.items.into_iter().map(|object| object.metadata) {
            let Some(patch) = orphan_patch(&metadata, &self.owner.uid) else {
                continue;
            };
            let name = metadata.name.unwrap_or_default();
            match self
                .secrets
                .patch_metadata(&name, &parameters, &Patch::Merge(patch))
                .await
            {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(self.failed("disown", error)),
            }
        }
        Ok(())
    }

    fn pack(&self, stored: &Stored, stamp: (&str, Timestamp)) -> Result<Packed, HistoryError> {
        pack(stored, &self.key(stored.record.version), &self.owner, stamp).map_err(|error| match error {
            PackError::Codec(source) => HistoryError::Codec {
                secret: self.key(stored.record.version),
                source,
            },
            PackError::TooLarge { size } => HistoryError::TooLarge {
                release: self.release.to_string(),
                size,
            },
        })
    }

    /// Writes what a revision's Secret has no room for, unless it is there. Before the Secret, so
    /// that a revision that can be found is whole.
    async fn write_parts(&self, stored: &Stored, packed: &Packed) -> Result<(), HistoryError> {
        if packed.parts == stored.parts {
            return Ok(());
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        for secret in &packed.part_secrets {
            let name = secret.metadata.name.clone().unwrap_or_default();
            self.secrets
                .patch(&name, &parameters, &Patch::Apply(secret))
                .await
                .map_err(|error| self.failed("write", error))?;
        }
        Ok(())
    }

    async fn read_parts(&self, name: &str, parts: Parts) -> Result<Overflow, HistoryError> {
        let mut packed = Vec::new();
        for part in parts.names(name) {
            let found = self.secrets.get_opt(&part).await;
            let found = found.map_err(|error| self.failed("read", error))?;
            let data = found
                .filter(|secret| secret.type_.as_deref() == Some(PART_TYPE))
                .and_then(|secret| secret.data?.remove(PART_KEY));
            match data {
                Some(data) => packed.extend(data.0),
                None => return Err(HistoryError::Part { secret: part }),
            }
        }
        parts.join(&packed).map_err(|source| HistoryError::Codec {
            secret: name.to_owned(),
            source,
        })
    }

    fn key(&self, revision: Revision) -> String {
        format!("sh.helm.release.v1.{}.v{revision}", self.release)
    }

    /// Whatever stands between us and the server may answer, too; then nothing is written.
    fn confirm(&self, written: &ObjectMeta) -> Result<(), HistoryError> {
        if written.uid.is_some() {
            return Ok(());
        }
        let no_object = RequestError::local("the server's answer is no object");
        Err(self.refused("write", no_object))
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

/// Which revisions go when at most `keep` may stay: the oldest ones that are neither the one
/// `current` nor needed to find objects again.
pub fn surplus(
    revisions: &[(Revision, ReleaseStatus)],
    current: Revision,
    keep: NonZeroUsize,
) -> Vec<Revision> {
    let excess = revisions.len().saturating_sub(keep.get());
    let mut old: Vec<_> = revisions
        .iter()
        .filter(|(revision, _)| *revision < current)
        .collect();
    old.sort();
    old.into_iter()
        .filter(|(_, status)| *status != ReleaseStatus::Deployed)
        .take(excess)
        .map(|(revision, _)| *revision)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stored: &[(u32, ReleaseStatus)], current: u32, keep: usize, expect: &[u32]) {
        let stored: Vec<_> = stored
            .iter()
            .map(|&(number, status)| (Revision(number), status))
            .collect();
        let gone: Vec<u32> = surplus(&stored, Revision(current), NonZeroUsize::new(keep).unwrap())
            .iter()
            .map(|revision| revision.0)
            .collect();
        assert_eq!(gone, expect);
    }

    #[test]
    fn the_oldest_revisions_go_first() {
        use ReleaseStatus::{Deployed, Failed, Superseded};
        let three = [(1, Superseded), (2, Failed), (3, Deployed)];
        check(&three, 3, 3, &[]);
        check(&three, 3, 2, &[1]);
        check(&three, 3, 1, &[1, 2]);
        check(&[(1, Deployed), (2, Failed), (3, Failed)], 3, 2, &[2]);
    }
}
