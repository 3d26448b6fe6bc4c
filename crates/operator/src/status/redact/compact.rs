//! The secrets of a release, for as long as it is remembered.

use super::Redactor;

/// The most that is kept of one release: most have some hundred bytes, and a private key with its certificates has five
/// thousand.
pub const MOST_COMPACT_BYTES: usize = 16 * 1024;

/// What a redactor knows, in little more memory than its secrets are long.
#[derive(Clone, Default)]
pub struct CompactSecrets {
    /// All secrets, one after the other.
    text: Box<str>,
    /// Offsets in `text`, in bytes.
    ends: Box<[u32]>,
}

impl std::fmt::Debug for CompactSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CompactSecrets({} values)", self.ends.len())
    }
}

impl CompactSecrets {
    /// All that `redactor` knows; `None` where it is too much to be kept.
    pub fn new(redactor: &Redactor) -> Option<Self> {
        if redactor.overflown || redactor.size > MOST_COMPACT_BYTES {
            return None;
        }
        let mut text = String::with_capacity(redactor.size);
        let ends = redactor.secrets.iter().map(|secret| {
            text.push_str(secret);
            text.len() as u32
        });
        let ends = ends.collect();
        Some(Self {
            text: text.into_boxed_str(),
            ends,
        })
    }

    /// How many bytes they take.
    pub fn size(&self) -> usize {
        self.text.len() + size_of_val(&*self.ends)
    }

    /// A redactor that knows them again.
    pub fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        let mut start = 0;
        for &end in &self.ends {
            let end = end as usize;
            redactor.insert(self.text.get(start..end).unwrap_or_default());
            start = end;
        }
        redactor
    }
}
