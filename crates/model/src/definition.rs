//! Custom resource definitions among the objects of a release.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{ApiKind, RenderedObject};

/// Whether the object defines kinds: a `CustomResourceDefinition`.
pub fn is_definition(object: &RenderedObject) -> bool {
    object.api.group == "apiextensions.k8s.io" && object.api.kind == "CustomResourceDefinition"
}

/// The kinds that definitions among `objects` bring.
///
/// ```
/// use steersman_model::{ApiKind, kinds_defined_by, objects_of_text};
///
/// let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: webs.acme.com}, \
///                   spec: {group: acme.com, names: {kind: Web}, versions: [{name: v1}]}}";
/// let objects = objects_of_text("crds/webs.yaml", definition)?;
/// assert!(kinds_defined_by(&objects).contains(&ApiKind::new("acme.com/v1", "Web")));
/// # Ok::<(), steersman_model::DocumentsError>(())
/// ```
pub fn kinds_defined_by(objects: &[RenderedObject]) -> BTreeSet<ApiKind> {
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
