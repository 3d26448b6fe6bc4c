//! What a signature is over, as bytes.

use serde_json::Value;
use steersman_model::digest_of_json;

use crate::release::parts::Parts;
use crate::release::record::ReleaseRecord;
use crate::release::stored::{KeptUp, Snapshot};

/// Begins the bytes, so that those of another layout are never the same.
const LAYOUT: &[u8] = b"steersman.dev/release-record/1";
const KEPT_LAYOUT: &[u8] = b"steersman.dev/release-kept-up/1";

/// What can be signed, as bytes that nothing else has.
pub trait Signable {
    /// Hands the bytes to `sink`, piece by piece: the layout's name, then each field behind its length, in a fixed order.
    fn feed(&self, sink: &mut dyn FnMut(&[u8]));
}

/// What a signature is over: a revision as it was read or is about to be written, and whose it is.
///
/// The UID of the custom resource, which the API server draws at random, stands for its cluster, too: a record that is copied
/// to another cluster, namespace, release or revision has other bytes.
///
/// Left out of Helm's record is what changes while the revision stays the same: its status, the line about that, and its
/// times. The status that is believed is in the snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SignedContent<'a> {
    /// Where its Secret is.
    pub namespace: &'a str,
    /// That of the custom resource.
    pub owner_uid: &'a str,
    /// With a manifest and hooks that are whole.
    pub record: &'a ReleaseRecord,
    /// What is stored beside Helm's record.
    pub snapshot: &'a Snapshot,
    /// How the record is divided, if it is.
    pub parts: Option<Parts>,
}

impl Signable for SignedContent<'_> {
    /// What is JSON is there as its digest, in which the order of keys does not count.
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        let record = self.record;
        let texts = [
            self.namespace,
            self.owner_uid,
            &record.namespace,
            &record.name,
            &record.version.to_string(),
            &record.apply_method,
            &record.manifest,
            &record.info.notes,
        ];
        sink(LAYOUT);
        for text in texts {
            feed_field(sink, text.as_bytes());
        }
        let config = record.config.clone().map(Value::Object);
        for json in [
            serde_json::to_value(&record.chart).ok(),
            config,
            serde_json::to_value(&record.hooks).ok(),
            serde_json::to_value(self.snapshot).ok(),
            self.parts.and_then(|parts| serde_json::to_value(parts).ok()),
        ] {
            let digest = json.map(|json| digest_of_json(&json).to_string());
            feed_field(sink, digest.unwrap_or_default().as_bytes());
        }
    }
}

/// What procedures keep up in a revision of a release, and whose that is.
pub(in crate::release) struct KeptContent<'a> {
    pub(in crate::release) namespace: &'a str,
    pub(in crate::release) owner_uid: &'a str,
    pub(in crate::release) kept: &'a KeptUp,
}

impl Signable for KeptContent<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(KEPT_LAYOUT);
        let kept = KeptUp {
            mac: None,
            ..self.kept.clone()
        };
        let json = serde_json::to_value(kept).unwrap_or_default();
        let digest = digest_of_json(&json).to_string();
        for text in [self.namespace, self.owner_uid, &digest] {
            feed_field(sink, text.as_bytes());
        }
    }
}

/// A field, behind its length.
pub fn feed_field(sink: &mut dyn FnMut(&[u8]), bytes: &[u8]) {
    sink(&(bytes.len() as u64).to_be_bytes());
    sink(bytes);
}
