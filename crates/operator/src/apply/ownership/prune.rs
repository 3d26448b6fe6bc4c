//! Deleting what a release no longer wants.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use steersman_cluster::discovery::DiscoveryError;
use steersman_cluster::{OWNER_UID_LABEL, Owner, Ownership, RequestError, orphan_patch};
use steersman_model::{FIELD_MANAGER, ObjectId};

use crate::apply::applier::Applier;
use crate::apply::request::find;

/// What became of an object that is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It does not exist, or its kind is no longer served.
    Gone,
    /// The server has accepted its deletion, now or before.
    Accepted,
    /// It is not ours, so it was left alone.
    NotOurs(String),
}

/// An object could not be deleted.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// Objects of a kind can't be looked for.
    #[error("failed to look for objects of kind {kind}")]
    List {
        /// Without its group, such as `Deployment`.
        kind: String,
        /// What the server said.
        source: RequestError,
    },
    /// The server refused a request.
    #[error("failed to {attempt} {id}")]
    Request {
        /// A verb: `read`, `delete` or `disown`.
        attempt: &'static str,
        /// What the request was about, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
}

impl Applier {
    /// Asks for the deletion of an object that is ours.
    ///
    /// # Guarantees
    /// An object without our mark, or one that takes the name of ours meanwhile, is left alone.
    ///
    /// # Errors
    /// The object can't be read or deleted.
    pub async fn delete(&self, owner: &Owner, id: &ObjectId) -> Result<Deletion, PruneError> {
        let failed = |attempt| {
            move |source| PruneError::Request {
                attempt,
                id: Box::new(id.clone()),
                source,
            }
        };
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(Deletion::Gone);
        };
        let api = self.api(&resource, id.namespace.as_deref());
        let mut seen = self.dependents.live(&owner.uid, id);
        let mut unanswered = 0;
        loop {
            let is_from_memory = seen.is_some();
            let uid = match seen.take() {
                Some(live) if live.deleting => return Ok(Deletion::Accepted),
                Some(live) => live.uid,
                None => match self.find_ours(owner, &api, id).await? {
                    Ok(uid) => uid,
                    Err(answer) => return Ok(answer),
                },
            };
            let parameters = DeleteParams {
                propagation_policy: Some(PropagationPolicy::Background),
                preconditions: Some(Preconditions {
                    uid: Some(uid),
                    resource_version: None,
                }),
                ..DeleteParams::default()
            };
            match api
                .delete(&id.name, &parameters)
                .await
                .map_err(RequestError::from)
            {
                Ok(_) => return Ok(Deletion::Accepted),
                // The object was replaced since the watch showed it; the new one may be ours as well.
                Err(error) if error.is_other_uid() && is_from_memory => {}
                Err(error) if error.is_unanswered() && unanswered < 2 => unanswered += 1,
                Err(error) if error.is_not_found() || error.is_other_uid() => return Ok(Deletion::Gone),
                Err(error) => return Err(failed("delete")(error)),
            }
        }
    }

    /// The UID of the object, as the server has it, if it is there, ours, and not going already; else what that
    /// makes of its deletion.
    async fn find_ours(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        id: &ObjectId,
    ) -> Result<Result<String, Deletion>, PruneError> {
        let found = find(api, &id.name).await.map_err(|source| PruneError::Request {
            attempt: "read",
            id: Box::new(id.clone()),
            source,
        })?;
        let Some(metadata) = found else {
            return Ok(Err(Deletion::Gone));
        };
        let other_owner = metadata
            .labels
            .as_ref()
            .is_some_and(|labels| labels.contains_key(OWNER_UID_LABEL));
        match owner.ownership(&metadata) {
            Ownership::Foreign(reason) => return Ok(Err(Deletion::NotOurs(reason))),
            Ownership::Adoptable if other_owner => {
                let reason = "it carries the UID of another owner".to_owned();
                return Ok(Err(Deletion::NotOurs(reason)));
            }
            Ownership::Ours | Ownership::Adoptable => {}
        }
        if metadata.deletion_timestamp.is_some() {
            return Ok(Err(Deletion::Accepted));
        }
        Ok(Ok(metadata.uid.unwrap_or_default()))
    }

    /// Whether an object that was ours is still there, and if so what keeps it.
    ///
    /// # Errors
    /// The object can't be read.
    pub async fn remains(&self, owner: &Owner, id: &ObjectId) -> Result<Option<String>, PruneError> {
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(None);
        };
        let api = self.api(&resource, id.namespace.as_deref());
        let metadata = match find(&api, &id.name).await {
            Ok(metadata) => metadata,
            Err(source) => {
                return Err(PruneError::Request {
                    attempt: "read",
                    id: Box::new(id.clone()),
                    source,
                });
            }
        };
        let Some(metadata) = metadata.filter(|metadata| owner.ownership(metadata) == Ownership::Ours) else {
            return Ok(None);
        };
        Ok(Some(match metadata.finalizers.unwrap_or_default().as_slice() {
            [] => id.to_string(),
            finalizers => format!("{id} (finalizers: {})", finalizers.join(", ")),
        }))
    }

    /// Orphans an object that is ours: it loses our marks, so that it outlives the custom resource.
    /// What is not ours, or not there, stays as it is.
    ///
    /// # Errors
    /// The object can't be read or written.
    pub async fn orphan(&self, owner: &Owner, id: &ObjectId) -> Result<(), PruneError> {
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(());
        };
        let api = self.api(&resource, id.namespace.as_deref());
        remove_marks(&api, &id.name, &owner.uid)
            .await
            .map_err(|source| PruneError::Request {
                attempt: "disown",
                id: Box::new(id.clone()),
                source,
            })
    }
}

/// Others may write the object at the same time; then it is read again.
async fn remove_marks(api: &Api<DynamicObject>, name: &str, uid: &str) -> Result<(), RequestError> {
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let mut attempts = 0;
    loop {
        let Some(metadata) = find(api, name).await? else {
            return Ok(());
        };
        let Some(patch) = orphan_patch(&metadata, uid) else {
            return Ok(());
        };
        match api.patch_metadata(name, &parameters, &Patch::Merge(patch)).await {
            Ok(_) => return Ok(()),
            Err(error) => {
                let error = RequestError::from(error);
                attempts += 1;
                if !error.is_conflict() || attempts > 3 {
                    return Err(error);
                }
            }
        }
    }
}
