//! What a user calls a base.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::blob::is_digest;
use crate::{Reference, ReferenceError};

/// Where a base is: in a registry, or on this machine, by the words of skopeo and podman.
///
/// ```
/// use steersman_image::BaseName;
///
/// let name: BaseName = "registry.example.com/python-ansible:1".parse()?;
/// assert!(matches!(&name, BaseName::Registry { digest: None, .. }));
/// assert!(matches!("oci:image".parse()?, BaseName::Layout(_)));
/// let error = "./python.tar".parse::<BaseName>().unwrap_err().to_string();
/// assert!(error.contains("docker-archive:FILE"), "{error}");
/// # Ok::<(), steersman_image::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseName {
    /// A name in a registry, by its tag or digest.
    Registry {
        /// The name; the tag says nothing where there is a digest.
        image: Reference,
        /// `sha256:` and 64 hexadecimal digits.
        digest: Option<String>,
    },
    /// What `docker save` or `steersman build` has written: `docker-archive:FILE`, or `oci-archive:FILE`.
    Archive(PathBuf),
    /// A layout: `oci:FOLDER`.
    Layout(PathBuf),
}

/// The words before a path, and before a name.
const ARCHIVES: &[&str] = &["docker-archive:", "oci-archive:"];
const LAYOUTS: &[&str] = &["oci:", "oci-layout:"];
const REGISTRIES: &[&str] = &["docker://", "oci://"];

impl FromStr for BaseName {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let after = |words: &[&str]| words.iter().find_map(|word| text.strip_prefix(word));
        let name = after(REGISTRIES);
        if name.is_none() {
            let path = |path: &str| match path {
                "" => Err(ReferenceError::new(text, "a path is missing")),
                path => Ok(PathBuf::from(path)),
            };
            if let Some(file) = after(ARCHIVES) {
                return path(file).map(Self::Archive);
            }
            if let Some(folder) = after(LAYOUTS) {
                return path(folder).map(Self::Layout);
            }
        }
        let name = name.unwrap_or(text);
        if name.starts_with(['.', '/', '~']) || Path::new(name).extension() == Some("tar".as_ref()) {
            let reason =
                "an archive is given as docker-archive:FILE or oci-archive:FILE, a layout as oci:FOLDER";
            return Err(ReferenceError::new(text, reason));
        }
        let (name, digest) = match name.split_once('@') {
            Some((name, digest)) => (name, Some(digest.to_owned())),
            None => (name, None),
        };
        if !digest.as_deref().is_none_or(is_digest) {
            let reason = "a digest is `sha256:` with 64 digits from 0 to f";
            return Err(ReferenceError::new(text, reason));
        }
        Ok(Self::Registry {
            image: name.parse()?,
            digest,
        })
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry { image, digest: None } => image.fmt(f),
            Self::Registry {
                image,
                digest: Some(digest),
            } => write!(f, "{}/{}@{digest}", image.registry(), image.repository()),
            Self::Archive(path) => write!(f, "docker-archive:{}", path.display()),
            Self::Layout(path) => write!(f, "oci:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let read: Option<BaseName> = text.parse().ok();
        let read = read.map(|name| name.to_string());
        assert_eq!(read.as_deref(), expect, "{text}");
    }

    #[test]
    fn bases_are_named_by_where_they_are() {
        let digest = format!("sha256:{}", "0f".repeat(32));
        check("python:3.12", Some("docker.io/library/python:3.12"));
        check("docker://quay.io/me/python", Some("quay.io/me/python:latest"));
        check(
            &format!("localhost:5000/a/b:c@{digest}"),
            Some(&format!("localhost:5000/a/b@{digest}")),
        );
        check("docker-archive:./a.tar", Some("docker-archive:./a.tar"));
        check("oci-archive:a.tar", Some("docker-archive:a.tar"));
        check("oci:image", Some("oci:image"));
        for text in [
            "",
            "oci:",
            "docker-archive:",
            "./a.tar",
            "a.tar",
            "/image",
            "a@sha256:00",
            "a@md5:00",
            "a b",
        ] {
            check(text, None);
        }
    }
}
