//! Making a definition small enough.

use serde_json::{Map, Value, json};

use super::notice::Notices;

/// How large a definition may be as JSON. `kubectl apply` writes it into an annotation, for all of which the API server
/// has 256 KiB.
const MAX_BYTES: usize = 250_000;

/// How long descriptions are where there is no room for more.
const SHORT: usize = 120;

/// How deep a schema is looked into at most.
const DEEPEST: usize = 10;

/// Makes the schema of a spec smaller until the whole definition has room: descriptions first, then depth.
pub(super) fn fit(schema: &mut Value, around: usize, notices: &mut Notices) {
    let room = MAX_BYTES.saturating_sub(around);
    let fits = |schema: &Value| size(schema) <= room;
    if fits(schema) {
        return;
    }
    let whole = size(schema) + around;
    walk(schema, 0, &mut |schema, _| shorten(schema));
    let mut what = "descriptions are shortened".to_owned();
    for depth in (1..DEEPEST).rev() {
        if fits(schema) {
            break;
        }
        walk(schema, 0, &mut |schema, at| {
            if at > depth {
                schema.remove("description");
            }
        });
        what = format!("descriptions end at a depth of {depth}");
    }
    for depth in (1..DEEPEST).rev() {
        if fits(schema) {
            break;
        }
        walk(schema, 0, &mut |schema, at| {
            if at >= depth {
                cut(schema);
            }
        });
        what = format!("there are no descriptions, and what is below a depth of {depth} is not checked");
    }
    notices.add(format!(
        "the definition would be {} KiB, more than `kubectl apply` can handle: {what}",
        whole / 1024
    ));
}

pub(super) fn size(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// Does `work` on a schema and on those in it, with the depth of each.
fn walk(schema: &mut Value, depth: usize, work: &mut impl FnMut(&mut Map<String, Value>, usize)) {
    let Value::Object(map) = schema else { return };
    work(map, depth);
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|property| walk(property, depth + 1, work));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            walk(inner, depth + 1, work);
        }
    }
}

fn shorten(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description")
        && let Some((end, _)) = text.char_indices().nth(SHORT)
    {
        let end = text.get(..end).and_then(|start| start.rfind(' ')).unwrap_or(end);
        text.truncate(end);
        text.push('…');
    }
}

/// Leaves of a map no more than that it is one.
fn cut(schema: &mut Map<String, Value>) {
    if schema.remove("properties").is_some() {
        schema.remove("required");
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
}
