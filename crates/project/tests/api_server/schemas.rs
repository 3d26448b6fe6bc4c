//! Schemas that are structural, and others: `check` tells them apart as the API server does.

use serde_json::{Value, json};
use steersman_project::CustomKind;
use steersman_project::check::structural_faults;
use steersman_testkit::cluster::TestCluster;

use crate::server::Server;

/// Schemas of `spec`.
fn of_specs() -> Vec<Value> {
    let number_or_text = json!([{"type": "integer"}, {"type": "string"}]);
    vec![
        json!({"type": "object"}),
        json!({"properties": {"a": {"type": "string"}}}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": number_or_text}),
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": number_or_text}, {"minimum": 1}]}),
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"minimum": 1}, {"anyOf": number_or_text}]}),
        json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
        json!({"type": ["string", "null"]}),
        json!({"type": "array"}),
        json!({"type": "array", "items": {}}),
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "object", "properties": {"a": {"description": "anything"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": {}}),
        json!({"type": "object", "$ref": "#/definitions/a"}),
        json!({"type": "object", "definitions": {"a": {"type": "string"}}}),
        json!({"type": "object", "patternProperties": {"a": {"type": "string"}}}),
        json!({"type": "string", "oneOf": [{"pattern": "a"}, {"enum": ["b"]}], "not": {"maxLength": 3}}),
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "string", "anyOf": [{"description": "a", "pattern": "a"}]}),
        json!({"type": "string", "allOf": [{"nullable": true}]}),
        json!({"type": "string", "not": {"default": "a"}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}),
        json!({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}),
        json!({"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}}]}),
        json!({"type": "object", "anyOf": [{"additionalProperties": {"minLength": 1}}]}),
        json!({"type": "object", "properties": {"metadata": {"type": "string"}}}),
        json!({"type": "object", "x-kubernetes-embedded-resource": true}),
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
    ]
}

/// Schemas of whole resources.
fn of_resources() -> Vec<Value> {
    let spec = json!({"spec": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let with = |key: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": spec});
        schema[key] = value;
        schema
    };
    let beside_spec = |key: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": spec});
        schema["properties"][key] = value;
        schema
    };
    vec![
        json!({"properties": spec}),
        json!({"type": "string"}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "additionalProperties": {"type": "object"}}),
        beside_spec("metadata", json!({"type": "object"})),
        beside_spec(
            "metadata",
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}),
        ),
        beside_spec(
            "metadata",
            json!({"type": "object", "properties": {"labels": {"type": "object"}}}),
        ),
        beside_spec("metadata", json!({"type": "string"})),
        beside_spec("kind", json!({"type": "integer"})),
        beside_spec("apiVersion", json!({"type": "string"})),
        with("anyOf", json!([{"properties": {"spec": {"required": ["a"]}}}])),
        with("anyOf", json!([{"properties": {"status": {"required": ["a"]}}}])),
        with(
            "not",
            json!({"properties": {"spec": {"properties": {"b": {"minLength": 1}}}}}),
        ),
        with(
            "allOf",
            json!([{"properties": {"metadata": {"required": ["name"]}}}]),
        ),
    ]
}

#[tokio::test]
async fn schemas_are_told_apart_as_by_the_server() {
    let Some(cluster) = TestCluster::shared_or_skip("structural schemas") else {
        return;
    };
    let server = Server::new(cluster.client().await.unwrap());
    let of_specs = of_specs()
        .into_iter()
        .map(|spec| json!({"type": "object", "properties": {"spec": spec}}));
    let mut wrong = Vec::new();
    let mut refused = 0;
    for (number, schema) in of_specs.chain(of_resources()).enumerate() {
        let kind = CustomKind::new("structure.example.com", "v1", format!("Schema{number}"));
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.definition_name()},
            "spec": {
                "group": kind.group,
                "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": kind.plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        let answer = server.try_define(&definition).await;
        let faults = structural_faults(&schema);
        refused += usize::from(answer.is_err());
        if answer.is_ok() != faults.is_empty() {
            wrong.push(format!("{schema}\n  the server: {answer:?}\n  here: {faults:?}"));
        }
    }
    println!("{refused} schemas are not structural");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 25, "{refused}");
}
