//! A patch of one object, for those who choose the object themselves.

use serde_json::{Map, Value};

use crate::merge::{check_directives, merge};
use crate::merge_schema::Edition;
use crate::resource::check_size;

/// What is done to an object that somebody else has chosen.
///
/// ```
/// use serde_json::json;
/// use steersman_kustomize::ObjectPatch;
///
/// let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {
///     "containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]}});
///
/// let operation = json!({"op": "replace", "path": "/spec/containers/1/image", "value": "log:2"});
/// let json = ObjectPatch::json([&operation])?;
/// let strategic = ObjectPatch::strategic(json!({"spec": {"containers": [{"name": "log", "image": "log:2"}]}}))?;
/// for patch in [json, strategic] {
///     let patched = patch.apply(object.clone())?.expect("it is not deleted");
///     assert!(patched.to_string().contains("log:2") && patched.to_string().contains("web:1"));
/// }
///
/// let merge = ObjectPatch::merge(json!({"metadata": {"name": "other"}}))?;
/// assert_eq!(merge.apply(object).unwrap_err().to_string(), "it changes `metadata.name`, so it would be another object");
/// # Ok::<(), steersman_kustomize::PatchError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPatch(Body);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    Json(json_patch::Patch),
    Merge(Map<String, Value>),
    Strategic(Map<String, Value>),
}

/// Why a patch can't be read or applied. No value of the object is in it.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// It is none.
    #[error("it is no {kind}: {problem}")]
    Syntax {
        /// `JSON patch`, `merge patch` or `strategic merge patch`.
        kind: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// An operation does not apply.
    #[error("operation {number}, `{operation}`: {problem}")]
    Operation {
        /// From 1.
        number: usize,
        /// What it does, and where: `replace /spec/replicas`.
        operation: String,
        /// Why not.
        problem: String,
    },
    /// Patch and object do not fit.
    #[error("{0}")]
    Merge(String),
    /// What comes of it is another object.
    #[error("it changes `{0}`, so it would be another object")]
    Identity(&'static str),
    /// What comes of it is no object.
    #[error("it leaves no object")]
    NoObject,
}

/// What tells one object from another.
const IDENTITY: [(&str, &str); 4] = [
    ("apiVersion", "/apiVersion"),
    ("kind", "/kind"),
    ("metadata.name", "/metadata/name"),
    ("metadata.namespace", "/metadata/namespace"),
];

impl ObjectPatch {
    /// A JSON patch (RFC 6902) of these operations.
    ///
    /// # Errors
    /// One of them is none.
    pub fn json<'a>(operations: impl IntoIterator<Item = &'a Value>) -> Result<Self, PatchError> {
        let read = |(index, operation): (usize, &Value)| {
            serde_json::from_value(operation.clone()).map_err(|error| PatchError::Syntax {
                kind: "JSON patch",
                problem: format!("operation {}: {error}", index + 1),
            })
        };
        let operations: Result<Vec<_>, _> = operations.into_iter().enumerate().map(read).collect();
        Ok(Self(Body::Json(json_patch::Patch(operations?))))
    }

    /// A JSON merge patch (RFC 7386): maps are merged, null removes, anything else takes the place of what is there.
    ///
    /// # Errors
    /// It is no map.
    pub fn merge(patch: Value) -> Result<Self, PatchError> {
        Ok(Self(Body::Merge(map(patch, "merge patch")?)))
    }

    /// A strategic merge patch: as the merge patch, but that lists of Kubernetes' own kinds find their items by keys, as
    /// containers by their names, and that `$patch` replaces or deletes. Lists of custom resources are replaced.
    ///
    /// # Errors
    /// It is no map, or a `$patch` in it is none of `merge`, `replace`, `delete`.
    pub fn strategic(patch: Value) -> Result<Self, PatchError> {
        const KIND: &str = "strategic merge patch";
        check_directives(&patch).map_err(|problem| PatchError::Syntax { kind: KIND, problem })?;
        Ok(Self(Body::Strategic(map(patch, KIND)?)))
    }

    /// The object with the patch; `None` where a strategic merge patch deletes it.
    ///
    /// # Guarantees
    /// What comes of it has the `apiVersion`, kind, name and namespace of the object.
    ///
    /// # Errors
    /// The patch does not fit the object, or makes another object of it.
    pub fn apply(&self, object: Value) -> Result<Option<Value>, PatchError> {
        let identity = IDENTITY.map(|(_, pointer)| object.pointer(pointer).cloned());
        let patched = match &self.0 {
            Body::Json(patch) => operate(object, patch)?,
            Body::Merge(patch) => {
                let mut object = object;
                json_patch::merge(&mut object, &Value::Object(patch.clone()));
                object
            }
            Body::Strategic(patch) => {
                let patch = Value::Object(patch.clone());
                match merge(object, &patch, Edition::Kubernetes).map_err(PatchError::Merge)? {
                    Some(merged) => merged,
                    None => return Ok(None),
                }
            }
        };
        if !patched.is_object() {
            return Err(PatchError::NoObject);
        }
        for ((field, pointer), before) in IDENTITY.into_iter().zip(identity) {
            if patched.pointer(pointer) != before.as_ref() {
                return Err(PatchError::Identity(field));
            }
        }
        Ok(Some(patched))
    }
}

