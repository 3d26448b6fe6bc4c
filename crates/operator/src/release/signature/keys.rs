//! Keys, and what they sign. Pure.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};
use steersman_model::Digest;

use super::content::Signable;
use crate::release::stored::Verdict;

/// The length of a new key; a shorter one is none.
pub(super) const KEY_BYTES: usize = 32;
/// How much of a key's digest names it.
const ID_LETTERS: usize = 16;

/// Who has signed a revision, and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Which key it was: the beginning of its digest.
    pub key: String,
    /// HMAC-SHA256 with that key.
    mac: Digest,
    /// Whether the key ended with the process that had it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "ofProcess")]
    pub(super) is_of_process: bool,
}

/// The keys with which revisions are signed: the last signs, and all of them are believed.
///
/// ```
/// use serde_json::json;
/// use steersman_operator::release::{ReleaseRecord, SignedContent, SigningKeys, Snapshot, Verdict};
///
/// let record: ReleaseRecord = serde_json::from_value(json!({
///     "name": "web", "namespace": "shop", "version": 2, "info": {"status": "deployed"},
///     "manifest": "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
/// }))?;
/// let snapshot = Snapshot::default();
/// let content = SignedContent { namespace: "shop", owner_uid: "0b53", record: &record, snapshot: &snapshot, parts: None };
///
/// let old = SigningKeys::new([("key-1".to_owned(), vec![7; 32])]);
/// let rotated = SigningKeys::new([("key-1".to_owned(), vec![7; 32]), ("key-2".to_owned(), vec![9; 32])]);
/// let signature = old.sign(&content).expect("there is a key");
/// assert_eq!(rotated.judge(&content, &signature), Verdict::Signed);
///
/// let superseded: ReleaseRecord = {
///     let mut record = record.clone();
///     record.info.status = steersman_model::ReleaseStatus::Superseded;
///     record
/// };
/// assert_eq!(rotated.judge(&SignedContent { record: &superseded, ..content }, &signature), Verdict::Signed);
/// let elsewhere = SignedContent { namespace: "other", ..content };
/// assert_eq!(rotated.judge(&elsewhere, &signature), Verdict::Altered, "a copy");
/// let forged = ReleaseRecord { manifest: String::new(), ..record.clone() };
/// assert_eq!(rotated.judge(&SignedContent { record: &forged, ..content }, &signature), Verdict::Altered);
///
/// let by_the_new_key = rotated.sign(&content).expect("there is a key");
/// assert_eq!(old.judge(&content, &by_the_new_key), Verdict::UnknownKey);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct SigningKeys {
    /// In the order of their names.
    keys: Vec<SigningKey>,
}

#[derive(Clone)]
struct SigningKey {
    id: String,
    key: hmac::Key,
}

impl fmt::Debug for SigningKeys {
    /// The ids alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.keys.iter().map(|key| &key.id))
            .finish()
    }
}

impl SigningKeys {
    /// Keys by name, of which the last one signs: `key-2` comes after `key-1`, and `key-10` after both. Those that are too
    /// short to be keys are left out.
    pub fn new(keys: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let keys = keys.into_iter().filter(|(_, key)| key.len() >= KEY_BYTES);
        let in_order: BTreeMap<(usize, String), Vec<u8>> =
            keys.map(|(name, key)| ((name.len(), name), key)).collect();
        Self {
            keys: in_order.into_values().map(SigningKey::new).collect(),
        }
    }

    /// Whether nothing can be signed.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Signs with the last key; `None` where there is none.
    pub fn sign(&self, content: &impl Signable) -> Option<Signature> {
        let key = self.keys.last()?;
        Some(Signature {
            key: key.id.clone(),
            mac: key.mac(content),
            is_of_process: false,
        })
    }

    /// What each key makes of `content`, the last one first: it tells nobody without the keys what that is.
    pub(crate) fn macs(&self, content: &impl Signable) -> Vec<Digest> {
        self.keys.iter().rev().map(|key| key.mac(content)).collect()
    }

    /// What `signature` says of `content`.
    pub fn judge(&self, content: &impl Signable, signature: &Signature) -> Verdict {
        let Some(key) = self.keys.iter().find(|key| key.id == signature.key) else {
            return Verdict::UnknownKey;
        };
        let (expected, found) = (key.mac(content), signature.mac);
        match verify_slices_are_equal(expected.as_bytes(), found.as_bytes()) {
            Ok(()) => Verdict::Signed,
            Err(_) => Verdict::Altered,
        }
    }
}

impl SigningKey {
    fn new(key: Vec<u8>) -> Self {
        let mut id = Digest::of(&key).to_string();
        id.truncate(ID_LETTERS);
        Self {
            id,
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
        }
    }

