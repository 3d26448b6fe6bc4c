//! What is remembered of a run between reconciles.

use super::record::ProcedureRecord;

/// So many writes may have no answer before it is looked at afresh.
const MOST_OPEN: usize = 4;

/// Losing it costs a read.
#[derive(Debug, Default)]
pub struct ProcedureCache {
    /// Failures in a row.
    pub failures: u32,
    pub(super) written: Written,
}

/// The records that may stand in the status of a run, as the operator has written them: an older one was put back by somebody.
/// Empty where that is not known.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The last one that is known to have stood there.
    taken: Option<ProcedureRecord>,
    /// Later ones, which the server may have taken or not. Nothing has followed from them.
    open: Vec<ProcedureRecord>,
}

impl Written {
    /// The server has taken it, so none before it counts.
    pub(super) fn is(&mut self, record: &ProcedureRecord) {
        self.open.clear();
        self.taken = Some(record.clone());
    }

    /// The server has not said that it has taken it, and may have.
    pub(super) fn may_be(&mut self, record: &ProcedureRecord) {
        if self.open.len() < MOST_OPEN {
            self.open.push(record.clone());
        } else {
            *self = Self::default();
        }
    }

    /// It stands there, as far as that is read. One that was written after it may come yet.
    pub(super) fn is_found(&mut self, record: &ProcedureRecord) {
        self.taken = Some(record.clone());
    }

    /// Whether it has begun a step.
    pub(super) fn was_begun(&self) -> bool {
        self.taken.as_ref().is_some_and(|record| !record.steps.is_empty())
    }

    /// Whether it has, and has not come to its end.
    pub(super) fn is_under_way(&self) -> bool {
        let last = self.open.last().or(self.taken.as_ref());
        self.was_begun() && last.is_some_and(|record| record.ended.is_none())
    }

    /// The record of the end of a run that was begun, which is known to have stood there.
    pub(super) fn ended(&self) -> Option<&ProcedureRecord> {
        let is_end = |record: &&ProcedureRecord| record.ended.is_some() && !record.resource_uid.is_empty();
        self.taken.as_ref().filter(is_end)
    }

    pub(super) fn is_known(&self) -> bool {
        self.taken.is_some() || !self.open.is_empty()
    }

    pub(super) fn has(&self, record: &ProcedureRecord) -> bool {
        self.taken.iter().chain(&self.open).any(|known| known == record)
    }
}
