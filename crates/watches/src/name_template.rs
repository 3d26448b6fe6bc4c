//! Names that are made of a resource: `{{ .metadata.name }}-credentials`.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::{Value as Json, json};
use steersman_chart::Values;
use steersman_chart::values::to_value;
use steersman_gotemplate::{
    Effect, Failure, FunctionTable, Limits, LookupQuery, MissingKey, Options, TemplateSet, Timestamp, Value,
    World, builtins,
};

use crate::names::is_dns_subdomain;

/// How long the text of a template may be.
const MAX_TEXT: usize = 4096;

/// What one name may take: it is a line of text, made of a resource that anybody may have written.
const LIMITS: Limits = Limits {
    steps: 10_000,
    output_bytes: 4096,
    value_bytes: 64 << 10,
    include_depth: 10,
    expand_depth: 1,
    depth: 20,
};

/// What of Sprig a name may be made with: functions of texts, which give the same for the same.
const FUNCTIONS: &[&str] = &[
    "coalesce",
    "contains",
    "default",
    "empty",
    "first",
    "hasPrefix",
    "hasSuffix",
    "join",
    "kebabcase",
    "last",
    "lower",
    "replace",
    "splitList",
    "substr",
    "ternary",
    "toString",
    "trim",
    "trimAll",
    "trimPrefix",
    "trimSuffix",
    "trunc",
    "upper",
];

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
#[derive(Clone)]
pub struct NameTemplate {
    text: String,
    /// `None` where the text is the name.
    template: Option<Arc<TemplateSet>>,
}

/// What names are made of: a resource and its values.
pub struct Subject(Value);

/// Why a resource has no object of that sort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text breaks the grammar, or calls a function that is not there.
    #[error("{0}")]
    Parse(String),
    /// The template fails with this resource.
    #[error("{0}")]
    Execute(String),
    /// What comes of it can't be a name.
    #[error("`{}` can't be the name of an object (at most 253 lower-case letters, digits, `-` and `.`)", .0.escape_debug())]
    Invalid(String),
}

impl Subject {
    /// A resource, of which the metadata and the spec count, and its values, which are the chart's where it gives none.
    pub fn new(resource: &Json, values: &Values) -> Self {
        let of = |pointer: &str| resource.pointer(pointer).cloned().unwrap_or_default();
        // A field of nothing is a mistake in Go's templates, and a resource without labels is none.
        let map_of = |pointer: &str| resource.pointer(pointer).cloned().unwrap_or_else(|| json!({}));
        let texts = ["name", "namespace", "uid"];
        let texts = texts.map(|field| (field.to_owned(), of(&format!("/metadata/{field}"))));
        let maps = ["labels", "annotations"];
        let maps = maps.map(|field| (field.to_owned(), map_of(&format!("/metadata/{field}"))));
        let metadata = texts.into_iter().chain(maps);
        let metadata: serde_json::Map<String, Json> = metadata.collect();
        let spec = map_of("/spec");
        Self(to_value(
            &json!({"metadata": metadata, "spec": spec, "Values": values}),
        ))
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}

impl NameTemplate {
    /// Reads a name, which is a template where it has `{{`.
    ///
    /// # Errors
    /// It is no template, calls a function that names are not made with, or is no name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.len() > MAX_TEXT {
            return Err(NameError::Parse(format!(
                "a template of {} bytes is longer than {MAX_TEXT}",
                text.len()
            )));
        }
        if !text.contains("{{") {
            return Ok(Self {
                text: valid(text.to_owned())?,
                template: None,
            });
        }
        let mut templates = TemplateSet::new(Arc::clone(&TABLE));
        templates
            .parse("name", text)
            .map_err(|error| NameError::Parse(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            template: Some(Arc::new(templates)),
        })
    }

    /// The name, where it is the same for each resource.
    pub fn fixed(&self) -> Option<&str> {
        self.template.is_none().then_some(self.text.as_str())
    }

    /// The name for a resource.
    ///
    /// # Errors
    /// The template fails, takes too much, or gives something else than a name. The message may have what is secret in the
    /// resource.
    pub fn of(&self, subject: &Subject) -> Result<String, NameError> {
        let Some(template) = &self.template else {
            return Ok(self.text.clone());
        };
        let options = Options {
            missing_key: MissingKey::Zero,
            limits: LIMITS,
            expired: None,
        };
        let output = template
            .execute("name", &subject.0, &Nothing, &options)
            .map_err(|error| NameError::Execute(error.to_string()))?;
        // As Helm prints what is not there.
        valid(output.to_string().replace("<no value>", "").trim().to_owned())
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

static TABLE: LazyLock<Arc<FunctionTable>> = LazyLock::new(|| {
    let is_of_texts = |name: &str| FUNCTIONS.contains(&name);
    let of_texts: Vec<_> = steersman_sprig::functions()
        .iter()
        .filter(|function| function.effect == Effect::Pure && is_of_texts(function.name))
        .copied()
        .collect();
    Arc::new(FunctionTable::new(&[builtins(), &of_texts]))
});

/// The world of a name: there is none.
struct Nothing;

impl World for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Err(Failure::new("nothing can be looked up here"))
    }
}

impl PartialEq for NameTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NameTemplate {}

impl fmt::Debug for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NameTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
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
        assert!(made(&"a".repeat(MAX_TEXT + 1)).is_err());
    }
}
