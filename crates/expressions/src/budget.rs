//! What an evaluation may take.

use crate::error::EvaluationError;

/// The longest expression, in bytes.
pub(crate) const MAX_SOURCE: usize = 4 << 10;
/// How deep the tree of an expression may be: its evaluation recurs.
pub(crate) const MAX_DEPTH: usize = 128;
/// How many comprehensions may stand inside of each other.
pub(crate) const MAX_NESTED: usize = 2;
/// The largest object, in bytes of its JSON. The API server takes no larger one.
pub(crate) const MAX_INPUT: usize = 3 << 19;
/// How deep what is looked at may be nested. The parser of JSON stops at 128.
pub(crate) const MAX_NESTING: usize = 256;
/// Steps of an evaluation: nodes, elements that are compared, and parts of texts. A million take up to 35 milliseconds, and a usual
/// condition less than a microsecond: `examples/speed.rs` measures it.
const STEPS: u64 = 1_000_000;
/// Bytes that an evaluation may ask for in all.
const BYTES: u64 = 4 << 20;

/// What is left of it.
pub(crate) struct Budget {
    steps: u64,
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: STEPS,
            bytes: BYTES,
        }
    }
}

impl Budget {
    /// Takes steps, and nothing more once they are used up.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), EvaluationError> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(EvaluationError::Exhausted)
    }

    /// The steps of looking through a text once.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.spend(1 + bytes / 16)
    }

    /// Takes memory that is about to be asked for, and the steps of filling it.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.unwrap_or(0);
        left.ok_or(EvaluationError::Exhausted)?;
        self.read(bytes)
    }
}
