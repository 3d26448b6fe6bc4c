//! Where objects are: the resource of the API that serves their kind, and the namespace.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use steersman_cluster::Owner;
use steersman_cluster::discovery::{DiscoveryError, Resource, Served, unavailable};
use steersman_model::{ApiKind, ObjectId, RenderedObject, kinds_defined_by};

use super::applier::Applier;
use crate::apply::error::ApplyError;

/// An object with the address to send it to.
#[derive(Debug)]
pub(in crate::apply) struct Addressed {
    pub(in crate::apply) id: ObjectId,
    pub(in crate::apply) object: RenderedObject,
    pub(in crate::apply) resource: Resource,
}

/// Looks up for each object under which resource of the API it is, and where; `seen` gets what was addressed.
///
/// # Errors
/// A kind is not served, or an object is in `seen` already.
pub(in crate::apply) fn address(
    objects: Vec<RenderedObject>,
    served: &Served,
    owner: &Owner,
    seen: &mut BTreeSet<ObjectId>,
) -> Result<Vec<Addressed>, ApplyError> {
    let mut addressed = Vec::with_capacity(objects.len());
    for object in objects {
        let Some(resource) = served.resource(&object.api).cloned() else {
            return Err(missing_kind(served, &object));
        };
        let id = identify(&object, &resource, &owner.release_namespace);
        if !seen.insert(id.clone()) {
            return Err(ApplyError::Duplicate {
                origin: object.source,
                id: Box::new(id),
            });
        }
        addressed.push(Addressed { id, object, resource });
    }
    Ok(addressed)
}

impl Applier {
    /// Whether `objects` can be applied as far as that shows without a write: each is there
    /// once, and its kind is served or defined by another one.
    ///
    /// # Errors
    /// The first object for which that is not so.
    pub async fn check(&self, owner: &Owner, objects: &[RenderedObject]) -> Result<Arc<Served>, ApplyError> {
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let defined = kinds_defined_by(objects);
        let mut seen = BTreeSet::new();
        for object in objects {
            match served.resource(&object.api) {
                Some(resource) => {
                    let id = identify(object, resource, &owner.release_namespace);
                    if !seen.insert(id.clone()) {
                        return Err(ApplyError::Duplicate {
                            origin: object.source.clone(),
                            id: Box::new(id),
                        });
                    }
                }
                None if defined.contains(&object.api) => {}
                None => return Err(missing_kind(&served, object)),
            }
        }
        Ok(served)
    }

    /// What the server serves, with these kinds if it does.
    ///
    /// # Errors
    /// The server does not say.
    pub async fn served_with<'a>(
        &self,
        kinds: impl IntoIterator<Item = &'a ApiKind>,
    ) -> Result<Arc<Served>, DiscoveryError> {
        self.discovery.served_with(kinds).await
    }

    /// The identities of `objects`. Those whose kind is not served are left out: nothing of that
    /// kind exists.
    ///
    /// # Errors
    /// The server does not say what it serves, or not of all groups.
    pub async fn identities(
        &self,
        owner: &Owner,
        objects: Vec<RenderedObject>,
    ) -> Result<Vec<(ObjectId, RenderedObject)>, DiscoveryError> {
        let mut identified = Vec::with_capacity(objects.len());
        for object in objects {
            let (group, kind) = (&object.api.group, &object.api.kind);
            if let Some(resource) = self.discovery.find(group, kind).await? {
                let id = identify(&object, &resource, &owner.release_namespace);
                identified.push((id, object));
            }
        }
        Ok(identified)
    }

    /// That one of `objects` is of a kind which is not served, if one is.
    ///
    /// # Errors
    /// The server can't be asked for its kinds.
    pub async fn first_unserved<'a>(
        &self,
        mut objects: impl Iterator<Item = &'a RenderedObject>,
    ) -> Result<Option<ApplyError>, DiscoveryError> {
        let served = self.discovery.served().await?;
        let unserved =
            objects.find(|object| served.any_version(&object.api.group, &object.api.kind).is_none());
        Ok(unserved.map(|object| missing_kind(&served, object)))
    }

    /// Discovery lags behind a definition that is established, by a second or so.
    pub(in crate::apply) async fn served_eventually(
        &self,
        objects: &[RenderedObject],
    ) -> Result<Arc<Served>, ApplyError> {
        for _ in 0..40 {
            let served = self.discovery.refresh().await?;
            if objects
                .iter()
                .all(|object| served.resource(&object.api).is_some())
            {
                return Ok(served);
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        let served = self.discovery.refresh().await?;
        match objects
            .iter()
            .find(|object| served.resource(&object.api).is_none())
        {
            Some(object) => Err(unknown_kind(object)),
            None => Ok(served),
        }
    }
}

/// An object's identity: one of a namespaced kind that names no namespace is in the release's.
pub(in crate::apply) fn identify(
    object: &RenderedObject,
    resource: &Resource,
    release_namespace: &str,
) -> ObjectId {
    let namespace = resource.namespaced.then(|| {
        object
            .namespace
            .clone()
            .unwrap_or_else(|| release_namespace.to_owned())
    });
    ObjectId {
        group: object.api.group.clone(),
        kind: object.api.kind.clone(),
        namespace,
        name: object.name.clone(),
    }
}

/// Nothing is known of the object's kind: there is none, or its server does not answer.
pub(in crate::apply) fn missing_kind(served: &Served, object: &RenderedObject) -> ApplyError {
    if served.is_unavailable(&object.api.group, &object.api.kind) {
        return unavailable(&object.api.group).into();
    }
    unknown_kind(object)
}

pub(in crate::apply) fn unknown_kind(object: &RenderedObject) -> ApplyError {
    ApplyError::UnknownKind {
        origin: object.source.clone(),
        api: object.api.clone(),
    }
}
