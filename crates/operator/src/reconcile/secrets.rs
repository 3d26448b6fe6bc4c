//! The secrets of a release, which are masked wherever something is shown of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use steersman_cluster::lookup::{Answer, OnSecret};
use steersman_model::RenderedObject;

use crate::release::Stored;
use crate::status::{CompactSecrets, Redactor};

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

/// The secrets that are remembered between reconciles: those who write about the release's objects, and its notes, may have
/// them in their words.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    /// Those of the revisions in effect; `None` where they are not known, or too many.
    release: Option<CompactSecrets>,
    /// Those that the chart has looked up; the same.
    looked_up: Option<CompactSecrets>,
}

impl KnownSecrets {
    /// The revisions in effect have these.
    pub(super) fn note_release(&mut self, secrets: &Redactor) {
        self.release = CompactSecrets::new(secrets);
    }

    /// The chart has looked these Secrets up.
    pub(super) fn note_looked_up(&mut self, secrets: &Redactor) {
        self.looked_up = CompactSecrets::new(secrets);
    }

    /// Masks what is known of them.
    pub(super) fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        for secrets in [&self.release, &self.looked_up].into_iter().flatten() {
            redactor.extend(secrets.redactor());
        }
        redactor
    }

    /// Whether nothing is missing for a release that has looked up `lookups`.
    pub(super) fn are_complete(&self, lookups: &[Answer]) -> bool {
        self.release.is_some() && self.has_looked_up(lookups)
    }

    /// `false` after a restart, until Secrets among `lookups` are read again.
    pub(super) fn has_looked_up(&self, lookups: &[Answer]) -> bool {
        self.looked_up.is_some() || !lookups.iter().any(is_of_secrets)
    }
}

/// Whether Secrets were looked up.
pub(super) fn is_of_secrets(answer: &Answer) -> bool {
    answer.kind == "Secret"
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
