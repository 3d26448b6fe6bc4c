//! Values that are left to others.

use serde_json::{Map, Value};
use steersman_model::ObjectId;

use super::target::{Candidate, Target};

/// Values of some objects that are left to others once they are written.
///
/// ```
/// use steersman_model::ObjectId;
/// use steersman_watches::drift::{Candidate, FieldPath, IgnoreRule, Pattern, Target};
///
/// let replicas = FieldPath::parse("/spec/replicas")?;
/// let rules = [IgnoreRule {
///     paths: vec![replicas.clone()],
///     target: Target { kind: Some(Pattern::new("Deployment|StatefulSet")?), ..Target::default() },
/// }];
/// let id = |kind: &str| ObjectId {
///     group: "apps".to_owned(),
///     kind: kind.to_owned(),
///     namespace: Some("default".to_owned()),
///     name: "web".to_owned(),
/// };
/// assert_eq!(IgnoreRule::paths_of(&rules, &id("Deployment"), Candidate::default), [&replicas]);
/// assert!(IgnoreRule::paths_of(&rules, &id("DaemonSet"), Candidate::default).is_empty());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreRule {
    /// Where the values are.
    pub paths: Vec<FieldPath>,
    /// In which objects.
    pub target: Target,
}

/// A JSON pointer (RFC 6901) to a field or an item below an object's root.
///
/// ```
/// use steersman_watches::drift::FieldPath;
///
/// assert!(FieldPath::parse("/metadata/annotations/example.com~1owner").is_ok());
/// assert_eq!(
///     FieldPath::parse("spec.replicas").unwrap_err(),
///     "`spec.replicas` is not a JSON pointer such as `/spec/replicas`"
/// );
/// assert!(FieldPath::parse("/metadata/name").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    steps: Vec<String>,
}

impl FieldPath {
    /// Reads a JSON pointer.
    ///
    /// # Errors
    /// It is not a JSON pointer, or points to a part of the object's identity; the text says which.
    pub fn parse(pointer: &str) -> Result<Self, String> {
        let shown = pointer.escape_debug();
        let Some(rest) = pointer.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
            return Err(format!(
                "`{shown}` is not a JSON pointer such as `/spec/replicas`"
            ));
        };
        let steps: Vec<String> = rest
            .split('/')
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
            .collect();
        let identity = ["apiVersion", "kind"].contains(&steps[0].as_str())
            || steps[0] == "metadata"
                && steps
                    .get(1)
                    .is_none_or(|field| ["name", "namespace"].contains(&field.as_str()));
        if identity {
            return Err(format!("`{shown}` says which object it is, and can't be ignored"));
        }
        Ok(Self { steps })
    }

    pub(super) fn steps(&self) -> &[String] {
        &self.steps
    }
}

impl IgnoreRule {
    /// The paths that `rules` give for an object, which is described only where there are rules.
    pub fn paths_of<'a>(
        rules: &'a [Self],
        id: &ObjectId,
        candidate: impl FnOnce() -> Candidate,
    ) -> Vec<&'a FieldPath> {
        if rules.is_empty() {
            return Vec::new();
        }
        let candidate = candidate();
        let meant = rules.iter().filter(|rule| rule.target.matches(id, &candidate));
        meant.flat_map(|rule| &rule.paths).collect()
    }
}

/// The fields of an entry of `managedFields` without those at `paths`.
///
/// The set of fields names items of lists by their keys and not by their places, so an index
/// stands for every item of its list here.
pub fn without_ignored<'a>(fields: &Value, paths: impl Iterator<Item = &'a FieldPath>) -> Value {
    let mut fields = fields.clone();
    for path in paths {
        if let Value::Object(map) = &mut fields {
            remove(map, &path.steps);
        }
    }
    fields
}

