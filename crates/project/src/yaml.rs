//! YAML that people read.

use serde_json::Value;
use serde_saphyr::{SerializerOptions, ser_options};

/// A value as YAML, with a line break at its end. The same value gives the same text.
pub fn to_yaml(value: &Value) -> String {
    let options: SerializerOptions = ser_options! {
        folded_wrap_chars: 116,
    };
    serde_saphyr::to_string_with_options(value, options).unwrap_or_default()
}
