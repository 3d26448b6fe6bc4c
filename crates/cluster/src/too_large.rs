//! Answers that do not fit into memory.

use std::time::Duration;

use steersman_model::in_words;

/// Answers up to this size are read at any time; larger ones take turns.
pub(crate) const SMALL: usize = 512 * 1024;

/// An answer that is too large.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TooLarge {
    #[error("the answer of the API server is larger than {}", in_words(*.0))]
    Text(usize),
    #[error("the answer of the API server takes more than {} of memory", in_words(*.0))]
    Values(usize),
    #[error("the answer of the API server is larger than {}, and has not come within {} seconds", in_words(SMALL), .0.as_secs())]
    Slow(Duration),
}

/// Whether a request failed because its answer is too large: a shorter list may do.
pub fn is_too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<TooLarge>() {
            return true;
        }
        next = error.source();
    }
    false
}
