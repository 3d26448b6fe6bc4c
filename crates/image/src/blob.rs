//! Content that is known by its digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::Platform;

/// Some content of an image, with what it is.
#[derive(Clone, Debug)]
pub struct Blob {
    media_type: &'static str,
    digest: String,
    content: Arc<[u8]>,
}

impl Blob {
    /// This content; its digest is computed.
    pub(crate) fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        Self {
            media_type,
            digest: digest(&content),
            content: content.into(),
        }
    }

    /// This document as JSON, its fields in the order of their declaration.
    pub(crate) fn json(media_type: &'static str, document: &impl Serialize) -> Self {
        // What this crate declares has no maps with keys that are not texts, so nothing can fail.
        let content = serde_json::to_vec(document).unwrap_or_default();
        Self::new(media_type, content)
    }

    /// What it is, such as `application/vnd.oci.image.manifest.v1+json`.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The bytes that the digest is of.
    pub fn content(&self) -> &Arc<[u8]> {
        &self.content
    }

    /// How others refer to it.
    pub fn descriptor(&self) -> Descriptor {
        Descriptor {
            media_type: self.media_type,
            digest: self.digest.clone(),
            size: self.content.len() as u64,
            annotations: BTreeMap::new(),
            platform: None,
        }
    }
}

/// How a document refers to a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// How the bytes are read, such as `application/vnd.oci.image.manifest.v1+json`.
    pub media_type: &'static str,
    /// `sha256:` and 64 hexadecimal digits: a registry and a layout know the blob by it.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
    /// What else is to be said of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What it runs on, in an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
}

/// The digest of some bytes, as documents write it.
pub(crate) fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_sha256() {
        assert_eq!(
            digest(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
