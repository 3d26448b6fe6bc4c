//! Masking the values of Secrets in texts that are shown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::apply::RenderedObject;

/// Shorter values are not masked: they occur in ordinary words.
const SHORTEST: usize = 4;
const MASK: &str = "********";

/// Knows what must not be shown of one release.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The longest first, so that no value is left in part.
    secrets: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.secrets.len())
    }
}

impl Redactor {
    /// Masks the values of the Secrets among `objects`, and user values whose keys say that
    /// they are secret.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a RenderedObject>, values: &Value) -> Self {
        let mut secrets = Vec::new();
        for object in objects {
            if !object.api.group.is_empty() || object.api.kind != "Secret" {
                continue;
            }
            let strings = |key: &str| {
                let map = object.value.get(key).and_then(Value::as_object);
                map.into_iter()
                    .flat_map(|map| map.values())
                    .filter_map(Value::as_str)
            };
            for encoded in strings("data") {
                secrets.push(encoded.to_owned());
                let decoded = STANDARD.decode(encoded.trim()).ok();
                secrets.extend(decoded.and_then(|bytes| String::from_utf8(bytes).ok()));
            }
            for plain in strings("stringData") {
                secrets.push(STANDARD.encode(plain));
                secrets.push(plain.to_owned());
            }
        }
        collect_secret_values(values, false, &mut secrets);
        secrets.retain(|secret| secret.trim().len() >= SHORTEST);
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// `text` with every secret replaced.
    pub fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        masked
    }
}

/// Strings under keys such as `password` or `apiToken`. The depth of values is bounded by the
/// API server's own limit for JSON.
fn collect_secret_values(value: &Value, secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if secret => {
            found.push(STANDARD.encode(text));
            found.push(text.clone());
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_secret_values(item, secret, found)),
        Value::Object(map) => {
            for (key, item) in map {
                collect_secret_values(item, secret || is_secret_key(key), found);
            }
        }
        _ => {}
    }
}

fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let whole = [
        "password",
        "passwd",
        "token",
        "apikey",
        "privatekey",
        "credentials",
        "secretkey",
        "accesskey",
    ];
    // `secretName` and `existingSecret` name a Secret and do not hold one.
    whole.iter().any(|word| key.ends_with(word)) || key == "secret"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_plain_and_encoded() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "canary-1"}});
        let objects = RenderedObject::from_document("t", &secret).unwrap();
        let values = json!({"db": {"rootPassword": "canary-2", "secretName": "my-secret"}, "x": {"secret": {"deep": ["canary-3"]}}});
        let redactor = Redactor::new(&objects, &values);
        let shown = redactor.mask("hunter2 aHVudGVyMg== canary-1 Y2FuYXJ5LTE= canary-2 canary-3 my-secret");
        assert_eq!(
            shown,
            "******** ******** ******** ******** ******** ******** my-secret"
        );
    }
}
