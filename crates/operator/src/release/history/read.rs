//! Reading revisions, and telling whether they are this release's.

use k8s_openapi::api::core::v1::Secret;
use steersman_cluster::is_named;
use steersman_model::Revision;

use super::{History, HistoryError};
use crate::release::codec::CodecError;
use crate::release::parts::{Overflow, PART_KEY, PART_TYPE, Parts};
use crate::release::record::ReleaseRecord;
use crate::release::secret::{PARTS_KEY, RELEASE_KEY, SECRET_TYPE, SNAPSHOT_KEY, is_barrier};
use crate::release::stored::Stored;

/// What the types of all of Helm's versions begin with.
const SECRET_TYPES: &str = "helm.sh/release.";

impl History {
    /// All revisions, the oldest first, but for those that others have written this very moment.
    ///
    /// # Errors
    /// A Secret can't be read, is no release, or belongs to another resource's release.
    pub async fn load(&self) -> Result<Vec<Stored>, HistoryError> {
        let (revisions, unreadable) = self.read_all(self.find().await?).await?;
        match unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(revisions),
        }
    }

    /// All revisions that can be read, the oldest first, and why others can't. None is missing.
    ///
    /// # Errors
    /// The Secrets can't be found, or they belong to another resource's release.
    pub async fn load_readable(&self) -> Result<(Vec<Stored>, Vec<HistoryError>), HistoryError> {
        self.read_all(self.find_all().await?).await
    }

    async fn read_all(&self, secrets: Vec<Secret>) -> Result<(Vec<Stored>, Vec<HistoryError>), HistoryError> {
        let (mut revisions, mut unreadable) = (Vec::new(), Vec::new());
        for secret in secrets {
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
        let mut owners = secret.metadata.owner_references.iter().flatten();
        let has_owner = owners.any(|owner| owner.uid == self.owner.uid);
        let managers = secret.metadata.managed_fields.into_iter().flatten();
        let managers = managers.filter_map(|entry| entry.manager).collect();
        let data = secret.data.unwrap_or_default();
        let text = data
            .get(RELEASE_KEY)
            .map(|bytes| bytes.0.as_slice())
            .unwrap_or_default();
        let mut record = ReleaseRecord::decode(text).map_err(|source| HistoryError::Codec {
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
            uid: secret.metadata.uid,
            has_owner,
            managers,
            parts,
        })
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
}
