//! Reading revisions, and telling whether they are this release's.

use k8s_openapi::api::core::v1::Secret;
use steersman_cluster::is_named;
use steersman_model::{Revision, Weight, check_weight, one_line};

use super::{History, HistoryError};
use crate::release::codec::{CodecError, Room};
use crate::release::parts::{Overflow, PART_KEY, PART_TYPE, Parts};
use crate::release::record::ReleaseRecord;
use crate::release::secret::{PARTS_KEY, RELEASE_KEY, SECRET_TYPE, SIGNATURE_KEY, SNAPSHOT_KEY, is_barrier};
use crate::release::signature::{Signature, SignedContent};
use crate::release::stored::{RecordOwner, Snapshot, Stored, Verdict};

impl History {
    /// All revisions, the oldest first, but for those that others have written this very moment.
    ///
    /// # Errors
    /// A Secret can't be read, is no release, or belongs to another resource's release.
    pub async fn load(&self) -> Result<Vec<Stored>, HistoryError> {
        Ok(self.load_weighed().await?.0)
    }

    /// The same, with how many bytes they take.
    ///
    /// # Errors
    /// As [`History::load`].
    pub async fn load_weighed(&self) -> Result<(Vec<Stored>, usize), HistoryError> {
        let (mut room, allowance) = self.room().await;
        let secrets = self.find(&mut room).await?;
        let (revisions, unreadable) = self.read_all(secrets, &mut room, allowance.objects).await?;
        match unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok((revisions, room.taken())),
        }
    }

    /// All revisions that can be read, the oldest first, and why others can't. None is missing.
    ///
    /// # Errors
    /// The Secrets can't be found, or they belong to another resource's release, or to another operator's; or they take more
    /// than the usual share of the memory, and the large one was not tried.
    pub async fn load_readable(&self) -> Result<(Vec<Stored>, Vec<HistoryError>), HistoryError> {
        let (mut room, allowance) = self.room().await;
        let secrets = self.find_all(&mut room).await?;
        self.read_all(secrets, &mut room, allowance.objects).await
    }

    async fn read_all(
        &self,
        secrets: Vec<Secret>,
        room: &mut Room,
        objects: usize,
    ) -> Result<(Vec<Stored>, Vec<HistoryError>), HistoryError> {
        let (mut revisions, mut unreadable) = (Vec::new(), Vec::new());
        for secret in secrets {
            let kind = secret.type_.clone().unwrap_or_default();
            let read = if kind == SECRET_TYPE {
                self.read(secret, room, objects).await
            } else {
                let secret = secret.metadata.name.unwrap_or_default();
                Err(HistoryError::Format { secret, kind })
            };
            match read {
                Ok(stored) => revisions.push(stored),
                Err(
                    error @ (HistoryError::Owned { .. }
                    | HistoryError::OtherKey { .. }
                    | HistoryError::Request { .. }),
                ) => return Err(error),
                Err(error) if error.is_about_memory() && !self.share.is_large() => return Err(error),
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
        let (mut room, allowance) = self.room().await;
        let found = self.secrets.get_opt(&self.key(revision)).await;
        match found.map_err(|error| self.failed("read", error))? {
            Some(secret) => self.read(secret, &mut room, allowance.objects).await.map(Some),
            None => Ok(None),
        }
    }

    /// The revision in a Secret, as far as there is room for it, and for its objects in so many bytes.
    pub(super) async fn read(
        &self,
        secret: Secret,
        room: &mut Room,
        objects: usize,
    ) -> Result<Stored, HistoryError> {
        let name = secret.metadata.name.clone().unwrap_or_default();
        let ours = (
            self.owner.api_version.as_str(),
            self.owner.kind.as_str(),
            self.owner.name.as_str(),
        );
        let owners = || secret.metadata.owner_references.iter().flatten();
        if let Some(other) = owners().find(|owner| owner.controller == Some(true) && !is_named(owner, ours)) {
            return Err(HistoryError::Owned {
                release: self.release.to_string(),
                namespace: self.namespace.clone(),
                owner: format!("{} {} ({})", other.kind, other.name, other.api_version),
            });
        }
        let record_owner = if owners().any(|owner| owner.uid == self.owner.uid) {
            RecordOwner::Resource
        } else if owners().any(|owner| is_named(owner, ours)) {
            RecordOwner::Former
        } else {
            RecordOwner::Nobody
        };
        let managers = secret.metadata.managed_fields.into_iter().flatten();
        let managers = managers.filter_map(|entry| entry.manager).collect();
        let data = secret.data.unwrap_or_default();
        let text = data
            .get(RELEASE_KEY)
            .map(|bytes| bytes.0.as_slice())
            .unwrap_or_default();
        let unpacked = |source| HistoryError::unpacking(&name, source);
        let mut record = ReleaseRecord::decode_within(text, room).map_err(unpacked)?;
        if record.name != self.release.as_str() || name != self.key(record.version) {
            return Err(HistoryError::Mismatch { secret: name });
        }
        let snapshot = data.get(SNAPSHOT_KEY).map(|bytes| bytes.0.as_slice());
        room.take(snapshot.map_or(0, Weight::of)).map_err(unpacked)?;
        let snapshot = snapshot.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let mut snapshot: Snapshot = snapshot.unwrap_or_default();
        let parts = data.get(PARTS_KEY).map(|bytes| serde_json::from_slice(&bytes.0));
        let parts: Option<Parts> = parts.transpose().map_err(|_| HistoryError::Codec {
            secret: name.clone(),
            source: CodecError::Json,
        })?;
        if let Some(parts) = parts {
            if !parts.is_plausible() {
                return Err(HistoryError::Mismatch { secret: name });
            }
            let overflow = self.read_parts(&name, parts, room).await?;
            (record.manifest, record.hooks) = (overflow.manifest, overflow.hooks);
        }
        check_weight(&record.manifest, objects).map_err(|source| HistoryError::Objects {
            secret: name.clone(),
            source,
        })?;
        if let Some(hooks) = &mut record.hooks {
            hooks.retain(|hook| !is_barrier(hook));
        }
        let signature = data.get(SIGNATURE_KEY);
        let signature = signature.and_then(|bytes| serde_json::from_slice(&bytes.0).ok());
        let content = self.content(&record, &snapshot, parts);
        let verdict = self.judge(&name, &content, signature).await?;
        let claim = (verdict != Verdict::Signed).then(|| snapshot.clone());
        if verdict == Verdict::Signed {
            record.info.status = snapshot.status_of(&record);
        } else {
            snapshot = snapshot.names_alone();
            snapshot.next = snapshot.next.filter(|next| self.vouches(next));
        }
        Ok(Stored {
            record,
            snapshot,
            uid: secret.metadata.uid,
            secret_version: secret.metadata.resource_version,
            managers,
            parts,
            verdict,
            claim,
            owner: record_owner,
        })
    }

    /// Who vouches for the revision in the Secret `name`.
    async fn judge(
        &self,
        name: &str,
        content: &SignedContent<'_>,
        signature: Option<Signature>,
    ) -> Result<Verdict, HistoryError> {
        let Some(signature) = signature else {
            return Ok(Verdict::Unsigned);
        };
        let verdict = self.signer.judge(content, &signature).await;
        match verdict {
            Verdict::UnknownKey if self.signer.leaves_alone(&signature) => Err(HistoryError::OtherKey {
                secret: name.to_owned(),
                key: one_line(&signature.key),
            }),
            Verdict::Altered | Verdict::UnknownKey => {
                let reason = if verdict == Verdict::Altered {
                    "it was changed or copied since it was signed"
                } else {
                    "the key that has signed it is not here"
                };
                tracing::warn!(namespace = %self.namespace, secret = name, reason, "a revision is not believed");
                Ok(verdict)
            }
            Verdict::Signed | Verdict::Unsigned => Ok(verdict),
        }
    }

    async fn read_parts(&self, name: &str, parts: Parts, room: &mut Room) -> Result<Overflow, HistoryError> {
        let mut packed = Vec::new();
        let unpacked = |source| HistoryError::unpacking(name, source);
        for part in parts.names(name) {
            let found = self.secrets.get_opt(&part).await;
            let found = found.map_err(|error| self.failed("read", error))?;
            let data = found
                .filter(|secret| secret.type_.as_deref() == Some(PART_TYPE))
                .and_then(|secret| secret.data?.remove(PART_KEY));
            match data {
                Some(data) => {
                    room.take(data.0.len()).map_err(unpacked)?;
                    packed.extend(data.0);
                }
                None => return Err(HistoryError::Part { secret: part }),
            }
        }
        parts.join(&packed, room).map_err(unpacked)
    }
}
