//! How a release is packed into a Secret: base64 of gzip of JSON.

use std::io::{self, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use steersman_model::{Weight, in_words};

/// How much memory a release takes at most, where nothing else is said. A Secret holds at most 1 MiB, which a gzip bomb can
/// turn into a gigabyte, and the values in it into many more.
pub const MAX_DECODED_BYTES: usize = 64 * 1024 * 1024;

/// So much is unpacked at a time.
const PIECE: usize = 16 * 1024;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// A Secret's content that is no release, or a release that can't be packed.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The text is not base64.
    #[error("failed to decode the release as base64")]
    Base64(#[source] base64::DecodeError),
    /// The bytes are not gzip, or end too early.
    #[error("failed to unpack the release")]
    Gzip(#[source] std::io::Error),
    /// There is no room for the unpacked release.
    #[error("the release takes more than {} of memory when unpacked", in_words(*.0))]
    TooLarge(usize),
    /// The unpacked bytes are not a release. The cause is left out: it may quote values.
    #[error("the release is not valid JSON of a release")]
    Json,
    /// The parts are not those that were written.
    #[error("the parts of the release are not those that were written")]
    Parts,
    /// The release can't be packed.
    #[error("failed to pack the release")]
    Pack(#[source] std::io::Error),
}

/// Packs `release` as Helm does.
///
/// # Errors
/// It can't be written as JSON.
pub(crate) fn encode(release: &impl Serialize) -> Result<String, CodecError> {
    Ok(STANDARD.encode(pack_bytes(release)?))
}

/// The same without base64.
///
/// # Errors
/// As there.
pub(crate) fn pack_bytes(release: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    let json = serde_json::to_vec(release).map_err(|_| CodecError::Json)?;
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&json).map_err(CodecError::Pack)?;
    packer.finish().map_err(CodecError::Pack)
}

/// Room in memory, which becomes less with everything that is unpacked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    all: usize,
    left: usize,
}

impl Room {
    /// Nothing of it is taken yet.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            all: bytes,
            left: bytes,
        }
    }

    /// How many bytes were taken.
    pub(crate) fn taken(&self) -> usize {
        self.all.saturating_sub(self.left)
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// There are not that many left.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), CodecError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or(CodecError::TooLarge(self.all))?;
        Ok(())
    }
}

/// Unpacks what [`encode`] or Helm packed, as far as there is room.
///
/// # Errors
/// Anything that is not a release, or that takes too much memory.
pub(crate) fn decode<T: DeserializeOwned>(text: &[u8], room: &mut Room) -> Result<T, CodecError> {
    unpack_bytes(&STANDARD.decode(text).map_err(CodecError::Base64)?, room)
}

/// Unpacks what [`pack_bytes`] packed, as far as there is room.
///
/// # Errors
/// As [`decode`].
pub(crate) fn unpack_bytes<T: DeserializeOwned>(packed: &[u8], room: &mut Room) -> Result<T, CodecError> {
    if packed.starts_with(&GZIP_MAGIC) {
        let json = read_json(GzDecoder::new(packed), room)?;
        return serde_json::from_slice(&json).map_err(|_| CodecError::Json);
    }
    room.take(Weight::of(packed))?;
    serde_json::from_slice(packed).map_err(|_| CodecError::Json)
}

/// Reads a text of JSON piece by piece, and takes the room for what becomes of it.
fn read_json(mut reader: impl Read, room: &mut Room) -> Result<Vec<u8>, CodecError> {
    let (mut json, mut weight) = (Vec::new(), Weight::default());
    let mut piece = vec![0; PIECE];
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => return Ok(json),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CodecError::Gzip(error)),
        };
        let read = piece.get(..count).unwrap_or_default();
        let before = weight.bytes();
        weight.add(read);
        room.take(weight.bytes() - before)?;
        json.extend_from_slice(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Room {
        Room::new(MAX_DECODED_BYTES)
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let packed = encode(&serde_json::json!({"name": "web", "version": 3})).unwrap();
        let back: serde_json::Value = decode(packed.as_bytes(), &mut room()).unwrap();
        assert_eq!(back["version"], 3);
    }

    #[test]
    fn a_release_from_before_compression_is_read() {
        let packed = STANDARD.encode(br#"{"name":"web"}"#);
        let back: serde_json::Value = decode(packed.as_bytes(), &mut room()).unwrap();
        assert_eq!(back["name"], "web");
    }

    /// What becomes of so many times the same text, packed.
    fn unpack_many(text: &str, count: usize) -> Result<serde_json::Value, CodecError> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(b"[").unwrap();
        for _ in 0..count {
            packer.write_all(text.as_bytes()).unwrap();
        }
        let stored = STANDARD.encode(packer.finish().unwrap());
        assert!(stored.len() < 1_000_000);
        decode(stored.as_bytes(), &mut Room::new(10_000_000))
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_there() {
        let spaces = " ".repeat(1000);
        for (text, count) in [
            (spaces.as_str(), 20_000),
            ("0,", 200_000),
            ("{\"\":0},", 20_000),
            ("[[]],", 60_000),
        ] {
            let refused = unpack_many(text, count);
            assert!(
                matches!(refused, Err(CodecError::TooLarge(10_000_000))),
                "{text} {refused:?}"
            );
        }
        assert!(
            matches!(unpack_many("0,", 20_000), Err(CodecError::Json)),
            "it fits"
        );
    }

    #[test]
    fn what_was_unpacked_before_leaves_less_room() {
        let packed = encode(&"x".repeat(1000)).unwrap();
        let mut room = Room::new(2500);
        for expect in [true, true, false] {
            let unpacked = decode::<String>(packed.as_bytes(), &mut room);
            assert_eq!(unpacked.is_ok(), expect);
        }
    }

    #[test]
    fn rubbish_is_an_error_of_its_own_kind() {
        assert!(matches!(
            decode::<serde_json::Value>(b"%%%", &mut room()),
            Err(CodecError::Base64(_))
        ));
        let cut = &encode(&"text").unwrap()[..16];
        assert!(matches!(
            decode::<serde_json::Value>(cut.as_bytes(), &mut room()),
            Err(CodecError::Gzip(_))
        ));
        let no_json = STANDARD.encode(b"no json");
        assert!(matches!(
            decode::<serde_json::Value>(no_json.as_bytes(), &mut room()),
            Err(CodecError::Json)
        ));
    }
}
