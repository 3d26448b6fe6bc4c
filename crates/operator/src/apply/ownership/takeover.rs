//! Taking over the fields of whoever had an object before.
//!
//! Helm 3 and helm-operator write objects by update, Helm 4 applies them as its own manager. The
//! server keeps their fields as theirs, so what a later revision of ours drops would stay. Before
//! our first apply their entries in `managedFields` become part of ours.
//!
//! The rule of how entries are joined is that of client-go's `csaupgrade`. An entry is
//! Helm's if it owns the annotation with the release's name, which every Helm writes and nobody else has
//! a reason to. The name of its manager says less, as Helm takes that of its program, which anybody may
//! rename. Where Helm has written an object of ours, its update owns no more than what it changed, so
//! the names of former managers are needed as well.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;

/// Where an entry of `managedFields` has the annotation with the release's name.
const RELEASE_NAME_FIELD: [&str; 3] = ["f:metadata", "f:annotations", "f:meta.helm.sh/release-name"];

/// Makes the fields of the object's former manager ours, if it had one of Helm's kind or one that is
/// called as in `former_managers`.
///
/// # Errors
/// The object was written meanwhile (a conflict), or the server refuses the request.
pub async fn take_over_fields(
    api: &Api<DynamicObject>,
    name: &str,
    metadata: &ObjectMeta,
    former_managers: &[String],
) -> Result<(), RequestError> {
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let Some(taken_over) = TakenOver::of(entries, former_managers) else {
        return Ok(());
    };
    let patch = json!({ "metadata": {
        "uid": metadata.uid, "resourceVersion": metadata.resource_version, "managedFields": taken_over.entries(),
    }});
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch_metadata(name, &parameters, &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// Whose entries of an object's `managedFields` are to be ours, and what we own then.
#[derive(Debug)]
pub(in crate::apply) struct TakenOver<'a> {
    before: &'a [ManagedFieldsEntry],
    former_managers: Vec<&'a str>,
    ours: ManagedFieldsEntry,
}

impl<'a> TakenOver<'a> {
    /// Joins the entries of Helm's kind and of `former_managers` into ours; `None` when there are none.
    pub(in crate::apply) fn of(
        before: &'a [ManagedFieldsEntry],
        former_managers: &'a [String],
    ) -> Option<Self> {
        let writers = before
            .iter()
            .filter(|entry| is_of_object(entry) && !is_ours(entry) && has_release_name(entry));
        let former_managers: Vec<&str> = writers
            .filter_map(|entry| entry.manager.as_deref())
            .chain(former_managers.iter().map(String::as_str))
            .collect();
        let is_former = |entry: &&ManagedFieldsEntry| is_former(entry, &former_managers);
        // The server lists the latest first.
        let latest = before.iter().find(is_former)?;
        let base = before.iter().find(|entry| is_ours(entry)).unwrap_or(latest);
        let mut fields = Value::Object(Map::new());
        for entry in before.iter().filter(|entry| is_ours(entry) || is_former(entry)) {
            // Fields of another version of the API have other names.
            if entry.api_version == base.api_version
                && let Some(set) = &entry.fields_v1
            {
                join(&mut fields, &set.0);
            }
        }
        let ours = ManagedFieldsEntry {
            manager: Some(FIELD_MANAGER.to_owned()),
            operation: Some("Apply".to_owned()),
            fields_v1: Some(FieldsV1(fields)),
            ..base.clone()
        };
        Some(Self {
            before,
            former_managers,
            ours,
        })
    }

    /// Whether an entry is one that is to be ours.
    pub(in crate::apply) fn is_former(&self, entry: &ManagedFieldsEntry) -> bool {
        is_former(entry, &self.former_managers)
    }

    /// Whether entries of a manager of this name are to be ours.
    pub(in crate::apply) fn is_former_manager(&self, manager: &str) -> bool {
        self.former_managers.contains(&manager)
    }

    /// What we own then.
    pub(in crate::apply) fn fields(&self) -> &Value {
        self.ours.fields_v1.as_ref().map_or(&Value::Null, |set| &set.0)
    }

    /// `managedFields` after the takeover: our entry first, then those of managers that stay.
    fn entries(&self) -> Vec<ManagedFieldsEntry> {
        let others = self
            .before
            .iter()
            .filter(|entry| !is_ours(entry) && !self.is_former(entry));
        std::iter::once(&self.ours).chain(others).cloned().collect()
    }
}

fn is_former(entry: &ManagedFieldsEntry, former_managers: &[&str]) -> bool {
    let manager = entry.manager.as_deref();
    is_of_object(entry)
        && !is_ours(entry)
        && manager.is_some_and(|manager| former_managers.contains(&manager))
}

fn is_of_object(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref().unwrap_or_default().is_empty()
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    is_of_object(entry)
        && entry.manager.as_deref() == Some(FIELD_MANAGER)
        && entry.operation.as_deref() == Some("Apply")
}

fn has_release_name(entry: &ManagedFieldsEntry) -> bool {
    let mut set = entry.fields_v1.as_ref().map(|fields| &fields.0);
    for key in RELEASE_NAME_FIELD {
        set = set.and_then(|set| set.get(key));
    }
    set.is_some()
}

/// The union of two sets of fields. An empty map is a field itself; beside fields inside of it
/// the key `.` says the same.
fn join(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else {
        return;
    };
    for (key, theirs) in from {
        let Some(own) = into.get_mut(key) else {
            into.insert(key.clone(), theirs.clone());
            continue;
        };
        let is_leaf = |set: &Value| set.as_object().is_none_or(Map::is_empty);
        if is_leaf(own) != is_leaf(theirs) {
            join(own, &json!({ ".": {} }));
        }
        join(own, theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    /// What becomes of these entries: manager, operation and fields of each.
    fn check(entries: Value, former_managers: &[&str], expect: Option<Value>) {
        let former_managers: Vec<String> = former_managers.iter().map(|&name| name.to_owned()).collect();
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(entries).unwrap();
        let short = TakenOver::of(&entries, &former_managers).map(|taken_over| {
            let short = taken_over.entries().into_iter().map(|entry| {
                json!([
                    entry.manager,
                    entry.operation,
                    entry.fields_v1.map(|fields| fields.0)
                ])
            });
            Value::Array(short.collect())
        });
        assert_eq!(short, expect);
    }

    fn helms(data: Value) -> Value {
        json!({"f:metadata": {"f:annotations": {".": {}, "f:meta.helm.sh/release-name": {}}}, "f:data": data})
    }

    #[test]
    fn the_fields_of_whoever_wrote_helms_marks_become_ours() {
        for operation in ["Update", "Apply"] {
            check(
                json!([
                    entry("kubectl-edit", "Update", "v1", json!({"f:data": {"f:b": {}}})),
                    entry("my-operator", operation, "v1", helms(json!({"f:a": {}}))),
                ]),
                &[],
                Some(json!([
                    ["steersman", "Apply", helms(json!({"f:a": {}}))],
                    ["kubectl-edit", "Update", {"f:data": {"f:b": {}}}],
                ])),
            );
        }
    }

    #[test]
    fn they_join_what_is_ours_and_those_of_other_versions_go() {
        let both = json!([
            entry("steersman", "Apply", "v1", json!({"f:data": {}})),
            entry("helm", "Update", "v1", helms(json!({"f:a": {}}))),
            entry("helm", "Update", "v1beta1", json!({"f:old": {}})),
        ]);
        let joined = json!([["steersman", "Apply", helms(json!({".": {}, "f:a": {}}))]]);
        check(both, &[], Some(joined));
    }

    #[test]
    fn what_a_former_manager_has_changed_in_ours_becomes_ours() {
        check(
            json!([
                entry("steersman", "Apply", "v1", json!({"f:data": {"f:a": {}}})),
                entry("manager", "Update", "v1", json!({"f:data": {"f:b": {}}})),
            ]),
            &["manager"],
            Some(json!([["steersman", "Apply", {"f:data": {"f:a": {}, "f:b": {}}}]])),
        );
    }

    #[test]
    fn nobody_elses_fields_are_touched() {
        check(
            json!([
                entry("steersman", "Apply", "v1", helms(json!({}))),
                entry("kubectl", "Update", "v1", json!({"f:data": {}})),
            ]),
            &["helm"],
            None,
        );
        check(json!([]), &["helm"], None);
        let status = json!([{"manager": "helm", "operation": "Update", "apiVersion": "v1", "subresource": "status",
            "fieldsType": "FieldsV1", "fieldsV1": helms(json!({}))}]);
        check(status, &["helm"], None);
    }
}
