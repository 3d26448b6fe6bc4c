//! What operator-sdk has written, and nobody has edited since.

use serde_json::{Value, json};

use crate::CustomKind;

/// Whether this is the `CustomResourceDefinition` that operator-sdk writes for every kind: one version, with a spec and a
/// status of anything. Descriptions do not count.
#[must_use]
pub fn is_bare_definition(text: &str, kind: &CustomKind) -> bool {
    let Ok(mut found) = steersman_yaml::to_json(text) else {
        return false;
    };
    let mut properties = found.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties");
    for property in properties
        .iter_mut()
        .filter_map(|value| value.as_object_mut())
        .flat_map(|map| map.values_mut())
    {
        forget_description(property);
    }
    if let Some(schema) = found.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        forget_description(schema);
    }
    found == bare_definition(kind)
}

fn forget_description(schema: &mut Value) {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
}

fn bare_definition(kind: &CustomKind) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.definition_name()},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": kind.list_kind(),
                "plural": kind.plural,
                "singular": kind.singular(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": kind.version,
                "schema": {"openAPIV3Schema": {
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object"},
                        "spec": anything,
                        "status": anything,
                    },
                    "type": "object",
                }},
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{bare_definition, is_bare_definition};
    use crate::CustomKind;

    #[test]
    fn a_definition_with_a_word_of_its_own_is_not_bare() {
        let kind = CustomKind::new("cache.example.com", "v1", "Memcached");
        let bare = bare_definition(&kind);
        assert!(is_bare_definition(&bare.to_string(), &kind));
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        let changed = |field: &str| {
            let mut changed = bare.clone();
            changed.pointer_mut(spec).unwrap()[field] = "new".into();
            is_bare_definition(&changed.to_string(), &kind)
        };
        assert!(changed("description"));
        assert!(!changed("title"));
        assert!(!is_bare_definition("- a list", &kind));
    }
}