    fn mac(&self, content: &impl Signable) -> Digest {
        let mut hasher = hmac::Context::with_key(&self.key);
        content.feed(&mut |bytes| hasher.update(bytes));
        let mut mac = [0; 32];
        mac.copy_from_slice(hasher.sign().as_ref());
        Digest::from_bytes(mac)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steersman_model::ReleaseStatus;

    use super::*;
    use crate::release::{ReleaseRecord, SignedContent, Snapshot};

    fn keys(names: &[&str]) -> SigningKeys {
        let key = |name: &&str| ((*name).to_owned(), vec![name.as_bytes()[name.len() - 1]; 32]);
        SigningKeys::new(names.iter().map(key))
    }

    fn record() -> Value {
        json!({"name": "web", "namespace": "shop", "version": 2,
            "info": {"status": "deployed", "notes": "n", "description": "d", "last_deployed": "2026-01-02T03:04:05Z"},
            "chart": {"metadata": {"name": "web"}, "values": {"b": 1.5, "a": 1}}, "config": {"replicas": 2},
            "manifest": "kind: A", "apply_method": "ssa", "hooks": [{"name": "h", "kind": "Job", "manifest": "kind: Job",
            "events": ["pre-install"], "last_run": {"phase": ""}}]})
    }

    fn snapshot() -> Value {
        json!({"abandoned": [{"group": "", "kind": "Secret", "namespace": "shop", "name": "old"}]})
    }

    /// What is said of this record and snapshot by the signature of those above.
    fn judge(changed: &Value, with: &Value) -> Verdict {
        let keys = keys(&["key-1"]);
        let (first, second): (ReleaseRecord, ReleaseRecord) = (
            serde_json::from_value(record()).unwrap(),
            serde_json::from_value(changed.clone()).unwrap(),
        );
        let (old, new): (Snapshot, Snapshot) = (
            serde_json::from_value(snapshot()).unwrap(),
            serde_json::from_value(with.clone()).unwrap(),
        );
        let content = |record, snapshot| SignedContent {
            namespace: "shop",
            owner_uid: "uid",
            record,
            snapshot,
            parts: None,
        };
        let signature = keys.sign(&content(&first, &old)).unwrap();
        keys.judge(&content(&second, &new), &signature)
    }

    #[test]
    fn everything_that_is_applied_or_decided_by_is_signed() {
        assert_eq!(judge(&record(), &snapshot()), Verdict::Signed);
        for (pointer, value) in [
            ("/name", json!("web2")),
            ("/namespace", json!("other")),
            ("/version", json!(3)),
            ("/manifest", json!("kind: B")),
            ("/config/replicas", json!(3)),
            ("/chart/metadata/name", json!("other")),
            ("/chart/values/b", json!(2.5)),
            ("/hooks/0/manifest", json!("kind: Pod")),
            ("/hooks/0/events/0", json!("pre-delete")),
            ("/hooks/0/last_run/phase", json!("Succeeded")),
            ("/hooks", json!([])),
            ("/hooks", json!(null)),
            ("/info/notes", json!("")),
            ("/apply_method", json!("")),
        ] {
            let mut changed = record();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert_eq!(judge(&changed, &snapshot()), Verdict::Altered, "{pointer}");
        }
        assert_eq!(judge(&record(), &json!({})), Verdict::Altered);
    }

    #[test]
    fn what_helm_says_of_a_revision_is_not_signed_and_what_we_noted_is() {
        let mut changed = record();
        changed["info"]["status"] = json!(ReleaseStatus::Superseded.to_string());
        changed["info"]["description"] = json!("");
        changed["info"]["last_deployed"] = json!("2027-01-02T03:04:05Z");
        assert_eq!(judge(&changed, &snapshot()), Verdict::Signed);
        let mut noted = snapshot();
        noted["status"] = json!("deployed");
        assert_eq!(judge(&record(), &noted), Verdict::Altered);
    }

    #[test]
    fn where_a_field_ends_is_signed() {
        let mut moved = record();
        moved["manifest"] = json!("kind: An");
        moved["info"]["notes"] = json!("");
        assert_eq!(judge(&moved, &snapshot()), Verdict::Altered);
    }

    #[test]
    fn the_last_key_signs() {
        let id = |keys: &SigningKeys| keys.keys.last().map(|key| key.id.clone());
        assert_eq!(id(&keys(&["key-2", "key-1"])), id(&keys(&["key-2"])));
        let ten = SigningKeys::new([
            ("key-10".to_owned(), vec![1; 32]),
            ("key-9".to_owned(), vec![2; 32]),
        ]);
        assert_eq!(
            id(&ten),
            id(&SigningKeys::new([("key-10".to_owned(), vec![1; 32])]))
        );
        assert!(SigningKeys::new([("short".to_owned(), vec![1; 31])]).is_empty());
    }

    #[test]
    fn no_key_is_shown() {
        let shown = format!("{:?}", SigningKeys::new([("key-1".to_owned(), vec![0xab; 32])]));
        assert!(!shown.contains("171") && !shown.contains("abab"), "{shown}");
    }
}
