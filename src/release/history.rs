//! Where revisions are kept: Helm's Secrets.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::codec::{CodecError, decode, encode};
use super::digest::{Digest, Inputs};
use super::name::ReleaseName;
use super::record::ReleaseRecord;
use super::revision::{ReleaseStatus, Revision};
use crate::apply::{ChangeSet, FIELD_MANAGER, ObjectId, RequestError, disowning};
use crate::lookup::Answer;

const SECRET_TYPE: &str = "helm.sh/release.v1";
/// What the types of all of Helm's versions begin with.
const SECRET_TYPES: &str = "helm.sh/release.";
/// The key under which Helm keeps the record.
const RELEASE_KEY: &str = "release";
/// The key under which we keep what Helm does not know.
const SNAPSHOT_KEY: &str = "steersman";
/// The API server's limit for a Secret's data.
const MAX_SECRET_BYTES: usize = 1024 * 1024;

/// What Helm and helm-operator call themselves if nobody renames them.
const FORMER_MANAGERS: [&str; 2] = ["helm", "helm-operator"];

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
    /// A Secret would exceed the server's limit.
    #[error("release {release} takes {size} bytes; a Secret holds at most {MAX_SECRET_BYTES}")]
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

/// What we remember of a revision besides Helm's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// What it was rendered from; absent in revisions that others wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Its objects, each with the digest of our fields right after it was applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<SnapshotObject>,
    /// Objects that only revisions name which are no longer stored, and that this one may have to
    /// delete: the inventory outlives the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<ObjectId>,
    /// The same of hooks; they are deleted with the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook_objects: Vec<ObjectId>,
    /// What was looked up to render it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Answer>,
}

/// An object in a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotObject {
    /// Which object.
    #[serde(flatten)]
    pub id: ObjectId,
    /// The version of its API.
    pub version: String,
    /// The digest of our fields in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

impl Snapshot {
    /// What an application has done, from inputs that are yet to be named.
    pub fn new(changes: &ChangeSet) -> Self {
        let objects = changes.iter().map(|(id, applied)| SnapshotObject {
            id: id.clone(),
            version: applied.version.clone(),
            digest: applied.digest,
        });
        Self {
            objects: objects.collect(),
            ..Self::default()
        }
    }
}

/// A revision as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The record.
    pub record: ReleaseRecord,
    /// What we know besides.
    pub snapshot: Snapshot,
    /// Who has written the Secret: the names of its field managers. Helm and operators made with it
    /// go by their program's name.
    pub managers: Vec<String>,
}

impl Stored {
    /// Whether Helm or helm-operator wrote it.
    pub fn is_of_others(&self) -> bool {
        self.snapshot.inputs.is_none()
    }

    /// The field managers whose objects the revision consists of, if others wrote it. Helm's own
    /// Secrets do not always carry the name under which it writes objects, so that is among them.
    pub fn former_managers(&self) -> Vec<String> {
        if !self.is_of_others() {
            return Vec::new();
        }
        let others = self.managers.iter().filter(|name| *name != FIELD_MANAGER);
        let usual = FORMER_MANAGERS.iter().map(|&name| name.to_owned());
        others.cloned().chain(usual).collect()
    }
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
                self.read(secret)
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
        found
            .map_err(|error| self.failed("read", error))?
            .map(|secret| self.read(secret))
            .transpose()
    }

    fn read(&self, secret: Secret) -> Result<Stored, HistoryError> {
        let name = secret.metadata.name.clone().unwrap_or_default();
        if let Some(other) = secret.metadata.owner_references.iter().flatten().find(|owner| {
            owner.controller == Some(true) && (owner.kind != self.owner.kind || owner.name != self.owner.name)
        }) {
            return Err(HistoryError::Owned {
                release: self.release.to_string(),
                namespace: self.namespace.clone(),
                owner: format!("{} {}", other.kind, other.name),
            });
        }
        let managers = secret.metadata.managed_fields.into_iter().flatten();
        let managers = managers.filter_map(|entry| entry.manager).collect();
        let data = secret.data.unwrap_or_default();
        let text = data
            .get(RELEASE_KEY)
            .map(|bytes| bytes.0.as_slice())
            .unwrap_or_default();
        let record: ReleaseRecord = decode(text).map_err(|source| HistoryError::Codec {
            secret: name.clone(),
            source,
        })?;
        if record.name != self.release.as_str() || name != self.key(record.version) {
            return Err(HistoryError::Mismatch { secret: name });
        }
        let snapshot = data
            .get(SNAPSHOT_KEY)
            .and_then(|bytes| serde_json::from_slice(&bytes.0).ok());
        Ok(Stored {
            record,
            snapshot: snapshot.unwrap_or_default(),
            managers,
        })
    }

    /// Writes a revision that is not there yet.
    ///
    /// # Errors
    /// It is there, is too large, or the server refuses it.
    pub async fn create(&self, stored: &Stored, now: Timestamp) -> Result<(), HistoryError> {
        let secret = self.secret(stored, ("createdAt", now))?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.secrets.create(&parameters, &secret).await {
            Ok(_) => Ok(()),
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
        let secret = self.secret(stored, ("modifiedAt", now))?;
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
            Ok(_) => Ok(()),
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

    /// Deletes a revision.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn delete(&self, revision: Revision) -> Result<(), HistoryError> {
        match self
            .secrets
            .delete(&self.key(revision), &DeleteParams::default())
            .await
        {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(self.failed("delete", error)),
        }
    }

    /// Deletes all revisions, the oldest first, so that the inventory is there until the end.
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
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
                Err(error) => return Err(self.failed("delete", error)),
            }
        }
        Ok(())
    }

    /// Takes the owner off all revisions, so that they outlive it.
    ///
    /// # Errors
    /// The server refuses a request.
    pub async fn disown(&self) -> Result<(), HistoryError> {
        let selector = format!("owner=helm,name={}", self.release);
        let found = self
            .secrets
            .list_metadata(&ListParams::default().labels(&selector))
            .await
            .map_err(|error| self.failed("read", error))?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        for metadata in found.items.into_iter().map(|object| object.metadata) {
            let Some(patch) = disowning(&metadata, &self.owner.uid) else {
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

    fn secret(&self, stored: &Stored, (stamp, now): (&str, Timestamp)) -> Result<Secret, HistoryError> {
        let record = &stored.record;
        let name = self.key(record.version);
        let release = encode(record).map_err(|source| HistoryError::Codec {
            secret: name.clone(),
            source,
        })?;
        let snapshot = serde_json::to_vec(&stored.snapshot).unwrap_or_default();
        let size = release.len() + snapshot.len();
        if size > MAX_SECRET_BYTES {
            return Err(HistoryError::TooLarge {
                release: self.release.to_string(),
                size,
            });
        }
        let labels = [
            ("name", self.release.to_string()),
            ("owner", "helm".to_owned()),
            ("status", record.info.status.to_string()),
            ("version", record.version.to_string()),
            (stamp, now.as_second().to_string()),
        ];
        Ok(Secret {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.namespace.clone()),
                labels: Some(
                    labels
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                ),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(BTreeMap::from([
                (RELEASE_KEY.to_owned(), ByteString(release.into_bytes())),
                (SNAPSHOT_KEY.to_owned(), ByteString(snapshot)),
            ])),
            ..Secret::default()
        })
    }

    fn key(&self, revision: Revision) -> String {
        format!("sh.helm.release.v1.{}.v{revision}", self.release)
    }

    fn failed(&self, attempt: &'static str, error: kube::Error) -> HistoryError {
        HistoryError::Request {
            attempt,
            release: self.release.to_string(),
            source: error.into(),
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
