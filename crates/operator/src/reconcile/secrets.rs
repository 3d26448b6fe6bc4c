//! The secrets of a release, which are masked wherever something is shown of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use steersman_cluster::lookup::{Answer, MAX_ANSWERS, OnSecret};
use steersman_model::{Digest, RenderedObject, digest_of_json};

use super::plan::in_effect;
use super::sources::SecretsOfSources;
use crate::release::Stored;
use crate::status::{CompactSecrets, MOST_COMPACT_BYTES, Redactor};

/// The secrets in `objects`, and in what `revisions` are made of and consist of.
/// A manifest that can't be read names no secret that could be shown.
pub(super) fn secrets_of<'a>(
    revisions: impl IntoIterator<Item = &'a Stored>,
    objects: &[RenderedObject],
) -> Redactor {
    let mut redactor = Redactor::new(objects, &Value::Null);
    for stored in revisions {
        if let Some(config) = stored.record.config.clone() {
            redactor.add_values(&Value::Object(config));
        }
        redactor.add_manifest(&stored.record.manifest);
        for hook in stored.hooks() {
            redactor.add_manifest(&hook.manifest);
        }
    }
    redactor
}

/// What an entry takes besides its secrets.
const ENTRY: usize = 64;

/// The secrets that are remembered between reconciles: those who write about the release's objects, and its notes, may have
/// them in their words.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    /// Those of the stored revisions.
    release: OfRevisions,
    /// By these answers the stored revisions have looked Secrets up: others may still speak of what was in them.
    by_revisions: BTreeSet<Digest>,
    /// Those that the chart has looked up, by the answers that they are in, the latest last.
    looked_up: Vec<(Digest, CompactSecrets)>,
    /// Those in what the release has values from.
    pub(super) sources: SecretsOfSources,
}

/// The secrets of the stored revisions, as far as they are remembered.
#[derive(Debug, Default)]
enum OfRevisions {
    /// Nothing was read yet.
    #[default]
    Unknown,
    /// Each value in their Secrets, and each that is secret by its key.
    Known(CompactSecrets),
    /// More than are remembered.
    TooMany,
}

impl OfRevisions {
    fn new(secrets: &Redactor) -> Self {
        CompactSecrets::new(secrets).map_or(Self::TooMany, Self::Known)
    }

    fn known(&self) -> Option<&CompactSecrets> {
        match self {
            Self::Known(secrets) => Some(secrets),
            Self::Unknown | Self::TooMany => None,
        }
    }
}

/// By which answers these revisions have looked Secrets up.
fn looked_up_by<'a>(revisions: impl Iterator<Item = &'a Stored>) -> BTreeSet<Digest> {
    let lookups = revisions.map(|stored| stored.snapshot.lookups.as_slice());
    lookups.filter_map(digest_of_secrets).collect()
}

impl KnownSecrets {
    /// What others may speak of is in these, all that the release has stored; they have these secrets.
    pub(super) fn note_revisions(&mut self, revisions: &[Stored], secrets: &Redactor) {
        self.release = OfRevisions::new(secrets);
        self.by_revisions = looked_up_by(revisions.iter());
        self.sources.note_revisions(revisions.iter());
    }

    /// Another revision is stored, after `earlier` ones. What is known of former ones stays known.
    pub(super) fn note_revision(&mut self, stored: &Stored, earlier: &[Stored]) {
        let mut secrets = secrets_of(in_effect(earlier).iter().chain([stored]), &[]);
        self.release = match &self.release {
            OfRevisions::TooMany => OfRevisions::TooMany,
            OfRevisions::Unknown => OfRevisions::new(&secrets),
            OfRevisions::Known(former) => {
                secrets.extend(former.redactor());
                OfRevisions::new(&secrets)
            }
        };
        self.by_revisions = looked_up_by(earlier.iter().chain([stored]));
        self.sources.note_revisions(earlier.iter().chain([stored]));
    }

    /// These are in the Secrets among `answers`. What was looked up before goes where there is no room for both.
    pub(super) fn note_looked_up(&mut self, answers: &[Answer], secrets: &Redactor) {
        let (Some(of), Some(secrets)) = (digest_of_secrets(answers), CompactSecrets::new(secrets)) else {
            return;
        };
        self.looked_up.retain(|(known, _)| *known != of);
        self.looked_up.push((of, secrets));
        let mut room = MOST_COMPACT_BYTES;
        let fits = self.looked_up.iter().rev().take_while(|(_, secrets)| {
            let rest = room.checked_sub(secrets.size() + ENTRY);
            room = rest.unwrap_or_default();
            rest.is_some()
        });
        let surplus = self.looked_up.len() - fits.count().max(1);
        self.looked_up.drain(..surplus);
    }

