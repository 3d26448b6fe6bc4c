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
pub(super) struct Written(Vec<ProcedureRecord>);

impl Written {
    /// The server has taken it, so none before it counts.
    pub(super) fn is(&mut self, record: &ProcedureRecord) {
        self.0.clear();
        self.0.push(record.clone());
    }

    /// The server has not answered: it may have taken it.
    pub(super) fn may_be(&mut self, record: &ProcedureRecord) {
        if self.0.len() < MOST_OPEN {
            self.0.push(record.clone());
        } else {
            self.0.clear();
        }
    }

    /// Whether it has begun a step.
    pub(super) fn was_begun(&self) -> bool {
        self.0.iter().any(|record| !record.steps.is_empty())
    }

    /// Whether it has, and has not come to its end.
    pub(super) fn is_under_way(&self) -> bool {
        let last = self.0.last();
        last.is_some_and(|record| !record.steps.is_empty() && record.ended.is_none())
    }

    pub(super) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn has(&self, record: &ProcedureRecord) -> bool {
        self.0.contains(record)
    }
}
