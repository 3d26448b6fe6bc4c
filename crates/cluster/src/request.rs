//! What the API server said to a request, without what must not be shown.

use std::io;
use std::time::Duration;

use steersman_model::one_line;

use crate::schema_fault::{FaultKind, SchemaFault, faults};
use crate::too_large::is_too_large;

/// What is said of a connection that ended before its answer.
const CLOSED: &str = "no answer from the API server: the connection was closed";

/// No pause is longer that a server asks for: as long as those after many failures.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// A request that failed.
///
/// The text is the server's message or the innermost cause of a failed connection: kube's own
/// text repeats the message in its debug form.
///
/// ```
/// use kube::core::Status;
/// use serde_json::json;
/// use steersman_cluster::RequestError;
///
/// let status: Status = serde_json::from_value(json!({
///     "status": "Failure", "code": 422, "reason": "Invalid",
///     "message": "Service \"shop\" is invalid: spec.clusterIP: Invalid value: field is immutable",
///     "details": {"causes": [
///         {"reason": "FieldValueInvalid", "field": "spec.clusterIP", "message": "field is immutable"},
///     ]},
/// }))?;
/// let error = RequestError::from(kube::Error::Api(status.boxed()));
/// assert!(error.is_immutable() && !error.is_transient());
/// assert_eq!(error.causes[0].field, "spec.clusterIP");
///
/// let unanswered = RequestError::local("no answer from the API server: connection refused");
/// assert!(unanswered.is_transient());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The HTTP status; 0 when there was no answer.
    pub code: u16,
    /// What the server said.
    pub message: Box<str>,
    /// What the server named as wrong, each with its field.
    pub causes: Box<[Cause]>,
    /// How many seconds the server asks to be left alone.
    pub retry_after: Option<u32>,
}

/// One of the reasons of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueDuplicate`, `FieldManagerConflict`, …
    pub reason: String,
    /// `spec.replicas`; where it is in conflict, `.spec.replicas`.
    pub field: String,
    /// Whether the field can't be changed, whatever the value. The server says so in words only.
    pub immutable: bool,
    /// Who manages the field, where another manager is in the way.
    pub manager: Option<String>,
    /// What is wrong with the field, where the object does not fit the schema of its kind.
    pub fault: Option<FaultKind>,
}

impl RequestError {
    /// The request that is the cause of an error, if one is.
    pub fn behind<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(request) = error.downcast_ref() {
                return Some(request);
            }
            next = error.source();
        }
        None
    }

    /// Whether the thing does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether whoever asks has no right to it.
    pub fn is_denied(&self) -> bool {
        self.code == 403 && !self.is_namespace_terminating()
    }

    /// Whether another write came first.
    pub fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self.code, 0 | 408 | 429 | 500..) && !self.is_about_the_schema()
    }

    /// Whether the object does not fit the schema of its kind. The server answers as if it had failed itself.
    pub fn is_about_the_schema(&self) -> bool {
        self.faults().next().is_some()
    }

    /// Where the object does not fit the schema of its kind, and how.
    pub fn faults(&self) -> impl Iterator<Item = (&str, &FaultKind)> {
        let causes = self.causes.iter();
        causes.filter_map(|cause| Some((cause.field.as_str(), cause.fault.as_ref()?)))
    }

    /// Whether the connection ended before the answer, so that nobody knows whether the request was carried out.
    pub fn is_unanswered(&self) -> bool {
        self.code == 0 && &*self.message == CLOSED
    }

    /// How long the server asks to be left alone: no longer than `LONGEST_PAUSE`, whatever it, or who stands before it, says.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
            .map(|seconds| Duration::from_secs(u64::from(seconds)).min(LONGEST_PAUSE))
    }

    /// Whether a precondition on the UID failed: there is no such object, or another one.
    pub fn is_other_uid(&self) -> bool {
        self.is_conflict()
            && (self.message.contains("uid mismatch") || self.message.contains("UID in the precondition"))
            || self.causes.iter().any(|cause| cause.field == "metadata.uid")
    }

    /// Whether another manager has fields that were to be set without force.
    pub fn is_field_conflict(&self) -> bool {
        self.is_conflict()
            && self
                .causes
                .iter()
                .any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Whether nothing can be created because the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.code == 403
            && self
                .causes
                .iter()
                .any(|cause| cause.reason == "NamespaceTerminating")
    }

    /// Whether the server refused an object because of what stands beside it in a list: something
    /// is there twice, or must be told apart by a name.
    pub fn is_list_conflict(&self) -> bool {
        let reasons = ["FieldValueDuplicate", "FieldValueRequired"];
        let of_list = |cause: &Cause| reasons.contains(&cause.reason.as_str()) && cause.field.contains('[');
        self.is_invalid() && self.causes.iter().any(of_list)
    }

    /// Whether the server refused the object because of a field that can't be changed.
    pub fn is_immutable(&self) -> bool {
        self.is_invalid() && !self.is_other_uid() && self.causes.iter().any(|cause| cause.immutable)
    }

    /// Whether the server found fault with a field, so that only another object or other rules help.
    /// Policies refuse objects as invalid, too, but name no field.
    pub fn is_about_a_field(&self) -> bool {
        let is_named = self.is_invalid() && self.causes.iter().any(|cause| !cause.field.is_empty());
        is_named || self.is_about_the_schema() || self.is_field_conflict()
    }

    /// Whether the server refused the object because of a field that may not stand beside another one.
    pub fn is_about_forbidden_fields(&self) -> bool {
        self.is_invalid() && self.causes.iter().any(is_forbidden)
    }

    /// Whether the server refused the object as invalid.
    pub fn is_invalid(&self) -> bool {
        self.code == 422
    }
}

