//! The objects of a release: their identity, and how they come out of rendered documents.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Lists inside lists deeper than this are refused.
const MAX_LIST_DEPTH: usize = 8;

/// The name under which everything is applied: the field manager in `metadata.managedFields`.
pub const FIELD_MANAGER: &str = "steersman";

/// Helm's annotation for objects that outlive their release.
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Whether a value of [`RESOURCE_POLICY`] says so.
pub fn is_keep(policy: &str) -> bool {
    policy.trim().eq_ignore_ascii_case("keep")
}

/// Which object: what stays the same when a chart moves to another version of an API.
///
/// ```
/// use steersman_model::ObjectId;
///
/// let id = ObjectId {
///     group: "apps".to_owned(),
///     kind: "Deployment".to_owned(),
///     namespace: Some("default".to_owned()),
///     name: "web".to_owned(),
/// };
/// assert_eq!(id.to_string(), "Deployment default/web");
/// let node = ObjectId { group: String::new(), kind: "Node".to_owned(), namespace: None, name: "n1".to_owned() };
/// assert_eq!(serde_json::to_string(&node)?, r#"{"kind":"Node","name":"n1"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId {
    /// The API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// `Deployment`, as manifests write it, not the plural.
    pub kind: String,
    /// The namespace; `None` for an object of the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`
    pub name: String,
}

impl fmt::Display for ObjectId {
    /// `Deployment default/web`, and with its group where it has one of its own: `Widget.acme.com web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.group.contains('.') && !self.group.ends_with(".k8s.io") {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

/// Group, version and kind of a document.
///
/// ```
/// use steersman_model::ApiKind;
///
/// let kind = ApiKind::new("apps/v1", "Deployment");
/// assert_eq!((kind.group.as_str(), kind.version.as_str()), ("apps", "v1"));
/// assert_eq!(ApiKind::new("v1", "Service").api_version(), "v1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiKind {
    /// The group; empty for the core group.
    pub group: String,
    /// `v1beta1`, without the group.
    pub version: String,
    /// `Deployment`, as manifests write it, not the plural.
    pub kind: String,
}

impl ApiKind {
    /// Takes `apiVersion` apart.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// What stands in `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for ApiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}

/// One object as a chart rendered it.
///
/// ```
/// use steersman_model::RenderedObject;
///
/// let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
///     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}},
///     {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
///         "name": "data", "annotations": {"helm.sh/resource-policy": "keep"}}},
/// ]});
/// let objects = RenderedObject::from_document("web/templates/all.yaml", &list)?;
/// let kept: Vec<&str> = objects.iter().filter(|object| object.is_kept()).map(|object| object.name.as_str()).collect();
/// assert_eq!(kept, ["data"]);
///
/// let error = RenderedObject::from_document("web/templates/all.yaml", &"kind".into()).unwrap_err();
/// assert_eq!(error.to_string(), "web/templates/all.yaml: the document is not a map");
/// # Ok::<(), steersman_model::DocumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedObject {
    /// The template that it comes from.
    pub source: String,
    /// `apiVersion` and `kind`, taken apart.
    pub api: ApiKind,
    /// `metadata.name`
    pub name: String,
    /// The namespace that it names itself.
    pub namespace: Option<String>,
    /// The whole document, `metadata` included.
    pub value: Value,
}

/// Why a document of a template does not become an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Required fields are missing.
    #[error("{origin}: the document has no `{field}`")]
    Missing {
        /// The template.
        origin: String,
        /// `apiVersion`, `kind` or `metadata.name`.
        field: &'static str,
    },
    /// The document is a list, a text, a number or a boolean.
    #[error("{origin}: the document is not a map")]
    NotAMap {
        /// The template.
        origin: String,
    },
    /// The name of the object, or of its namespace, would lead to another place of the API than its own.
    #[error("{origin}: `{text}` cannot be the `{field}` of an object")]
    Address {
        /// The template.
        origin: String,
        /// `metadata.name` or `metadata.namespace`.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// Lists in lists in lists.
    #[error("{origin}: lists are nested deeper than {MAX_LIST_DEPTH}")]
    TooDeep {
        /// The template.
        origin: String,
    },
    /// The same object comes out of the chart twice.
    #[error("{origin}: {id} is rendered twice")]
    Duplicate {
        /// The template of the second one.
        origin: String,
        /// What both are, as [`ObjectId`] prints it.
        id: String,
    },
}

impl RenderedObject {
    /// The objects of one document: none for `null`, several for a list.
    ///
    /// # Errors
    /// The document is not an object, or lacks `apiVersion`, `kind` or `metadata.name`.
    pub fn from_document(source: &str, document: &Value) -> Result<Vec<Self>, DocumentError> {
        let mut objects = Vec::new();
        collect(source, document, 0, &mut objects)?;
        Ok(objects)
    }

