//! Which objects are about to be applied, and where.

use std::collections::BTreeSet;

use serde_json::Value;

use super::apply_error::ApplyError;
use super::mark::Owner;
use super::object::{ApiKind, ObjectId, RenderedObject};
use crate::discovery::{Resource, Served, unsure};

/// An object with the address to send it to.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) id: ObjectId,
    pub(super) object: RenderedObject,
    pub(super) resource: Resource,
}

/// Gives each object its address.
pub(super) fn plan(
    objects: Vec<RenderedObject>,
    served: &Served,
    owner: &Owner,
    seen: &mut BTreeSet<ObjectId>,
) -> Result<Vec<Planned>, ApplyError> {
    let mut planned = Vec::with_capacity(objects.len());
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
        planned.push(Planned { id, object, resource });
    }
    Ok(planned)
}

/// An object's identity: one of a namespaced kind that names no namespace is in the release's.
pub(super) fn identify(object: &RenderedObject, resource: &Resource, release_namespace: &str) -> ObjectId {
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
pub(super) fn missing_kind(served: &Served, object: &RenderedObject) -> ApplyError {
    if served.is_unsure_of(&object.api.group, &object.api.kind) {
        return unsure(&object.api.group).into();
    }
    unknown_kind(object)
}

pub(super) fn unknown_kind(object: &RenderedObject) -> ApplyError {
    ApplyError::UnknownKind {
        origin: object.source.clone(),
        api: object.api.clone(),
    }
}

pub(super) fn is_definition(object: &RenderedObject) -> bool {
    object.api.group == "apiextensions.k8s.io" && object.api.kind == "CustomResourceDefinition"
}

/// The kinds that definitions among `objects` bring.
pub(crate) fn kinds_defined_by(objects: &[RenderedObject]) -> BTreeSet<ApiKind> {
    let mut kinds = BTreeSet::new();
    for definition in objects.iter().filter(|object| is_definition(object)) {
        let text = |pointer: &str| {
            definition
                .value
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let versions = definition
            .value
            .pointer("/spec/versions")
            .and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            kinds.insert(ApiKind {
                group: text("/spec/group").to_owned(),
                version: version
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                kind: text("/spec/names/kind").to_owned(),
            });
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_kinds_of_definitions_are_known_before_they_are_served() {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.acme.com"},
            "spec": {"group": "acme.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1"}, {"name": "v2"}]}});
        let objects = RenderedObject::from_document("t", &definition).unwrap();
        let kinds = kinds_defined_by(&objects);
        assert!(kinds.contains(&ApiKind::new("acme.com/v2", "Widget")));
        assert!(!kinds.contains(&ApiKind::new("acme.com/v3", "Widget")));
    }
}
