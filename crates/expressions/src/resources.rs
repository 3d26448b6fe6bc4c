//! What operators and functions take while an expression is evaluated.

use crate::budget::Budget;
use crate::patterns::Patterns;

/// The budget of an evaluation, and what it keeps to spare it.
#[derive(Default)]
pub(crate) struct Resources {
    pub(crate) budget: Budget,
    pub(crate) patterns: Patterns,
}
