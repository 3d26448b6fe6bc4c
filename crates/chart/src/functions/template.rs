//! Functions that execute templates, stop them, or ask the cluster.

use steersman_gotemplate::{Complaint, Failure, LookupQuery, Runtime, Str, Value};

use super::{Outcome, argument, text};

/// What Helm puts around the message of `fail` and `required`, so that it finds it again in the
/// error that Go makes of it.
pub(crate) const WARNING_START: &str = "HELM_ERR_START";
/// See [`WARNING_START`].
pub(crate) const WARNING_END: &str = "HELM_ERR_END";

pub(super) fn include(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let name = text(arguments, 0);
    runtime.include(&name, argument(arguments, 1)).map(Value::Str)
}

pub(super) fn tpl(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let template = text(arguments, 0);
    let output = runtime.expand(&template, argument(arguments, 1))?;
    Ok(Value::Str(without_missing(output)))
}

/// Removes what Go prints for a value that is not there.
pub(crate) fn without_missing(output: Str) -> Str {
    const MISSING: &str = "<no value>";
    match output.as_str() {
        Some(text) if text.contains(MISSING) => text.replace(MISSING, "").into(),
        Some(_) => output,
        None => Str::from_bytes(without(output.as_bytes(), MISSING.as_bytes())),
    }
}

/// Bytes without any occurrence of others.
fn without(mut bytes: &[u8], unwanted: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    while let Some((first, rest)) = bytes.split_first() {
        bytes = bytes.strip_prefix(unwanted).unwrap_or_else(|| {
            kept.push(*first);
            rest
        });
    }
    kept
}

pub(super) fn lookup(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    runtime.world().lookup(LookupQuery {
        api_version: &text(arguments, 0),
        kind: &text(arguments, 1),
        namespace: &text(arguments, 2),
        name: &text(arguments, 3),
    })
}

pub(super) fn required(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let message = text(arguments, 0);
    let value = argument(arguments, 1);
    let complaint = match value {
        Value::Str(text) if text.is_empty() => Complaint::EmptyText(&message),
        other if other.is_nil() => Complaint::MissingValue(&message),
        _ => return Ok(value.clone()),
    };
    complain(runtime, complaint, &message)
}

pub(super) fn fail(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
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
pub(super) fn get_host_by_name(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let address = runtime.world().resolve_host(&text(arguments, 0));
    Ok(Value::string(address.as_str()))
}
