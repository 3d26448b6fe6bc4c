//! Functions that execute templates, stop them, or ask the cluster.

use steersman_gotemplate::Parameter::{Any, String as Text};
use steersman_gotemplate::{Complaint, Effect, Failure, Function, LookupQuery, Runtime, Str, Value};

use super::{Outcome, argument, function, pure, text};

/// What Helm puts around the message of `fail` and `required`, so that it finds it again in the
/// error that Go makes of it.
pub(crate) const WARNING_START: &str = "HELM_ERR_START";
/// See [`WARNING_START`].
pub(crate) const WARNING_END: &str = "HELM_ERR_END";

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "include",
        &[Text, Any],
        Effect::Template,
        "The output of the named template with the value as its dot.",
        include,
    ),
    function(
        "tpl",
        &[Text, Any],
        Effect::Template,
        "The output of the text as a template with the value as its dot.",
        tpl,
    ),
    function(
        "lookup",
        &[Text, Text, Text, Text],
        Effect::Lookup,
        "The object of this API version, kind, namespace and name in the cluster, or the list of all.",
        lookup,
    ),
    pure(
        "required",
        &[Text, Any],
        "The value; fails with the message if that is nil or an empty text.",
        required,
    ),
    pure("fail", &[Text], "Fails with the message.", fail),
    function(
        "getHostByName",
        &[Text],
        Effect::Lookup,
        "An address of the host, where the caller allows that question; else the empty text.",
        get_host_by_name,
    ),
];

fn include(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let name = text(arguments, 0);
    runtime.include(&name, argument(arguments, 1)).map(Value::Str)
}

fn tpl(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let template = text(arguments, 0);
    let output = runtime.expand(&template, argument(arguments, 1))?;
    Ok(Value::Str(without_missing(output)))
}

/// Removes what Go prints for a value that is not there.
pub(crate) fn without_missing(output: Str) -> Str {
    const MISSING: &str = "<no value>";
    match output.as_str() {
        Some(text) if text.contains(MISSING) => text.replace(MISSING, "").into(),
        _ => output,
    }
}

fn lookup(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    runtime.world().lookup(LookupQuery {
        api_version: &text(arguments, 0),
        kind: &text(arguments, 1),
        namespace: &text(arguments, 2),
        name: &text(arguments, 3),
    })
}

fn required(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let message = text(arguments, 0);
    let value = argument(arguments, 1);
    let complaint = match value {
        Value::Str(text) if text.is_empty() => Complaint::EmptyText(&message),
        other if other.is_nil() => Complaint::MissingValue(&message),
        _ => return Ok(value.clone()),
    };
    complain(runtime, complaint, &message)
}

fn fail(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let message = text(arguments, 0);
    complain(runtime, Complaint::Fail(&message), &message)
}

fn complain(runtime: &mut dyn Runtime, complaint: Complaint<'_>, message: &str) -> Outcome {
    if runtime.world().tolerates(complaint) {
        return Ok(Value::from(""));
    }
    Err(warning(message))
}

fn warning(message: &str) -> Failure {
    Failure::new(format!("{WARNING_START}{message}{WARNING_END}"))
}

#[expect(clippy::unnecessary_wraps, reason = "functions share one signature")]
fn get_host_by_name(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let address = runtime.world().resolve_host(&text(arguments, 0));
    Ok(Value::string(address.as_str()))
}
