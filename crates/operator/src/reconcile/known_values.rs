//! What the revisions say of values, for procedures: those of the last one, of the one in effect, and what procedures keep up. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use steersman_model::{ReleaseStatus, weight_of};
use steersman_watches::procedure::Overlay;

use super::kept_up::{is_gone, last_in_effect, last_own, rendered_from_of, told_of_lost};
use crate::coordination::LastValues;
use crate::release::Stored;

/// What revisions say of values. Nothing is kept where no procedure asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownValues {
    newest: Option<Arc<LastValues>>,
    deployed: Option<Arc<LastValues>>,
    /// Whether what the newest one has done is undone.
    is_undone: bool,
    /// The runs behind which revisions were deployed that are still in the history.
    behind: BTreeSet<String>,
}

impl KnownValues {
    pub(super) fn of(revisions: &[Stored], paths: &[String]) -> Self {
        let newest = revisions.last();
        let is_undone = |stored: &Stored| {
            let snapshot = &stored.snapshot;
            let has_failed = stored.record.info.status == ReleaseStatus::Failed;
            has_failed && snapshot.undone > 0 && snapshot.undoing.is_none()
        };
        let told = told_of_lost(revisions);
        // Where others have deployed one since, ours still says what procedures keep up.
        let ours = match told {
            Some(told) => Some(told.clone().into()),
            None => last_own(revisions).and_then(values_of),
        };
        // One that is under way, or has failed, is in effect by none of its values.
        let is_gone = newest.is_some_and(is_gone);
        let of_others = last_in_effect(revisions).filter(|last| !is_gone && !last.is_signed());
        let deployed = match of_others {
            // What ours does not say is as it is now.
            Some(others) => {
                let config = others.record.config.clone().unwrap_or_default();
                Some(match ours {
                    Some(ours) => ours.under(config, paths),
                    None => LastValues {
                        config,
                        ..LastValues::default()
                    },
                })
            }
            None => ours,
        };
        let deployed = deployed.map(Arc::new);
        // After the newest one, another was in effect that is lost.
        let is_former = told.is_some() && newest.is_some_and(Stored::is_in_effect);
        let newest_values = newest.filter(|_| !is_former).and_then(values_of);
        Self {
            newest: newest_values.map(Arc::new),
            deployed,
            is_undone: newest.is_some_and(is_undone),
            behind: revisions.iter().flat_map(behind).collect(),
        }
    }

    /// A revision has begun.
    pub(super) fn note_begun(&mut self, stored: &Stored) {
        self.newest = values_of(stored).map(Arc::new);
        self.is_undone = false;
    }

    /// A revision is deployed.
    pub(super) fn note_deployed(&mut self, stored: &Stored) {
        self.note_begun(stored);
        self.deployed.clone_from(&self.newest);
        self.behind.extend(stored.snapshot.behind.iter().cloned());
    }

    /// What the newest revision has done is undone.
    pub(super) fn note_undone(&mut self) {
        self.is_undone = true;
    }

    /// Those of the revision in effect.
    pub(super) fn deployed(&self) -> Option<&Arc<LastValues>> {
        self.deployed.as_ref()
    }

    pub(super) fn behind(&self) -> &BTreeSet<String> {
        &self.behind
    }

    /// How much memory they take, in bytes.
    pub(super) fn weight(&self) -> usize {
        let names: usize = self.behind.iter().map(String::len).sum();
        let both = self.newest.iter().chain(&self.deployed);
        let maps = both.flat_map(|values| [&values.config, values.overlay.values()]);
        maps.flat_map(|map| map.iter().map(|(key, value)| key.len() + weight_of(value)))
            .sum::<usize>()
            + names
    }

    /// Whether nothing is put over the values but this.
    pub(super) fn has(&self, wanted: &Overlay) -> bool {
        let last = self.last();
        last.map_or_else(|| wanted.is_empty(), |last| last.overlay == *wanted)
    }

    /// Whether something at these paths, and nothing else, is in the way of what is to be put over the values: objects may have it
    /// of the deployed revision, and of one that was not gone on with.
    pub(super) fn has_to_take_off(&self, wanted: &Overlay, paths: &[Vec<String>]) -> bool {
        let both = self.last().into_iter().chain(&self.deployed);
        let mut both = both.map(|values| &values.overlay);
        let takes_off = |from: &Overlay| wanted.takes_off(from, paths);
        self.last().is_some_and(|last| takes_off(&last.overlay))
            && both.any(|from| from != wanted && takes_off(from))
    }

    /// Those of the revision in effect, or on its way.
    pub(super) fn last(&self) -> Option<&Arc<LastValues>> {
        let deployed = self.deployed.as_ref();
        match &self.newest {
            Some(newest) if !self.is_undone => Some(newest),
            _ => deployed,
        }
    }
}

/// The runs that let a revision through, where it was deployed: what has failed is tried again behind the same ones. Those of the one
/// after it are told by the one before.
fn behind(stored: &Stored) -> Vec<String> {
    let snapshot = &stored.snapshot;
    let was_deployed = stored.is_signed() && stored.is_in_effect();
    let own = snapshot.behind.iter().filter(|_| was_deployed);
    let next = snapshot.next.iter().flat_map(|next| &next.behind);
    own.chain(next).cloned().collect()
}

/// The values of a revision; nobody vouches for those of one that is not signed.
fn values_of(stored: &Stored) -> Option<LastValues> {
    let values = || LastValues {
        overlay: stored.snapshot.overlay.clone(),
        config: stored.record.config.clone().unwrap_or_default(),
        inputs: stored.snapshot.inputs,
        sources: stored.snapshot.values_from.clone(),
        rendered_from: rendered_from_of(stored),
        alone: None,
    };
    stored.is_signed().then(values)
}
