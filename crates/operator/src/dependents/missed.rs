//! Of whom objects were seen that are not remembered.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

/// How many bits there are. Of as many objects of strangers as a list of 45,000 has, one owner in twelve is taken for one of
/// those whose objects were seen, and costs a list.
const BITS: usize = 1 << 19;

/// Owners and kinds of objects that were seen and are not remembered, as no resource with that UID was known. It takes the same
/// room however many there are: those that it names were seen, or share a bit with one that was.
pub(super) struct Missed(Box<[u64]>);

impl Default for Missed {
    fn default() -> Self {
        Self(vec![0; BITS / 64].into_boxed_slice())
    }
}

impl Missed {
    /// An object of this owner and kind was seen.
    pub(super) fn note(&mut self, owner: &str, group: &str, kind: &str) {
        let bit = bit_of(owner, group, kind);
        if let Some(bits) = self.0.get_mut(bit / 64) {
            *bits |= 1 << (bit % 64);
        }
    }

    /// Whether an object of this owner and kind may have been seen.
    pub(super) fn may_have(&self, owner: &str, group: &str, kind: &str) -> bool {
        let bit = bit_of(owner, group, kind);
        self.0
            .get(bit / 64)
            .is_some_and(|bits| bits & (1 << (bit % 64)) != 0)
    }
}

fn bit_of(owner: &str, group: &str, kind: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    (owner, group, kind).hash(&mut hasher);
    (hasher.finish() % BITS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_hides_few_others() {
        let mut missed = Missed::default();
        for number in 0..45_000 {
            missed.note(&format!("u-{number}"), "", "ConfigMap");
        }
        assert!(missed.may_have("u-7", "", "ConfigMap"));
        let taken = (0..1000).filter(|number| missed.may_have(&format!("other-{number}"), "", "ConfigMap"));
        assert!(taken.count() < 120);
    }
}
