//! What a template can learn from outside, handed in by the caller.

use super::{Failure, Value};

/// A moment: seconds and nanoseconds since the Unix epoch, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// The part of a second, from 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// The object, or list of objects, that a template asks the cluster for.
#[derive(Clone, Copy, Debug)]
pub struct LookupQuery<'a> {
    /// Group and version, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind, such as `Deployment`.
    pub kind: &'a str,
    /// Namespace; empty for all, or for a kind that has none.
    pub namespace: &'a str,
    /// Name; empty for a list of all.
    pub name: &'a str,
}

/// The clock, the source of randomness and the look-ups of one rendering.
///
/// Everything that makes two renderings of the same inputs differ comes through here, so a
/// rendering is repeatable when its world is.
///
/// ```
/// use std::sync::Arc;
/// use steersman_gotemplate::{
///     Effect, Failure, Function, FunctionTable, LookupQuery, Options, Runtime, TemplateSet, Timestamp, Value,
///     World,
/// };
///
/// /// A world in which each rendering is the same.
/// struct Fixed;
///
/// impl World for Fixed {
///     fn now(&self) -> Timestamp { Timestamp { seconds: 1_767_225_600, nanoseconds: 0 } }
///     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(7) }
///     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::map::<&str>([])) }
/// }
///
/// fn epoch(runtime: &mut dyn Runtime, _: &[Value]) -> Result<Value, Failure> {
///     Ok(Value::Int64(runtime.world().now().seconds))
/// }
///
/// let functions = [Function::new("epoch", &[], Effect::Clock, epoch)];
/// let mut set = TemplateSet::new(Arc::new(FunctionTable::new(&[&functions])));
/// set.parse("now", "{{ epoch }}")?;
/// assert_eq!(set.execute("now", &Value::Nil, &Fixed, &Options::default())?, "1767225600");
/// # Ok::<(), steersman_gotemplate::Error>(())
/// ```
pub trait World {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Fills `buffer` with random bytes, fit for keys and passwords.
    fn fill_random(&self, buffer: &mut [u8]);

    /// The object or list that `query` names, as a map; an empty map when there is none or
    /// when there is nobody to ask.
    ///
    /// # Errors
    /// A failure fails the template that asked.
    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure>;

    /// An address of the host of this name; empty, as it is without this method, where templates may not
    /// ask the network or where there is none.
    fn resolve_host(&self, _name: &str) -> String {
        String::new()
    }

    /// Whether a template goes on, with an empty text, after it has complained: called `fail`, or found what it
    /// requires missing. Without this method it never does.
    fn tolerates(&self, _complaint: Complaint<'_>) -> bool {
        false
    }
}

/// Why a template of its own accord does not want to be rendered like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint<'a> {
    /// It calls `fail` with this text.
    Fail(&'a str),
    /// `required`, with this text, is given no value at all.
    MissingValue(&'a str),
    /// `required`, with this text, is given an empty text.
    EmptyText(&'a str),
}
