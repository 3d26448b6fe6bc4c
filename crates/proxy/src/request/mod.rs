//! What a request asks for, as the API server reads it.

mod headers;
mod path;
mod query;

use std::fmt;

use hyper::Method;
use hyper::http::Uri;
use hyper::http::uri::PathAndQuery;

pub(crate) use headers::{accept_json, to_client, to_server, upgrade_of};
pub use path::ResourcePath;
pub(crate) use path::decoded;
use query::Query;

/// What a request does, in the words of roles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// One object is read.
    Get,
    /// All objects of a kind are read.
    List,
    /// Changes are followed.
    Watch,
    /// `POST`.
    Create,
    /// `PUT`: an object is replaced.
    Update,
    /// `PATCH`, whatever its type.
    Patch,
    /// One object is deleted.
    Delete,
    /// All objects of a kind are deleted.
    DeleteCollection,
    /// What is no resource, by its method in small letters.
    Other(String),
}

impl Verb {
    /// As in a rule of a role.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other(method) => method,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request without its headers and its body.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    /// Absent for paths such as `/version`, and for those that can't be read.
    pub(crate) resource: Option<ResourcePath>,
    /// The path as the client wrote it, and as it goes on.
    pub(crate) path: String,
    query: Query,
    method: Method,
}

impl Call {
    /// `None` where the request line has no path: `CONNECT` and `OPTIONS *`.
    pub(crate) fn new(method: &Method, uri: &Uri) -> Option<Self> {
        let path = uri.path();
        if !path.starts_with('/') || *method == Method::CONNECT {
            return None;
        }
        let query = Query::new(uri.query().unwrap_or_default());
        let resource = ResourcePath::parse(path);
        let verb = match &resource {
            Some(resource) => verb_of(method, resource, &query),
            None => Verb::Other(method.as_str().to_ascii_lowercase()),
        };
        Some(Self {
            verb,
            resource,
            path: path.to_owned(),
            query,
            method: method.clone(),
        })
    }

    /// The same path, read: what is asked about an object before it is written.
    pub(crate) fn look(&self) -> Self {
        Self {
            verb: Verb::Get,
            method: Method::GET,
            query: Query::new(""),
            ..self.clone()
        }
    }

    /// Whether anything may change by it. A session in a pod is one, too, which clients also open by `GET`.
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS) || self.is_connect()
    }

    /// Whether it is only tried, and nothing kept of it.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.is_dry_run
    }

    /// Whether the answer to it is one object, where it is a success.
    pub(crate) fn has_one_object(&self) -> bool {
        let Some(resource) = &self.resource else {
            return false;
        };
        let is_one = match self.verb {
            Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => resource.name.is_some(),
            Verb::Create => resource.name.is_none(),
            _ => false,
        };
        is_one && matches!(resource.subresource.as_deref(), None | Some("status"))
    }

    /// Whether the answer to it is a token of a `ServiceAccount`.
    pub(crate) fn is_of_token(&self) -> bool {
        self.resource.as_ref().is_some_and(|resource| {
            resource.resource == "serviceaccounts" && resource.subresource.as_deref() == Some("token")
        })
    }

    /// Whether it leads to what is not the API server's own: a pod, a service, a node.
    pub(crate) fn is_connect(&self) -> bool {
        let subresource = self
            .resource
            .as_ref()
            .and_then(|resource| resource.subresource.as_deref());
        matches!(subresource, Some("exec" | "attach" | "portforward" | "proxy"))
    }

    /// Whether its answer may take as long as it likes.
    pub(crate) fn is_open_ended(&self) -> bool {
        let subresource = self
            .resource
            .as_ref()
            .and_then(|resource| resource.subresource.as_deref());
        self.is_connect() || subresource == Some("log")
    }

    /// Whether it is about Secrets, whose values must not be shown.
    pub(crate) fn is_of_secrets(&self) -> bool {
        self.resource.as_ref().is_some_and(|resource| {
            resource.group.is_empty() && resource.resource == "secrets" && resource.subresource.is_none()
        })
    }

    /// Path and query as they go on: with `manager` where a write names no field manager.
    pub(crate) fn path_and_query(&self, manager: &str) -> Option<PathAndQuery> {
        let is_managed = matches!(self.verb, Verb::Create | Verb::Update | Verb::Patch)
            && !self.is_connect()
            && !self.query.has_field_manager;
        let query = self.query.with_field_manager(is_managed.then_some(manager));
        let text = match query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        };
        text.parse().ok()
    }
}

