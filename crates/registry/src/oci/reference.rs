//! What a chart in a registry is called: `registry.example.com/charts/web:1.2.3`.

use std::fmt;

use crate::client::FetchError;

/// A repository of a registry, and what is meant in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Host and port.
    pub(super) host: String,
    /// The repository's path.
    pub(super) repository: String,
    /// The tag, with `_` where versions have `+`.
    pub(super) tag: Option<String>,
    /// The digest of the manifest.
    pub(super) digest: Option<String>,
}

impl Reference {
    /// Reads a reference with or without `oci://`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let invalid = || FetchError::Address(format!("invalid reference: {text:?}"));
        let rest = text.strip_prefix("oci://").unwrap_or(text);
        let (host, path) = rest.split_once('/').ok_or_else(invalid)?;
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (path, Some(digest.to_owned())),
            None => (path, None),
        };
        let (repository, tag) = match path.rsplit_once(':') {
            Some((path, tag)) => (path, Some(tag.replace('+', "_")).filter(|tag| !tag.is_empty())),
            None => (path, None),
        };
        let is_host = !host.is_empty()
            && host
                .chars()
                .all(|other| other.is_ascii_alphanumeric() || "-._:[]".contains(other));
        let is_part = |part: &str| {
            let allowed =
                |other: char| other.is_ascii_lowercase() || other.is_ascii_digit() || "-._".contains(other);
            part.starts_with(|first: char| first.is_ascii_alphanumeric()) && part.chars().all(allowed)
        };
        let is_tag = |tag: &String| {
            tag.len() <= 128
                && tag
                    .chars()
                    .all(|other| other.is_ascii_alphanumeric() || "-._".contains(other))
        };
        let is_digest = |digest: &String| {
            digest
                .strip_prefix("sha256:")
                .is_some_and(|hex| hex.len() == 64 && hex.chars().all(|digit| digit.is_ascii_hexdigit()))
        };
        let is_valid = is_host
            && repository.split('/').all(is_part)
            && tag.as_ref().is_none_or(is_tag)
            && digest.as_ref().is_none_or(is_digest);
        if !is_valid {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_owned(),
            repository: repository.to_owned(),
            tag,
            digest,
        })
    }

    /// The repository and tag that an image is called by.
    pub(super) fn of_image(reference: &steersman_image::Reference) -> Self {
        Self {
            host: reference.registry().to_owned(),
            repository: reference.repository().to_owned(),
            tag: Some(reference.tag().to_owned()),
            digest: None,
        }
    }

    /// The reference with another tag, given as a version.
    pub(super) fn with_tag(&self, version: &str) -> Self {
        Self {
            tag: Some(version.replace('+', "_")),
            ..self.clone()
        }
    }

    /// What a manifest is asked for by.
    pub(super) fn version(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// The file that Helm keeps the chart in.
    pub(crate) fn file_name(&self) -> String {
        let name = self.repository.rsplit('/').next().unwrap_or_default();
        format!("{name}-{}.tgz", self.tag.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_a_host_a_path_and_a_tag() {
        let reference = Reference::parse("oci://localhost:5000/charts/web:1.2.3+build").unwrap();
        assert_eq!(reference.host, "localhost:5000");
        assert_eq!(reference.repository, "charts/web");
        assert_eq!(reference.to_string(), "localhost:5000/charts/web:1.2.3_build");
        assert_eq!(reference.file_name(), "web-1.2.3_build.tgz");
        for text in [
            "",
            "web",
            "host/",
            "host/UPPER",
            "ho st/web",
            "host/web:a b",
            "host/../x",
            "host/web@md5:1",
            "a@b/c",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }
}
