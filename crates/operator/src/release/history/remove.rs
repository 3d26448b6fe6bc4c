//! Revisions that go, with their release or before it, and those that outlive their owner.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use steersman_cluster::client::Pages;
use steersman_cluster::{RequestError, orphan_patch};
use steersman_model::FIELD_MANAGER;

use super::{History, HistoryError};
use crate::release::secret::{PART_LABEL, name_prefix};
use crate::release::stored::Stored;

/// So many Secrets of a release are remembered at a time to be deleted: who may write Secrets can give it any number of them.
const MOST_AT_A_TIME: usize = 5000;
/// So often: who makes them as fast as they are deleted holds nobody up for ever.
const MOST_TIMES: usize = 50;

impl History {
    /// Deletes a revision with its parts. A Secret that has taken its name since it was read stays.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn delete(&self, stored: &Stored) -> Result<(), HistoryError> {
        let name = self.key(stored.record.version);
        self.delete_secret(&name, stored.uid.clone()).await?;
        for part in stored.parts.into_iter().flat_map(|parts| parts.names(&name)) {
            self.delete_secret(&part, None).await?;
        }
        Ok(())
    }

    async fn delete_secret(&self, name: &str, uid: Option<String>) -> Result<(), HistoryError> {
        let preconditions = Preconditions {
            uid,
            resource_version: None,
        };
        let parameters = DeleteParams {
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        let deleted = self.secrets.delete(name, &parameters).await;
        match deleted.map_err(RequestError::from) {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() || error.is_other_uid() => Ok(()),
            Err(error) => Err(self.refused("delete", error)),
        }
    }

    /// Deletes all revisions but `last`, the oldest first. Parts
    /// of revisions that can't be read go with their owner. Revisions without an owner, as Helm writes them, go if the release
    /// `is_taken_over`; else they are somebody else's.
    ///
    /// # Errors
    /// The server refuses a request. Secrets that are no releases are deleted too when they
    /// belong to nobody else.
    pub async fn purge(&self, is_taken_over: bool, last: Option<&Stored>) -> Result<(), HistoryError> {
        let last = last.map(|last| self.key(last.record.version));
        // Helm's own command line writes no owner. Labels alone make no release: anybody writes them.
        let prefix = name_prefix(self.release.as_str());
        let is_ours = |metadata: &ObjectMeta| {
            let mut owners = metadata.owner_references.iter().flatten().peekable();
            let is_anybodys = owners.peek().is_some() || is_taken_over;
            let is_named = metadata
                .name
                .as_ref()
                .is_some_and(|name| name.starts_with(&prefix));
            is_named && is_anybodys && owners.all(|owner| owner.uid == self.owner.uid)
        };
        let pick = |metadata: &ObjectMeta| {
            let version = metadata.labels.as_ref().and_then(|labels| labels.get("version"));
            let version: u32 = version
                .and_then(|version| version.parse().ok())
                .unwrap_or_default();
            // Somebody's finalizer may hold it for ever.
            let is_going = metadata.deletion_timestamp.is_some();
            let name = metadata.name.clone().filter(|_| !is_going && is_ours(metadata))?;
            if last.as_ref() == Some(&name) {
                return None;
            }
            Some((version, name, metadata.uid.clone()))
        };
        for _ in 0..MOST_TIMES {
            let oldest = self.find_metadata(MOST_AT_A_TIME, pick).await?;
            let are_all = oldest.len() < MOST_AT_A_TIME;
            for (_, name, uid) in oldest {
                self.delete_secret(&name, uid).await?;
            }
            if are_all {
                break;
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
        let mut pages = Pages::of(&self.secrets, ListParams::default().labels(selector));
        let failed = |error| self.failed("read", error);
        while let Some(page) = pages.next_metadata().await.map_err(failed)? {
            for metadata in page {
                self.orphan_one(metadata).await?;
            }
        }
        Ok(())
    }

    async fn orphan_one(&self, metadata: ObjectMeta) -> Result<(), HistoryError> {
        let Some(patch) = orphan_patch(&metadata, &self.owner.uid) else {
            return Ok(());
        };
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let (name, patch) = (metadata.name.unwrap_or_default(), Patch::Merge(patch));
        match self.secrets.patch_metadata(&name, &parameters, &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(self.failed("disown", error)),
        }
    }
}
