//! The functions that every Go template can call.

#![expect(clippy::unnecessary_wraps, reason = "all functions have one signature")]

mod collection;
mod compare;
mod escape;
mod table;

use crate::format;
use crate::function::{Failure, Function, Runtime};
use crate::value::{Str, Value};

/// Go's predefined functions, as a group for [`FunctionTable::new`](crate::FunctionTable::new).
#[must_use]
pub fn builtins() -> &'static [Function] {
    table::BUILTINS
}

/// Why `call` does not work: no value here is a function. `name` is the argument as written.
pub(crate) fn call_failure(name: Option<&str>, callee: Option<&Value>) -> Failure {
    match callee {
        None | Some(Value::Invalid | Value::Nil) => Failure::new("call of nil"),
        Some(value) => {
            let type_name = value.type_name();
            let name = match (name, value) {
                (Some(name), _) => name.to_owned(),
                (None, Value::Str(text)) => text.to_string(),
                (None, _) => format!("<{type_name} Value>"),
            };
            Failure::new(format!("non-function {name} of type {type_name}"))
        }
    }
}

pub(super) fn call(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Err(call_failure(None, arguments.first()))
}

pub(super) fn and(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(first_that(arguments, false))
}

pub(super) fn or(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(first_that(arguments, true))
}

fn first_that(arguments: &[Value], is_true: bool) -> Value {
    let found = arguments.iter().find(|value| value.is_true() == is_true);
    found.or(arguments.last()).cloned().unwrap_or_default()
}

pub(super) fn not(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!arguments.first().is_some_and(Value::is_true)))
}

pub(super) fn print(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    text(runtime, format::try_sprint(arguments))
}

pub(super) fn println(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    text(runtime, format::try_sprintln(arguments))
}

pub(super) fn printf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    match arguments.split_first() {
        Some((Value::Str(format), arguments)) => {
            text(runtime, format::try_sprintf(format.as_bytes(), arguments))
        }
        _ => Err(Failure::new("printf without a format")),
    }
}

/// Accounts for a printed text; there is none where it was too large.
fn text(runtime: &mut dyn Runtime, text: Option<Str>) -> Result<Value, Failure> {
    let text = text.ok_or_else(|| Failure::exhausted("value is too large to print"))?;
    runtime.reserve(text.len())?;
    Ok(Value::Str(text))
}
