//! Helm's functions, over those of Sprig and Go.
//!
//! Behaviour is that of Helm's `pkg/engine/funcs.go` and of what `pkg/engine/engine.go` puts in
//! place of some of them.

mod duration;
mod json;
mod table;
mod template;
mod toml;
mod yaml;

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use steersman_gotemplate::{Failure, FunctionTable, Value};

pub(crate) use template::{WARNING_END, WARNING_START, without_missing};
pub(crate) use yaml::{Unwritable, to_yaml};

/// What a function gives back.
type Outcome = Result<Value, Failure>;

/// All functions that a chart's templates can call: Go's, Sprig's and Helm's.
pub fn table() -> Arc<FunctionTable> {
    static TABLE: LazyLock<Arc<FunctionTable>> = LazyLock::new(|| {
        Arc::new(FunctionTable::new(&[
            steersman_gotemplate::builtins(),
            steersman_sprig::functions(),
            table::FUNCTIONS,
        ]))
    });
    Arc::clone(&TABLE)
}

/// Base64 as Go's standard encoding has it.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The argument at a place; nil where there is none, which its signature rules out.
fn argument(arguments: &[Value], place: usize) -> &Value {
    arguments.get(place).unwrap_or(&Value::Nil)
}

/// The bytes of a string argument.
fn bytes(arguments: &[Value], place: usize) -> &[u8] {
    match argument(arguments, place) {
        Value::Str(text) => text.as_bytes(),
        _ => &[],
    }
}

/// A string argument, with U+FFFD for what is not UTF-8; empty where it is no string.
fn text(arguments: &[Value], place: usize) -> std::borrow::Cow<'_, str> {
    match argument(arguments, place) {
        Value::Str(text) => text.text(),
        _ => "".into(),
    }
}

/// Gives a failure the form of the value that Helm's lenient functions give instead: a map with
/// the message under `Error`.
fn error_map(message: String) -> Value {
    Value::map([("Error", Value::from(message))])
}