    fn new(source: &str, document: &Value) -> Result<Self, DocumentError> {
        let text = |pointer: &str, field| {
            document
                .pointer(pointer)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .ok_or(DocumentError::Missing {
                    origin: source.to_owned(),
                    field,
                })
        };
        let address = |text: &str, field| {
            if is_part_of_a_path(text) {
                return Ok(text.to_owned());
            }
            Err(DocumentError::Address {
                origin: source.to_owned(),
                field,
                text: text.escape_debug().to_string(),
            })
        };
        let api = ApiKind::new(text("/apiVersion", "apiVersion")?, text("/kind", "kind")?);
        let name = text("/metadata/name", "metadata.name")?;
        let namespace = text("/metadata/namespace", "metadata.namespace").ok();
        Ok(Self {
            source: source.to_owned(),
            api,
            name: address(name, "metadata.name")?,
            namespace: namespace
                .map(|namespace| address(namespace, "metadata.namespace"))
                .transpose()?,
            value: document.clone(),
        })
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.value.get("metadata")?.get("annotations")?.get(key)?.as_str()
    }

    /// Whether the chart wants the object to outlive the release (`helm.sh/resource-policy: keep`).
    pub fn is_kept(&self) -> bool {
        self.annotation(RESOURCE_POLICY).is_some_and(is_keep)
    }
}

/// Whether a text stands for itself in the path of a request: names of objects become parts of it as they are.
///
/// ```
/// use steersman_model::is_part_of_a_path;
///
/// assert!(is_part_of_a_path("system:node-proxier") && !is_part_of_a_path("web/status") && !is_part_of_a_path(".."));
/// ```
pub fn is_part_of_a_path(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !r#"/%?#\"<>[]^`{|}"#.contains(letter);
    !matches!(text, "." | "..") && text.chars().all(is_plain)
}

fn collect(
    source: &str,
    document: &Value,
    depth: usize,
    objects: &mut Vec<RenderedObject>,
) -> Result<(), DocumentError> {
    let map = match document {
        Value::Null => return Ok(()),
        Value::Object(map) => map,
        _ => {
            return Err(DocumentError::NotAMap {
                origin: source.to_owned(),
            });
        }
    };
    let is_list = map
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"));
    match map.get("items").and_then(Value::as_array) {
        Some(_) if is_list && depth >= MAX_LIST_DEPTH => Err(DocumentError::TooDeep {
            origin: source.to_owned(),
        }),
        Some(items) if is_list => items
            .iter()
            .try_for_each(|item| collect(source, item, depth + 1, objects)),
        _ => {
            objects.push(RenderedObject::new(source, document)?);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(document: Value, expect: &[&str]) {
        let found = match RenderedObject::from_document("web/t.yaml", &document) {
            Ok(objects) => objects
                .iter()
                .map(|object| format!("{} {}", object.api, object.name))
                .collect(),
            Err(error) => vec![error.to_string()],
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn lists_are_taken_apart() {
        let one = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        check(one("a"), &["v1, Kind=ConfigMap a"]);
        check(
            json!({"apiVersion": "v1", "kind": "List", "items": [one("a"), {"kind": "ConfigMapList", "items": [one("b")]}]}),
            &["v1, Kind=ConfigMap a", "v1, Kind=ConfigMap b"],
        );
        check(Value::Null, &[]);
    }

    #[test]
    fn a_kind_that_only_ends_in_list_is_an_object() {
        check(
            json!({"apiVersion": "acme.com/v1", "kind": "AllowList", "metadata": {"name": "a"}}),
            &["acme.com/v1, Kind=AllowList a"],
        );
    }

    #[test]
    fn what_is_missing_is_named_with_the_template() {
        check(json!([]), &["web/t.yaml: the document is not a map"]);
        check(
            json!({"kind": "A"}),
            &["web/t.yaml: the document has no `apiVersion`"],
        );
        check(
            json!({"apiVersion": "v1", "kind": "A"}),
            &["web/t.yaml: the document has no `metadata.name`"],
        );
    }

    #[test]
    fn a_name_leads_to_no_other_place_of_the_api() {
        let named = |name: &str| json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": name}});
        check(named("system:web.A_b"), &["v1, Kind=A system:web.A_b"]);
        for name in ["..", "a/status", "a?x=y", "a%2fb", "a b", "a#", "\u{e4}"] {
            let said = format!("web/t.yaml: `{name}` cannot be the `metadata.name` of an object");
            check(named(name), &[&said]);
        }
        let elsewhere =
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": "b/../c"}});
        check(
            elsewhere,
            &["web/t.yaml: `b/../c` cannot be the `metadata.namespace` of an object"],
        );
    }

    #[test]
    fn keep_is_read_as_helm_reads_it() {
        for (annotations, kept) in [
            (json!({"helm.sh/resource-policy": "keep"}), true),
            (json!({"helm.sh/resource-policy": " Keep "}), true),
            (json!({"helm.sh/resource-policy": "KEEP"}), true),
            (json!({"helm.sh/resource-policy": "delete"}), false),
            (json!({"helm.sh/resource-policy": "ke ep"}), false),
            (json!({"helm.sh/resource-policy": ""}), false),
            (json!({"resource-policy": "keep"}), false),
            (json!(null), false),
        ] {
            let document = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a",
                "annotations": annotations}});
            assert_eq!(
                RenderedObject::from_document("t", &document).unwrap()[0].is_kept(),
                kept,
                "{annotations}"
            );
        }
    }
}
