//! The API server's audit log: who asked for what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::{memchr, memchr_iter, memmem};
use serde::Deserialize;

use super::error::{ControlPlaneError, io_failed};

/// A place in the audit log, to read only what follows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditMark(pub(super) u64);

/// One request to the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who asked: the impersonated user where there is one.
    pub user: String,
    /// Who asked as that user, where it was another one.
    pub impersonator: Option<String>,
    /// The groups by which it was judged.
    pub groups: Vec<String>,
    /// Kubernetes' verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for a
    /// request that is not about a resource the HTTP method in lower case.
    pub verb: String,
    /// API group of the resource, empty for the core group.
    pub group: String,
    /// Plural of the resource, empty for a request that is not about one.
    pub resource: String,
    /// `status`, `scale` and such, else empty.
    pub subresource: String,
    /// Namespace of the object, empty where there is none.
    pub namespace: String,
    /// Name of the object, empty for a collection and where the server was to make a name.
    pub name: String,
    /// Path and query, so with field manager, force and dry run of a patch.
    pub uri: String,
    /// What the client calls itself.
    pub user_agent: String,
    /// HTTP status of the answer; `None` while a watch is open.
    pub code: Option<u16>,
    /// When it came in, as RFC 3339 with microseconds.
    pub received: String,
    /// The line of the log.
    line: Vec<u8>,
}

impl Request {
    /// The object sent, for writes of users of their own. It is read here, as most are never asked for.
    #[must_use]
    pub fn body(&self) -> Option<serde_json::Value> {
        let sent: Sent = serde_json::from_slice(&self.line).ok()?;
        sent.request_object
    }

    /// Whether it asked for a change, whatever came of it. Reviews are questions, which the API has in the form of
    /// objects that are created and kept nowhere.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let is_change = matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        is_change && !self.resource.ends_with("reviews")
    }
}

/// Requests in the order in which they ended. Filters give smaller logs and can be chained.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditLog {
    /// Oldest first.
    pub requests: Vec<Request>,
}

impl AuditLog {
    /// Requests of the user of this name, such as `system:serviceaccount:visitors:operator`.
    #[must_use]
    pub fn by_user(&self, user: &str) -> Self {
        self.filter(|request| request.user == user)
    }

    /// Requests that the user of this name sent, whoever it was then.
    #[must_use]
    pub fn sent_by(&self, user: &str) -> Self {
        self.filter(|request| request.impersonator.as_deref().unwrap_or(&request.user) == user)
    }

    /// Requests with this verb: `get`, `list`, `watch`, `create`, `patch` and so on.
    #[must_use]
    pub fn verb(&self, verb: &str) -> Self {
        self.filter(|request| request.verb == verb)
    }

    /// Those about one resource, by its plural; with its subresources.
    #[must_use]
    pub fn resource(&self, resource: &str) -> Self {
        self.filter(|request| request.resource == resource)
    }

    /// Requests to this namespace alone: one over all namespaces is not among them.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        self.filter(|request| request.namespace == namespace)
    }

    /// Those that asked for a change.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.filter(Request::is_write)
    }

    /// Those that the API server answered with an error.
    #[must_use]
    pub fn refused(&self) -> Self {
        self.filter(|request| request.code.is_some_and(|code| code >= 400))
    }

    /// Those for which `keep` is true.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&Request) -> bool) -> Self {
        Self {
            requests: self
                .requests
                .iter()
                .filter(|request| keep(request))
                .cloned()
                .collect(),
        }
    }

    /// The count, for assertions on how much was asked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// A table of counts by user, verb and resource, for the message of a failed test.
impl fmt::Display for AuditLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts = BTreeMap::<_, usize>::new();
        for request in &self.requests {
            let target = match (request.resource.as_str(), request.subresource.as_str()) {
                ("", _) => request.uri.split('?').next().unwrap_or_default().to_owned(),
                (resource, "") => resource.to_owned(),
                (resource, subresource) => format!("{resource}/{subresource}"),
            };
            *counts
                .entry((request.user.as_str(), request.verb.as_str(), target))
                .or_default() += 1;
        }
        for ((user, verb, target), count) in counts {
            writeln!(formatter, "{count:6} {user} {verb} {target}")?;
        }
        Ok(())
    }
}

/// The log from a mark on, as it is written.
#[derive(Debug)]
pub(super) struct AuditReader<'a> {
    path: &'a Path,
    mark: AuditMark,
    file: File,
    text: Vec<u8>,
    /// What is looked for does not begin before this place.
    searched: usize,
}

impl<'a> AuditReader<'a> {
    pub(super) fn open(path: &'a Path, mark: AuditMark) -> Result<Self, ControlPlaneError> {
        let mut file = File::open(path).map_err(io_failed("open", path))?;
        // The byte before the mark tells whether a line begins there.
        file.seek(SeekFrom::Start(mark.0.saturating_sub(1)))
            .map_err(io_failed("read", path))?;
        Ok(Self {
            path,
            mark,
            file,
            text: Vec::new(),
            searched: 0,
        })
    }

    /// Reads what has been written meanwhile; whether the line of a request to `uri` is there whole.
    pub(super) fn has_come(&mut self, uri: &str) -> Result<bool, ControlPlaneError> {
        self.file
            .read_to_end(&mut self.text)
            .map_err(io_failed("read", self.path))?;
        let wanted = format!("\"requestURI\":\"{uri}\"");
        let tail = &self.text[self.searched..];
        let found = memmem::find(tail, wanted.as_bytes());
        // It may begin at the end of what is there.
        self.searched += found.unwrap_or_else(|| tail.len().saturating_sub(wanted.len()));
        Ok(found.is_some() && memchr(b'\n', &self.text[self.searched..]).is_some())
    }

