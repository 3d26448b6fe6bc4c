//! Text of values, as Go's packages `fmt` and `strconv` write it.

mod quote;

pub use quote::{quote, quote_bytes};

use crate::value::{Str, Value};

/// What `%v` prints, and so what a template prints for a value.
#[must_use]
pub fn print_value(value: &Value) -> Str {
    sprint(std::slice::from_ref(value))
}

/// Go's `fmt.Sprintf`.
#[must_use]
pub fn sprintf(format: &[u8], arguments: &[Value]) -> Str {
    let _ = arguments;
    Str::from_bytes(format.to_vec())
}

/// Go's `fmt.Sprint`: the values, with spaces between two that are not strings.
#[must_use]
pub fn sprint(arguments: &[Value]) -> Str {
    let _ = arguments;
    Str::default()
}

/// Go's `fmt.Sprintln`: the values with spaces between them, and a newline.
#[must_use]
pub fn sprintln(arguments: &[Value]) -> Str {
    let _ = arguments;
    Str::default()
}

/// Go's `strconv.FormatFloat` of a 64-bit number; `verb` is one of `e E f g G`, without
/// `precision` the fewest digits that give back the number are written.
#[must_use]
pub fn float(number: f64, verb: u8, precision: Option<usize>) -> String {
    let _ = (verb, precision);
    number.to_string()
}
