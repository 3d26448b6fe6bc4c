//! The types of parameters, of functions and of methods.

/// The Go type of a parameter, which decides what an argument is converted to and which
/// message a wrong one gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `interface {}`: whatever the argument is; [`Value::Nil`](super::Value::Nil) for a nil.
    Any,
    /// `reflect.Value`: like `Any`, but tells a missing value ([`Value::Invalid`](super::Value::Invalid)) from nil.
    Reflect,
    /// `bool`; any other value is refused, whatever its truth.
    Bool,
    /// Go's `int`, of 64 bits; an argument of any other type of number is refused, unless it is a constant.
    Int,
    /// Go's `int64`, which is not its `int`; for types made of it see [`NamedInt64`](Self::NamedInt64).
    Int64,
    /// `uint32`; an argument arrives as [`Value::Uint64`](super::Value::Uint64) of at most 32 bits.
    Uint32,
    /// Go's `float64`; constants without a point fit, too.
    Float64,
    /// `string`; a number is refused, not converted.
    String,
    /// `map[string]interface {}`; a nil argument arrives as [`Value::Nil`](super::Value::Nil).
    Map,
    /// `[]interface {}`; a nil argument arrives as [`Value::Nil`](super::Value::Nil).
    List,
    /// `[]string`, and no list of anything else, whatever its items are.
    Strings,
    /// A named Go type of the kind `int64`, such as `time.Duration`; a constant arrives as
    /// [`Value::Int64`](super::Value::Int64), any other argument as an object of this type.
    NamedInt64(&'static str),
    /// A named Go type other than these, such as `time.Time` or `sprig.certificate`;
    /// arguments are objects that answer to this [`type_name`](super::Object::type_name).
    Named(&'static str),
}

impl Parameter {
    /// Go's name of the type, as people write it today: with `any` for `interface {}`.
    pub(crate) fn short_name(self) -> &'static str {
        match self {
            Self::Any | Self::Reflect => "any",
            Self::Map => "map[string]any",
            Self::List => "[]any",
            other => other.type_name(),
        }
    }
}