/// Whether a field may not be there beside others.
pub fn is_forbidden(cause: &Cause) -> bool {
    cause.reason == "FieldValueForbidden" && !cause.immutable
}

impl From<kube::Error> for RequestError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let details = status.details.as_ref();
                let retry_after = details
                    .map(|details| details.retry_after_seconds)
                    .filter(|seconds| *seconds > 0);
                let faults = faults(&status.message);
                if !faults.is_empty() {
                    let places: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    return Self {
                        code: status.code,
                        message: one_line(&places.join("; ")).into(),
                        causes: faults.into_iter().map(Cause::from).collect(),
                        retry_after,
                    };
                }
                Self {
                    code: status.code,
                    message: one_line(&status.message).into(),
                    causes: details
                        .map(|details| {
                            let causes = details.causes.iter();
                            causes
                                .map(|cause| Cause {
                                    reason: cause.reason.clone(),
                                    field: cause.field.clone(),
                                    immutable: is_about_change(&cause.message),
                                    manager: manager_of(&cause.message),
                                    fault: None,
                                })
                                .collect()
                        })
                        .unwrap_or_default(),
                    retry_after,
                }
            }
            // A body that can't be read may be quoted by its error: it could be a Secret's.
            kube::Error::SerdeError(_) => Self::local("the server's answer could not be read"),
            other => {
                let mut innermost: &(dyn std::error::Error + 'static) = &other;
                while let Some(source) = innermost.source() {
                    innermost = source;
                }
                if is_closed(innermost) {
                    return Self::local(CLOSED);
                }
                if is_too_large(&other) {
                    return Self::local(&innermost.to_string());
                }
                Self::local(&format!("no answer from the API server: {innermost}"))
            }
        }
    }
}

impl From<SchemaFault> for Cause {
    fn from(fault: SchemaFault) -> Self {
        Self {
            reason: String::new(),
            field: fault.path,
            immutable: false,
            manager: None,
            fault: Some(fault.kind),
        }
    }
}

/// Whether a connection ended before the answer did. The libraries' words for it are many, and one is a page of a
/// manual.
fn is_closed(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let of_system = error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof));
    let of_http = error
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_incomplete_message);
    of_system || of_http
}

/// Whether the words of a refusal are those that Kubernetes' own validation, and the rules of
/// many definitions, have for a change as such.
fn is_about_change(message: &str) -> bool {
    let words = ["immutable", "may not change", "cannot change", "updates to "];
    words.iter().any(|words| message.contains(words))
}

/// The name in `conflict with "kubectl" using v1`.
fn manager_of(message: &str) -> Option<String> {
    let name = message.strip_prefix("conflict with \"")?.split('"').next()?;
    Some(one_line(name))
}

impl RequestError {
    /// A failure on this side of the connection, which the server knows nothing of.
    pub fn local(message: &str) -> Self {
        Self {
            code: 0,
            message: one_line(message).into(),
            causes: Box::default(),
            retry_after: None,
        }
    }
}
