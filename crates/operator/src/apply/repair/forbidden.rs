//! Fields that the server forbids beside a choice that the chart makes now, and has filled in for an earlier one.
//!
//! A Deployment whose strategy was `RollingUpdate` has parameters of it, by default or by an earlier revision. When the
//! chart says `Recreate`, an apply leaves them, as it takes away only what was applied, and the server refuses both
//! together. Helm's patches take them away, where the field is marked so in the Go types of Kubernetes. No server
//! publishes these marks, so the refusal is read instead: it names the fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Value, json};
use steersman_cluster::{RequestError, is_forbidden};
use steersman_model::FIELD_MANAGER;

/// A merge patch that makes the choices of `wanted` and takes away what `refusal` forbids beside them; `None` if
/// anything of that is wanted, not there, or in a list.
pub(in crate::apply) fn without_forbidden(
    wanted: &Value,
    live: &Value,
    refusal: &RequestError,
) -> Option<Value> {
    let mut patch = json!({});
    for field in forbidden(refusal) {
        let (parents, name) = field_of(field)?;
        let beside = parents
            .iter()
            .try_fold(wanted, |node, name| node.get(name))?
            .as_object()?;
        let there = parents.iter().try_fold(live, |node, name| node.get(name))?;
        if beside.contains_key(name) || there.get(name).is_none() {
            return None;
        }
        let mut node = &mut patch;
        for parent in parents {
            node = node.as_object_mut()?.entry(parent).or_insert_with(|| json!({}));
        }
        let node = node.as_object_mut()?;
        let choices = beside
            .iter()
            .filter(|(_, value)| !value.is_object() && !value.is_array());
        node.extend(choices.map(|(key, value)| (key.clone(), value.clone())));
        node.insert(name.to_owned(), Value::Null);
    }
    patch
        .as_object()
        .is_some_and(|patch| !patch.is_empty())
        .then_some(patch)
}

/// Whether a manager of others has set what `refusal` forbids.
pub(in crate::apply) fn is_of_others(entries: &[ManagedFieldsEntry], refusal: &RequestError) -> bool {
    let sets = |entry: &ManagedFieldsEntry, field: &str| {
        let set = entry.fields_v1.as_ref().map(|fields| &fields.0);
        let found = field
            .split('.')
            .try_fold(set?, |set, name| set.get(format!("f:{name}")));
        found.map(|_| ())
    };
    let mut others = entries
        .iter()
        .filter(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER));
    others.any(|entry| forbidden(refusal).any(|field| sets(entry, field).is_some()))
}

/// Takes the fields beside which something is forbidden out of `wanted`, and gives them, so that the server can be
/// asked about the rest.
pub(in crate::apply) fn set_aside(wanted: &mut Value, refusal: &RequestError) -> Vec<(String, Value)> {
    let mut aside = Vec::new();
    for field in forbidden(refusal) {
        let Some((parent, _)) = field.rsplit_once('.') else {
            continue;
        };
        let path = format!("/{}", parent.replace('.', "/"));
        if let Some(node) = wanted.pointer_mut(&path) {
            aside.push((path.clone(), node.take()));
            remove(wanted, parent);
        }
    }
    aside
}

fn remove(node: &mut Value, field: &str) {
    let Some((parents, name)) = field_of(field) else {
        return;
    };
    let node = parents.iter().try_fold(node, |node, name| node.get_mut(name));
    if let Some(map) = node.and_then(Value::as_object_mut) {
        map.remove(name);
    }
}

fn forbidden(refusal: &RequestError) -> impl Iterator<Item = &str> {
    let causes = refusal.causes.iter().filter(|cause| is_forbidden(cause));
    causes.map(|cause| cause.field.as_str())
}

/// The fields above a field, and its name; `None` where it is in a list.
fn field_of(field: &str) -> Option<(Vec<&str>, &str)> {
    if field.contains('[') {
        return None;
    }
    let mut parents: Vec<&str> = field.split('.').collect();
    let name = parents.pop()?;
    (!parents.is_empty()).then_some((parents, name))
}

#[cfg(test)]
mod tests {
    use steersman_cluster::Cause;

    use super::*;

    fn refusal(fields: &[&str]) -> RequestError {
        let cause = |field: &&str| Cause {
            reason: "FieldValueForbidden".to_owned(),
            field: (*field).to_owned(),
            immutable: false,
            manager: None,
            fault: None,
        };
        RequestError {
            code: 422,
            causes: fields.iter().map(cause).collect(),
            ..RequestError::local("invalid")
        }
    }

    const FIELD: &str = "spec.strategy.rollingUpdate";

    #[test]
    fn what_is_forbidden_beside_a_choice_goes_with_it() {
        let wanted = json!({"spec": {"replicas": 2, "strategy": {"type": "Recreate"}}});
        let live = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
        assert_eq!(
            without_forbidden(&wanted, &live, &refusal(&[FIELD])),
            Some(json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}))
        );
        let mut rest = wanted;
        let aside = set_aside(&mut rest, &refusal(&[FIELD]));
        assert_eq!(rest, json!({"spec": {"replicas": 2}}));
        assert_eq!(
            aside,
            [("/spec/strategy".to_owned(), json!({"type": "Recreate"}))]
        );
    }

    #[test]
    fn what_the_chart_wants_is_its_own_fault() {
        let both = json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {}}}});
        assert_eq!(without_forbidden(&both, &both, &refusal(&[FIELD])), None);
        let wanted = json!({"spec": {"strategy": {"type": "Recreate"}}});
        assert_eq!(without_forbidden(&wanted, &wanted, &refusal(&[FIELD])), None);
        assert_eq!(without_forbidden(&wanted, &both, &refusal(&[])), None);
        assert_eq!(
            without_forbidden(&wanted, &both, &refusal(&[FIELD, "spec.list[0].a"])),
            None
        );
    }

    #[test]
    fn who_has_set_it_is_known() {
        let entry = |manager: &str| {
            let fields = json!({"f:spec": {"f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}}});
            serde_json::from_value(json!({"manager": manager, "fieldsV1": fields})).unwrap()
        };
        assert!(is_of_others(&[entry("kubectl")], &refusal(&[FIELD])));
        assert!(!is_of_others(&[entry(FIELD_MANAGER)], &refusal(&[FIELD])));
        assert!(!is_of_others(
            &[entry("kubectl")],
            &refusal(&["spec.strategy.other"])
        ));
    }
}
