//! What a request asks for.

use http::{Method, Uri};
use serde_json::Value;

/// A request to the API server, as its path and body say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Kubernetes' verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// API group of the resource, empty for the core group.
    pub group: String,
    /// Plural of the resource, with its subresource: `pods`, `pods/status`. Empty for a request that is not about one.
    pub resource: String,
    /// Namespace of the object, empty where there is none.
    pub namespace: String,
    /// Name of the object, empty for a collection and where the server is to make a name.
    pub name: String,
    /// Path and query.
    pub uri: String,
}

impl Call {
    /// Whether it asks for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    pub(super) fn new(method: &Method, uri: &Uri, body: &[u8]) -> Self {
        let mut call = Self {
            uri: uri
                .path_and_query()
                .map_or_else(|| uri.path().to_owned(), ToString::to_string),
            ..Self::default()
        };
        let mut parts = uri.path().split('/').filter(|part| !part.is_empty());
        match parts.next() {
            Some("api") => {}
            Some("apis") => parts.next().unwrap_or_default().clone_into(&mut call.group),
            _ => {
                call.verb = method.as_str().to_lowercase();
                return call;
            }
        }
        let _version = parts.next();
        let mut parts: Vec<&str> = parts.collect();
        // `namespaces/x` alone is a namespace; `namespaces/x/pods` are its pods.
        if parts.len() > 2 && parts[0] == "namespaces" && !matches!(parts[2], "status" | "finalize") {
            parts[1].clone_into(&mut call.namespace);
            parts.drain(..2);
        }
        parts
            .first()
            .copied()
            .unwrap_or_default()
            .clone_into(&mut call.resource);
        parts
            .get(1)
            .copied()
            .unwrap_or_default()
            .clone_into(&mut call.name);
        if let Some(subresource) = parts.get(2) {
            call.resource = format!("{}/{subresource}", call.resource);
        }
        let is_watch = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|part| matches!(part, "watch=true" | "watch=1"))
        });
        let verb = match *method {
            Method::GET if is_watch => "watch",
            Method::GET if call.resource.is_empty() || !call.name.is_empty() => "get",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if call.name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            _ => method.as_str(),
        };
        verb.clone_into(&mut call.verb);
        if call.verb == "create" && call.name.is_empty() {
            let object: Value = serde_json::from_slice(body).unwrap_or_default();
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut call.name);
        }
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, uri: &str, body: &str, expect: [&str; 5]) {
        let call = Call::new(&method, &uri.parse().unwrap(), body.as_bytes());
        let found = [
            &call.verb,
            &call.group,
            &call.resource,
            &call.namespace,
            &call.name,
        ];
        assert_eq!(found, expect, "{uri}");
    }

    #[test]
    fn paths_and_bodies_tell_what_is_asked_for() {
        let named = r#"{"metadata": {"name": "a"}}"#;
        for (method, uri, body, expect) in [
            (Method::GET, "/version", "", ["get", "", "", "", ""]),
            (Method::GET, "/apis", "", ["get", "", "", "", ""]),
            (
                Method::GET,
                "/api/v1/pods?watch=true",
                "",
                ["watch", "", "pods", "", ""],
            ),
            (
                Method::GET,
                "/api/v1/namespaces/n",
                "",
                ["get", "", "namespaces", "", "n"],
            ),
            (
                Method::GET,
                "/api/v1/namespaces/n/secrets?limit=1",
                "",
                ["list", "", "secrets", "n", ""],
            ),
            (
                Method::POST,
                "/api/v1/namespaces/n/secrets",
                named,
                ["create", "", "secrets", "n", "a"],
            ),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/n/deployments/d/status",
                "{}",
                ["patch", "apps", "deployments/status", "n", "d"],
            ),
            (
                Method::DELETE,
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/r",
                "",
                ["delete", "rbac.authorization.k8s.io", "clusterroles", "", "r"],
            ),
            (
                Method::DELETE,
                "/api/v1/namespaces/n/pods",
                "",
                ["deletecollection", "", "pods", "n", ""],
            ),
        ] {
            check(method, uri, body, expect);
        }
    }
}
