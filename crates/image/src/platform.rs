//! What an image runs on.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// An operating system and a processor, by Go's names for them: `linux/arm64`.
///
/// ```
/// use steersman_image::Platform;
///
/// let platform: Platform = "linux/arm64/v8".parse()?;
/// assert_eq!(platform.to_string(), "linux/arm64");
/// assert_eq!(platform.rust_target(), "aarch64-unknown-linux-gnu");
/// assert!("windows/amd64".parse::<Platform>().is_err());
/// # Ok::<(), steersman_image::PlatformError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Platform {
    /// By Go's name: `arm64`, not `aarch64`.
    pub architecture: String,
    /// The operating system.
    pub os: String,
}

/// The text is no platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no platform that operators are built for")]
pub struct PlatformError(String);

/// The processors of Linux that Kubernetes runs on: Go's name, and Rust's of the target.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("amd64", "x86_64"),
    ("arm64", "aarch64"),
    ("ppc64le", "powerpc64le"),
    ("s390x", "s390x"),
];

impl Platform {
    /// Linux on the processor of this name.
    pub(crate) fn linux(architecture: &str) -> Self {
        Self {
            architecture: architecture.to_owned(),
            os: "linux".to_owned(),
        }
    }

    /// The name of Rust's target for it.
    pub fn rust_target(&self) -> String {
        let found = ARCHITECTURES.iter().find(|(name, _)| *name == self.architecture);
        let name = found.map_or(self.architecture.as_str(), |(_, rust)| rust);
        format!("{name}-unknown-linux-gnu")
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let invalid = || PlatformError(text.to_owned());
        let architecture = text.strip_prefix("linux/").ok_or_else(invalid)?;
        // The eighth version is the only one there is of it, and may be named.
        let architecture = match architecture {
            "arm64/v8" => "arm64",
            other => other,
        };
        let is_known = ARCHITECTURES.iter().any(|(name, _)| *name == architecture);
        is_known.then(|| Self::linux(architecture)).ok_or_else(invalid)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_written_as_go_does() {
        for (text, expect) in [
            ("linux/amd64", Some("x86_64-unknown-linux-gnu")),
            ("linux/arm64/v8", Some("aarch64-unknown-linux-gnu")),
            ("linux/s390x", Some("s390x-unknown-linux-gnu")),
            ("windows/amd64", None),
            ("linux/", None),
            ("arm64", None),
        ] {
            let target = text.parse().ok().map(|platform: Platform| platform.rust_target());
            assert_eq!(target.as_deref(), expect, "{text}");
        }
    }
}
