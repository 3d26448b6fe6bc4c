//! What is too large for a Secret, in parts.

use serde::{Deserialize, Serialize};
use steersman_model::Digest;

use super::codec::{CodecError, MAX_DECODED_BYTES, Room, pack_bytes, unpack_bytes};
use super::record::HookRecord;

/// The type of Secrets that hold a part.
pub(super) const PART_TYPE: &str = "steersman.dev/release-part.v1";
/// The key of a part in its Secret.
pub(super) const PART_KEY: &str = "part";
/// The size of a part. A Secret holds a mebibyte.
const PART_BYTES: usize = 1_000_000;
/// More than a packed release within the bounds of unpacked ones can have.
const MAX_PARTS: u32 = 100;

/// In how many parts something is kept, and how it is known that they are its.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// From 1 to [`MAX_PARTS`].
    pub(super) count: u32,
    /// The digest of all of them together.
    digest: Digest,
}

/// What is left out of Helm's record.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Overflow {
    pub(super) manifest: String,
    pub(super) hooks: Option<Vec<HookRecord>>,
}

/// Packs and divides.
pub(super) fn split(overflow: &Overflow) -> Result<(Parts, Vec<Vec<u8>>), CodecError> {
    let packed = pack_bytes(overflow)?;
    let pieces: Vec<Vec<u8>> = packed.chunks(PART_BYTES).map(<[u8]>::to_vec).collect();
    let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    if count > MAX_PARTS {
        return Err(CodecError::TooLarge(MAX_DECODED_BYTES));
    }
    let digest = Digest::of(&packed);
    Ok((Parts { count, digest }, pieces))
}

impl Parts {
    /// The names of the parts of the revision whose Secret has this name, in their order. They are
    /// none of Helm's, and say what is inside: who loses a race for a revision harms no part of it.
    pub(super) fn names(self, secret: &str) -> impl Iterator<Item = String> {
        let rest = secret.strip_prefix("sh.helm.release.v1.").unwrap_or(secret);
        let digest = self.digest.to_string();
        let prefix = format!(
            "steersman.release.v1.{rest}.{}",
            digest.get(..10).unwrap_or_default()
        );
        (1..=self.count).map(move |number| format!("{prefix}.{number}"))
    }

    /// Puts the pieces, one after the other, together again.
    pub(super) fn join(self, packed: &[u8], room: &mut Room) -> Result<Overflow, CodecError> {
        if Digest::of(packed) != self.digest {
            return Err(CodecError::Parts);
        }
        unpack_bytes(packed, room)
    }

    /// Whether a Secret may say so: a forged count would lead to as many requests.
    pub(super) fn is_plausible(self) -> bool {
        self.count <= MAX_PARTS
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// Text that can't be packed to much less.
    fn noise(length: usize) -> String {
        let mut state = 1_u64;
        let mut text = String::new();
        while text.len() < length {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{state:016x}").unwrap();
        }
        text
    }

    #[test]
    fn what_was_divided_is_put_together_and_nothing_else() {
        let overflow = Overflow {
            manifest: noise(5_000_000),
            hooks: None,
        };
        let (parts, pieces) = split(&overflow).unwrap();
        assert!(parts.count > 1 && pieces.iter().all(|piece| piece.len() <= PART_BYTES));
        let room = || Room::new(MAX_DECODED_BYTES);
        assert_eq!(parts.join(&pieces.concat(), &mut room()).unwrap(), overflow);
        let mut damaged = pieces.concat();
        damaged[1000] ^= 1;
        assert!(matches!(
            parts.join(&damaged, &mut room()),
            Err(CodecError::Parts)
        ));
        assert!(parts.join(&pieces[0], &mut room()).is_err());
        let narrow = parts.join(&pieces.concat(), &mut Room::new(1_000_000));
        assert!(matches!(narrow, Err(CodecError::TooLarge(1_000_000))));
    }

    #[test]
    fn a_part_has_a_name_of_its_own() {
        let parts = Parts {
            count: 2,
            digest: Digest::from_bytes([0xab; 32]),
        };
        let names: Vec<String> = parts.names("sh.helm.release.v1.web.v3").collect();
        let expected = ["1", "2"].map(|number| format!("steersman.release.v1.web.v3.ababababab.{number}"));
        assert_eq!(names, expected);
    }
}
