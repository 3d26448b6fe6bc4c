//! Content that is known by its digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::Platform;

/// Some content of an image, with what it is.
///
/// What is made here is in memory. A layer of a base is in a file, perhaps not yet: who has only read a manifest knows
/// digest and size, and all that is put together of them, without the content.
#[derive(Clone, Debug)]
pub struct Blob {
    media_type: Cow<'static, str>,
    digest: String,
    size: u64,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Memory(Arc<[u8]>),
    /// Empty until it is fetched; all copies of the blob have it then.
    File(Arc<OnceLock<Part>>),
}

/// Bytes of a file, from a place on.
#[derive(Debug)]
struct Part {
    file: File,
    start: u64,
}

/// The content of a blob, which is held against its digest while it is read: the last bytes of another content are not
/// given away.
#[derive(Debug)]
pub struct BlobReader {
    source: Source,
    digest: String,
}

#[derive(Debug)]
enum Source {
    Memory(io::Cursor<Arc<[u8]>>),
    File {
        content: Arc<OnceLock<Part>>,
        read: u64,
        left: u64,
        hash: Sha256,
    },
}

/// Takes the content of a blob while it arrives, into a file that has no name: whatever becomes of the process, nothing is
/// left.
#[derive(Debug)]
pub struct BlobWriter {
    blob: Blob,
    file: File,
    hash: Sha256,
    written: u64,
}

