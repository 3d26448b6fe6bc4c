//! Digests: what an upgrade is decided by.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
///
/// ```
/// use steersman_model::{Digest, digest_of_json};
///
/// assert!(Digest::of(b"").to_string().starts_with("e3b0c44298fc1c14"));
///
/// let one = serde_json::from_str(r#"{"a": 1, "b": [2]}"#)?;
/// let other = serde_json::from_str(r#"{"b": [2], "a": 1}"#)?;
/// assert_eq!(digest_of_json(&one), digest_of_json(&other), "the order of keys is nothing");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes SHA-256 over the bytes as they are; for JSON see [`digest_of_json`].
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// For those who compare it in a way of their own.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a SHA-256 digest in hexadecimal"))
    }
}

/// The digest of a JSON value. The order of an object's keys does not count.
pub fn digest_of_json(value: &Value) -> Digest {
    let mut hasher = Sha256::new();
    hash_json(&mut hasher, value);
    Digest(hasher.finalize().into())
}

/// Each kind of value begins with a letter of its own and each text with its length, so that no
/// two values are the same to the hash.
fn hash_json(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hasher.update(b"n"),
        Value::Bool(flag) => hasher.update(if *flag { b"t" } else { b"f" }),
        Value::Number(number) => hash_text(hasher, b'#', &number.to_string()),
        Value::String(text) => hash_text(hasher, b's', text),
        Value::Array(items) => {
            hash_text(hasher, b'[', &items.len().to_string());
            for item in items {
                hash_json(hasher, item);
            }
        }
        Value::Object(map) => {
            hash_text(hasher, b'{', &map.len().to_string());
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, item) in entries {
                hash_text(hasher, b'k', key);
                hash_json(hasher, item);
            }
        }
    }
}

fn hash_text(hasher: &mut Sha256, tag: u8, text: &str) {
    hasher.update([tag]);
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text);
}

/// Everything that decides what a release renders to, as digests.
///
/// When they are those of the deployed revision, there is nothing to upgrade.
///
/// ```
/// use steersman_model::{Digest, Inputs, digest_of_json};
///
/// let inputs = |values| Inputs {
///     chart: Digest::of(b"web 1.0.0"),
///     values: digest_of_json(&values),
///     identity: Digest::of(b"shop"),
///     post_render: None,
/// };
/// assert_eq!(inputs(serde_json::json!({"replicas": 2})), inputs(serde_json::json!({"replicas": 2})));
/// assert_ne!(inputs(serde_json::json!({"replicas": 2})), inputs(serde_json::json!({"replicas": 3})));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The chart's files.
    pub chart: Digest,
    /// The values that the user gave: the custom resource's spec and the watch's overrides.
    pub values: Digest,
    /// Whose release it is: its name, its namespace and the custom resource's UID.
    pub identity: Digest,
    /// What is changed in what the chart renders, where anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_render: Option<Digest>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn key_order_does_not_count_and_everything_else_does() {
        let left: Value = serde_json::from_str(r#"{"a":1,"b":[1,2]}"#).unwrap();
        let right: Value = serde_json::from_str(r#"{"b":[1,2],"a":1}"#).unwrap();
        assert_eq!(digest_of_json(&left), digest_of_json(&right));
        for other in [
            json!({"a": 1, "b": [2, 1]}),
            json!({"a": "1", "b": [1, 2]}),
            json!({"a": 1.0, "b": [1, 2]}),
        ] {
            assert_ne!(digest_of_json(&left), digest_of_json(&other), "{other}");
        }
        assert_ne!(
            digest_of_json(&json!(["ab", "c"])),
            digest_of_json(&json!(["a", "bc"]))
        );
    }

    #[test]
    fn inputs_without_patches_are_written_and_read_as_before_there_were_any() {
        let digest = Digest::of(b"");
        let text = format!(r#"{{"chart":"{digest}","values":"{digest}","identity":"{digest}"}}"#);
        let inputs: Inputs = serde_json::from_str(&text).unwrap();
        assert_eq!(inputs.post_render, None);
        assert_eq!(serde_json::to_string(&inputs).unwrap(), text);
    }

    #[test]
    fn a_digest_is_read_back_from_its_text() {
        let digest = Digest::of(b"chart");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"abc\"").is_err());
    }
}
