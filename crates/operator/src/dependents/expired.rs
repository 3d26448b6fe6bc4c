//! Jobs that have done their work and are gone by themselves: nothing is missing for that. Pure.

use std::collections::BTreeSet;

use steersman_model::ObjectId;

/// So many are remembered of an owner, in 200 kB at most.
const MOST: usize = 1000;

/// How far an object is that comes to an end, a Job or a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It has not ended, or is of another kind.
    #[default]
    Open,
    /// Whether with success is said by its health; it stays until somebody deletes it.
    Ended,
    /// It has done its work, and goes by itself: a Job with `ttlSecondsAfterFinished`.
    Expires,
}

/// Jobs of an owner that have expired, and were not made again since.
#[derive(Debug, Default)]
pub(super) struct Expired(BTreeSet<ObjectId>);

impl Expired {
    pub(super) fn has(&self, id: &ObjectId) -> bool {
        self.0.contains(id)
    }

    /// It is gone. Of more than a thousand it counts as missing.
    pub(super) fn note(&mut self, id: &ObjectId) {
        if self.0.len() < MOST {
            self.0.insert(id.clone());
        }
    }

    /// It was made again, or was there all along.
    pub(super) fn forget(&mut self, id: &ObjectId) {
        self.0.remove(id);
    }
}
