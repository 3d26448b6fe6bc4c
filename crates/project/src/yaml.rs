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

/// A text as a scalar of YAML: bare where it can be nothing else.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '/' | ':' | '_');
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let is_word = !matches!(
        text.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null"
    );
    if starts_well && is_word && text.chars().all(is_plain) && !text.ends_with(':') {
        return text.to_owned();
    }
    Value::from(text).to_string()
}