fn map(patch: Value, kind: &'static str) -> Result<Map<String, Value>, PatchError> {
    match patch {
        Value::Object(map) => Ok(map),
        _ => Err(PatchError::Syntax {
            kind,
            problem: "it has to be a map".to_owned(),
        }),
    }
}

/// One operation after the other, as `copy` can double an object each time.
fn operate(mut object: Value, patch: &json_patch::Patch) -> Result<Value, PatchError> {
    for (index, operation) in patch.0.iter().enumerate() {
        let failed = |problem: String| PatchError::Operation {
            number: index + 1,
            operation: format!("{} {}", word(operation), operation.path()),
            problem,
        };
        json_patch::patch(&mut object, std::slice::from_ref(operation))
            .map_err(|error| failed(error.kind.to_string()))?;
        if matches!(operation, json_patch::PatchOperation::Copy(_)) {
            check_size(&object).map_err(failed)?;
        }
    }
    Ok(object)
}

fn word(operation: &json_patch::PatchOperation) -> &'static str {
    use json_patch::PatchOperation::{Add, Copy, Move, Remove, Replace, Test};
    match operation {
        Add(_) => "add",
        Remove(_) => "remove",
        Replace(_) => "replace",
        Move(_) => "move",
        Copy(_) => "copy",
        Test(_) => "test",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"},
               "data": {"password": "hunter2canary"}})
    }

    fn operations(operations: Value) -> Result<ObjectPatch, PatchError> {
        ObjectPatch::json(operations.as_array().unwrap())
    }

    fn said(patch: Result<ObjectPatch, PatchError>) -> String {
        match patch.and_then(|patch| patch.apply(object())) {
            Ok(patched) => patched.map_or_else(|| "deleted".to_owned(), |object| object.to_string()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn another_object_is_refused_whatever_the_patch_is() {
        for (field, merge, path) in [
            ("apiVersion", json!({"apiVersion": "v2"}), "/apiVersion"),
            ("kind", json!({"kind": "Secret"}), "/kind"),
            (
                "metadata.name",
                json!({"metadata": {"name": "other"}}),
                "/metadata/name",
            ),
            (
                "metadata.namespace",
                json!({"metadata": {"namespace": null}}),
                "/metadata/namespace",
            ),
        ] {
            let expected = format!("it changes `{field}`, so it would be another object");
            assert_eq!(said(ObjectPatch::merge(merge.clone())), expected);
            assert_eq!(said(ObjectPatch::strategic(merge)), expected);
            assert_eq!(
                said(operations(json!([{"op": "remove", "path": path}]))),
                expected
            );
        }
        assert_eq!(
            said(ObjectPatch::merge(json!({"metadata": null}))),
            "it changes `metadata.name`, so it would be another object"
        );
        assert_eq!(
            said(operations(json!([{"op": "replace", "path": "", "value": 1}]))),
            "it leaves no object"
        );
    }

    #[test]
    fn what_does_not_apply_says_where_and_shows_no_value() {
        for (operation, expected) in [
            (
                json!({"op": "replace", "path": "/data/none", "value": "x"}),
                "operation 2, `replace /data/none`: path is invalid",
            ),
            (
                json!({"op": "test", "path": "/data/password", "value": "x"}),
                "operation 2, `test /data/password`: value did not match",
            ),
            (
                json!({"op": "move", "from": "/a", "path": "/b"}),
                "operation 2, `move /b`: \"from\" path is invalid",
            ),
        ] {
            let patch = operations(json!([{"op": "add", "path": "/data/a", "value": "b"}, operation]));
            assert_eq!(said(patch), expected);
        }
        let list = ObjectPatch::strategic(json!({"data": ["a"]}));
        assert_eq!(
            said(list),
            "data: the patch has another type of value than the object"
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_when_it_is_read() {
        for (patch, expected) in [
            (
                operations(json!([{"op": "ad", "path": "/a"}])),
                "it is no JSON patch: operation 1: unknown variant",
            ),
            (
                operations(json!([{"op": "add", "path": "/a"}])),
                "it is no JSON patch: operation 1: missing field `value`",
            ),
            (
                operations(json!([{"op": "remove", "path": "a"}])),
                "it is no JSON patch: operation 1:",
            ),
            (
                ObjectPatch::merge(json!(["a"])),
                "it is no merge patch: it has to be a map",
            ),
            (
                ObjectPatch::strategic(json!({"a": [{"$patch": "drop"}]})),
                "it is no strategic merge patch: unknown patch strategy `drop`",
            ),
        ] {
            let error = patch.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn copies_cannot_fill_the_memory() {
        let double = |number| json!({"op": "copy", "from": "/data", "path": format!("/data/{number}")});
        let patch = operations((0..40).map(double).collect());
        assert!(said(patch).ends_with("an object has more than 1000000 values"));
    }

    #[test]
    fn an_object_can_be_deleted() {
        assert_eq!(
            said(ObjectPatch::strategic(json!({"$patch": "delete"}))),
            "deleted"
        );
    }
}