/// Why a content is not the one of a blob.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// More bytes arrive than are announced.
    #[error("the blob {digest} is longer than the {size} bytes that are announced")]
    TooLong {
        /// What the manifest calls it.
        digest: String,
        /// What the manifest says of its length.
        size: u64,
    },
    /// Fewer bytes arrive than are announced.
    #[error("the blob {digest} ends after {written} of {size} bytes")]
    Short {
        /// What the manifest calls it.
        digest: String,
        /// What the manifest says of its length.
        size: u64,
        /// How many bytes there were.
        written: u64,
    },
    /// Other bytes arrive.
    #[error("the blob {digest} has another content, with the digest {found}")]
    Digest {
        /// What the manifest calls it.
        digest: String,
        /// The digest of the bytes.
        found: String,
    },
    /// The system refuses.
    #[error("failed to keep the blob {digest} in the folder for temporary files")]
    Write {
        /// What the manifest calls it.
        digest: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Blob {
    /// This content; its digest is computed.
    pub(crate) fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        Self {
            media_type: Cow::Borrowed(media_type),
            digest: digest(&content),
            size: content.len() as u64,
            content: Content::Memory(content.into()),
        }
    }

    /// This document as JSON, its fields in the order of their declaration.
    pub(crate) fn json(media_type: &'static str, document: &impl Serialize) -> Self {
        // What this crate declares has no maps with keys that are not texts, so nothing can fail.
        let content = serde_json::to_vec(document).unwrap_or_default();
        Self::new(media_type, content)
    }

    /// What a document refers to; it has to be fetched.
    pub(crate) fn elsewhere(descriptor: &Descriptor) -> Self {
        Self {
            media_type: descriptor.media_type.clone(),
            digest: descriptor.digest.clone(),
            size: descriptor.size,
            content: Content::File(Arc::default()),
        }
    }

    /// Says that the content is in a file from this place on. The first answer counts.
    pub(crate) fn lies_in(&self, file: File, start: u64) {
        if let Content::File(content) = &self.content {
            let _ = content.set(Part { file, start });
        }
    }

    /// What it is, such as `application/vnd.oci.image.manifest.v1+json`.
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of what was made here; `None` of a layer of a base.
    pub fn content(&self) -> Option<&Arc<[u8]>> {
        match &self.content {
            Content::Memory(content) => Some(content),
            Content::File(_) => None,
        }
    }

    /// Whether its content is on this machine.
    pub fn is_here(&self) -> bool {
        match &self.content {
            Content::Memory(_) => true,
            Content::File(content) => content.get().is_some(),
        }
    }

    /// Begins to take the content, in the folder for temporary files.
    ///
    /// # Errors
    /// There can be no file.
    pub fn begin(&self) -> Result<BlobWriter, BlobError> {
        let file = tempfile::tempfile().map_err(|source| BlobError::Write {
            digest: self.digest.clone(),
            source,
        })?;
        Ok(BlobWriter {
            blob: self.clone(),
            file,
            hash: Sha256::new(),
            written: 0,
        })
    }

    /// Reads the content from its start.
    ///
    /// # Errors
    /// It was not fetched.
    pub fn open(&self) -> io::Result<BlobReader> {
        let source = match &self.content {
            Content::Memory(content) => Source::Memory(io::Cursor::new(Arc::clone(content))),
            Content::File(content) if content.get().is_some() => Source::File {
                content: Arc::clone(content),
                read: 0,
                left: self.size,
                hash: Sha256::new(),
            },
            Content::File(_) => {
                let message = format!("the blob {} was not fetched", self.digest);
                return Err(io::Error::new(io::ErrorKind::NotFound, message));
            }
        };
        Ok(BlobReader {
            source,
            digest: self.digest.clone(),
        })
    }

    /// How others refer to it.
    pub fn descriptor(&self) -> Descriptor {
        Descriptor {
            media_type: self.media_type.clone(),
            digest: self.digest.clone(),
            size: self.size,
            annotations: BTreeMap::new(),
            platform: None,
        }
    }
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (content, read, left, hash) = match &mut self.source {
            Source::Memory(content) => return content.read(buffer),
            Source::File {
                content,
                read,
                left,
                hash,
            } => (content, read, left, hash),
        };
        let wanted = usize::try_from(*left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let (Some(part), true) = (content.get(), wanted > 0) else {
            return Ok(0);
        };
        let length = read_at(&part.file, &mut buffer[..wanted], part.start + *read)?;
        if length == 0 {
            let message = format!("the file with the blob {} has become shorter", self.digest);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        hash.update(&buffer[..length]);
        *read += length as u64;
        *left -= length as u64;
        if *left == 0 {
            let found = text(&std::mem::take(hash).finalize());
            if found != self.digest {
                let message = format!(
                    "the blob {} has another content, with the digest {found}",
                    self.digest
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(length)
    }
}

impl BlobWriter {
    /// Takes what has arrived.
    ///
    /// # Errors
    /// It is more than was announced, or cannot be written down.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.written += bytes.len() as u64;
        if self.written > self.blob.size {
            return Err(BlobError::TooLong {
                digest: self.blob.digest.clone(),
                size: self.blob.size,
            });
        }
        self.hash.update(bytes);
        self.file.write_all(bytes).map_err(|source| BlobError::Write {
            digest: self.blob.digest.clone(),
            source,
        })
    }

    /// The blob has its content now, and so have all copies of it.
    ///
    /// # Errors
    /// It is another content.
    pub fn finish(self) -> Result<(), BlobError> {
        let Self {
            blob,
            file,
            hash,
            written,
        } = self;
        let digest = blob.digest.clone();
        if written != blob.size {
            return Err(BlobError::Short {
                digest,
                size: blob.size,
                written,
            });
        }
        let found = text(&hash.finalize());
        if found != digest {
            return Err(BlobError::Digest { digest, found });
        }
        blob.lies_in(file, 0);
        Ok(())
    }
}

/// How a document refers to a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// How the bytes are read, such as `application/vnd.oci.image.manifest.v1+json`.
    pub media_type: Cow<'static, str>,
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
    text(&Sha256::digest(content))
}

/// A digest as documents write it.
pub(crate) fn text(digest: &[u8]) -> String {
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in digest {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text
}

/// Whether documents may call something by this digest.
pub(crate) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Reads from a place in a file, which several readers share.
#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, place)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn elsewhere(digest: &str, size: u64) -> Blob {
        Blob::elsewhere(&Descriptor {
            media_type: "text/plain".into(),
            digest: digest.to_owned(),
            size,
            annotations: BTreeMap::new(),
            platform: None,
        })
    }

    /// What becomes of a blob whose content arrives in these pieces.
    fn take(blob: &Blob, pieces: &[&str]) -> Result<(), String> {
        let mut writer = blob.begin().unwrap();
        let written = pieces.iter().try_for_each(|piece| writer.write(piece.as_bytes()));
        let taken = written.and_then(|()| writer.finish());
        taken.map_err(|error| error.to_string())
    }

    #[test]
    fn digests_are_those_of_sha256() {
        assert_eq!(digest(b"abc"), ABC);
        assert!(is_digest(ABC));
        for wrong in [
            "",
            "sha256:",
            "sha256:ABC",
            &ABC.to_uppercase(),
            &ABC[..70],
            "sha256:../../../etc/passwd",
        ] {
            assert!(!is_digest(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_is_fetched_is_there_for_all_who_know_it() {
        let blob = elsewhere(ABC, 3);
        let copy = blob.clone();
        assert!(!copy.is_here() && copy.open().is_err());
        take(&blob, &["a", "bc"]).unwrap();
        let mut text = String::new();
        copy.open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
    }

    #[test]
    fn another_content_than_the_one_announced_is_not_taken() {
        let check = |size, pieces: &[&str], expect: &str| {
            let blob = elsewhere(ABC, size);
            let error = take(&blob, pieces).unwrap_err();
            assert!(error.contains(expect), "{error}");
            assert!(!blob.is_here());
        };
        check(3, &["ab", "cd"], "is longer than the 3 bytes");
        check(3, &["ab"], "ends after 2 of 3 bytes");
        check(3, &["abd"], "has another content, with the digest sha256:a52d");
    }

    #[test]
    fn a_file_that_changes_does_not_pass_for_the_blob() {
        let read = |content: &str| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content.as_bytes()).unwrap();
            let blob = elsewhere(ABC, 3);
            blob.lies_in(file, 1);
            let mut read = Vec::new();
            let result = blob.open().unwrap().read_to_end(&mut read);
            result.map(|_| read).map_err(|error| error.kind())
        };
        assert_eq!(read("-abc-"), Ok(b"abc".to_vec()));
        assert_eq!(read("-abd-"), Err(io::ErrorKind::InvalidData));
        assert_eq!(read("-ab"), Err(io::ErrorKind::UnexpectedEof));
    }
}
