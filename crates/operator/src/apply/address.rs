//! Which objects are about to be applied, and where.

use std::collections::BTreeSet;

use crate::apply::error::ApplyError;
use steersman_cluster::Owner;
use steersman_cluster::discovery::{Resource, Served, unavailable};
use steersman_model::{ObjectId, RenderedObject};

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
