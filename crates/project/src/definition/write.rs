//! From what is known of a value to a structural schema.
//!
//! The rules for such schemas are those of `apiextensions.k8s.io/v1`: each value has one type, or `int-or-string`, or is
//! preserved whatever it is; a map has either properties or values that are all alike; what else limits a value stands
//! beside the type or, without types, in `allOf`, `anyOf` and `not`.

use serde_json::{Map, Value, json};

use super::node::{Limits, Node, Rest, Types};
use super::notice::Notices;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// How long a default is that is shown in a description.
const SHOWN_DEFAULT: usize = 60;

/// The schema of a value. With `defaults`, scalar defaults become those of the schema.
pub(super) fn write(node: &Node, defaults: bool, notices: &mut Notices) -> Value {
    let mut schema = Map::new();
    if let Some(text) = description(node, defaults) {
        schema.insert("description".to_owned(), text.into());
    }
    let type_name = type_name(node.types);
    match type_name {
        Some(name) if name == INT_OR_STRING => put(&mut schema, INT_OR_STRING, true),
        Some(name) => put(&mut schema, "type", name),
        None => put(&mut schema, PRESERVE, true),
    }
    // The server drops a null where it is not allowed, also where any value is preserved.
    let is_nullable = node.types.contains(Types::NULL);
    if is_nullable {
        put(&mut schema, "nullable", true);
    }
    match type_name {
        Some("object") => write_map(&mut schema, node, defaults, notices),
        Some("array") => {
            let items = node.items.as_deref().cloned().unwrap_or_default();
            let items = notices.inside(|notices| write(&items, defaults, notices));
            put(&mut schema, "items", items);
        }
        _ => {}
    }
    let mut limits = node.limits.clone();
    let mut further = Vec::new();
    if is_nullable {
        // No null is ever one of the values of an `enum`; what stands in `allOf` is not asked about a null.
        let choice = limits.choice.take();
        further.extend(choice.map(|choice| Limits {
            choice: Some(choice),
            ..Limits::default()
        }));
    }
    write_limits(&mut schema, &limits, node.types);
    write_logic(&mut schema, node, &further);
    if let (true, Some(default)) = (defaults && type_name.is_some(), shown_default(node)) {
        put(&mut schema, "default", default.clone());
    }
    Value::Object(schema)
}

fn put(schema: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    schema.insert(key.to_owned(), value.into());
}

/// The one type of a value, if there is one.
fn type_name(types: Types) -> Option<&'static str> {
    let types = types.without(Types::NULL);
    [
        (Types::OBJECT, "object"),
        (Types::ARRAY, "array"),
        (Types::STRING, "string"),
        (Types::BOOLEAN, "boolean"),
        (Types::INTEGER, "integer"),
        (Types::NUMBER, "number"),
        (Types::FRACTION, "number"),
        (Types::INTEGER_OR_STRING, INT_OR_STRING),
    ]
    .into_iter()
    .find_map(|(known, name)| (known == types).then_some(name))
}

fn write_map(schema: &mut Map<String, Value>, node: &Node, defaults: bool, notices: &mut Notices) {
    let mut properties = Map::new();
    for (key, property) in &node.properties {
        if property.types == Types::NONE {
            continue;
        }
        let property = notices.at(key, |notices| write(property, defaults, notices));
        properties.insert(key.clone(), property);
    }
    match &node.rest {
        Rest::Closed => {}
        Rest::Each(each) if properties.is_empty() => {
            let each = notices.inside(|notices| write(each, defaults, notices));
            put(schema, "additionalProperties", each);
        }
        Rest::Each(_) => {
            notices.add(
                "a definition has no types for keys beside its properties: their values are not checked",
            );
            put(schema, PRESERVE, true);
        }
        Rest::Open => put(schema, PRESERVE, true),
    }
    if !properties.is_empty() {
        put(schema, "properties", properties);
    }
    if !node.required.is_empty() {
        put(
            schema,
            "required",
            node.required.iter().cloned().collect::<Vec<_>>(),
        );
    }
}

fn write_limits(schema: &mut Map<String, Value>, limits: &Limits, types: Types) {
    if let Some(choice) = &limits.choice {
        let choice: Vec<Value> = (choice.iter())
            .filter(|value| types.contains(Types::of(value)))
            .cloned()
            .collect();
        if !choice.is_empty() {
            put(schema, "enum", choice);
        }
    }
    if types.meets(Types::NUMBER) {
        for (key, exclusive, bound) in [
            ("minimum", "exclusiveMinimum", &limits.minimum),
            ("maximum", "exclusiveMaximum", &limits.maximum),
        ] {
            if let Some(bound) = bound {
                put(schema, key, Value::Number(bound.number.clone()));
                if bound.exclusive {
                    put(schema, exclusive, true);
                }
            }
        }
        if let Some(number) = &limits.multiple_of {
            put(schema, "multipleOf", Value::Number(number.clone()));
        }
    }
    let mut counts = Vec::new();
    if types.meets(Types::STRING) {
        counts.extend([("minLength", limits.min_length), ("maxLength", limits.max_length)]);
        if let Some(pattern) = &limits.pattern {
            put(schema, "pattern", pattern.clone());
        }
    }
    if types.meets(Types::ARRAY) {
        counts.extend([("minItems", limits.min_items), ("maxItems", limits.max_items)]);
    }
    if types.meets(Types::OBJECT) {
        counts.push(("maxProperties", limits.max_properties));
    }
    for (key, count) in counts {
        if let Some(count) = count {
            put(schema, key, count);
        }
    }
    if let Some(format) = &limits.format {
        let is_of_number = ["int32", "int64", "float", "double"].contains(&format.as_str());
        let expected = if is_of_number {
            Types::NUMBER
        } else {
            Types::STRING
        };
        if expected.contains(types.without(Types::NULL)) {
            put(schema, "format", format.clone());
        }
    }
}

fn write_logic(schema: &mut Map<String, Value>, node: &Node, further: &[Limits]) {
    // The type of a value is said at its place alone.
    let written = |limits: &Limits| {
        let mut map = Map::new();
        write_limits(&mut map, limits, Types::ANY.without(Types::NULL));
        Value::Object(map)
    };
    let mut all: Vec<Value> = further.iter().map(written).collect();
    for group in &node.any_of {
        let group: Vec<Value> = group.iter().map(written).collect();
        match group.as_slice() {
            [one] => all.push(one.clone()),
            _ => all.push(json!({ "anyOf": group })),
        }
    }
    all.extend(node.not.iter().map(|limits| json!({ "not": written(limits) })));
    match all.as_slice() {
        [] => {}
        [Value::Object(one)]
            if further.is_empty()
                && !one.keys().any(|key| schema.contains_key(key))
                && !schema.contains_key(INT_OR_STRING) =>
        {
            schema.extend(one.clone());
        }
        _ => put(schema, "allOf", all),
    }
}

fn shown_default(node: &Node) -> Option<&Value> {
    node.default.as_ref().filter(|default| match default {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        _ => false,
    })
}

/// The description, with the default in it where the schema does not have it.
fn description(node: &Node, defaults: bool) -> Option<String> {
    let is_shown = !defaults || type_name(node.types).is_none();
    let default = shown_default(node)
        .filter(|_| is_shown)
        .map(|default| match default {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
    let default = default.filter(|text| text.len() <= SHOWN_DEFAULT && !text.contains('\n'));
    match (&node.description, default) {
        (Some(text), Some(default)) => Some(format!("{text} (default: {default})")),
        (None, Some(default)) => Some(format!("Default: {default}")),
        (text, None) => text.clone(),
    }
}
