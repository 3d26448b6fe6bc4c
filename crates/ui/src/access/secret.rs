//! Secrets that nobody guesses, and what is kept of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

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

/// Makes room for another one where there are `most` of those that `is_meant`: the one of them that was used least lately goes.
pub(crate) fn make_room<T>(
    known: &mut BTreeMap<Kept, (Instant, T)>,
    most: usize,
    is_meant: impl Fn(&T) -> bool,
) {
    let meant = || known.iter().filter(|(_, (_, of))| is_meant(of));
    if meant().count() < most {
        return;
    }
    let oldest = meant().min_by_key(|(_, (used, _))| *used);
    if let Some(oldest) = oldest.map(|(key, _)| *key) {
        known.remove(&oldest);
    }
}

/// Makes room for another one where there are `most`: of whom most of them are, by `is_same`, the one that was used least lately goes. Who
/// comes by many names throws nobody else out as long as each has more than the others.
pub(crate) fn make_room_among_all<T>(
    known: &mut BTreeMap<Kept, (Instant, T)>,
    most: usize,
    is_same: impl Fn(&T, &T) -> bool,
) {
    if known.len() < most {
        return;
    }
    let others = |of: &T| known.values().filter(|(_, other)| is_same(of, other)).count();
    let oldest = known
        .iter()
        .max_by_key(|(_, (used, of))| (others(of), Reverse(*used)));
    if let Some(oldest) = oldest.map(|(key, _)| *key) {
        known.remove(&oldest);
    }
}

/// Whether a form carries what it has to. Both are compared by their digests, so that the time that takes tells nothing.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    kept(one) == kept(other)
}
