//! What procedures keep up in a revision, told beside others: Helm takes the word of a revision away when it puts one of its own
//! in the place, and may delete older ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use steersman_model::{Digest, ReleaseStatus, Revision};
use steersman_watches::procedure::{Procedure, value_at};

use super::ReconcileSettings;
use crate::coordination::rendered_from;
use crate::release::{History, KeptUp, Stored};

/// The paths of values that runs change; `None` where there are no procedures.
pub(super) fn kept_paths(procedures: &[Procedure]) -> Option<Arc<[String]>> {
    let triggers = procedures.iter().filter_map(|procedure| procedure.on.as_ref());
    let paths = triggers.map(|trigger| trigger.path.clone());
    (!procedures.is_empty()).then(|| paths.collect())
}

impl ReconcileSettings {
    /// What procedures keep up in a revision, with the operator's word for it; `None` where there are no procedures, or no keys.
    pub(super) fn kept_up(&self, history: &History, stored: &Stored) -> Option<KeptUp> {
        let config = stored.record.config.as_ref();
        let changed = self.kept_paths.as_ref()?.iter().map(|path| {
            let value = config.and_then(|config| value_at(config, path));
            (path.clone(), value.cloned())
        });
        history.vouched(KeptUp {
            revision: stored.record.version,
            overlay: stored.snapshot.overlay.clone(),
            behind: stored.snapshot.behind.clone(),
            mac: None,
            changed: changed.collect(),
            rendered_from: rendered_from_of(stored),
        })
    }

    /// The same of the last one of these revisions that is in effect.
    pub(super) fn kept_up_in_effect(&self, history: &History, revisions: &[Stored]) -> Option<KeptUp> {
        match told_of_lost(revisions).filter(|_| !self.procedures.is_empty()) {
            Some(told) => Some(told.clone()),
            None => self.kept_up(history, last_own(revisions)?),
        }
    }
}

/// What a revision of ours was rendered from besides its own values, as far as that was noted.
pub(super) fn rendered_from_of(stored: &Stored) -> Option<Digest> {
    let inputs = stored.snapshot.inputs.as_ref();
    inputs.map(|inputs| rendered_from(inputs, &stored.snapshot.values_from))
}

/// The revisions that tell what procedures keep up in the one after them: the last that is in effect, and the last of ours. Helm prunes
/// older ones.
pub(super) fn tellers(earlier: &[Stored]) -> BTreeSet<Revision> {
    let both = last_in_effect(earlier).into_iter().chain(last_own(earlier));
    both.map(|former| former.record.version).collect()
}

/// The newest revision that others tell of, whether it is there or not: no other one may have its number.
pub(super) fn newest_told(revisions: &[Stored]) -> Option<Revision> {
    let told = revisions
        .iter()
        .filter_map(|stored| stored.snapshot.next.as_ref());
    told.map(|told| told.revision).max()
}

/// The last one that is in effect, or was until another took its place.
pub(super) fn last_in_effect(revisions: &[Stored]) -> Option<&Stored> {
    revisions.iter().rev().find(|stored| stored.is_in_effect())
}

/// The last one of ours of which the same is true.
pub(super) fn last_own(revisions: &[Stored]) -> Option<&Stored> {
    let mut newest_first = revisions.iter().rev();
    newest_first.find(|stored| stored.is_signed() && stored.is_in_effect())
}

/// What procedures kept up in the last revision of ours in effect, where that is not in the history any longer as we have
/// written it: nothing else is known of it.
pub(super) fn told_of_lost(revisions: &[Stored]) -> Option<&KeptUp> {
    let told = told(revisions)?;
    let own = last_own(revisions).map(|own| own.record.version);
    (Some(told.revision) > own && is_lost(told.revision, revisions)).then_some(told)
}

/// The newest revision of which others tell.
///
/// One is told of before it is in effect: what comes after it and tells of one before it knows that it never was.
fn told(revisions: &[Stored]) -> Option<&KeptUp> {
    let tells = |stored: &Stored| stored.snapshot.next.as_ref().map(|next| next.revision);
    let was_none = |revision: Revision| {
        let mut later = revisions.iter().filter(|stored| stored.record.version > revision);
        later.any(|teller| teller.is_signed() && tells(teller).is_some_and(|told| told < revision))
    };
    let all = revisions
        .iter()
        .filter_map(|stored| stored.snapshot.next.as_ref());
    all.filter(|told| !was_none(told.revision))
        .max_by_key(|told| told.revision)
}

fn is_lost(revision: Revision, revisions: &[Stored]) -> bool {
    let mut found = revisions
        .iter()
        .filter(|stored| stored.record.version == revision);
    found.all(|stored| !stored.is_signed() && (stored.is_in_effect() || is_gone(stored)))
}

/// Whether Helm has uninstalled it, and kept its history.
pub(super) fn is_gone(stored: &Stored) -> bool {
    use ReleaseStatus::{Uninstalled, Uninstalling};
    matches!(stored.record.info.status, Uninstalled | Uninstalling)
}
