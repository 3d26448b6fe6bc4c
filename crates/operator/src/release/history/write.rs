//! Writing revisions: new ones, over what is stored, and over what others stored.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use steersman_cluster::RequestError;
use steersman_model::{FIELD_MANAGER, Revision};

use super::{History, HistoryError};
use crate::release::parts::Parts;
use crate::release::secret::{
    PARTS_KEY, PackError, Packed, SIGNATURE_KEY, SNAPSHOT_KEY, TimeLabel, pack, packed_signature,
};
use crate::release::signature::Signature;
use crate::release::stored::{Snapshot, Stored};

/// What has become of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// It is done.
    Written,
    /// There is nothing to be written over.
    Gone,
    /// Somebody else has written it.
    Changed,
}

impl History {
    /// Writes a revision that is not there yet, and notes its parts in it: what is written of it later is signed with them.
    ///
    /// # Errors
    /// It is there, is too large, or the server refuses it.
    pub async fn create(&self, stored: &mut Stored, now: Timestamp) -> Result<(), HistoryError> {
        let packed = self.pack(stored, TimeLabel::created(now))?;
        self.write_parts(stored, &packed).await?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let created = self.secrets.create(&parameters, &packed.secret).await;
        self.note_created(stored.record.version, created.as_ref());
        match created {
            Ok(secret) => {
                stored.parts = packed.parts;
                self.confirm(&secret.metadata)
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => Err(HistoryError::Taken {
                release: self.release.to_string(),
                revision: stored.record.version,
            }),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Writes a revision over what is stored of it, and notes its parts in it.
    ///
    /// # Errors
    /// It is too large, or the server refuses it.
    pub async fn update(&self, stored: &mut Stored, now: Timestamp) -> Result<(), HistoryError> {
        if self.update_existing(stored, now).await? {
            return Ok(());
        }
        // Somebody deleted it while it was in use, and its parts may be gone as well.
        stored.parts = None;
        self.create(stored, now).await
    }

    /// The same where it is still stored; gives whether it is.
    ///
    /// # Errors
    /// It is too large, or the server refuses it.
    pub async fn update_existing(&self, stored: &mut Stored, now: Timestamp) -> Result<bool, HistoryError> {
        let updated = self.write_over(stored, None, now).await?;
        Ok(updated != Updated::Gone)
    }

    /// The same where nobody has written it since it was read.
    ///
    /// # Errors
    /// It is too large, or the server refuses it.
    pub async fn update_unchanged(
        &self,
        stored: &mut Stored,
        now: Timestamp,
    ) -> Result<Updated, HistoryError> {
        let version = stored.secret_version.clone();
        self.write_over(stored, version, now).await
    }

    async fn write_over(
        &self,
        stored: &mut Stored,
        version: Option<String>,
        now: Timestamp,
    ) -> Result<Updated, HistoryError> {
        let packed = self.pack(stored, TimeLabel::modified(now))?;
        self.write_parts(stored, &packed).await?;
        let (secret, parts) = (packed.secret, packed.parts);
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let mut patch = json!({ "metadata": { "labels": secret.metadata.labels }, "data": secret.data });
        if stored.parts.is_some() && parts.is_none() {
            patch["data"][PARTS_KEY] = Value::Null;
        }
        if let Some(version) = &version {
            patch["metadata"]["resourceVersion"] = version.as_str().into();
        }
        let name = self.key(stored.record.version);
        match self
            .secrets
            .patch_metadata(&name, &parameters, &Patch::Merge(patch))
            .await
        {
            Ok(secret) => {
                stored.parts = parts;
                self.confirm(&secret.metadata)?;
                Ok(Updated::Written)
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Updated::Gone),
            Err(kube::Error::Api(status)) if status.is_conflict() && version.is_some() => {
                Ok(Updated::Changed)
            }
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Makes a revision ours that nobody vouched for: it gets our snapshot, our signature and our owner. The record stays as
    /// it is, unless it is `rewritten`.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn take_over(
        &self,
        stored: &Stored,
        rewritten: bool,
        now: Timestamp,
    ) -> Result<(), HistoryError> {
        let mut fits_again = false;
        let data = if rewritten {
            let packed = self.pack(stored, TimeLabel::modified(now))?;
            self.write_parts(stored, &packed).await?;
            fits_again = stored.parts.is_some() && packed.parts.is_none();
            packed.secret.data
        } else {
            let snapshot = serde_json::to_vec(&stored.sealed(&stored.snapshot)).unwrap_or_default();
            let signature = self.sign(stored, stored.parts);
            let signature = packed_signature(signature).map(|signature| (SIGNATURE_KEY, signature));
            let data = [(SNAPSHOT_KEY, snapshot)].into_iter().chain(signature);
            Some(
                data.map(|(key, bytes)| (key.to_owned(), ByteString(bytes)))
                    .collect(),
            )
        };
        let mut patch = json!({ "metadata": { "ownerReferences": [self.owner] }, "data": data });
        if fits_again {
            patch["data"][PARTS_KEY] = Value::Null;
        }
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

    /// Notes what the answer to a creation says: the Secret is there, or another one of its name, or it may be there, as
    /// there was no answer.
    fn note_created(&self, revision: Revision, created: Result<&Secret, &kube::Error>) {
        let uid = match created {
            Ok(secret) => secret.metadata.uid.as_deref(),
            Err(kube::Error::Api(status)) if !status.is_already_exists() && status.code < 500 => return,
            Err(_) => None,
        };
        self.note(&self.key(revision), uid);
    }

    /// Writes another snapshot beside the record, which stays as it is.
    ///
    /// # Errors
    /// The server refuses it. A revision that somebody has deleted needs none.
    pub async fn write_snapshot(&self, stored: &Stored, snapshot: &Snapshot) -> Result<(), HistoryError> {
        let snapshot = stored.sealed(snapshot);
        let signature = if stored.is_signed() {
            self.signer
                .sign(&self.content(&stored.record, &snapshot, stored.parts))
        } else {
            None
        };
        let snapshot = serde_json::to_vec(&snapshot).unwrap_or_default();
        let mut data = BTreeMap::from([(SNAPSHOT_KEY, ByteString(snapshot))]);
        data.extend(packed_signature(signature).map(|bytes| (SIGNATURE_KEY, ByteString(bytes))));
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "data": data }));
        let name = self.key(stored.record.version);
        match self.secrets.patch_metadata(&name, &parameters, &patch).await {
            Ok(secret) => self.confirm(&secret.metadata),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    fn pack(&self, stored: &Stored, time: TimeLabel) -> Result<Packed, HistoryError> {
        let sign = |parts| self.sign(stored, parts);
        let packed = pack(stored, &self.key(stored.record.version), &self.owner, time, sign);
        packed.map_err(|error| match error {
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

    /// The signature of a revision in these parts; `None` for one that is not ours to vouch for.
    fn sign(&self, stored: &Stored, parts: Option<Parts>) -> Option<Signature> {
        if !stored.is_signed() {
            return None;
        }
        let snapshot = stored.sealed(&stored.snapshot);
        self.signer.sign(&self.content(&stored.record, &snapshot, parts))
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

    /// Whatever stands between us and the server may answer, too; then nothing is written.
    fn confirm(&self, written: &ObjectMeta) -> Result<(), HistoryError> {
        if written.uid.is_some() {
            return Ok(());
        }
        let no_object = RequestError::local("the server's answer is no object");
        Err(self.refused("write", no_object))
    }
}
