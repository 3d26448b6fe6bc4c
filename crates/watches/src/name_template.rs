//! Names that are made of a resource: `{{ .metadata.name }}-credentials`.

use std::fmt;

use crate::names::is_dns_subdomain;
use crate::text_template::{Subject, TextError, TextTemplate};

/// The name of an object, fixed or made of a resource and its values by a template in Go's language, with functions of texts
/// alone.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::{NameTemplate, Subject};
///
/// let resource = json!({"metadata": {"name": "shop"}, "spec": {"zookeeper": "zk"}});
/// let values = resource["spec"].as_object().cloned().unwrap_or_default();
/// let subject = Subject::new(&resource, &values);
///
/// let name = NameTemplate::parse("{{ .metadata.name }}-{{ .Values.zookeeper | default \"none\" }}")?;
/// assert_eq!(name.of(&subject)?, "shop-zk");
/// assert!(NameTemplate::parse("{{ env \"HOME\" }}").is_err());
/// assert!(NameTemplate::parse("{{ .Values.missing }}")?.of(&subject).is_err());
/// # Ok::<(), steersman_watches::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NameTemplate(TextTemplate);

/// Why a resource has no object of that sort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is no template, or that fails.
    #[error(transparent)]
    Text(#[from] TextError),
    /// What comes of it can't be a name.
    #[error("`{}` can't be the name of an object (at most 253 lower-case letters, digits, `-` and `.`)", .0.escape_debug())]
    Invalid(String),
}

impl NameTemplate {
    /// Reads a name, which is a template where it has `{{`.
    ///
    /// # Errors
    /// It is no template, calls a function that names are not made with, or is no name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let template = TextTemplate::parse(text)?;
        if let Some(name) = template.fixed() {
            valid(name.to_owned())?;
        }
        Ok(Self(template))
    }

    /// The name, where it is the same for each resource.
    pub fn fixed(&self) -> Option<&str> {
        self.0.fixed()
    }

    /// The name for a resource.
    ///
    /// # Errors
    /// The template fails, takes too much, or gives something else than a name. The message may have what is secret in the
    /// resource.
    pub fn of(&self, subject: &Subject) -> Result<String, NameError> {
        let name = self.0.of(subject)?;
        match self.fixed() {
            Some(_) => Ok(name),
            None => valid(name.trim().to_owned()),
        }
    }
}

fn valid(name: String) -> Result<String, NameError> {
    if is_dns_subdomain(&name) {
        return Ok(name);
    }
    let mut shown = name;
    if let Some((end, _)) = shown.char_indices().nth(80) {
        shown.truncate(end);
        shown.push('…');
    }
    Err(NameError::Invalid(shown))
}

impl fmt::Debug for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NameTemplate").field(&self.to_string()).finish()
    }
}

impl fmt::Display for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(text: &str) -> Result<String, String> {
        let resource = json!({
            "metadata": {"name": "shop", "namespace": "red", "labels": {"app.kubernetes.io/part-of": "mall"}},
            "spec": {"zookeeper": "zk", "port": 8080, "large": "x".repeat(1 << 20)},
        });
        let values = json!({"zookeeper": "zk", "replicas": 3.0, "large": "x".repeat(1 << 20)});
        let subject = Subject::new(&resource, values.as_object().unwrap());
        let template = NameTemplate::parse(text).map_err(|error| error.to_string())?;
        template.of(&subject).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_made_of_metadata_spec_and_values() {
        for (text, name) in [
            ("zk", "zk"),
            ("{{ .Values.zookeeper }}-{{ .Values.replicas }}", "zk-3"),
            ("{{ .metadata.namespace }}.{{ .spec.port }}", "red.8080"),
            (
                "{{ index .metadata.labels \"app.kubernetes.io/part-of\" | upper | lower }}",
                "mall",
            ),
            ("{{ .Values.other | default .metadata.name | trunc 2 }}", "sh"),
            ("{{ .metadata.annotations.other | default \"c\" }}", "c"),
            ("{{ if .Values.other }}a{{ else }}b{{ end }}", "b"),
        ] {
            assert_eq!(made(text), Ok(name.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_none() {
        for text in [
            "",
            "Zk",
            "a/b",
            "a,b",
            "{{ .Values.missing }}",
            "{{ .Values.missing.more }}",
            "{{ .metadata.name | upper }}",
            "a/{{ .metadata.name }}",
            "{{ .Values.large }}",
            "{{ .Values.large | upper | lower }}",
            "{{ .Values }}",
            "{{ range .Values.large }}",
        ] {
            assert!(made(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_ask_nobody_and_end() {
        for text in [
            "{{ env \"HOME\" }}",
            "{{ now }}",
            "{{ randAlpha 5 | lower }}",
            "{{ lookup \"v1\" \"Secret\" \"\" \"\" }}",
            "{{ getHostByName \"a\" }}",
            "{{ tpl \"a\" . }}",
            "{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}",
            "{{ define \"a\" }}{{ template \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}",
        ] {
            assert!(made(text).is_err(), "{text}");
        }
        assert!(made(&"a".repeat(4097)).is_err());
    }
}
