//! What one execution may use, and how it treats what is missing.

use std::fmt;

/// What a template prints, or does, where a map lacks the key that it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Go's `missingkey=default`: no value, printed as `<no value>`.
    #[default]
    Invalid,
    /// Go's `missingkey=zero`, which Helm uses: the zero value of the map's elements. That of
    /// `map[string]interface {}` is a nil, printed as `<no value>`; a field of it is an error.
    Zero,
    /// Go's `missingkey=error`: execution fails.
    Error,
}

/// The budget of an [`Execution`](crate::Execution). A spent one ends it with an error of kind
/// [`Budget`](crate::ErrorKind::Budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes executed, and the work that functions account for in the same unit.
    pub steps: u64,
    /// Bytes of output of all templates, included ones as often as they are included.
    pub output_bytes: usize,
    /// Bytes of values that functions make. What is given up again is not given back.
    pub value_bytes: usize,
    /// How often a template may be among its own callers by `include`.
    pub include_depth: u32,
    /// How deeply expansions of values as templates (`tpl`) may be nested.
    pub expand_depth: u32,
    /// How deeply executions of templates may be nested, by whatever means.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 20_000_000,
            output_bytes: 32 << 20,
            value_bytes: 64 << 20,
            include_depth: 1000,
            expand_depth: 200,
            depth: 5000,
        }
    }
}

/// How templates are executed.
///
/// ```
/// use steersman_gotemplate::{Limits, MissingKey, Options};
///
/// // As Helm executes templates, but for at most a thousand nodes.
/// let options = Options {
///     missing_key: MissingKey::Zero,
///     limits: Limits { steps: 1000, ..Limits::default() },
///     expired: None,
/// };
/// assert_eq!(options.limits.include_depth, 1000);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// What happens where a map lacks a key.
    pub missing_key: MissingKey,
    /// What the execution may use.
    pub limits: Limits,
    /// Asked from time to time whether the execution has lasted too long.
    pub expired: Option<&'a dyn Fn() -> bool>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("missing_key", &self.missing_key)
            .field("limits", &self.limits)
            .field("expired", &self.expired.is_some())
            .finish()
    }
}
