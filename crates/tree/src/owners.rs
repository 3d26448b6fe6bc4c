//! Who owns which fields of an object, as `metadata.managedFields` has it. Pure.

use kube::api::DynamicObject;
use serde_json::Value;

use crate::values::cut;

/// So much of a name is told, in bytes.
const LONGEST: usize = 256;
/// So many fields of a manager are told.
const MOST: usize = 500;

/// What one manager has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerView {
    /// What it calls itself.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// When it has written last, in RFC 3339; empty where that was not noted.
    pub time: String,
    /// Such as `.spec.replicas` or `.spec.containers[name="web"].image`.
    pub fields: Vec<String>,
    /// How many others there are.
    pub more: usize,
}

/// The managers of an object, in its order.
pub fn owners(object: &DynamicObject) -> Vec<OwnerView> {
    let entries = object.metadata.managed_fields.iter().flatten();
    let owners = entries.map(|entry| {
        let mut fields = Vec::new();
        let mut more = 0;
        if let Some(owned) = &entry.fields_v1 {
            gather("", &owned.0, (&mut fields, &mut more));
        }
        OwnerView {
            manager: entry.manager.clone().unwrap_or_default(),
            operation: entry.operation.clone().unwrap_or_default(),
            subresource: entry.subresource.clone().unwrap_or_default(),
            time: entry
                .time
                .as_ref()
                .map(|time| time.0.to_string())
                .unwrap_or_default(),
            fields,
            more,
        }
    });
    owners.collect()
}

/// The paths of the leaves, of the form that `FieldsV1` has: `f:` a field, `k:` an item by its keys, `v:` one by its value, and `.` that
/// the map or list itself is owned.
///
/// No more are told than there is room for: the others are counted.
fn gather(path: &str, owned: &Value, (fields, more): (&mut Vec<String>, &mut usize)) {
    let inner = owned.as_object().into_iter().flatten();
    let mut is_leaf = true;
    for (key, below) in inner {
        let step = match key.split_once(':') {
            Some(("f", name)) => format!(".{}", start(name)),
            Some(("k", keys)) => format!("[{}]", item(start(keys))),
            Some(("v" | "i", value)) => format!("[{}]", start(value)),
            _ => continue,
        };
        is_leaf = false;
        let path = cut(format!("{path}{step}"));
        gather(&path, below, (&mut *fields, &mut *more));
    }
    if is_leaf && !path.is_empty() {
        if fields.len() < MOST {
            fields.push(path.to_owned());
        } else {
            *more += 1;
        }
    }
}

/// The beginning of a name.
fn start(name: &str) -> &str {
    name.get(..name.floor_char_boundary(LONGEST)).unwrap_or_default()
}

/// `{"containerPort":80,"protocol":"TCP"}` as `containerPort=80,protocol="TCP"`.
fn item(keys: &str) -> String {
    match serde_json::from_str::<Value>(keys) {
        Ok(Value::Object(keys)) => {
            let keys = keys.iter().map(|(key, value)| format!("{key}={value}"));
            keys.collect::<Vec<_>>().join(",")
        }
        _ => keys.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_told_by_their_paths() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "managedFields": [
            {"manager": "steersman", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"a/b\"": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}}}}}},
            {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "subresource": "status"}]}});
        let object = serde_json::from_value(object).unwrap();
        let told = owners(&object);
        assert_eq!(
            told[0].fields,
            [
                ".metadata.finalizers[\"a/b\"]",
                ".spec.containers[name=\"web\"].image"
            ]
        );
        assert_eq!(
            (told[0].manager.as_str(), told[0].time.as_str()),
            ("steersman", "2026-01-02T03:04:05Z")
        );
        assert_eq!(
            (told[1].subresource.as_str(), told[1].fields.len()),
            ("status", 0)
        );
    }
}
