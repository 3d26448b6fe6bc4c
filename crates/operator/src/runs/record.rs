//! What a run has left, as the resource's status says it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steersman_model::{Digest, ObjectId};

use super::state::{LastRun, RunInputs};
use crate::release::{Signable, Signature, SigningKeys, Verdict, feed_field};

/// Begins the bytes that are signed, so that those of another layout are never the same.
const LAYOUT: &[u8] = b"steersman.dev/run-record/1";
/// So many objects are recorded. A status has to fit into its resource, and of more the first change of any is no drift.
const MOST_OBJECTS: usize = 1000;

/// The last run of a resource, and what it has left. It is signed, as whoever may write the status of a resource could say that
/// nothing is to be done.
///
/// ```
/// use steersman_operator::release::SigningKeys;
/// use steersman_operator::runs::{LastRun, RunInputs, RunRecord};
/// use steersman_model::Digest;
///
/// let inputs = RunInputs { resource: Digest::of(b"spec"), content: Digest::of(b"role") };
/// let ended = "2026-01-01T00:00:00Z".parse()?;
/// let record = RunRecord::new(LastRun { inputs, has_succeeded: true }, ended);
/// let keys = SigningKeys::new([("key-1".to_owned(), vec![7; 32])]);
///
/// let written = record.sign(&keys, "0b53").expect("there is a key");
/// assert_eq!(RunRecord::read(&written, &keys, "0b53")?, record);
/// assert!(RunRecord::read(&written, &keys, "of another resource").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    resource: Digest,
    content: Digest,
    has_succeeded: bool,
    /// When it came to its end.
    pub ended: Timestamp,
    /// When it has asked for another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// What it has left, as the API server has answered it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<LeftObject>,
    /// Whether runs may have left more than that: one was cut off, or there was no room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// An object as a run has left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftObject {
    /// Group, kind, namespace and name.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Its UID: another one of its name is not what the run has left.
    pub uid: String,
    /// What all managers had in it.
    pub fields: Digest,
}

/// Why a record is not believed. Then a run is made, which finds out what is there.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The status has other fields, or others' types.
    #[error("the record of the last run can't be read")]
    Read(#[from] serde_json::Error),
    /// Nobody of the operator's has written it like this.
    #[error("the record of the last run is not the operator's: {0:?}")]
    Unproven(Verdict),
}

/// As it is written.
#[derive(Serialize, Deserialize)]
struct Signed {
    #[serde(flatten)]
    record: RunRecord,
    signature: Signature,
}

/// A record, and of which resource it is.
struct OfOwner<'a> {
    record: &'a RunRecord,
    owner_uid: &'a str,
}

impl Signable for OfOwner<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(LAYOUT);
        feed_field(sink, self.owner_uid.as_bytes());
        // Its fields are written in the order in which they stand above.
        feed_field(sink, &serde_json::to_vec(self.record).unwrap_or_default());
    }
}

impl RunRecord {
    /// Of a run that has left nothing and asks for nothing.
    pub fn new(run: LastRun, ended: Timestamp) -> Self {
        let LastRun {
            inputs,
            has_succeeded,
        } = run;
        Self {
            resource: inputs.resource,
            content: inputs.content,
            has_succeeded,
            ended,
            next: None,
            objects: Vec::new(),
            is_partial: false,
        }
    }

    /// The same with what it has left, in the order of their identities, as far as there is room.
    #[must_use]
    pub fn with_objects(self, objects: BTreeMap<ObjectId, LeftObject>) -> Self {
        Self {
            is_partial: self.is_partial || objects.len() > MOST_OBJECTS,
            objects: objects.into_values().take(MOST_OBJECTS).collect(),
            ..self
        }
    }

    /// What the decision is made by.
    pub fn run(&self) -> LastRun {
        LastRun {
            inputs: RunInputs {
                resource: self.resource,
                content: self.content,
            },
            has_succeeded: self.has_succeeded,
        }
    }

    /// As it stands in the status of the resource with this UID; `None` where there is no key.
    pub fn sign(&self, keys: &SigningKeys, owner_uid: &str) -> Option<Value> {
        let of_owner = OfOwner {
            record: self,
            owner_uid,
        };
        let signed = Signed {
            signature: keys.sign(&of_owner)?,
            record: self.clone(),
        };
        serde_json::to_value(signed).ok()
    }

    /// What stands in the status of the resource with this UID.
    ///
    /// # Errors
    /// It is no record, or not one that the operator has written for this resource.
    pub fn read(value: &Value, keys: &SigningKeys, owner_uid: &str) -> Result<Self, RecordError> {
        let Signed { record, signature } = Signed::deserialize(value)?;
        let of_owner = OfOwner {
            record: &record,
            owner_uid,
        };
        match keys.judge(&of_owner, &signature) {
            Verdict::Signed => Ok(record),
            verdict => Err(RecordError::Unproven(verdict)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> RunRecord {
        let run = LastRun {
            inputs: RunInputs {
                resource: Digest::of(b"spec"),
                content: Digest::of(b"role"),
            },
            has_succeeded: true,
        };
        let id = ObjectId {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("shop".to_owned()),
            name: "cache".to_owned(),
        };
        let left = LeftObject {
            id: id.clone(),
            uid: "77a0".to_owned(),
            fields: Digest::of(b"fields"),
        };
        RunRecord::new(run, Timestamp::UNIX_EPOCH).with_objects([(id, left)].into())
    }

    fn keys() -> SigningKeys {
        SigningKeys::new([("key-1".to_owned(), vec![7; 32])])
    }

    #[test]
    fn what_there_is_no_room_for_is_not_forgotten() {
        let left = |number: usize| {
            let mut left = record().objects.remove(0);
            left.id.name = format!("cache-{number}");
            (left.id.clone(), left)
        };
        let of = |count| {
            RunRecord {
                objects: Vec::new(),
                ..record()
            }
            .with_objects((0..count).map(left).collect())
        };
        let (whole, cut) = (of(MOST_OBJECTS), of(MOST_OBJECTS + 1));
        assert!(!whole.is_partial && cut.is_partial && cut.objects.len() == MOST_OBJECTS);
        let written = cut.sign(&keys(), "0b53").unwrap();
        assert_eq!(RunRecord::read(&written, &keys(), "0b53").unwrap(), cut);
    }

    #[test]
    fn a_record_that_others_have_changed_is_not_believed() {
        let written = record().sign(&keys(), "0b53").unwrap();
        assert_eq!(RunRecord::read(&written, &keys(), "0b53").unwrap(), record());
        let changes = [
            ("/hasSucceeded", json!(false)),
            ("/ended", json!("2030-01-01T00:00:00Z")),
            ("/objects", json!([])),
            ("/isPartial", json!(true)),
            ("/objects/0/uid", json!("other")),
            ("/signature/key", json!("other")),
        ];
        for (place, value) in changes {
            let mut other = written.clone();
            match other.pointer_mut(place) {
                Some(before) => *before = value,
                None => other[place.trim_start_matches('/')] = value,
            }
            let error = RunRecord::read(&other, &keys(), "0b53").unwrap_err();
            assert!(matches!(error, RecordError::Unproven(_)), "{place}: {error}");
        }
        assert!(RunRecord::read(&json!({"ended": 1}), &keys(), "0b53").is_err());
        assert!(record().sign(&SigningKeys::default(), "0b53").is_none());
    }
}