    /// What is secret in `answers` is in `again`, too, and known from there.
    pub(super) fn note_as_known(&mut self, answers: &[Answer], again: &[Answer]) {
        let (Some(of), Some(known_as)) = (digest_of_secrets(answers), digest_of_secrets(again)) else {
            return;
        };
        let known = self.looked_up.iter().find(|(known, _)| *known == known_as);
        if let Some((_, secrets)) = known.filter(|_| of != known_as) {
            let secrets = secrets.redactor();
            self.note_looked_up(answers, &secrets);
        }
    }

    /// How many bytes they take.
    pub(super) fn weight(&self) -> usize {
        let looked_up = self.looked_up.iter().map(|(_, secrets)| secrets);
        let all = self.release.known().into_iter().chain(looked_up);
        all.map(|secrets| secrets.size() + ENTRY).sum::<usize>() + self.sources.weight()
    }

    /// There is no room for them. What others say is shown again once they were read again.
    pub(super) fn forget(&mut self) {
        self.release = OfRevisions::TooMany;
        self.looked_up.clear();
        self.sources.forget();
    }

    /// Masks what is known of them.
    pub(super) fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        let looked_up = self.looked_up.iter().map(|(_, secrets)| secrets);
        let all = self.release.known().into_iter().chain(looked_up);
        for secrets in all.chain(self.sources.known()) {
            redactor.extend(secrets.redactor());
        }
        redactor
    }

    /// Whether nothing is missing of what others may speak of, for a release that has looked up `lookups` last.
    pub(super) fn are_complete(&self, lookups: &[Answer]) -> bool {
        self.release.known().is_some()
            && self.has_looked_up(lookups)
            && self.by_revisions.iter().all(|of| self.has_answers(*of))
            && self.sources.are_complete()
    }

    /// Whether what is secret in these answers is known. It is not after a restart, until they are given again, nor where it
    /// is too much to be remembered.
    pub(super) fn has_looked_up(&self, lookups: &[Answer]) -> bool {
        digest_of_secrets(lookups).is_none_or(|of| self.has_answers(of))
    }

    fn has_answers(&self, of: Digest) -> bool {
        self.looked_up.iter().any(|(known, _)| *known == of)
    }
}

/// Whether Secrets were looked up.
pub(super) fn is_of_secrets(answer: &Answer) -> bool {
    answer.kind == "Secret"
}

/// Whether more may have been looked up than there are answers.
pub(super) fn may_be_more(answers: &[Answer]) -> bool {
    answers.len() >= MAX_ANSWERS
}

/// Of the answers that have Secrets; `None` where there are none.
fn digest_of_secrets(answers: &[Answer]) -> Option<Digest> {
    let secrets = answers.iter().filter(|answer| is_of_secrets(answer));
    let found = secrets.filter_map(Answer::found_secrets);
    let mut known: Vec<Value> = found.map(|digest| json!(digest)).collect();
    if may_be_more(answers) {
        known.push(json!("more"));
    }
    (!known.is_empty()).then(|| digest_of_json(&Value::Array(known)))
}

/// What is secret in what templates look up, learnt while it is found.
#[derive(Clone, Default)]
pub(super) struct LookedUp(Arc<Mutex<Redactor>>);

impl LookedUp {
    /// Learns from the Secrets that it is shown.
    pub(super) fn learner(&self) -> OnSecret {
        let learnt = Arc::clone(&self.0);
        Box::new(move |secret| lock(&learnt).add_object(secret))
    }

    /// What was learnt so far.
    pub(super) fn so_far(&self) -> Redactor {
        lock(&self.0).clone()
    }

    /// The same, which is forgotten here.
    pub(super) fn take(&self) -> Redactor {
        std::mem::take(&mut *lock(&self.0))
    }
}

fn lock(learnt: &Mutex<Redactor>) -> MutexGuard<'_, Redactor> {
    learnt.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(count: usize) -> Vec<Answer> {
        let answer = |number: usize| Answer {
            api_version: "v1".to_owned(),
            kind: if number == 0 { "Secret" } else { "ConfigMap" }.to_owned(),
            namespace: "shop".to_owned(),
            name: number.to_string(),
            digest: Digest::of(b"of all"),
            secrets: None,
        };
        (0..count).map(answer).collect()
    }

    #[test]
    fn what_more_was_looked_up_than_is_remembered_is_known_of_a_rendering_alone() {
        let secrets = Redactor::new([], &json!({"password": "correct horse"}));
        let (many, secret) = (answers(MAX_ANSWERS), answers(1));
        let mut known = KnownSecrets::default();
        known.note_looked_up(&secret, &secrets);
        assert!(known.has_looked_up(&secret) && known.has_looked_up(&answers(5)));
        assert!(!known.has_looked_up(&many));
        known.note_looked_up(&many, &secrets);
        assert!(known.has_looked_up(&many));
    }
}
