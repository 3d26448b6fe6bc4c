//! Values: reading, merging and coalescing them.

mod coalesce;
mod convert;
mod defaults;
pub mod set;

use serde_json::Value;
use steersman_yaml::{Content, Node};

pub(crate) use coalesce::{Tree, coalesce, coalesce_tables, merge, merge_tables};
pub use convert::to_value;
pub(crate) use convert::{from_map, to_frozen, to_map};
pub(crate) use defaults::Defaults;

/// The values of a chart or user.
///
/// An integer among them reaches templates as Go's `int64`, as from a custom resource or
/// `--set`; a floating-point number as `float64`, which is what Helm makes of every number in a
/// values file.
///
/// ```
/// use steersman_chart::values;
///
/// let mut values = values::read(b"image: {tag: '1.26'}\nreplicas: 2")?;
/// values::set::set(&mut values, "image.tag=1.27,debug=true")?;
/// values::overlay(&mut values, values::read(b"replicas: 3")?);
/// assert_eq!(serde_json::to_string(&values).unwrap(), r#"{"debug":true,"image":{"tag":"1.27"},"replicas":3.0}"#);
/// # Ok::<(), String>(())
/// ```
pub type Values = serde_json::Map<String, Value>;

/// Reads a values file: YAML documents, of which later ones override earlier ones. All numbers
/// become floating-point, as Helm reads them.
///
/// # Errors
/// The text is not YAML, or not mappings. The message is Helm's.
pub fn read(content: &[u8]) -> Result<Values, String> {
    let mut values = Values::new();
    for document in documents(content)? {
        let node = steersman_yaml::parse_bytes(document)
            .map_err(|error| format!("cannot unmarshal yaml document: {}", error.converting()))?;
        let document = match node.value {
            Content::Null => continue,
            Content::Mapping(_) => with_float_numbers(node)?,
            _ => return Err(not_a_map(&node)),
        };
        if let Value::Object(document) = document {
            overlay(&mut values, document);
        }
    }
    Ok(values)
}

/// Lays `over` over `values`: maps are merged, anything else is replaced.
pub fn overlay(values: &mut Values, over: Values) {
    for (key, value) in over {
        match (values.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => overlay(below, above),
            (_, value) => {
                values.insert(key, value);
            }
        }
    }
}

/// A node as Go's `encoding/json` decodes it into an interface.
pub(crate) fn with_float_numbers(node: Node) -> Result<Value, String> {
    let mut value = node
        .into_json()
        .map_err(|error| format!("cannot unmarshal yaml document: {}", error.converting()))?;
    make_numbers_float(&mut value);
    Ok(value)
}

/// Turns every integer into a floating-point number.
pub(crate) fn make_numbers_float(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_numbers_float),
        Value::Object(entries) => entries.values_mut().for_each(make_numbers_float),
        _ => {}
    }
}

fn not_a_map(node: &Node) -> String {
    let found = match &node.value {
        Content::Sequence(_) => "array",
        Content::String(_) => "string",
        Content::Bool(_) => "bool",
        _ => "number",
    };
    format!(
        "cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal \
         {found} into Go value of type map[string]interface {{}}"
    )
}

/// Splits a file at its `---` lines.
pub(crate) fn documents(content: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut documents = Vec::new();
    let (mut start, mut place) = (0, 0);
    for line in content.split_inclusive(|&byte| byte == b'\n') {
        let next = place + line.len();
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = rest.trim_ascii();
            if !rest.is_empty() && !rest.starts_with(b"#") {
                return Err(format!(
                    "error reading yaml document: invalid Yaml document separator: {}",
                    String::from_utf8_lossy(rest)
                ));
            }
            documents.extend(content.get(start..place));
            start = next;
        }
        place = next;
    }
    documents.extend(content.get(start..));
    documents.retain(|document| !document.is_empty());
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let values = read(text.as_bytes()).map(|values| Value::Object(values).to_string());
        assert_eq!(values.as_deref().map_err(String::as_str), expect);
    }

    #[test]
    fn all_numbers_become_floats() {
        check("a: 1\nb: [2, 0x10]\n", Ok(r#"{"a":1.0,"b":[2.0,16.0]}"#));
    }

    #[test]
    fn later_documents_override_earlier_ones() {
        check(
            "a: {b: x, c: w}\n---\na: {b: z}\n",
            Ok(r#"{"a":{"b":"z","c":"w"}}"#),
        );
        check("---\na: x\n--- # two\nb: w\n", Ok(r#"{"a":"x","b":"w"}"#));
        check(
            "a: x\n--- b\n",
            Err("error reading yaml document: invalid Yaml document separator: b"),
        );
    }

    #[test]
    fn only_mappings_are_values() {
        check("", Ok("{}"));
        check("null", Ok("{}"));
        check(
            "- a\n",
            Err(
                "cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        );
    }
}
