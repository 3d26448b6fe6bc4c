//! Values that releases take from Secrets and `ConfigMap`s, in the words of Flux.

use std::fmt;

use steersman_chart::Values;
use steersman_chart::values::set::{Reading, set_bounded};
use steersman_chart::values::{overlay, read};

use crate::name_template::{NameError, NameTemplate};
use crate::text_template::Subject;

/// What an entry says of values from other objects (`valuesFrom`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuesFrom {
    /// In the order in which they are laid over each other.
    pub sources: Vec<ValueSource>,
    /// Whether resources may name more of them, by an annotation.
    pub from_resources: bool,
}

/// A key of a Secret or `ConfigMap` with values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSource {
    /// What sort of object it is in.
    pub kind: SourceKind,
    /// The name of the object, which is in the namespace of the release.
    pub name: NameTemplate,
    /// The key in its data.
    pub values_key: String,
    /// Where the value goes, as in `--set`; `None` for a file of values.
    pub target_path: Option<String>,
    /// Whether it may be missing.
    pub optional: bool,
    /// Whether the value goes to its path as it is, and nothing is read from it.
    pub literal: bool,
}

/// What sort of object has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// No word of it is shown.
    Secret,
    /// It is like a spec.
    ConfigMap,
}

/// A source of one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedSource {
    /// What sort of object it is in.
    pub kind: SourceKind,
    /// The object's name.
    pub name: String,
    /// The key in its data.
    pub values_key: String,
}

/// The values of a source can't be used. Nothing of the values is said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// A file of values is none.
    #[error("it has no values: what is there is no map in YAML")]
    NoValues,
    /// The value does not go to its path.
    #[error("its value can't be set at `{path}`")]
    Path {
        /// As `targetPath` has it.
        path: String,
    },
}

impl SourceKind {
    /// As manifests write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

impl fmt::Display for NamedSource {
    /// `key "values.yaml" of Secret shop`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "key \"{}\" of {} {}",
            self.values_key.escape_debug(),
            self.kind.as_str(),
            self.name
        )
    }
}

impl ValueSource {
    /// The key in the data of an object where the entry names none.
    pub const DEFAULT_KEY: &'static str = "values.yaml";

    /// Which source is meant for a resource.
    ///
    /// # Errors
    /// The name can't be made of the resource.
    pub fn named(&self, subject: &Subject) -> Result<NamedSource, NameError> {
        Ok(NamedSource {
            kind: self.kind,
            name: self.name.of(subject)?,
            values_key: self.values_key.clone(),
        })
    }

    /// Lays what the key has over `values`.
    ///
    /// ```
    /// use serde_json::json;
    /// use steersman_chart::Values;
    /// use steersman_watches::{NameTemplate, SourceKind, ValueSource};
    ///
    /// let file = ValueSource {
    ///     kind: SourceKind::ConfigMap,
    ///     name: NameTemplate::parse("defaults")?,
    ///     values_key: ValueSource::DEFAULT_KEY.to_owned(),
    ///     target_path: None,
    ///     optional: false,
    ///     literal: false,
    /// };
    /// let mut values = Values::new();
    /// file.lay("image: {tag: v6}\nport: 80", &mut values)?;
    /// let tag = ValueSource { target_path: Some("image.tag".to_owned()), ..file };
    /// tag.lay("v7", &mut values)?;
    /// assert_eq!(json!(values), json!({"image": {"tag": "v7"}, "port": 80.0}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// It has no values, or its path leads nowhere.
    pub fn lay(&self, content: &str, values: &mut Values) -> Result<(), SourceError> {
        let Some(path) = &self.target_path else {
            let file = read(content.as_bytes()).map_err(|_| SourceError::NoValues)?;
            overlay(values, file);
            return Ok(());
        };
        let (text, reading) = match quoted(content) {
            _ if self.literal => (content, Reading::Literal),
            Some(text) => (text, Reading::Text),
            None => (content, Reading::Typed),
        };
        let is_set = set_bounded(values, &format!("{path}={text}"), reading);
        is_set.map_err(|_| SourceError::Path { path: path.clone() })
    }
}

/// The text between quotes, which is a text whatever it looks like.
fn quoted(content: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = content.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn source(target_path: Option<&str>, literal: bool) -> ValueSource {
        ValueSource {
            kind: SourceKind::Secret,
            name: NameTemplate::parse("db").unwrap(),
            values_key: ValueSource::DEFAULT_KEY.to_owned(),
            target_path: target_path.map(str::to_owned),
            optional: false,
            literal,
        }
    }

    fn check(source: &ValueSource, content: &str, expect: Result<Value, &str>) {
        let mut values = json!({"db": {"user": "web"}}).as_object().unwrap().clone();
        let laid = source.lay(content, &mut values);
        let found = laid
            .map(|()| Value::Object(values))
            .map_err(|error| error.to_string());
        assert_eq!(found, expect.map_err(str::to_owned), "{content}");
    }

    #[test]
    fn a_file_is_laid_over_what_was_before() {
        let file = source(None, false);
        let laid = json!({"db": {"user": "web", "port": 5432.0}});
        check(&file, "db: {port: 5432}", Ok(laid));
        check(&file, "", Ok(json!({"db": {"user": "web"}})));
        let error = "it has no values: what is there is no map in YAML";
        for content in ["canary", "- canary", "canary: [", "\u{0}canary"] {
            check(&file, content, Err(error));
        }
    }

    #[test]
    fn a_value_at_a_path_is_read_as_by_set_unless_it_is_quoted_or_literal() {
        let at = |value: Value| Ok(json!({"db": {"user": "web", "x": value}}));
        let (typed, literal) = (source(Some("db.x"), false), source(Some("db.x"), true));
        check(&typed, "5", at(json!(5)));
        check(&typed, "true", at(json!(true)));
        check(&typed, "\"5\"", at(json!("5")));
        check(&typed, "'true'", at(json!("true")));
        check(&typed, "{a,b}", at(json!(["a", "b"])));
        check(&literal, "5", at(json!("5")));
        check(&literal, "a,b={c}\\", at(json!("a,b={c}\\")));
        let error = "its value can't be set at `db[70000]`";
        check(&source(Some("db[70000]"), false), "canary", Err(error));
    }
}
