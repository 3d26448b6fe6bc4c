//! What an image is called.

use std::fmt;
use std::str::FromStr;

/// The registry of names that name none.
const DEFAULT_REGISTRY: &str = "docker.io";
/// The part of that registry for names that name none.
const DEFAULT_NAMESPACE: &str = "library";
/// The longest name of a repository, with its registry.
const MAX_NAME: usize = 255;

/// The name of an image with a tag, in full: `docker.io/library/operator:latest` for `operator`.
///
/// The rules are those of docker and of the distribution specification.
///
/// ```
/// use steersman_image::Reference;
///
/// let reference: Reference = "registry.example.com:5000/team/operator:v1.2.0".parse()?;
/// assert_eq!(reference.registry(), "registry.example.com:5000");
/// assert_eq!((reference.repository(), reference.tag()), ("team/operator", "v1.2.0"));
/// assert_eq!("operator".parse::<Reference>()?.to_string(), "docker.io/library/operator:latest");
/// # Ok::<(), steersman_image::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: String,
}

/// The text is no name of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no name of an image: {reason}")]
pub struct ReferenceError {
    text: String,
    reason: &'static str,
}

impl ReferenceError {
    pub(crate) fn new(text: &str, reason: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            reason,
        }
    }
}

impl Reference {
    /// The host of the registry, with its port.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path in the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// What follows the last colon, such as `v1.2.0`; `latest` where none was written.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The last part of the path, which says what the image is.
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let invalid = |reason| ReferenceError::new(text, reason);
        if text.contains('@') {
            return Err(invalid("the digest of an image is known when it is built"));
        }
        let (registry, rest) = match text.split_once('/') {
            Some((first, rest)) if is_registry(first) => (first, rest),
            _ => (DEFAULT_REGISTRY, text),
        };
        let (path, tag) = rest.rsplit_once(':').unwrap_or((rest, "latest"));
        let registry = match registry {
            "index.docker.io" | "registry-1.docker.io" => DEFAULT_REGISTRY,
            other => other,
        };
        let repository = if registry == DEFAULT_REGISTRY && !path.contains('/') {
            format!("{DEFAULT_NAMESPACE}/{path}")
        } else {
            path.to_owned()
        };
        if !is_host(registry) {
            return Err(invalid(
                "the registry is a host name, with a port where it has one",
            ));
        }
        if registry.len() + 1 + repository.len() > MAX_NAME {
            return Err(invalid("it is longer than 255 letters"));
        }
        if !repository.split('/').all(is_path_component) {
            return Err(invalid(
                "the parts between slashes are lower-case letters and digits, with single `.`, `_`, `__` or `-` between them",
            ));
        }
        if !is_tag(tag) {
            return Err(invalid(
                "a tag is at most 128 letters, digits, `_`, `.` and `-`, and starts with none of the last two",
            ));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository,
            tag: tag.to_owned(),
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.registry, self.repository, self.tag)
    }
}

/// Docker's rule: the first part is a registry if it could not be anything else.
fn is_registry(part: &str) -> bool {
    part == "localhost" || part.contains(['.', ':']) || part.chars().any(|letter| letter.is_ascii_uppercase())
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    };
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.split('.').all(is_label),
    };
    is_name && port.is_none_or(is_port)
}

fn is_path_component(part: &str) -> bool {
    let mut rest = part;
    loop {
        let end = rest
            .find(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        if end == 0 {
            return false;
        }
        rest = &rest[end..];
        if rest.is_empty() {
            return true;
        }
        let separator = rest.len() - rest.trim_start_matches(['.', '_', '-']).len();
        let is_allowed = match &rest[..separator] {
            "." | "_" | "__" => true,
            dashes => !dashes.is_empty() && dashes.bytes().all(|letter| letter == b'-'),
        };
        if !is_allowed {
            return false;
        }
        rest = &rest[separator..];
    }
}

fn is_tag(tag: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter);
    (1..=128).contains(&tag.len()) && tag.bytes().all(is_letter) && !tag.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let read = text
            .parse()
            .ok()
            .map(|reference: Reference| reference.to_string());
        assert_eq!(read.as_deref(), expect, "{text}");
    }

    #[test]
    fn names_are_completed_as_docker_does() {
        check("operator", Some("docker.io/library/operator:latest"));
        check("me/operator:v1", Some("docker.io/me/operator:v1"));
        check(
            "index.docker.io/operator",
            Some("docker.io/library/operator:latest"),
        );
        check(
            "quay.io/me/my__operator-x:1.2",
            Some("quay.io/me/my__operator-x:1.2"),
        );
        check("localhost/operator", Some("localhost/operator:latest"));
        check("localhost:5000/operator", Some("localhost:5000/operator:latest"));
        check("[::1]:5000/a/b:c", Some("[::1]:5000/a/b:c"));
    }

    #[test]
    fn what_no_registry_takes_is_refused() {
        for text in [
            "",
            ":",
            "a:",
            "Operator",
            "me/Operator",
            "a//b",
            "a/../b",
            "a/b.",
            "a/b___c",
            "a/b:-x",
            "a/b c",
            "host:port/a",
            "quay.io/",
            "-x.io/a",
            "a@sha256:00",
        ] {
            check(text, None);
        }
        check(&format!("a:{}", "t".repeat(129)), None);
        check(&"a".repeat(256), None);
    }
}
