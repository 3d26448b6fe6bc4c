//! Regular expressions, as RE2 has them.

use regex::{Regex, RegexBuilder};

use crate::budget::Budget;
use crate::error::EvaluationError;

/// The largest program of a regular expression, in bytes: what one byte of a text may cost grows with it.
const MAX_PROGRAM: usize = 1 << 16;
/// Steps that compiling takes.
const COMPILE: usize = 5_000;

/// The regular expression that was used last: one that stands in a loop is compiled once.
#[derive(Default)]
pub(crate) struct Patterns(Option<(String, Regex)>);

impl Patterns {
    /// Whether a pattern is found in a text.
    ///
    /// # Errors
    /// It is none, is too large, or the budget is used up.
    pub(crate) fn find(
        &mut self,
        budget: &mut Budget,
        text: &str,
        pattern: &str,
    ) -> Result<bool, EvaluationError> {
        budget.read(pattern.len())?;
        // Each byte may be looked at for each state.
        budget.spend(1 + text.len() * 4)?;
        if let Some((known, regex)) = &self.0
            && known == pattern
        {
            return Ok(regex.is_match(text));
        }
        budget.spend(COMPILE + pattern.len() * 16)?;
        let built = RegexBuilder::new(&in_ascii(pattern))
            .size_limit(MAX_PROGRAM)
            .dfa_size_limit(MAX_PROGRAM)
            .nest_limit(64)
            .build();
        let regex = built.map_err(|_| EvaluationError::Unusable("matches"))?;
        let found = regex.is_match(text);
        self.0 = Some((pattern.to_owned(), regex));
        Ok(found)
    }
}

/// The classes `\d`, `\s` and `\w`, and `\b`, which are about ASCII in RE2.
fn in_ascii(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let (mut chars, mut in_class) = (pattern.chars(), false);
    while let Some(char) = chars.next() {
        match char {
            '\\' => match (chars.next(), in_class) {
                (Some('d'), _) => written.push_str("[0-9]"),
                (Some('D'), _) => written.push_str("[^0-9]"),
                (Some('s'), _) => written.push_str(r"[\t\n\f\r ]"),
                (Some('S'), _) => written.push_str(r"[^\t\n\f\r ]"),
                (Some('w'), _) => written.push_str("[0-9A-Za-z_]"),
                (Some('W'), _) => written.push_str("[^0-9A-Za-z_]"),
                (Some('b'), false) => written.push_str(r"(?-u:\b)"),
                (Some('B'), false) => written.push_str(r"(?-u:\B)"),
                (Some(other), _) => written.extend(['\\', other]),
                (None, _) => written.push('\\'),
            },
            '[' => {
                // One in a class is itself, and begins another one in Rust.
                written.push_str(if in_class { "\\[" } else { "[" });
                in_class = true;
            }
            ']' => {
                in_class = false;
                written.push(']');
            }
            other => written.push(other),
        }
    }
    written
}
