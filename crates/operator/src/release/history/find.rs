//! Finding the Secrets of a release: by the names that the index knows, or by a list.
//!
//! A list costs the server all Secrets of the namespace; with as many releases in it, that is quadratic. That a name is not
//! known is no proof that nothing is there: where that matters, the server is asked.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use steersman_cluster::client::Pages;

use super::{History, HistoryError};
use crate::release::codec::Room;
use crate::release::secret::secret_revision;

/// How many Secrets are asked for by name; more, as others may write them, are listed.
const MAX_NAMES: usize = 32;
/// How many are asked for at a time.
const AT_ONCE: usize = 4;
/// How many a page of a list has.
const PAGE: u32 = 10;
/// What a Secret takes besides what is in it, and an entry besides its texts, in bytes.
const SECRET: usize = 2048;
const ENTRY: usize = 256;
/// What the types of all of Helm's versions begin with.
const SECRET_TYPES: &str = "helm.sh/release.";

impl History {
    /// The Secrets of the release, but for those of others that the watch has yet to tell of. Nothing is lost by that
    /// where another revision is written: one that is there is not written over.
    pub(super) async fn find(&self, room: &mut Room) -> Result<Vec<Secret>, HistoryError> {
        match self.known_names().await {
            Some(names) => self.get_or_list(names, room).await,
            None => self.list(room).await,
        }
    }

    /// All Secrets of the release: what is deleted with it follows from them. Revisions are numbered one after the other,
    /// so the server is asked for the one after those that are known.
    pub(super) async fn find_all(&self, room: &mut Room) -> Result<Vec<Secret>, HistoryError> {
        let names = self.known_names().await.unwrap_or_default();
        let revisions = names
            .iter()
            .filter_map(|name| secret_revision(self.release.as_str(), name));
        let Some(newest) = revisions.max() else {
            return self.list(room).await;
        };
        match self.secrets.get_metadata_opt(&self.key(newest.next())).await {
            Ok(None) => self.get_or_list(names, room).await,
            Ok(Some(_)) | Err(_) => self.list(room).await,
        }
    }

    /// The least of what `pick` takes of the metadata of each Secret of the release, so many at most: others may have put
    /// much into it, and may have made many.
    pub(super) async fn find_metadata<T: Ord>(
        &self,
        most: usize,
        pick: impl Fn(&ObjectMeta) -> Option<T>,
    ) -> Result<BTreeSet<T>, HistoryError> {
        let names = self.known_names().await.unwrap_or_default();
        let requests: Vec<_> = names
            .iter()
            .map(|name| self.secrets.get_metadata_opt(name))
            .collect();
        let picked = |metadata: &ObjectMeta| pick(metadata).filter(|_| self.is_selected(metadata));
        let found: Result<Vec<_>, _> = futures::stream::iter(requests)
            .buffered(AT_ONCE)
            .map_ok(|secret| secret.map(|secret| picked(&secret.metadata)))
            .try_collect()
            .await;
        let found: Vec<Option<T>> = found.unwrap_or_default().into_iter().flatten().collect();
        if !found.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let mut listed = BTreeSet::new();
        let mut pages = Pages::of(&self.secrets, self.selector());
        let failed = |error| self.failed("read", error);
        while let Some(page) = pages.next_metadata().await.map_err(failed)? {
            self.note_all(page.iter());
            listed.extend(page.iter().filter_map(&pick));
            while listed.len() > most {
                listed.pop_last();
            }
        }
        Ok(listed)
    }

    /// The Secrets of these names. Where none of them is there, others may be; where one request fails, the list is another
    /// try.
    async fn get_or_list(&self, names: Vec<String>, room: &mut Room) -> Result<Vec<Secret>, HistoryError> {
        let requests: Vec<_> = names.iter().map(|name| self.secrets.get_opt(name)).collect();
        let mut answers = futures::stream::iter(requests).buffered(AT_ONCE);
        let (mut found, mut is_any) = (Vec::new(), false);
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(Some(secret)) => {
                    is_any = true;
                    if self.is_selected(&secret.metadata) {
                        found.extend(taking_room(secret, room)?);
                    }
                }
                Ok(None) => {}
                Err(_) => {
                    is_any = false;
                    break;
                }
            }
        }
        if !is_any {
            return self.list(room).await;
        }
        Ok(found)
    }

    async fn list(&self, room: &mut Room) -> Result<Vec<Secret>, HistoryError> {
        let mut pages = Pages::of(&self.secrets, self.selector().limit(PAGE));
        let mut listed = Vec::new();
        let failed = |error| self.failed("read", error);
        while let Some(page) = pages.next().await.map_err(failed)? {
            self.note_all(page.iter().map(|secret| &secret.metadata));
            for secret in page {
                listed.extend(taking_room(secret, room)?);
            }
        }
        Ok(listed)
    }

    fn note_all<'a>(&self, listed: impl Iterator<Item = &'a ObjectMeta>) {
        for metadata in listed {
            self.note(
                metadata.name.as_deref().unwrap_or_default(),
                metadata.uid.as_deref(),
            );
        }
    }

    /// The names that the index knows; `None` where it knows none, and where a list is cheaper.
    async fn known_names(&self) -> Option<Vec<String>> {
        let names = self.index.as_ref()?.secrets_of(&self.namespace, &self.release);
        let names = names.await?;
        (1..=MAX_NAMES).contains(&names.len()).then_some(names)
    }

    /// What Helm finds the Secrets of a release by.
    fn selector(&self) -> ListParams {
        ListParams::default().labels(&format!("owner=helm,name={}", self.release))
    }

    /// Whether Helm finds a Secret with this metadata.
    fn is_selected(&self, metadata: &ObjectMeta) -> bool {
        let label = |key: &str| metadata.labels.as_ref()?.get(key).map(String::as_str);
        label("owner") == Some("helm") && label("name") == Some(self.release.as_str())
    }
}

/// What is needed of a Secret, where that has room: who may write Secrets may have made any number of them. `None` for one
/// that can't be a revision, or is going.
fn taking_room(mut secret: Secret, room: &mut Room) -> Result<Option<Secret>, HistoryError> {
    let kind = secret.type_.as_deref().unwrap_or_default();
    if !kind.starts_with(SECRET_TYPES) || secret.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let metadata = &mut secret.metadata;
    metadata.annotations = None;
    metadata.labels = None;
    metadata.finalizers = None;
    for entry in metadata.managed_fields.iter_mut().flatten() {
        entry.fields_v1 = None;
    }
    let values = secret.data.iter().flatten();
    let data: usize = values.map(|(key, value)| ENTRY + key.len() + value.0.len()).sum();
    let owners = metadata.owner_references.iter().flatten();
    let owners = owners
        .map(|owner| ENTRY + owner.api_version.len() + owner.kind.len() + owner.name.len() + owner.uid.len());
    let managers = metadata.managed_fields.iter().flatten();
    let managers = managers.map(|entry| ENTRY + entry.manager.as_ref().map_or(0, String::len));
    let listed: usize = owners.chain(managers).sum();
    room.take(SECRET + data + listed)
        .map_err(|source| HistoryError::unpacking(metadata.name.as_deref().unwrap_or_default(), source))?;
    Ok(Some(secret))
}