fn verb_of(method: &Method, resource: &ResourcePath, query: &Query) -> Verb {
    let is_named = resource.name.is_some();
    match *method {
        Method::GET | Method::HEAD if resource.is_watch => Verb::Watch,
        Method::GET | Method::HEAD if is_named => Verb::Get,
        Method::GET | Method::HEAD if query.is_watch => Verb::Watch,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if is_named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => Verb::Other(method.as_str().to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, target: &str) -> Call {
        Call::new(&method.parse().unwrap(), &target.parse().unwrap()).unwrap()
    }

    #[test]
    fn verbs_are_those_of_roles() {
        let check = |method: &str, target: &str, expect: &str| {
            assert_eq!(call(method, target).verb.as_str(), expect, "{method} {target}");
        };
        check("GET", "/api/v1/namespaces/a/pods/b", "get");
        check("HEAD", "/api/v1/namespaces/a/pods/b", "get");
        check("GET", "/api/v1/namespaces/a/pods", "list");
        check("GET", "/api/v1/namespaces/a/pods?watch=false", "list");
        check("GET", "/api/v1/namespaces/a/pods?limit=1&watch=true", "watch");
        check("GET", "/api/v1/pods?watch", "watch");
        check("GET", "/api/v1/pods?w%61tch=1", "watch");
        check("GET", "/api/v1/watch/namespaces/a/pods", "watch");
        check("GET", "/api/v1/namespaces/a/pods/b?watch=true", "get");
        check("POST", "/apis/apps/v1/namespaces/a/deployments", "create");
        check("PUT", "/apis/apps/v1/namespaces/a/deployments/b", "update");
        check("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", "patch");
        check("DELETE", "/apis/apps/v1/namespaces/a/deployments/b", "delete");
        check(
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            "deletecollection",
        );
        check("GET", "/version", "get");
        check("POST", "/version", "post");
    }

    #[test]
    fn what_may_change_something_is_a_write() {
        let check = |method: &str, target: &str, expect: bool| {
            assert_eq!(call(method, target).is_write(), expect, "{method} {target}");
        };
        check("GET", "/api/v1/pods", false);
        check("GET", "/api/v1/namespaces/a/pods/b/log", false);
        check("GET", "/api/v1/namespaces/a/pods/b/exec", true);
        check("GET", "/api/v1/namespaces/a/services/b/proxy/reset", true);
        check("POST", "/api/v1/namespaces/a/pods", true);
        check("DELETE", "/api/v1//namespaces/a/pods/b", true);
        check("BREW", "/", true);
    }

    #[test]
    fn writes_get_a_field_manager_that_have_none() {
        let check = |method: &str, target: &str, expect: &str| {
            let sent = call(method, target).path_and_query("me").unwrap();
            assert_eq!(sent.as_str(), expect, "{method} {target}");
        };
        let maps = "/api/v1/namespaces/a/configmaps";
        let with = |query: &str| format!("{maps}?{query}");
        check("POST", maps, &with("fieldManager=me"));
        check("POST", &with("dryRun=All"), &with("fieldManager=me&dryRun=All"));
        check(
            "POST",
            &with("fieldManager="),
            &with("fieldManager=me&fieldManager="),
        );
        check(
            "POST",
            &with("fieldManager=b&x=%20"),
            &with("fieldManager=b&x=%20"),
        );
        check("GET", maps, maps);
        check("DELETE", &with("x"), &with("x"));
        check(
            "POST",
            "/api/v1/namespaces/a/pods/b/exec?command=a",
            "/api/v1/namespaces/a/pods/b/exec?command=a",
        );
        check("POST", "/version/", "/version/");
        check("GET", "/a%2Fb//../c?x=%zz", "/a%2Fb//../c?x=%zz");
    }

    #[test]
    fn a_request_line_without_a_path_is_none() {
        assert!(Call::new(&Method::CONNECT, &"example.com:443".parse().unwrap()).is_none());
        assert!(Call::new(&Method::OPTIONS, &"*".parse().unwrap()).is_none());
    }
}
