//! What would become of an object.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_model::{ClaimChange, FIELD_MANAGER, ObjectId, chain};

use crate::apply::{DryRunApplied, DryRunDefined};
use crate::reconcile::comparable::comparable;
use crate::status::differing_fields;

/// What would become of an object.
///
/// ```
/// use std::collections::BTreeSet;
///
/// use serde_json::json;
/// use steersman_model::ObjectId;
/// use steersman_operator::reconcile::{ObjectDryRun, ObjectResult};
///
/// let deployment = |replicas: u32| json!({"kind": "Deployment", "spec": {"replicas": replicas}});
/// let dry_run = ObjectDryRun {
///     id: ObjectId {
///         group: "apps".to_owned(),
///         kind: "Deployment".to_owned(),
///         namespace: Some("shop".to_owned()),
///         name: "web".to_owned(),
///     },
///     live: Some(deployment(1)),
///     managers: BTreeSet::from(["kubectl-edit".to_owned()]),
///     result: ObjectResult::Applied(deployment(2)),
///     dropped: Vec::new(),
///     claims: Vec::new(),
/// };
/// assert!(dry_run.differs());
/// assert!(!ObjectDryRun { result: ObjectResult::Kept, ..dry_run }.differs());
/// ```
#[derive(Debug)]
pub struct ObjectDryRun {
    /// The object that the plan names.
    pub id: ObjectId,
    /// The object as it is in the cluster, without what only the server counts; `None` where it is not there.
    pub live: Option<Value>,
    /// Who else owns fields of it, as `metadata.managedFields` has it.
    pub managers: BTreeSet<String>,
    /// What the server makes of the plan.
    pub result: ObjectResult,
    /// JSON pointers to the values that would go with the fields of its former manager.
    pub dropped: Vec<String>,
    /// What would become of its claims, where it is a `StatefulSet`.
    pub claims: Vec<ClaimChange>,
}

/// What the server makes of what is planned for an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectResult {
    /// It would be this.
    Applied(Value),
    /// It can't become this in place, and would be deleted and created again.
    Recreated(Value),
    /// It would be deleted.
    Deleted,
    /// The release no longer has it, and it would stay, as `helm.sh/resource-policy: keep` asks for.
    Kept,
    /// It would not be applied, for this reason.
    Refused(String),
}

impl ObjectDryRun {
    /// Whether carrying the plan out would change anything of it.
    pub fn differs(&self) -> bool {
        match (&self.result, &self.live) {
            (ObjectResult::Applied(value), Some(live)) => value != live,
            (ObjectResult::Kept, _) => false,
            (ObjectResult::Applied(_), None)
            | (ObjectResult::Recreated(_) | ObjectResult::Deleted | ObjectResult::Refused(_), _) => true,
        }
    }

    pub(super) fn of_tried(tried: DryRunApplied) -> Self {
        let result = match tried.result {
            Ok(value) if tried.recreated => ObjectResult::Recreated(comparable(value)),
            Ok(value) => ObjectResult::Applied(comparable(value)),
            Err(error) => ObjectResult::Refused(chain(&error)),
        };
        let dropped = match (&result, tried.without_takeover.map(comparable)) {
            (ObjectResult::Applied(after), Some(before)) => differing_fields(&before, after),
            _ => Vec::new(),
        };
        Self {
            id: tried.id,
            managers: managers(tried.live.as_ref()),
            live: tried.live.map(comparable),
            result,
            dropped,
            claims: tried.claims,
        }
    }

    /// An object that the release no longer has: it would be pruned, or kept as its newest revision or the object itself asks for.
    pub(super) fn of_prune_candidate(id: ObjectId, live: Value, kept: bool) -> Self {
        Self {
            result: if kept {
                ObjectResult::Kept
            } else {
                ObjectResult::Deleted
            },
            managers: managers(Some(&live)),
            live: Some(comparable(live)),
            dropped: Vec::new(),
            claims: Vec::new(),
            id,
        }
    }

    /// A definition as it is and as it would be.
    pub(super) fn of_definition(id: ObjectId, tried: DryRunDefined) -> Self {
        Self {
            id,
            live: tried.live.map(comparable),
            managers: BTreeSet::new(),
            result: match tried.result {
                Ok(value) => ObjectResult::Applied(comparable(value)),
                Err(error) => ObjectResult::Refused(chain(&error)),
            },
            dropped: Vec::new(),
            claims: Vec::new(),
        }
    }
}

/// The managers but ourselves that own fields of an object, the status apart.
fn managers(live: Option<&Value>) -> BTreeSet<String> {
    let entries = live.and_then(|live| live.pointer("/metadata/managedFields")?.as_array());
    let of_object = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("subresource").is_none());
    let names = of_object.filter_map(|entry| entry.get("manager")?.as_str());
    names
        .filter(|name| *name != FIELD_MANAGER)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dry_run(live: Option<Value>, result: ObjectResult) -> ObjectDryRun {
        ObjectDryRun {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: None,
                name: "a".to_owned(),
            },
            managers: BTreeSet::new(),
            live: live.map(comparable),
            result,
            dropped: Vec::new(),
            claims: Vec::new(),
        }
    }

    #[test]
    fn what_the_server_counts_is_no_difference() {
        let live = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 3, "uid": "u"},
            "data": {"a": "1"}, "status": {"x": 1}});
        let same = comparable(json!({"metadata": {"name": "a", "resourceVersion": "2"}, "data": {"a": "1"}}));
        let other = comparable(json!({"metadata": {"name": "a"}, "data": {"a": "2"}}));
        for (live, result, expect) in [
            (Some(&live), ObjectResult::Applied(same.clone()), false),
            (Some(&live), ObjectResult::Applied(other), true),
            (None, ObjectResult::Applied(same), true),
            (Some(&live), ObjectResult::Deleted, true),
            (Some(&live), ObjectResult::Kept, false),
            (None, ObjectResult::Refused("no".to_owned()), true),
        ] {
            let object = dry_run(live.cloned(), result);
            assert_eq!(object.differs(), expect, "{object:?}");
        }
    }
}
