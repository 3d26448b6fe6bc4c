//! What a reconcile would do, in the status of a resource that asks for no more than that.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use steersman_model::ObjectId;

/// The field of the status.
const FIELD: &str = "dryRun";
/// So many objects are listed.
const MAX_OBJECTS: usize = 100;
/// A change in more fields of one object is cut off here.
const MAX_FIELDS: usize = 20;

/// What a reconcile would do.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRunStatus {
    /// In one line, secrets masked.
    pub summary: String,
    /// The hooks that would run.
    pub hooks: Vec<String>,
    /// The stages in which objects would be applied, for people; none where nothing is waited for in between.
    pub stages: Vec<String>,
    /// The objects that would not stay as they are.
    pub objects: Vec<DryRunEntry>,
}

/// What would become of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRunEntry {
    /// In the status as `kind`, `name` and `namespace`.
    pub id: ObjectId,
    /// What would be done with it.
    pub change: DryRunChange,
}

/// What would be done with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum DryRunChange {
    /// It would be made; with what would become of claims that are there before it.
    Created(Vec<String>),
    /// Values at these JSON pointers would be others.
    Changed(Vec<String>),
    /// It would be deleted and made again, as it can't be changed in place; with what would become of its claims.
    Recreated(Vec<String>),
    /// It would be deleted.
    Deleted,
    /// It would not be applied, for this reason, secrets masked.
    Refused(String),
}

impl DryRunChange {
    /// One word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Changed(_) => "changed",
            Self::Recreated(_) => "recreated",
            Self::Deleted => "deleted",
            Self::Refused(_) => "refused",
        }
    }
}

impl DryRunStatus {
    fn to_json(&self, generation: Option<i64>) -> Value {
        let objects = self.objects.iter().take(MAX_OBJECTS).map(|object| {
            let mut entry = Map::new();
            let id = &object.id;
            entry.insert("kind".to_owned(), id.kind.as_str().into());
            entry.insert("name".to_owned(), id.name.as_str().into());
            if let Some(namespace) = &id.namespace {
                entry.insert("namespace".to_owned(), namespace.as_str().into());
            }
            entry.insert(
                "would".to_owned(),
                format!("be {}", object.change.as_str()).into(),
            );
            match &object.change {
                DryRunChange::Changed(fields) => {
                    let fields: Vec<_> = fields.iter().take(MAX_FIELDS).collect();
                    entry.insert("fields".to_owned(), json!(fields));
                }
                DryRunChange::Refused(reason) => {
                    entry.insert("message".to_owned(), reason.as_str().into());
                }
                DryRunChange::Created(claims) | DryRunChange::Recreated(claims) if !claims.is_empty() => {
                    let claims: Vec<_> = claims.iter().take(MAX_FIELDS).collect();
                    entry.insert("claims".to_owned(), json!(claims));
                }
                DryRunChange::Created(_) | DryRunChange::Recreated(_) | DryRunChange::Deleted => {}
            }
            Value::Object(entry)
        });
        let mut counts = BTreeMap::new();
        for object in &self.objects {
            *counts.entry(object.change.as_str()).or_insert(0) += 1;
        }
        let mut shown = json!({
            "summary": self.summary, "hooks": self.hooks, "observedGeneration": generation,
            "counts": counts, "objects": objects.collect::<Vec<_>>(),
        });
        if !self.stages.is_empty() {
            shown["stages"] = json!(self.stages);
        }
        shown
    }
}

/// The status with the result of a dry run; everything else stays as it is.
pub(super) fn dry_run_status(current: &Value, dry_run: &DryRunStatus, generation: Option<i64>) -> Value {
    let mut next = current.as_object().cloned().unwrap_or_default();
    next.insert(FIELD.to_owned(), dry_run.to_json(generation));
    Value::Object(next)
}

/// A status that is about what was done has no result of a dry run. A patch takes the field away.
pub(super) fn forget_dry_run(current: &Value, next: &mut Value) {
    if let (Some(Value::Object(_)), Some(next)) = (current.get(FIELD), next.as_object_mut()) {
        next.insert(FIELD.to_owned(), Value::Null);
    }
}

/// The JSON pointers at which two objects differ, the outermost where one of them has nothing; sorted.
///
/// ```
/// use serde_json::json;
/// use steersman_operator::status::differing_fields;
///
/// let live = json!({"spec": {"replicas": 1, "paused": true}});
/// let wanted = json!({"spec": {"replicas": 2}, "metadata": {"labels": {"tier": "web"}}});
/// assert_eq!(differing_fields(&live, &wanted), ["/metadata", "/spec/paused", "/spec/replicas"]);
/// ```
pub fn differing_fields(left: &Value, right: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    differ(left, right, &mut String::new(), &mut fields);
    fields.sort();
    fields
}

fn differ(left: &Value, right: &Value, path: &mut String, fields: &mut Vec<String>) {
    let length = path.len();
    let mut step = |name: &str, left: &Value, right: &Value| {
        path.push('/');
        path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        differ(left, right, path, fields);
        path.truncate(length);
    };
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let added = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(added) {
                let at = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                step(key, &at(left), &at(right));
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                step(&index.to_string(), left, right);
            }
        }
        (left, right) if left != right => fields.push(path.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_their_places() {
        let check = |left: Value, right: Value, expect: &[&str]| {
            assert_eq!(differing_fields(&left, &right), expect);
        };
        check(json!({"a": 1}), json!({"a": 1}), &[]);
        check(
            json!({"spec": {"replicas": 1, "gone": true}, "list": [{"a": 1}, {"a": 2}]}),
            json!({"spec": {"replicas": 2, "new/er": {"x": 1}}, "list": [{"a": 1}, {"a": 3}]}),
            &["/list/1/a", "/spec/gone", "/spec/new~1er", "/spec/replicas"],
        );
        check(json!({"list": [1]}), json!({"list": [1, 2]}), &["/list"]);
    }

    #[test]
    fn a_result_stands_beside_what_is_known_and_goes_again() {
        let dry_run = DryRunStatus {
            summary: "would be installed".to_owned(),
            hooks: vec![],
            stages: vec!["database: 1 object, 300s to become ready".to_owned()],
            objects: vec![],
        };
        let known = json!({"conditions": [{"type": "Ready"}]});
        let status = dry_run_status(&known, &dry_run, Some(3));
        assert_eq!(status["conditions"], known["conditions"]);
        assert_eq!(status["dryRun"]["summary"], "would be installed");
        assert_eq!(
            status["dryRun"]["stages"][0],
            "database: 1 object, 300s to become ready"
        );
        let mut later = known.clone();
        forget_dry_run(&status, &mut later);
        assert_eq!(later["dryRun"], Value::Null);
        let mut never = known.clone();
        forget_dry_run(&known, &mut never);
        assert_eq!(never, known);
    }
}
