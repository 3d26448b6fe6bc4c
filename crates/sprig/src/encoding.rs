//! Base 64 and base 32, and digests.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use steersman_gotemplate::{Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::bytes;

pub(crate) fn b64enc(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.reserve(source.len() / 3 * 4)?;
    Ok(STANDARD.encode(source).into())
}

pub(crate) fn b64dec(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(match decode_base64(bytes(arguments, 0)) {
        Ok(decoded) => Str::from_bytes(decoded).into(),
        Err(error) => error.to_string().into(),
    })
}

/// Where a text stops being what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base{base} data at input byte {offset}")]
pub(crate) struct CorruptInput {
    base: u32,
    offset: usize,
}

/// The bytes that `source` stands for in base 64; line ends are skipped.
pub(crate) fn decode_base64(source: &[u8]) -> Result<Vec<u8>, CorruptInput> {
    if let Ok(decoded) = STANDARD.decode(source) {
        return Ok(decoded);
    }
    // Slowly again: for line ends, bits that Go does not look at, and the place of the error.
    let corrupt = |offset| CorruptInput { base: 64, offset };
    let mut input = source
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    let mut decoded = Vec::with_capacity(source.len() / 4 * 3);
    loop {
        let mut quantum = 0_u32;
        let mut digits = 0_usize;
        while digits < 4 {
            let Some((offset, byte)) = input.next() else {
                if digits == 0 {
                    return Ok(decoded);
                }
                return Err(corrupt(source.len() - digits));
            };
            if let Some(value) = base64_digit(byte) {
                quantum = quantum << 6 | u32::from(value);
                digits += 1;
                continue;
            }
            if byte != b'=' || digits < 2 {
                return Err(corrupt(offset));
            }
            if digits == 2 {
                match input.next() {
                    None => return Err(corrupt(source.len())),
                    Some((next, byte)) if byte != b'=' => return Err(corrupt(next - 1)),
                    Some(_) => {}
                }
            }
            if let Some((trailing, _)) = input.next() {
                return Err(corrupt(trailing));
            }
            quantum <<= 6 * (4 - digits);
            let [_, first, second, _] = quantum.to_be_bytes();
            decoded.push(first);
            if digits == 3 {
                decoded.push(second);
            }
            return Ok(decoded);
        }
        decoded.extend_from_slice(quantum.to_be_bytes().get(1..).unwrap_or_default());
    }
}

fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

const BASE32_ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(crate) fn b32enc(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.reserve(source.len() / 5 * 8)?;
    let mut encoded = String::with_capacity(source.len().div_ceil(5) * 8);
    for group in source.chunks(5) {
        let bits = group
            .iter()
            .chain(std::iter::repeat_n(&0, 5 - group.len()))
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let digits = (group.len() * 8).div_ceil(5);
        for place in 0..8 {
            let digit = (bits >> (35 - 5 * place)) & 31;
            let digit = BASE32_ALPHABET.get(digit as usize).copied().unwrap_or(b'=');
            encoded.push(if place < digits { char::from(digit) } else { '=' });
        }
    }
    Ok(encoded.into())
}

pub(crate) fn b32dec(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(match decode_base32(bytes(arguments, 0)) {
        Ok(decoded) => Str::from_bytes(decoded).into(),
        Err(error) => error.to_string().into(),
    })
}

/// The bytes that `source` stands for in base 32; line ends are skipped and not counted in the
/// place of an error. What follows complete padding is not looked at.
fn decode_base32(source: &[u8]) -> Result<Vec<u8>, CorruptInput> {
    const GROUP: usize = 8;
    let corrupt = |offset| Err(CorruptInput { base: 32, offset });
    let source: Vec<u8> = source
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let mut decoded = Vec::with_capacity(source.len() / GROUP * 5);
    for start in (0..source.len()).step_by(GROUP) {
        let mut bits = 0_u64;
        let mut digits = 0;
        let mut is_padded = false;
        while digits < GROUP && !is_padded {
            let place = start + digits;
            let Some(byte) = source.get(place) else {
                return corrupt(source.len() - digits);
            };
            let after = source.get(place + 1..).unwrap_or_default();
            if *byte == b'=' && digits >= 2 && after.len() < GROUP {
                let padding = GROUP - 1 - digits;
                if after.len() < padding {
                    return corrupt(source.len());
                }
                if let Some(wrong) = after.iter().take(padding).position(|byte| *byte != b'=') {
                    return corrupt(place + wrong);
                }
                if matches!(digits, 3 | 6) {
                    return corrupt(place);
                }
                is_padded = true;
                continue;
            }
            let Some(value) = BASE32_ALPHABET.iter().position(|digit| digit == byte) else {
                return corrupt(place);
            };
            bits = bits << 5 | value as u64;
            digits += 1;
        }
        bits <<= 5 * (GROUP - digits);
        let whole = bits.to_be_bytes();
        decoded.extend_from_slice(whole.get(3..3 + digits * 5 / 8).unwrap_or_default());
        if is_padded {
            break;
        }
    }
    Ok(decoded)
}

/// The digest of the text, and the work it takes.
fn hexadecimal<D: Digest>(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.spend(source.len() as u64 / 256)?;
    let mut text = String::new();
    for byte in D::digest(source) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text.into())
}

pub(crate) fn sha1sum(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    hexadecimal::<Sha1>(runtime, arguments)
}

pub(crate) fn sha256sum(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    hexadecimal::<Sha256>(runtime, arguments)
}

pub(crate) fn sha512sum(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    hexadecimal::<Sha512>(runtime, arguments)
}

pub(crate) fn adler32sum(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    const MODULUS: u32 = 65521;
    let source = bytes(arguments, 0);
    runtime.spend(source.len() as u64 / 64)?;
    let (low, high) = source.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    Ok((high << 16 | low).to_string().into())
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::check;

    #[test]
    fn base_64_goes_there_and_back() {
        check("b64enc", &["hello".into()], "aGVsbG8=");
        check("b64dec", &["aGVsbG8=".into()], "hello");
        check("b64dec", &["aGVs\nbG8=".into()], "hello");
        check("b64dec", &["aGVsbG9=".into()], "hello");
    }

    #[test]
    fn base_64_errors_are_text_with_gos_offset() {
        check("b64dec", &["a".into()], "illegal base64 data at input byte 0");
        check(
            "b64dec",
            &["aGVsbG8".into()],
            "illegal base64 data at input byte 4",
        );
        check("b64dec", &["aGV!".into()], "illegal base64 data at input byte 3");
        check("b64dec", &["aG==x".into()], "illegal base64 data at input byte 4");
    }

    #[test]
    fn base_32_goes_there_and_back() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "MY======"),
            ("fo", "MZXQ===="),
            ("foo", "MZXW6==="),
            ("foobar", "MZXW6YTBOI======"),
        ] {
            check("b32enc", &[plain.into()], encoded);
            check("b32dec", &[encoded.into()], plain);
        }
        check("b32dec", &["abc".into()], "illegal base32 data at input byte 0");
    }

    #[test]
    fn digests_are_hexadecimal() {
        check(
            "sha1sum",
            &["abc".into()],
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        );
        check("adler32sum", &["Wikipedia".into()], "300286872");
    }
}
