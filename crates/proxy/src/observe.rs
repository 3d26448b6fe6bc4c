//! What the caller learns of the requests that pass.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use steersman_cluster::client::ServiceAccount;
use steersman_cluster::{PrimaryResource, fields_of_all};
use steersman_model::Digest;

use crate::mark::Standing;
use crate::request::{ResourcePath, Verb};
use crate::run::RunId;

/// Is told of what passes. It is called while a client waits, so it must not block.
///
/// ```
/// use std::sync::Mutex;
/// use steersman_proxy::{Observer, RunId, Seen};
///
/// /// Which rights the runs have used.
/// #[derive(Default)]
/// struct Rights(Mutex<Vec<String>>);
///
/// impl Observer for Rights {
///     fn answered(&self, seen: &Seen<'_>) {
///         if let (Some(target), 200..=299, Ok(mut used)) = (seen.resource, seen.status, self.0.lock()) {
///             used.push(format!("{} {}", seen.verb, target.resource));
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// The API server has begun to answer. Of answers with one object the client has got nothing yet.
    ///
    /// Requests that the proxy refuses itself are not told.
    fn answered(&self, seen: &Seen<'_>);

    /// A write was sent whose answer nobody has waited for, or that had none: it may still have come to something.
    fn unanswered(&self, run: RunId) {
        let _ = run;
    }

    /// A value of a Secret, or a token of a ServiceAccount, is about to pass in either direction.
    fn secret(&self, run: RunId, value: &[u8]) {
        let _ = (run, value);
    }
}

/// Nobody wants to know.
impl Observer for () {
    fn answered(&self, _: &Seen<'_>) {}
}

/// Why there was a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client of the run has sent it.
    Client,
    /// The proxy has sent it for the run: it looks at an object before that is written, and labels it afterwards.
    Proxy,
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Which of those that are let in.
    pub run: RunId,
    /// For whom the run is.
    pub owner: &'a PrimaryResource,
    /// By whose rights it was judged; the operator's own where there is none.
    pub account: Option<&'a ServiceAccount>,
    /// Who has sent it.
    pub origin: Origin,
    /// What was asked.
    pub verb: &'a Verb,
    /// Of what; absent for paths such as `/version`.
    pub resource: Option<&'a ResourcePath>,
    /// As the client has written it.
    pub path: &'a str,
    /// Whether it was only tried.
    pub is_dry_run: bool,
    /// Whether it could change something, be it that it was refused.
    pub is_write: bool,
    /// The code of the answer.
    pub status: u16,
    /// The object of the answer: where a single one was read or written, the answer is JSON, and not too large.
    pub object: Option<&'a SeenObject>,
}

/// An object as an answer has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenObject {
    /// Group and version.
    pub api_version: String,
    /// Its kind, which the path does not say.
    pub kind: String,
    /// Without `managedFields`.
    pub metadata: ObjectMeta,
    /// What all managers have in it: by this it is known whether others have changed it since.
    pub fields: Digest,
    /// What it is to the owner of the run.
    pub standing: Standing,
}

impl SeenObject {
    /// Reads it in the text of an answer; `None` where that is none: a `Status`, a table, another format.
    pub(crate) fn read(text: &[u8], owner: &PrimaryResource) -> Option<Self> {
        let mut head: Head = serde_json::from_slice(text).ok()?;
        head.metadata.uid.as_ref()?;
        let fields = fields_of_all(&head.metadata);
        head.metadata.managed_fields = None;
        Some(Self {
            fields,
            api_version: head.api_version,
            kind: head.kind,
            standing: Standing::of(&head.metadata, owner),
            metadata: head.metadata,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_by_their_heads() {
        let owner = PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: None,
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let text = format!(
            r#"{{"kind":"A","apiVersion":"v1","spec":{deep},"metadata":{{"name":"a","uid":"u-1","managedFields":[{{}}]}}}}"#
        );
        let object = SeenObject::read(text.as_bytes(), &owner).unwrap();
        assert_eq!((object.kind.as_str(), object.standing), ("A", Standing::Primary));
        assert_eq!(object.metadata.managed_fields, None);
        for text in [
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure"}"#,
            "[]",
            "",
            "{",
        ] {
            assert_eq!(SeenObject::read(text.as_bytes(), &owner), None, "{text}");
        }
    }
}
