//! Finding objects by our mark alone, where no stored revision names them.

use futures::{StreamExt, TryStreamExt};
use kube::api::ListParams;

use super::applier::Applier;
use super::mark::{OWNER_UID_LABEL, Owner};
use super::object::{ObjectId, RESOURCE_POLICY, is_keep};
use super::prune::PruneError;
use super::request::RequestError;
use crate::discovery::Resource;

/// So many kinds are asked for at a time.
const PARALLEL: usize = 4;

impl Applier {
    /// Every object that carries the owner's UID and is not to be kept, whatever its kind. One
    /// request for each kind that is served: for when nothing else tells.
    ///
    /// Kinds that can't be listed, or that the operator may not list, are left out.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn all_marked(&self, owner: &Owner) -> Result<Vec<ObjectId>, PruneError> {
        let served = self.discovery.refresh().await?;
        let kinds: Vec<Resource> = served.kinds().cloned().collect();
        let listed: Vec<Vec<ObjectId>> = futures::stream::iter(kinds)
            .map(|resource| async move { self.marked_of(owner, &resource).await })
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        Ok(listed.into_iter().flatten().collect())
    }

    async fn marked_of(&self, owner: &Owner, resource: &Resource) -> Result<Vec<ObjectId>, PruneError> {
        let parameters = ListParams::default().labels(&format!("{OWNER_UID_LABEL}={}", owner.uid));
        let mut found = self.api(resource, None).list_metadata(&parameters).await;
        if resource.namespaced && found.as_ref().is_err_and(is_forbidden) {
            // An operator for some namespaces may look into these only.
            let api = self.api(resource, Some(&owner.release_namespace));
            found = api.list_metadata(&parameters).await;
        }
        match found.map_err(RequestError::from) {
            Ok(found) => Ok(found
                .items
                .into_iter()
                .map(|object| object.metadata)
                .filter(|metadata| {
                    let annotations = metadata.annotations.as_ref();
                    !annotations
                        .and_then(|all| all.get(RESOURCE_POLICY))
                        .is_some_and(|policy| is_keep(policy))
                })
                .map(|metadata| ObjectId {
                    group: resource.api.group.clone(),
                    kind: resource.api.kind.clone(),
                    namespace: metadata.namespace,
                    name: metadata.name.unwrap_or_default(),
                })
                .collect()),
            Err(source) if source.is_transient() => Err(PruneError::List {
                kind: resource.api.kind.clone(),
                source,
            }),
            Err(error) => {
                tracing::debug!(kind = %resource.api.kind, %error, "a kind can't be listed");
                Ok(Vec::new())
            }
        }
    }
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
