//! How a release is packed into a Secret: base64 of gzip of JSON.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest release that is unpacked. A Secret holds at most 1 MiB, which a gzip bomb can
/// turn into a gigabyte; a release that big is no release.
pub const MAX_DECODED_BYTES: u64 = 64 * 1024 * 1024;

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
    /// The unpacked release is larger than any real one.
    #[error("the release is larger than {MAX_DECODED_BYTES} bytes when unpacked")]
    TooLarge,
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

/// Unpacks what [`encode`] or Helm packed, within [`MAX_DECODED_BYTES`].
///
/// # Errors
/// Anything that is not a release of bounded size.
pub(crate) fn decode<T: DeserializeOwned>(text: &[u8]) -> Result<T, CodecError> {
    unpack_bytes(&STANDARD.decode(text).map_err(CodecError::Base64)?)
}

/// Unpacks what [`pack_bytes`] packed, within the same bounds.
///
/// # Errors
/// As [`decode`].
pub(crate) fn unpack_bytes<T: DeserializeOwned>(packed: &[u8]) -> Result<T, CodecError> {
    if !packed.starts_with(&GZIP_MAGIC) {
        return serde_json::from_slice(packed).map_err(|_| CodecError::Json);
    }
    let mut json = Vec::new();
    GzDecoder::new(packed)
        .take(MAX_DECODED_BYTES + 1)
        .read_to_end(&mut json)
        .map_err(CodecError::Gzip)?;
    if json.len() as u64 > MAX_DECODED_BYTES {
        return Err(CodecError::TooLarge);
    }
    serde_json::from_slice(&json).map_err(|_| CodecError::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let packed = encode(&serde_json::json!({"name": "web", "version": 3})).unwrap();
        let back: serde_json::Value = decode(packed.as_bytes()).unwrap();
        assert_eq!(back["version"], 3);
    }

    #[test]
    fn a_release_from_before_compression_is_read() {
        let packed = STANDARD.encode(br#"{"name":"web"}"#);
        let back: serde_json::Value = decode(packed.as_bytes()).unwrap();
        assert_eq!(back["name"], "web");
    }

    #[test]
    fn a_gzip_bomb_is_refused() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        let zeros = vec![b' '; 1024 * 1024];
        for _ in 0..=(MAX_DECODED_BYTES / zeros.len() as u64) {
            packer.write_all(&zeros).unwrap();
        }
        let bomb = STANDARD.encode(packer.finish().unwrap());
        assert!(matches!(
            decode::<serde_json::Value>(bomb.as_bytes()),
            Err(CodecError::TooLarge)
        ));
    }

    #[test]
    fn rubbish_is_an_error_of_its_own_kind() {
        assert!(matches!(
            decode::<serde_json::Value>(b"%%%"),
            Err(CodecError::Base64(_))
        ));
        let cut = &encode(&"text").unwrap()[..16];
        assert!(matches!(
            decode::<serde_json::Value>(cut.as_bytes()),
            Err(CodecError::Gzip(_))
        ));
        let no_json = STANDARD.encode(b"no json");
        assert!(matches!(
            decode::<serde_json::Value>(no_json.as_bytes()),
            Err(CodecError::Json)
        ));
    }
}
