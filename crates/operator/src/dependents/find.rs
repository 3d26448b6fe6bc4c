//! Finding what belongs to a resource that has got known after its objects were seen.

use std::sync::Arc;

use kube::api::{Api, DynamicObject, ListParams};
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{OWNER_UID_LABEL, RequestError};

use super::judge::Arrived;
use super::{Dependents, Scope};

/// The objects of a resource can't be looked for.
#[derive(Debug, thiserror::Error)]
#[error("failed to look for objects of kind {kind}")]
pub struct FindError {
    /// Without its group, such as `Deployment`.
    pub kind: String,
    /// What the server said.
    pub source: RequestError,
}

impl Dependents {
    /// Lists what there may be of the owner with this UID that was seen before its route. That is nothing as a rule, and
    /// costs no request then.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn find_unseen(&self, owner: &str) -> Result<(), FindError> {
        let unseen = self.lock().known.unseen(owner);
        for scope in unseen {
            let watched = self
                .lock()
                .watches
                .get(&scope)
                .map(|watched| watched.resource.clone());
            let found = match watched {
                Some(resource) => self.list_of(owner, &scope, &resource).await,
                None => Ok(()),
            };
            match found {
                Err(source) if source.is_transient() => {
                    let kind = scope.kind;
                    return Err(FindError { kind, source });
                }
                // What can't be listed can't be watched either.
                Err(error) => tracing::debug!(kind = %scope.kind, %error, "a kind can't be listed"),
                Ok(()) => {}
            }
            self.lock().known.note_seen(owner, &scope);
        }
        Ok(())
    }

    async fn list_of(&self, owner: &str, scope: &Scope, resource: &Resource) -> Result<(), RequestError> {
        let api: Api<DynamicObject> = resource.objects(&self.client, scope.namespace.as_deref());
        let selector = format!("{},{OWNER_UID_LABEL}={owner}", self.selector);
        let mut pages = Pages::of(&api, ListParams::default().labels(&selector));
        if self.judges(scope) {
            let kind = Arc::new(resource.api.clone());
            while let Some(page) = pages.next().await? {
                for object in page {
                    self.found(scope, &self.arrived(scope, &kind, object));
                }
            }
        } else {
            while let Some(page) = pages.next_metadata().await? {
                for metadata in page {
                    self.found(scope, &Arrived::unjudged(metadata));
                }
            }
        }
        Ok(())
    }
}
