//! What the server says of an object that does not fit the schema of its kind.
//!
//! A server-side apply of such an object is answered with status 500 and a text, without reason or causes, as if the
//! server had failed. The text names each place and what is wrong there; for a value of a wrong type it shows the
//! value, too, which may be a Secret's and is left out here.

use std::fmt;

/// How texts begin that say so.
const BEGINNINGS: [&str; 3] = [
    "failed to create typed patch object (",
    "failed to convert new object (",
    "failed to convert new typed object (",
];
/// A message with such a beginning may also be about a conversion webhook that does not answer.
const WEBHOOK: &str = "conversion webhook for ";
const UNDECLARED: &str = "field not declared in schema";
const DUPLICATE: &str = "duplicate entries for key ";
/// What stands between a place, which may contain any text, and what is wrong there.
const SEPARATORS: [&str; 4] = [
    ": expected ",
    ": field not declared in schema",
    ": duplicate entries for key ",
    ": element ",
];
/// Texts in YAML that look like a number or a boolean are one.
const QUOTE: &str = "expected string; the template has to quote it";

/// A place at which an object does not fit the schema of its kind.
///
/// ```
/// use kube::core::Status;
/// use steersman_cluster::{FaultKind, RequestError};
///
/// let message = "failed to create typed patch object (default/shop; apps/v1, Kind=Deployment): \
///                .spec.replica: field not declared in schema";
/// let status: Status = serde_json::from_value(serde_json::json!({"code": 500, "message": message}))?;
/// let error = RequestError::from(kube::Error::Api(status.boxed()));
/// assert_eq!(error.faults().collect::<Vec<_>>(), [("spec.replica", &FaultKind::Undeclared)]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// Where, as the server writes it: `spec.ports[port=80,protocol="TCP"].port`; empty where it does not say.
    pub path: String,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no such field.
    Undeclared,
    /// Items of a list have the same key, as the server writes it: `[name="a"]`.
    Duplicate(String),
    /// Something else, in the server's words.
    Other(String),
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.kind {
            FaultKind::Undeclared => f.write_str(UNDECLARED),
            FaultKind::Duplicate(key) => write!(f, "{DUPLICATE}{key}"),
            FaultKind::Other(text) => f.write_str(text),
        }
    }
}

/// What is wrong with the object by the message of an answer; nothing if the message is about something else.
pub(super) fn faults(message: &str) -> Vec<SchemaFault> {
    if !BEGINNINGS.iter().any(|begin| message.starts_with(begin)) || message.contains(WEBHOOK) {
        return Vec::new();
    }
    let Some((_, said)) = message.split_once(')') else {
        return Vec::new();
    };
    let Some((_, said)) = said.split_once(": ") else {
        return Vec::new();
    };
    let mut found: Vec<SchemaFault> = Vec::new();
    match said.strip_prefix("errors:") {
        // A value of several lines is no further fault.
        Some(lines) => found.extend(lines.lines().filter_map(|line| fault(line.trim_start()))),
        None => found.extend(fault(said)),
    }
    if found.is_empty() {
        let text = said.lines().next().unwrap_or_default();
        found.push(SchemaFault {
            path: String::new(),
            kind: FaultKind::Other(without_value(text)),
        });
    }
    // The server names a key once for each further item that has it.
    let mut seen: Vec<SchemaFault> = Vec::new();
    found.retain(|fault| {
        !seen.contains(fault) && {
            seen.push(fault.clone());
            true
        }
    });
    found
}

fn fault(text: &str) -> Option<SchemaFault> {
    let path = text.strip_prefix('.')?;
    let (at, _) = SEPARATORS
        .iter()
        .filter_map(|separator| Some((path.find(separator)?, separator)))
        .min()?;
    let (path, said) = (path.get(..at)?, path.get(at + 2..)?);
    let kind = if said == UNDECLARED {
        FaultKind::Undeclared
    } else if let Some(key) = said.strip_prefix(DUPLICATE) {
        FaultKind::Duplicate(key.to_owned())
    } else {
        FaultKind::Other(without_value(said))
    };
    Some(SchemaFault {
        path: path.to_owned(),
        kind,
    })
}

/// `expected string, got …` without what was got.
fn without_value(said: &str) -> String {
    let Some((expected, got)) = said.split_once(", got ") else {
        return said.to_owned();
    };
    let is_scalar = got.contains("{Value:") && !got.contains("{Value:map[") && !got.contains("{Value:[]");
    if expected == "expected string" && is_scalar {
        QUOTE.to_owned()
    } else {
        expected.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expect: &[&str]) {
        let found: Vec<String> = faults(message).iter().map(ToString::to_string).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn each_place_is_named_and_no_value_is_shown() {
        check(
            "failed to create typed patch object (x/a; apps/v1, Kind=Deployment): \
             .spec.template.spec.containers[name=\"c\"].env[name=\"A\"].value: expected string, got \
             &value.valueUnstructured{Value:8080}",
            &[
                "spec.template.spec.containers[name=\"c\"].env[name=\"A\"].value: expected string; the template has to quote it",
            ],
        );
        check(
            "failed to create typed patch object (x/s; /v1, Kind=Secret): errors:\n  .stringData.a: expected string, got \
             &value.valueUnstructured{Value:canary}\n  .data: expected map, got &{many\ncanary\n.canary}\n  .typo: field not \
             declared in schema\n  .l: duplicate entries for key [=\"a\"]\n  .l: duplicate entries for key [=\"a\"]",
            &[
                "stringData.a: expected string; the template has to quote it",
                "data: expected map",
                "typo: field not declared in schema",
                "l: duplicate entries for key [=\"a\"]",
            ],
        );
        check(
            "failed to convert new object (x/s; /v1, Kind=PersistentVolumeClaim) to proper version: unable to convert: \
             quantities must match",
            &["unable to convert: quantities must match"],
        );
    }

    #[test]
    fn other_failures_of_the_server_are_not_the_objects() {
        check(
            "Internal error occurred: failed calling webhook \"a.b\": failed to call",
            &[],
        );
        check("etcdserver: request timed out", &[]);
        check(
            "failed to convert new object (x/a; acme.com/v1, Kind=Widget) to proper version: conversion webhook for \
             acme.com/v2, Kind=Widget failed: Post \"https://w.x.svc\": connection refused",
            &[],
        );
    }
}
