//! What functions and methods can reach while a template runs, and how they fail.

use super::{Map, Str, Value, World};

/// Why a function did not give a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Go's text for it, without the `error calling NAME: ` that the template adds.
    pub message: String,
    /// Whether this is a spent budget, which nothing in a template can catch.
    pub exhausted: bool,
}

impl Failure {
    /// A failure with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exhausted: false,
        }
    }

    /// A failure because a limit was reached; `message` names the limit.
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exhausted: true,
        }
    }
}

/// What a running template offers to the functions it calls.
///
/// ```
/// use steersman_gotemplate::{Failure, Function, Parameter, Runtime, Value};
///
/// /// Announces what it is about to make, so that no template makes a text without end.
/// fn spaces(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
///     let [Value::Int(count)] = arguments else { return Err(Failure::new("no number")) };
///     let count = usize::try_from(*count).unwrap_or_default();
///     runtime.reserve(count)?;
///     Ok(Value::from(" ".repeat(count)))
/// }
///
/// const SPACES: Function =
///     Function::pure("spaces", &[Parameter::Int], spaces).signature("count", "string");
/// assert_eq!(SPACES.usage(), "spaces(count int) string");
/// ```
pub trait Runtime {
    /// The clock, randomness and look-ups of this rendering.
    fn world(&self) -> &dyn World;

    /// Accounts for `bytes` of values about to be made, before they are made.
    ///
    /// # Errors
    /// An exhausted [`Failure`] when the rendering's memory budget does not allow it.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure>;

    /// Accounts for `steps` of work about to be done, in units of about one node executed.
    ///
    /// # Errors
    /// An exhausted [`Failure`] when the rendering's step budget does not allow it.
    fn spend(&mut self, steps: u64) -> Result<(), Failure>;

    /// Takes note of a map in which something was put. It may contain itself now, which counting
    /// references does not free: see [`Execution::dismantle`](crate::Execution::dismantle).
    fn changed(&mut self, map: &Map) {
        let _ = map;
    }

    /// The output of the template called `name` with `data` as its dot.
    ///
    /// # Errors
    /// The template does not exist, fails, or includes itself too deeply.
    fn include(&mut self, name: &str, data: &Value) -> Result<Str, Failure>;

    /// The output of `text`, parsed as a template of the running set, with `data` as its dot.
    /// Templates that `text` defines are visible to it alone.
    ///
    /// # Errors
    /// `text` does not parse or fails, or expansions are nested too deeply.
    fn expand(&mut self, text: &str, data: &Value) -> Result<Str, Failure>;
}
