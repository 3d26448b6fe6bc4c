//! What is secret in what sources had, for as long as others may speak of it.

use std::collections::BTreeSet;

use steersman_model::Digest;
use steersman_watches::SourceKind;

use crate::release::{Stored, StoredSource};
use crate::status::{CompactSecrets, MOST_COMPACT_BYTES, Redactor};

/// What an entry takes besides its secrets.
const ENTRY: usize = 128;

/// What is secret in the sources of a release: as they were read, and as its stored revisions have them.
#[derive(Debug, Default)]
pub(in crate::reconcile) struct SecretsOfSources {
    /// What the stored revisions say of what they have from Secrets.
    by_revisions: BTreeSet<Option<Digest>>,
    /// What was read, the latest last.
    contents: Vec<KnownContent>,
}

/// What is secret in a content that a source has or had.
#[derive(Debug)]
struct KnownContent {
    /// What revisions say of it, by each key that signs.
    macs: Vec<Digest>,
    secrets: CompactSecrets,
}

impl KnownContent {
    fn size(&self) -> usize {
        self.secrets.size() + ENTRY
    }
}

/// What was found in a source, to be remembered.
pub(super) struct ReadContent {
    /// What revisions say of it, by each key that signs.
    pub(super) macs: Vec<Digest>,
    pub(super) secrets: Redactor,
}

/// What a revision says of what it has from Secrets. A `ConfigMap` is no secret.
fn macs_of(sources: &[StoredSource]) -> impl Iterator<Item = Option<Digest>> {
    let secrets = sources
        .iter()
        .filter(|source| source.kind != SourceKind::ConfigMap.as_str());
    secrets.map(|source| source.mac)
}

/// The sources of a revision. Where nobody vouches for what it says of them, others may speak of these nevertheless.
fn sources_of(stored: &Stored) -> &[StoredSource] {
    let snapshot = stored.claim.as_ref().unwrap_or(&stored.snapshot);
    &snapshot.values_from
}

impl SecretsOfSources {
    /// Others may speak of what these have, and of nothing else.
    pub(in crate::reconcile) fn note_revisions<'a>(&mut self, revisions: impl Iterator<Item = &'a Stored>) {
        let macs = revisions.flat_map(|stored| macs_of(sources_of(stored)));
        self.by_revisions = macs.collect();
    }

    /// The sources have these. What they had before stays known where there is room for it: first what stored revisions have.
    pub(super) fn note_read(&mut self, contents: Vec<ReadContent>) {
        let mut read = 0;
        for content in contents {
            let Some(secrets) = CompactSecrets::new(&content.secrets) else {
                continue;
            };
            let is_same = |known: &KnownContent| known.macs.iter().any(|mac| content.macs.contains(mac));
            self.contents.retain(|known| !is_same(known));
            self.contents.push(KnownContent {
                macs: content.macs,
                secrets,
            });
            read += 1;
        }
        while self.weight() > MOST_COMPACT_BYTES {
            let former = self.contents.len().saturating_sub(read);
            let mut former = self.contents.iter().take(former);
            let surplus = former.position(|known| !self.is_stored(known));
            self.contents.remove(surplus.unwrap_or_default());
        }
    }

    /// Whether a stored revision has this.
    fn is_stored(&self, known: &KnownContent) -> bool {
        let mut macs = known.macs.iter();
        macs.any(|mac| self.by_revisions.contains(&Some(*mac)))
    }

    /// Whether what is secret in all that `sources` had is known.
    pub(in crate::reconcile) fn has_those(&self, sources: &[StoredSource]) -> bool {
        macs_of(sources).all(|mac| self.has(mac))
    }

    /// The same of what a revision is made of.
    pub(in crate::reconcile) fn has_those_of(&self, stored: &Stored) -> bool {
        self.has_those(sources_of(stored))
    }

    /// The same of all that the stored revisions are made of.
    pub(in crate::reconcile) fn are_complete(&self) -> bool {
        self.by_revisions.iter().all(|mac| self.has(*mac))
    }

    /// It is not after a restart, where a source has something else by then.
    fn has(&self, mac: Option<Digest>) -> bool {
        mac.is_some_and(|mac| self.contents.iter().any(|known| known.macs.contains(&mac)))
    }

    /// How many bytes they take.
    pub(in crate::reconcile) fn weight(&self) -> usize {
        self.contents.iter().map(KnownContent::size).sum()
    }

    /// There is no room for them.
    pub(in crate::reconcile) fn forget(&mut self) {
        self.contents.clear();
    }

    /// What is to be masked.
    pub(in crate::reconcile) fn known(&self) -> impl Iterator<Item = &CompactSecrets> {
        self.contents.iter().map(|known| &known.secrets)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mac(content: &str) -> Digest {
        Digest::of(content.as_bytes())
    }

    fn read(content: &str) -> Vec<ReadContent> {
        vec![ReadContent {
            macs: vec![mac("by a newer key"), mac(content)],
            secrets: Redactor::new([], &json!({ "password": content })),
        }]
    }

    fn sources(kind: &str, content: &str) -> Vec<StoredSource> {
        vec![StoredSource {
            kind: kind.to_owned(),
            name: "db".to_owned(),
            values_key: "password".to_owned(),
            target_path: None,
            mac: (!content.is_empty()).then(|| mac(content)),
        }]
    }

    fn alone(content: &str) -> Vec<ReadContent> {
        let mut read = read(content);
        for content in &mut read {
            content.macs.remove(0);
        }
        read
    }

    #[test]
    fn what_a_source_had_stays_known_and_what_nobody_has_read_is_not() {
        let mut known = SecretsOfSources::default();
        known.note_read(read("canary-1"));
        assert!(known.has_those(&sources("Secret", "canary-1")), "by an older key");
        assert!(!known.has_those(&sources("Secret", "canary-2")));
        assert!(!known.has_those(&sources("Secret", "")), "whatever it had");
        assert!(known.has_those(&sources("ConfigMap", "canary-2")), "no secret");
        known.note_read(alone("canary-2"));
        for content in ["canary-1", "canary-2"] {
            assert!(known.has_those(&sources("Secret", content)), "{content}");
        }
        known.forget();
        assert!(!known.has_those(&sources("Secret", "canary-1")) && known.weight() == 0);
    }

    #[test]
    fn what_stored_revisions_have_stays_longest() {
        let mut known = SecretsOfSources::default();
        known.by_revisions.insert(Some(mac("canary-of-a-revision")));
        assert!(!known.are_complete());
        known.note_read(alone("canary-of-a-revision"));
        for number in 0..1000 {
            known.note_read(alone(&format!("canary-{number}")));
            assert!(known.weight() <= MOST_COMPACT_BYTES);
        }
        assert!(known.are_complete() && known.has_those(&sources("Secret", "canary-999")));
        assert!(!known.has_those(&sources("Secret", "canary-0")));
        known.note_read(alone(&"long".repeat(10_000)));
        assert!(known.are_complete(), "what is too much is not remembered");
    }
}