/// A map that has lost its last field is removed too: it is not there either where the field has
/// another owner.
fn remove(fields: &mut Map<String, Value>, steps: &[String]) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    let named = format!("f:{step}");
    let item = step == "-" || step.bytes().all(|byte| byte.is_ascii_digit());
    let is_meant = |key: &String| {
        *key == named || item && ["k:", "v:", "i:"].iter().any(|prefix| key.starts_with(prefix))
    };
    let meant: Vec<String> = fields.keys().filter(|key| is_meant(key)).cloned().collect();
    for key in meant {
        if rest.is_empty() {
            fields.remove(&key);
            continue;
        }
        let Some(Value::Object(inner)) = fields.get_mut(&key) else {
            continue;
        };
        let before = inner.len();
        remove(inner, rest);
        if inner.is_empty() && before > 0 {
            fields.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::drift::{Pattern, parse_selector};

    fn without(fields: &Value, pointers: &[&str]) -> Value {
        let paths: Vec<FieldPath> = pointers
            .iter()
            .map(|pointer| FieldPath::parse(pointer).unwrap())
            .collect();
        without_ignored(fields, paths.iter())
    }

    #[test]
    fn what_is_ignored_is_taken_out_of_the_owned_fields() {
        let fields = json!({
            "f:metadata": {"f:annotations": {"f:example.com/a": {}, "f:b": {}}},
            "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
                "k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:name": {}}}}}},
        });
        assert_eq!(
            without(
                &fields,
                &[
                    "/spec/replicas",
                    "/metadata/annotations/example.com~1a",
                    "/spec/template/spec/containers/0/image",
                    "/spec/none"
                ]
            ),
            json!({
                "f:metadata": {"f:annotations": {"f:b": {}}},
                "f:spec": {"f:template": {"f:spec": {"f:containers": {
                    "k:{\"name\":\"web\"}": {".": {}, "f:name": {}}}}}},
            })
        );
    }

    #[test]
    fn it_is_the_same_whether_we_own_it_or_not() {
        let ours = json!({"f:data": {"f:a": {}}, "f:spec": {"f:replicas": {}}});
        let theirs = json!({"f:data": {"f:a": {}}});
        let paths = &["/spec/replicas"];
        assert_eq!(without(&ours, paths), without(&theirs, paths));
    }

    #[test]
    fn objects_are_chosen_by_whole_words() {
        let id = |kind: &str, name: &str| ObjectId {
            group: "apps".to_owned(),
            kind: kind.to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        };
        let target = |kind: &str, name: &str| Target {
            kind: Some(Pattern::new(kind).unwrap()),
            name: Some(Pattern::new(name).unwrap()),
            ..Target::default()
        };
        let check = |target: Target, kind: &str, name: &str, expect: bool| {
            assert_eq!(
                target.matches(&id(kind, name), &Candidate::default()),
                expect,
                "{target:?}"
            );
        };
        check(Target::default(), "Deployment", "web", true);
        check(target("Deployment", ""), "Deployment", "web", true);
        check(target("Deploy", "web"), "Deployment", "web", false);
        check(target(".*Set|Deployment", "web-.*"), "StatefulSet", "web-0", true);
        check(target("Deployment", "eb"), "Deployment", "web", false);
    }

    #[test]
    fn objects_are_chosen_by_what_the_release_gives_them() {
        let id = ObjectId {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: None,
            name: "web".to_owned(),
        };
        let rules = [IgnoreRule {
            paths: vec![FieldPath::parse("/spec/replicas").unwrap()],
            target: Target {
                version: Some(Pattern::new("v1").unwrap()),
                labels: Some(parse_selector("tier in (web,api), !canary").unwrap()),
                annotations: Some(parse_selector("scaled").unwrap()),
                ..Target::default()
            },
        }];
        let check = |version: &str, metadata: &Value, expect: bool| {
            let applied = Candidate::applied(version, &json!({ "metadata": metadata }));
            let found = IgnoreRule::paths_of(&rules, &id, || applied);
            assert_eq!(!found.is_empty(), expect, "{version} {metadata}");
            // The same in the cluster, where somebody has added a label and an annotation.
            let names = |part: &str| -> Map<String, Value> {
                let keys = metadata[part].as_object().into_iter().flatten();
                keys.map(|(key, _)| (format!("f:{key}"), json!({}))).collect()
            };
            let fields =
                json!({"f:metadata": {"f:labels": names("labels"), "f:annotations": names("annotations")}});
            let entry = json!({"apiVersion": format!("apps/{version}"), "fieldsV1": fields});
            let mut live = metadata.clone();
            live["labels"]["canary"] = "theirs".into();
            live["annotations"]["scaled"] = "theirs".into();
            let (live, entry) = (
                serde_json::from_value(live).unwrap(),
                serde_json::from_value(entry).unwrap(),
            );
            let found = IgnoreRule::paths_of(&rules, &id, || Candidate::live(&live, &entry));
            assert_eq!(!found.is_empty(), expect, "live: {version} {metadata}");
        };
        check(
            "v1",
            &json!({"labels": {"tier": "web"}, "annotations": {"scaled": ""}}),
            true,
        );
        check(
            "v2",
            &json!({"labels": {"tier": "web"}, "annotations": {"scaled": ""}}),
            false,
        );
        check(
            "v1",
            &json!({"labels": {"tier": "db"}, "annotations": {"scaled": ""}}),
            false,
        );
        check(
            "v1",
            &json!({"labels": {"tier": "web"}, "annotations": {}}),
            false,
        );
        check("v1", &json!({"labels": {}, "annotations": {"scaled": ""}}), false);
    }

    #[test]
    fn pointers_that_point_nowhere_are_refused() {
        for pointer in ["", "/", "spec/replicas", "/kind", "/metadata", "/metadata/name"] {
            assert!(FieldPath::parse(pointer).is_err(), "{pointer}");
        }
        assert!(Pattern::new("(").is_err());
    }
}
