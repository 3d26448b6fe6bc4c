//! Secrets that nobody guesses, and what is kept of them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// A secret, kept as its digest: what is compared tells nothing of what would be right.
pub(crate) type Kept = [u8; 32];

pub(crate) fn kept(secret: &str) -> Kept {
    Sha256::digest(secret.as_bytes()).into()
}

/// A new one, in hexadecimal.
///
/// # Errors
/// The system gives no random bytes.
pub(crate) fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a form carries what it has to. Both are compared by their digests, so that the time that takes tells nothing.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    kept(one) == kept(other)
}
