//! YAML that people read.

use serde_json::Value;
use serde_saphyr::{SerializerOptions, ser_options};

/// A value as YAML, with a line break at its end. The same value gives the same text.
///
/// ```
/// let text = steersman_project::yaml::to_yaml(&serde_json::json!({"kind": "Web", "spec": {"replicas": 2}}));
/// assert_eq!(text, "kind: Web\nspec:\n  replicas: 2\n");
/// ```
pub fn to_yaml(value: &Value) -> String {
    let options: SerializerOptions = ser_options! {
        folded_wrap_chars: 116,
    };
    serde_saphyr::to_string_with_options(value, options).unwrap_or_default()
}
