//! Hashes of passwords, and passwords from a master password.

use scrypt::Params;
use sha2::{Digest, Sha256};
use steersman_gotemplate::{Failure, Runtime, Value};

use crate::Outcome;
use crate::arguments::{bytes, string, text};

/// The work of a bcrypt hash, in steps of a template: it takes about 60 ms.
const BCRYPT_STEPS: u64 = 600_000;

/// The work of a derived key, which takes twice as long and 32 MiB that no cache holds: on a
/// busy machine, much longer. Steps have to run out before the time of a rendering does.
const SCRYPT_STEPS: u64 = 2_000_000;

/// The base-2 logarithm of the number of rounds: Go's default.
const BCRYPT_COST: u32 = 10;

pub(crate) fn bcrypt(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(hashed(runtime, bytes(arguments, 0))?.into())
}

pub(crate) fn htpasswd(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let user = text(arguments, 0);
    if user.contains(':') {
        return Ok(format!("invalid username: {user}").into());
    }
    let hash = hashed(runtime, bytes(arguments, 1))?;
    Ok(format!("{user}:{hash}").into())
}

/// The hash of a password, or Go's message why there is none.
fn hashed(runtime: &mut dyn Runtime, password: &[u8]) -> Result<String, Failure> {
    const LONGEST: usize = 72;
    const FAILED: &str = "failed to encrypt string with bcrypt";
    if password.len() > LONGEST {
        return Ok(format!("{FAILED}: bcrypt: password length exceeds 72 bytes"));
    }
    runtime.spend(BCRYPT_STEPS)?;
    let mut salt = [0; 16];
    runtime.world().fill_random(&mut salt);
    Ok(match bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("{FAILED}: {error}"),
    })
}

/// The seed of the Master Password algorithm.
const SEED: &[u8] = b"com.lyndir.masterpassword";

pub(crate) fn derive(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let counter = match arguments.first() {
        Some(Value::Uint64(counter)) => *counter as u32,
        _ => 0,
    };
    let kind = text(arguments, 1);
    let templates = templates(&kind);
    if templates.is_empty() {
        return Ok(format!("cannot find password template {kind}").into());
    }
    runtime.spend(SCRYPT_STEPS)?;
    let (user, site) = (string(arguments, 3), string(arguments, 4));
    let salt = [SEED, &(user.len() as u32).to_be_bytes(), user.as_bytes()].concat();
    let mut key = [0; 64];
    let derived = Params::new(15, 8, 2)
        .ok()
        .and_then(|params| scrypt::scrypt(bytes(arguments, 2), &salt, &params, &mut key).ok());
    if derived.is_none() {
        return Ok("failed to derive password: scrypt: parameters are too large".into());
    }
    let message = [
        SEED,
        &(site.len() as u32).to_be_bytes(),
        site.as_bytes(),
        &counter.to_be_bytes(),
    ]
    .concat();
    let seed = authenticated(&key, &message);
    let mut seed = seed.iter().copied().map(usize::from);
    let choice = seed.next().unwrap_or_default();
    let template = templates
        .get(choice % templates.len())
        .copied()
        .unwrap_or_default();
    let password: String = template
        .bytes()
        .zip(seed)
        .filter_map(|(class, number)| {
            let characters = class_characters(class).as_bytes();
            characters.get(number % characters.len().max(1)).copied()
        })
        .map(char::from)
        .collect();
    Ok(password.into())
}

/// HMAC of SHA-256, for a key that fills one block.
fn authenticated(key: &[u8; 64], message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| key.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

/// The forms of a password of this type: a character class for each place.
fn templates(kind: &str) -> &'static [&'static str] {
    match kind {
        "maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        "long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        "medium" => &["CvcnoCvc", "CvcCvcno"],
        "short" => &["Cvcn"],
        "basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        "pin" => &["nnnn"],
        _ => &[],
    }
}

fn class_characters(class: u8) -> &'static str {
    match class {
        b'V' => "AEIOU",
        b'C' => "BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => "aeiou",
        b'c' => "bcdfghjklmnpqrstvwxyz",
        b'A' => "AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => "0123456789",
        b'o' => "@&%?,=[]_:-+*$#!'^~;()/.",
        _ => "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

#[cfg(test)]
mod tests {
    use steersman_gotemplate::Value;

    use crate::test_runtime::{call, check};

    #[test]
    fn derived_passwords_are_those_of_sprig() {
        let arguments = |kind: &str| {
            [
                Value::Uint64(1),
                kind.into(),
                "password".into(),
                "user".into(),
                "example.com".into(),
            ]
        };
        check("derivePassword", &arguments("maximum"), "pf4zS1LjCg&LjhsZ7T2~");
        check("derivePassword", &arguments("pin"), "6685");
        check(
            "derivePassword",
            &arguments("x"),
            "cannot find password template x",
        );
    }

    #[test]
    fn hashes_verify() {
        let line =
            steersman_gotemplate::format::print_value(&call("htpasswd", &["u".into(), "p".into()]).unwrap())
                .to_string();
        let hash = line.strip_prefix("u:").unwrap();
        assert!(hash.starts_with("$2a$10$"));
        assert!(bcrypt::verify("p", hash).unwrap());
        check("htpasswd", &["a:b".into(), "p".into()], "invalid username: a:b");
    }
}
