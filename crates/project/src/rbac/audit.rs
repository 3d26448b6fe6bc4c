//! What a user asked the API server for, from its audit log.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde_json::Value as Json;

use super::Asked;

/// What an audit log says about one user.
///
/// ```
/// use steersman_project::rbac::Audited;
///
/// let log = r#"{"user": {"username": "anna"}, "verb": "get", "objectRef": {"resource": "pods", "namespace": "web"},
///     "responseStatus": {"code": 403}}"#.replace('\n', "");
/// let audited = Audited::read(log.as_bytes(), "anna")?;
/// assert_eq!(audited.requests, 1);
/// assert!(audited.forbidden.iter().any(|asked| asked.resource == "pods"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// Everything that was asked for, whatever came of it.
    pub asked: BTreeSet<Asked>,
    /// What was refused for want of a permission.
    pub forbidden: BTreeSet<Asked>,
    /// How many requests there were.
    pub requests: usize,
}

/// The longest line that is read: a request with the largest object that etcd takes is shorter.
const MAX_LINE: usize = 16 << 20;

impl Audited {
    /// Reads a log of one JSON object a line, as kube-apiserver writes it to a file. What is no event is left out.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn read(log: impl BufRead, user: &str) -> std::io::Result<Self> {
        let mut found = Self::default();
        for line in log.split(b'\n') {
            let line = line?;
            if line.len() <= MAX_LINE
                && let Ok(event) = serde_json::from_slice::<Json>(&line)
            {
                found.add(&event, user);
            }
        }
        Ok(found)
    }

    /// Counts it where it is of this user, by name or impersonated, and asks for a resource.
    pub fn add(&mut self, event: &Json, user: &str) {
        let text = |path: &str| event.pointer(path).and_then(Json::as_str).unwrap_or_default();
        let name = match text("/impersonatedUser/username") {
            "" => text("/user/username"),
            impersonated => impersonated,
        };
        if name != user || text("/objectRef/resource").is_empty() {
            return;
        }
        let resource = match text("/objectRef/subresource") {
            "" => text("/objectRef/resource").to_owned(),
            subresource => format!("{}/{subresource}", text("/objectRef/resource")),
        };
        let asked = Asked {
            group: text("/objectRef/apiGroup").to_owned(),
            resource,
            verb: text("/verb").to_owned(),
            name: text("/objectRef/name").to_owned(),
            namespace: Some(text("/objectRef/namespace").to_owned()).filter(|name| !name.is_empty()),
        };
        let code = event.pointer("/responseStatus/code").and_then(Json::as_u64);
        // The server also refuses to write a role that grants more than its author has.
        let is_refused = code == Some(403);
        self.requests += 1;
        // An apply of what is not there is a patch that needs `create`, too.
        if asked.verb == "patch" && code == Some(201) {
            self.asked.insert(Asked {
                verb: "create".to_owned(),
                ..asked.clone()
            });
        }
        if is_refused {
            self.forbidden.insert(asked.clone());
        }
        self.asked.insert(asked);
    }
}

#[cfg(test)]
mod tests {
    use super::Audited;

    #[test]
    fn an_apply_of_something_new_is_a_creation() {
        let log = br#"{"verb":"patch","user":{"username":"operator"},"objectRef":{"resource":"services","name":"web","namespace":"n"},"responseStatus":{"code":201}}
{"verb":"list","user":{"username":"operator"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"verb":"get","user":{"username":"other"},"objectRef":{"resource":"secrets","name":"s"}}
no event
"#;
        let found = Audited::read(log.as_slice(), "operator").unwrap_or_default();
        let verbs = |asked: &std::collections::BTreeSet<super::Asked>| {
            asked
                .iter()
                .map(|one| format!("{} {}", one.verb, one.resource))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            verbs(&found.asked),
            ["list secrets", "create services", "patch services"]
        );
        assert_eq!(verbs(&found.forbidden), ["list secrets"]);
        assert_eq!(found.requests, 2);
    }
}
