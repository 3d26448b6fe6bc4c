//! Objects as they are compared.

use serde_json::Value;

/// An object without what changes although nothing has changed.
pub(super) fn comparable(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            for noise in [
                "managedFields",
                "resourceVersion",
                "generation",
                "uid",
                "creationTimestamp",
                "selfLink",
            ] {
                metadata.remove(noise);
            }
        }
    }
    object
}
