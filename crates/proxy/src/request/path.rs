//! Paths of the API server, read as it reads them: `RequestInfo` of Kubernetes' API machinery.

use std::fmt::Write as _;

/// Which resource a path leads to. Whether the server has it is not known here.
///
/// ```
/// use steersman_proxy::ResourcePath;
///
/// let scale = ResourcePath::parse("/apis/apps/v1/namespaces/shop/deployments/web/scale").expect("a resource");
/// assert_eq!((scale.group.as_str(), scale.version.as_str()), ("apps", "v1"));
/// assert_eq!(scale.namespace.as_deref(), Some("shop"));
/// assert_eq!((scale.resource.as_str(), scale.name.as_deref()), ("deployments", Some("web")));
/// assert_eq!(scale.subresource.as_deref(), Some("scale"));
///
/// assert_eq!(ResourcePath::parse("/version"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourcePath {
    /// Empty for the core group.
    pub group: String,
    /// Of the group, such as `v1`.
    pub version: String,
    /// Absent for all namespaces, and for resources that are in none; that of a Namespace is absent, too.
    pub namespace: Option<String>,
    /// The plural, such as `deployments`.
    pub resource: String,
    /// Absent for all objects, and for one that is created.
    pub name: Option<String>,
    /// Such as `status`, without what follows it in the path.
    pub subresource: Option<String>,
    /// Whether the path itself says so, as old clients do.
    pub(super) is_watch: bool,
}

impl ResourcePath {
    /// Reads the path of a request, with its escapes and without its query; `None` for one that leads to no resource, and for
    /// one that the server could read otherwise: with an empty part, a dot or two as a part, or a broken escape.
    pub fn parse(path: &str) -> Option<Self> {
        let path = decoded(path)?;
        let parts: Vec<&str> = path.strip_prefix('/')?.trim_end_matches('/').split('/').collect();
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return None;
        }
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (is_watch, rest) = match rest {
            ["watch", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (namespace, rest) = in_namespace(rest);
        let (resource, rest) = rest.split_first()?;
        let owned = |part: Option<&&str>| part.map(|part| (*part).to_owned());
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            resource: (*resource).to_owned(),
            name: owned(rest.first()),
            subresource: owned(rest.get(1)),
            is_watch,
        })
    }

    /// The path of one of these objects, as it is written in a request.
    pub(crate) fn object_path(&self, name: &str) -> String {
        let prefix = if self.group.is_empty() { "api" } else { "apis" };
        let namespace = self
            .namespace
            .as_ref()
            .map(|name| format!("/namespaces/{}", encoded(name)));
        let namespace = namespace.unwrap_or_default();
        let (version, resource) = (self.api_version(), encoded(&self.resource));
        format!("/{prefix}/{version}{namespace}/{resource}/{}", encoded(name))
    }

    /// Group and version, as in a manifest.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// The namespace, and what is asked for in it. A Namespace itself, and its subresources, are in none.
fn in_namespace<'a, 'b>(parts: &'a [&'b str]) -> (Option<&'b str>, &'a [&'b str]) {
    match parts {
        ["namespaces", _, "status" | "finalize", ..] => (None, parts),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(namespace), rest),
        _ => (None, parts),
    }
}

/// A text that is one part of a path or one value of a query, whatever is in it.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// A text without its `%` escapes; `None` where one is broken, or what comes out is no text.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str) {
        let found = ResourcePath::parse(path).map(|found| {
            let or = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
            let (namespace, name, subresource) = (or(found.namespace), or(found.name), or(found.subresource));
            format!(
                "{}/{} {namespace} {} {name} {subresource}",
                found.group, found.version, found.resource
            )
        });
        assert_eq!(found.as_deref().unwrap_or("none"), expect, "{path}");
    }

    #[test]
    fn resources_are_found_in_paths() {
        check("/api/v1/namespaces/a/pods/b/log", "/v1 a pods b log");
        check(
            "/api/v1/namespaces/a/services/b/proxy/c/d",
            "/v1 a services b proxy",
        );
        check("/api/v1/namespaces/a/pods", "/v1 a pods - -");
        check("/api/v1/namespaces/a/pods/", "/v1 a pods - -");
        check("/api/v1/nodes/a/status", "/v1 - nodes a status");
        check("/api/v1/namespaces", "/v1 - namespaces - -");
        check("/api/v1/namespaces/a", "/v1 - namespaces a -");
        check("/api/v1/namespaces/a/finalize", "/v1 - namespaces a finalize");
        check("/api/v1/watch/namespaces/a/pods", "/v1 a pods - -");
        check("/apis/apps/v1/deployments", "apps/v1 - deployments - -");
        check(
            "/apis/x.io/v1/namespaces/a/shops/b/status",
            "x.io/v1 a shops b status",
        );
        check("/apis/x.io/v1/shops/b", "x.io/v1 - shops b -");
    }

    #[test]
    fn objects_have_a_path() {
        for path in [
            "/api/v1/namespaces/a/pods/b",
            "/apis/x.io/v1/shops/b%3Ac",
            "/api/v1/namespaces/a",
        ] {
            let found = ResourcePath::parse(path).unwrap();
            assert_eq!(found.object_path(found.name.as_deref().unwrap()), path);
        }
    }

    #[test]
    fn other_paths_lead_to_none() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/apps",
            "/apis/apps/v1",
            "/version",
            "/healthz/ping",
        ] {
            check(path, "none");
        }
        for path in [
            "/openapi/v3/apis/apps/v1",
            "api/v1/pods",
            "/api/v1/watch",
            "/metrics/api/v1/pods",
        ] {
            check(path, "none");
        }
    }

    #[test]
    fn escapes_are_read_before_the_parts() {
        check("/api/v1/namespaces/a/%73ecrets/b", "/v1 a secrets b -");
        check("/api/v1/namespaces/a/secrets%2Fb", "/v1 a secrets b -");
        check("/%61pi/v1/namespaces/a/configmaps/b%2fc", "/v1 a configmaps b c");
        check("/api/v1/namespaces/a/configmaps/b%", "none");
        check("/api/v1/namespaces/a/configmaps/%ff", "none");
        check("/api/v1/namespaces/a/configmaps/%+1", "none");
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_not_read() {
        for path in [
            "//api/v1/pods",
            "/api//v1/pods",
            "/api/v1/namespaces//pods",
            "/api/v1/../v1/pods",
        ] {
            check(path, "none");
        }
        for path in [
            "/api/v1/./pods",
            "/api/v1/%2e%2e/pods",
            "/api/v1/namespaces/a/%2Fpods",
        ] {
            check(path, "none");
        }
    }
}
