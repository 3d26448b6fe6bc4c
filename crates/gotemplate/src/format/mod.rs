//! Text of values, as Go's packages `fmt` and `strconv` write it.
//!
//! Values can contain themselves. What is nested too deeply or grows too large is cut off.
//!
//! ```
//! use steersman_gotemplate::{Value, format};
//!
//! let text = format::sprintf(b"%05.1f|%-4s|%v", &[Value::Float(3.14), "ab".into(), Value::list(vec![])]);
//! assert_eq!(text, "003.1|ab  |[]");
//! assert_eq!(format::quote("a\tb"), r#""a\tb""#);
//! ```

mod complex;
mod directive;
mod float;
mod number;
mod printer;
mod quote;

pub(crate) use complex::Complex;
pub use float::float;
pub(crate) use quote::{is_printable, unicode_point, unquote, unquote_character};
pub use quote::{quote, quote_bytes};

use std::io::Write as _;

use crate::value::{Str, Value};

use float::is_small_integer;
use printer::Printer;

/// The most bytes that one value is printed as.
const ROOM: usize = 16 << 20;

/// What `%v` prints, and so what a template prints for a value; for no value that is `<nil>`.
#[must_use]
pub fn print_value(value: &Value) -> Str {
    match value {
        Value::Str(text) => text.clone(),
        value => cut_off(|printer| printer.argument(value, 'v')),
    }
}

/// Like [`print_value`], but nothing where that would be cut off.
#[must_use]
pub fn try_print_value(value: &Value) -> Option<Str> {
    match value {
        Value::Str(text) => Some(text.clone()),
        value => fitting(ROOM, |printer| printer.argument(value, 'v')),
    }
}

/// Go's `fmt.Sprintf`.
#[must_use]
pub fn sprintf(format: &[u8], arguments: &[Value]) -> Str {
    cut_off(|printer| printer.format(format, arguments))
}

/// Go's `fmt.Sprint`: the values, with spaces between two that are not strings.
#[must_use]
pub fn sprint(arguments: &[Value]) -> Str {
    cut_off(|printer| printer.spaced(arguments))
}

/// Go's `fmt.Sprintln`: the values with spaces between them, and a newline.
#[must_use]
pub fn sprintln(arguments: &[Value]) -> Str {
    cut_off(|printer| printer.line(arguments))
}

fn cut_off(print: impl FnOnce(&mut Printer<'_>)) -> Str {
    let mut out = Vec::new();
    print(&mut Printer::new(&mut out, ROOM));
    Str::from_bytes(out)
}

/// Appends what `print` prints, or nothing if it is more than about `room` bytes.
fn fitting(room: usize, print: impl FnOnce(&mut Printer<'_>)) -> Option<Str> {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, room);
    print(&mut printer);
    let fits = printer.fits();
    fits.then(|| Str::from_bytes(out))
}

/// Like [`sprintf`], but nothing where that would be cut off.
pub(crate) fn try_sprintf(format: &[u8], arguments: &[Value]) -> Option<Str> {
    fitting(ROOM, |printer| printer.format(format, arguments))
}

/// Like [`sprint`], but nothing where that would be cut off.
pub(crate) fn try_sprint(arguments: &[Value]) -> Option<Str> {
    fitting(ROOM, |printer| printer.spaced(arguments))
}

/// Like [`sprintln`], but nothing where that would be cut off.
pub(crate) fn try_sprintln(arguments: &[Value]) -> Option<Str> {
    fitting(ROOM, |printer| printer.line(arguments))
}

/// Appends what a template prints for a value, and says whether that is all of it: `room` is
/// about the most bytes that are appended.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value, room: usize) -> bool {
    match value {
        Value::Str(text) if text.len() <= room => out.extend_from_slice(text.as_bytes()),
        Value::Invalid | Value::Nil => out.extend_from_slice(b"<no value>"),
        // Writing to a vector does not fail.
        Value::Int(number) | Value::Int64(number) => _ = write!(out, "{number}"),
        Value::Float(number) if is_small_integer(*number) => _ = write!(out, "{number}"),
        value => {
            let mut printer = Printer::new(out, room);
            printer.action(value);
            return printer.fits();
        }
    }
    true
}
