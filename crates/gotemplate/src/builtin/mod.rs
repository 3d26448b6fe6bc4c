//! The functions that every Go template can call.

#![expect(clippy::unnecessary_wraps, reason = "all functions have one signature")]

mod collection;
mod compare;
mod escape;

use crate::format;
use crate::function::{Effect, Failure, Function, Parameter, Runtime};
use crate::value::{Str, Value};

const REFLECT: &[Parameter] = &[Parameter::Reflect];
const TWO_REFLECT: &[Parameter] = &[Parameter::Reflect, Parameter::Reflect];
const ANY: &[Parameter] = &[Parameter::Any];

type Body = fn(&mut dyn Runtime, &[Value]) -> Result<Value, Failure>;

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    variadic: bool,
    summary: &'static str,
    call: Body,
) -> Function {
    Function {
        name,
        parameters,
        variadic,
        effect: Effect::Pure,
        summary,
        call,
    }
}

static BUILTINS: &[Function] = &[
    function(
        "and",
        TWO_REFLECT,
        true,
        "The first argument that is not true, or the last.",
        and,
    ),
    function(
        "call",
        TWO_REFLECT,
        true,
        "Calls a function value; there are none here.",
        call,
    ),
    function(
        "eq",
        TWO_REFLECT,
        true,
        "Whether the first argument equals one of the others.",
        compare::eq,
    ),
    function(
        "ge",
        TWO_REFLECT,
        false,
        "Whether the first argument is not less.",
        compare::ge,
    ),
    function(
        "gt",
        TWO_REFLECT,
        false,
        "Whether the first argument is greater.",
        compare::gt,
    ),
    function(
        "html",
        ANY,
        true,
        "The text of the arguments, escaped for HTML.",
        escape::html,
    ),
    function(
        "index",
        TWO_REFLECT,
        true,
        "The element at the indexes that follow.",
        collection::index,
    ),
    function(
        "js",
        ANY,
        true,
        "The text of the arguments, escaped for JavaScript.",
        escape::js,
    ),
    function(
        "le",
        TWO_REFLECT,
        false,
        "Whether the first argument is not greater.",
        compare::le,
    ),
    function(
        "len",
        REFLECT,
        false,
        "The number of elements, or of bytes.",
        collection::len,
    ),
    function(
        "lt",
        TWO_REFLECT,
        false,
        "Whether the first argument is less.",
        compare::lt,
    ),
    function(
        "ne",
        TWO_REFLECT,
        false,
        "Whether the arguments differ.",
        compare::ne,
    ),
    function("not", REFLECT, false, "Whether the argument is not true.", not),
    function(
        "or",
        TWO_REFLECT,
        true,
        "The first argument that is true, or the last.",
        or,
    ),
    function("print", ANY, true, "The text of the arguments.", print),
    function(
        "printf",
        &[Parameter::String, Parameter::Any],
        true,
        "The text of the arguments in a format.",
        printf,
    ),
    function(
        "println",
        ANY,
        true,
        "The text of the arguments, as a line.",
        println,
    ),
    function(
        "slice",
        TWO_REFLECT,
        true,
        "The part between two indexes.",
        collection::slice,
    ),
    function(
        "urlquery",
        ANY,
        true,
        "The text of the arguments, escaped for a URL.",
        escape::urlquery,
    ),
];

/// Go's predefined functions, as a group for [`FunctionTable::new`](crate::FunctionTable::new).
#[must_use]
pub fn builtins() -> &'static [Function] {
    BUILTINS
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

fn call(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Err(call_failure(None, arguments.first()))
}

fn and(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(first_that(arguments, false))
}

fn or(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(first_that(arguments, true))
}

fn first_that(arguments: &[Value], is_true: bool) -> Value {
    let found = arguments.iter().find(|value| value.is_true() == is_true);
    found.or(arguments.last()).cloned().unwrap_or_default()
}

fn not(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!arguments.first().is_some_and(Value::is_true)))
}

fn print(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    text(runtime, format::try_sprint(arguments))
}

fn println(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    text(runtime, format::try_sprintln(arguments))
}

fn printf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
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