    /// A mark behind everything that has come so far.
    pub(super) fn end(&self) -> AuditMark {
        AuditMark(self.mark.0.saturating_sub(1) + self.text.len() as u64)
    }

    /// The requests of all whole lines.
    pub(super) fn log(self) -> Result<AuditLog, ControlPlaneError> {
        let begin = if self.mark.0 == 0 {
            0
        } else {
            begin_of_line(&self.text)
        };
        parse(&self.text[begin..]).map_err(|source| ControlPlaneError::Audit {
            path: self.path.to_path_buf(),
            source,
        })
    }
}

/// Where the first line begins that is whole. A mark set while a long event was being written is inside its line,
/// and that event is of a request that was answered before the mark.
fn begin_of_line(text: &[u8]) -> usize {
    memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}

/// A request that stays open has an event when it starts and another when it ends: the later one is taken.
fn parse(text: &[u8]) -> Result<AuditLog, serde_json::Error> {
    let (mut begin, mut events) = (0, Vec::new());
    // The last line may be half written.
    for end in memchr_iter(b'\n', text) {
        let line = &text[begin..end];
        begin = end + 1;
        if !line.is_empty() {
            events.push((serde_json::from_slice::<Event>(line)?, line));
        }
    }
    let mut seen = BTreeSet::new();
    events.reverse();
    events.retain(|(event, _)| seen.insert(event.audit_id.clone()));
    events.reverse();
    Ok(AuditLog {
        requests: events
            .into_iter()
            .map(|(event, line)| Request::new(event, line))
            .collect(),
    })
}

/// The parts of `audit.k8s.io/v1` Event that a [`Request`] is made of.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    #[serde(default)]
    user: EventUser,
    impersonated_user: Option<EventUser>,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    response_status: Option<ResponseStatus>,
    request_received_timestamp: String,
}

/// The part of an event that may be large.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    request_object: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
struct EventUser {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl Request {
    fn new(event: Event, line: &[u8]) -> Self {
        let ended = event.stage != "ResponseStarted";
        let (user, impersonator) = match event.impersonated_user {
            Some(user) => (user, Some(event.user.username)),
            None => (event.user, None),
        };
        Self {
            user: user.username,
            impersonator,
            groups: user.groups,
            verb: event.verb,
            group: event.object_ref.api_group,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            uri: event.request_uri,
            user_agent: event.user_agent,
            code: event.response_status.map(|status| status.code).filter(|_| ended),
            received: event.request_received_timestamp,
            line: line.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATCH_STARTED: &str = r#"{"kind":"Event","auditID":"1","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"operator"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2025-01-01T00:00:00.000001Z"}"#;
    const PATCHED: &str = r#"{"kind":"Event","auditID":"2","stage":"ResponseComplete","requestURI":"/x","verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"operator","groups":["system:authenticated"]},"userAgent":"kubectl","objectRef":{"resource":"deployments","namespace":"n","name":"d","apiGroup":"apps","subresource":"status"},"responseStatus":{"code":403},"requestObject":{"a":1},"requestReceivedTimestamp":"2025-01-01T00:00:00.000002Z"}"#;

    #[test]
    fn a_watch_is_one_request_before_and_after_it_ends() {
        let started = parse(format!("{WATCH_STARTED}\n").as_bytes()).unwrap();
        assert_eq!((started.len(), started.requests[0].code), (1, None));
        let ended = WATCH_STARTED.replace("ResponseStarted", "ResponseComplete");
        let both = parse(format!("{WATCH_STARTED}\n{ended}\n").as_bytes()).unwrap();
        assert_eq!((both.len(), both.requests[0].code), (1, Some(200)));
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        let log = parse(format!("{PATCHED}\n{}", &WATCH_STARTED[..40]).as_bytes()).unwrap();
        assert_eq!(log.len(), 1);
    }

    #[test]
    fn a_mark_inside_of_a_line_leaves_that_line_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = format!("{PATCHED}\n");
        std::fs::write(file.path(), format!("{first}{WATCH_STARTED}\n")).unwrap();
        let from = |mark| {
            let mut reader = AuditReader::open(file.path(), AuditMark(mark)).unwrap();
            assert!(!reader.has_come("/nobody-asked").unwrap());
            reader.log().unwrap()
        };
        assert_eq!(from(0).len(), 2);
        for inside in [1, 40, first.len() as u64 - 1, first.len() as u64] {
            assert_eq!(from(inside).requests[0].uri, "/api/v1/pods?watch=true");
            assert_eq!(from(inside).len(), 1);
        }
        assert_eq!(from(first.len() as u64 + 1).len(), 0);
    }

    #[test]
    fn filters_can_be_chained() {
        let log = parse(format!("{WATCH_STARTED}\n{PATCHED}\n").as_bytes()).unwrap();
        assert_eq!(log.by_user("operator").len(), 2);
        let patched = log
            .by_user("operator")
            .writes()
            .resource("deployments")
            .namespace("n")
            .refused();
        assert_eq!(patched.requests[0].body(), Some(serde_json::json!({"a": 1})));
        assert!(log.verb("delete").is_empty());
        let by_others = log.sent_by("admin");
        assert_eq!((by_others.len(), log.sent_by("operator").len()), (1, 1));
        assert_eq!(by_others.requests[0].groups, ["system:authenticated"]);
        assert_eq!(
            log.to_string(),
            "     1 operator patch deployments/status\n     1 operator watch pods\n"
        );
    }
}
