//! AES-256 in CBC mode, keyed by a password.

use aws_lc_rs::cipher::{
    AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use steersman_gotemplate::{Failure, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::bytes;
use crate::encoding::decode_base64;

const BLOCK: usize = 16;

/// The first 32 bytes of the password, filled up with zeros.
fn key(password: &[u8]) -> Result<UnboundCipherKey, Failure> {
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().zip(password) {
        *place = *byte;
    }
    UnboundCipherKey::new(&AES_256, &key).map_err(unspecified)
}

fn unspecified(_: aws_lc_rs::error::Unspecified) -> Failure {
    Failure::new("crypto/aes: the cipher failed")
}

/// A random block, and then the text padded by as many bytes as are missing, in base 64.
pub(crate) fn encrypt(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let plain = bytes(arguments, 1);
    if plain.is_empty() {
        return Ok("".into());
    }
    runtime.reserve(plain.len().saturating_mul(3))?;
    let mut start = [0; BLOCK];
    runtime.world().fill_random(&mut start);
    let padding = BLOCK - plain.len() % BLOCK;
    let mut content = plain.to_vec();
    content.resize(plain.len() + padding, padding as u8);
    EncryptingKey::cbc(key(bytes(arguments, 0))?)
        .and_then(|key| {
            key.less_safe_encrypt(&mut content, EncryptionContext::Iv128(FixedLength::from(start)))
        })
        .map_err(unspecified)?;
    Ok(STANDARD.encode([start.as_slice(), &content].concat()).into())
}

/// Sprig looks at nothing but the last byte of the padding, and panics where it says too much.
pub(crate) fn decrypt(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let encrypted = bytes(arguments, 1);
    if encrypted.is_empty() {
        return Ok("".into());
    }
    runtime.reserve(encrypted.len())?;
    let mut content = decode_base64(encrypted).map_err(|error| Failure::new(error.to_string()))?;
    let Some((start, content)) = content.split_at_mut_checked(BLOCK) else {
        // Go decodes into as many bytes as the base 64 could stand for.
        let capacity = encrypted.len() / 4 * 3;
        return Err(Failure::new(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}"
        )));
    };
    if content.len() % BLOCK != 0 {
        return Err(Failure::new("crypto/cipher: input not full blocks"));
    }
    let start = FixedLength::try_from(&*start).map_err(unspecified)?;
    let plain = DecryptingKey::cbc(key(bytes(arguments, 0))?)
        .and_then(|key| key.decrypt(content, DecryptionContext::Iv128(start)))
        .map_err(unspecified)?;
    let padding = plain.last().copied().map_or(0, i64::from);
    let length = plain.len() as i64 - padding;
    let plain = usize::try_from(length)
        .ok()
        .and_then(|length| plain.get(..length))
        .ok_or_else(|| Failure::new(format!("runtime error: slice bounds out of range [:{length}]")))?;
    Ok(Str::from_bytes(plain.to_vec()).into())
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::{call, check};

    #[test]
    fn what_is_encrypted_is_decrypted() {
        for plain in ["plain", "sixteen bytes it", ""] {
            let encrypted = call("encryptAES", &["k".into(), plain.into()]).unwrap();
            check("decryptAES", &["k".into(), encrypted], plain);
        }
    }

    #[test]
    fn text_encrypted_by_sprig_is_decrypted() {
        check(
            "decryptAES",
            &[
                "secretkey".into(),
                "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ=".into(),
            ],
            "plaintext",
        );
        check(
            "decryptAES",
            &["k".into(), "AAAA".into()],
            "error: runtime error: slice bounds out of range [:16] with capacity 3",
        );
    }
}
