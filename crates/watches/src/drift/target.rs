//! Which objects a rule is for.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube_core::{Selector, SelectorExt as _};
use regex::Regex;
use serde_json::Value;
use steersman_model::ObjectId;

/// Which objects: those for which all that is given matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The API group.
    pub group: Option<Pattern>,
    /// The version of the API.
    pub version: Option<Pattern>,
    /// `Deployment`, or `Deployment|StatefulSet`.
    pub kind: Option<Pattern>,
    /// Objects of the whole cluster are in the empty one.
    pub namespace: Option<Pattern>,
    /// `metadata.name`, as it is rendered.
    pub name: Option<Pattern>,
    /// The labels that the release gives it.
    pub labels: Option<Selector>,
    /// The annotations that the release gives it.
    pub annotations: Option<Selector>,
}

/// An object as the release wants it, so far as a [`Target`] looks at it.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    version: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Candidate {
    /// An object of this version of its API as it is applied.
    pub fn applied(version: &str, object: &Value) -> Self {
        let texts = |part: &str| {
            let map = object.pointer(part).and_then(Value::as_object);
            let texts = map.into_iter().flatten().filter_map(|(key, value)| {
                let value = value.as_str()?;
                Some((key.clone(), value.to_owned()))
            });
            texts.collect()
        };
        Self {
            version: version.to_owned(),
            labels: texts("/metadata/labels"),
            annotations: texts("/metadata/annotations"),
        }
    }

    /// The same from a live object and our entry of its `managedFields`. What others have written into its metadata
    /// does not count, as it is not what the release wants.
    pub fn live(metadata: &ObjectMeta, entry: &ManagedFieldsEntry) -> Self {
        let owned = |part: &str, all: Option<&BTreeMap<String, String>>| {
            let fields = entry.fields_v1.as_ref();
            let fields = fields.and_then(|fields| fields.0.get("f:metadata")?.get(part));
            let is_owned = |key: &str| fields.is_some_and(|fields| fields.get(format!("f:{key}")).is_some());
            let all = all.into_iter().flatten();
            all.filter(|(key, _)| is_owned(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let api_version = entry.api_version.as_deref().unwrap_or_default();
        Self {
            version: api_version.rsplit('/').next().unwrap_or_default().to_owned(),
            labels: owned("f:labels", metadata.labels.as_ref()),
            annotations: owned("f:annotations", metadata.annotations.as_ref()),
        }
    }
}

/// A regular expression for the whole of a text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Compiles an expression. The empty one matches everything, as in Kustomize.
    ///
    /// # Errors
    /// It is none, or too large; the text says why.
    pub fn new(text: &str) -> Result<Self, String> {
        let anchored = if text.is_empty() {
            String::new()
        } else {
            format!("^(?:{text})$")
        };
        let regex = regex::RegexBuilder::new(&anchored)
            .size_limit(1 << 20)
            .build()
            .map_err(|_| format!("`{}` is not a regular expression", text.escape_debug()))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }
}

impl Target {
    /// Whether an object is meant.
    pub fn matches(&self, id: &ObjectId, candidate: &Candidate) -> bool {
        let namespace = id.namespace.as_deref().unwrap_or_default();
        let selects = |selector: &Option<Selector>, all| selector.as_ref().is_none_or(|one| one.matches(all));
        let is_named = [
            (&self.group, id.group.as_str()),
            (&self.version, &candidate.version),
            (&self.kind, &id.kind),
            (&self.namespace, namespace),
            (&self.name, &id.name),
        ]
        .iter()
        .all(|(pattern, text)| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.regex.is_match(text))
        });
        is_named
            && selects(&self.labels, &candidate.labels)
            && selects(&self.annotations, &candidate.annotations)
    }
}
