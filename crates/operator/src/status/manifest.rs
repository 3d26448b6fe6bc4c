//! The manifest of a release in the status of its resource, for those who want helm-operator's
//! `status.deployedRelease.manifest` back.

use serde_json::Value;
use steersman_model::RenderedObject;

use super::redact::Redactor;

/// etcd takes objects of 1.5 MB, and the resource has a spec, too.
const MAX_LENGTH: usize = 512 * 1024;
const MASK: &str = "********";

/// The objects as YAML, each with its template. No value of a Secret is in it, however short, and
/// nothing that `redactor` knows.
pub fn shown_manifest(objects: &[RenderedObject], redactor: &Redactor) -> String {
    let mut texts = Vec::with_capacity(objects.len());
    for object in objects {
        let mut value = object.value.clone();
        if object.api.group.is_empty() && object.api.kind == "Secret" {
            for key in ["data", "stringData"] {
                mask_values(value.get_mut(key));
            }
        }
        texts.push(steersman_yaml::to_string(&value));
    }
    let length = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
    if length(&texts) > MAX_LENGTH {
        return left_out(length(&texts));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut text = String::new();
    for (object, masked) in objects.iter().zip(redactor.mask_all(&texts)) {
        text.push_str("---\n# Source: ");
        text.push_str(&object.source);
        text.push('\n');
        text.push_str(&masked);
    }
    if text.len() > MAX_LENGTH {
        return left_out(text.len());
    }
    text
}

fn left_out(length: usize) -> String {
    format!("# left out: {length} bytes; `helm get manifest` shows them\n")
}

fn mask_values(map: Option<&mut Value>) {
    if let Some(Value::Object(map)) = map {
        for value in map.values_mut() {
            *value = MASK.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_shows_everything_but_secrets() {
        let documents = [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
                "stringData": {"pin": "123", "password": "canary"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"},
                "data": {"url": "db://user:canary@host", "pin": "123"}}),
        ];
        let objects: Vec<RenderedObject> = documents
            .iter()
            .flat_map(|document| RenderedObject::from_document("web/t.yaml", document).unwrap())
            .collect();
        let text = shown_manifest(&objects, &Redactor::new(&objects, &json!({})));
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("  pin: '********'"), "{text}");
        assert!(
            text.contains("# Source: web/t.yaml\napiVersion: v1\ndata:\n  pin: \"123\""),
            "{text}"
        );
    }
}
