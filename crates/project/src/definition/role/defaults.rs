//! From a role's defaults to what is known of its variables, and to the spec of a sample.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use steersman_yaml::{Content, Node as Yaml, Style};

use super::{Variables, has_template, note_lost};
use crate::definition::infer::infer;
use crate::definition::node::{Node, Rest, Types};
use crate::definition::notice::Notices;

/// What defaults tell, by the keys that become the variables.
#[derive(Default)]
pub(super) struct Defaults {
    pub(super) node: Node,
    /// Templates stay, as texts.
    pub(super) values: Map<String, Value>,
}

pub(super) fn read(text: &str, variables: &Variables<'_>, notices: &mut Notices) -> Defaults {
    let values = match steersman_yaml::to_json(text) {
        Ok(Value::Object(values)) => values,
        Ok(_) => Map::new(),
        Err(error) => {
            notices.add(format!(
                "defaults/main.yml can't be read and says nothing: {error}"
            ));
            Map::new()
        }
    };
    let whole = Value::Object(values);
    let mut node = if whole == Value::Object(Map::new()) {
        Node::of(Types::OBJECT)
    } else {
        infer(text.as_bytes(), &BTreeSet::new(), notices)
    };
    node.properties.retain(|variable, _| !variables.is_own(variable));
    renamed_node(&mut node, &whole, variables, notices);
    let values = match renamed(&whole, variables, true) {
        Value::Object(values) => values,
        _ => Map::new(),
    };
    Defaults { node, values }
}

/// Gives properties the keys that become them. Of what is a template nobody knows the type.
fn renamed_node(node: &mut Node, value: &Value, variables: &Variables<'_>, notices: &mut Notices) {
    let mut lost = Vec::new();
    let mut properties = BTreeMap::new();
    for (variable, mut property) in std::mem::take(&mut node.properties) {
        let Some(key) = variables.keys.of(&variable) else {
            lost.push(variable);
            continue;
        };
        let value = value.get(&variable).unwrap_or(&Value::Null);
        if !value.is_object() && has_template(value) {
            property = property.loosened();
        }
        notices.at(&key, |notices| {
            renamed_node(&mut property, value, variables, notices);
        });
        properties.insert(key, property);
    }
    node.properties = properties;
    let required = std::mem::take(&mut node.required);
    node.required = required
        .iter()
        .filter_map(|variable| variables.keys.of(variable))
        .collect();
    if !lost.is_empty() && node.rest == Rest::Closed {
        node.rest = Rest::Open;
    }
    let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
    note_lost(&lost, notices);
}

/// A value with the keys that become its variables, without those that nothing becomes. `is_top` leaves out what is not for
/// a spec to say.
fn renamed(value: &Value, variables: &Variables<'_>, is_top: bool) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(variable, _)| !is_top || !variables.is_own(variable))
            .filter_map(|(variable, value)| {
                let key = variables.keys.of(variable)?;
                Some((key, renamed(value, variables, false)))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| renamed(item, variables, false)).collect(),
        other => other.clone(),
    }
}

/// The defaults as the spec of a sample, with their comments where the text can be kept.
pub(super) fn spec_text(text: &str, variables: &Variables<'_>) -> String {
    let Ok(defaults @ Value::Object(_)) = steersman_yaml::to_json(text) else {
        return String::new();
    };
    let Value::Object(mut spec) = renamed(&defaults, variables, true) else {
        return String::new();
    };
    // In a resource a template is a text, or worse.
    spec.retain(|_, value| !has_template(value));
    if spec.is_empty() {
        return String::new();
    }
    let spec = Value::Object(spec);
    if let Some(kept) = respelled(text, variables)
        && steersman_yaml::to_json(&kept).is_ok_and(|kept| kept == spec)
    {
        return kept;
    }
    steersman_yaml::marshal(&spec, Style::V2).unwrap_or_default()
}

/// The text with other keys in the places of its keys.
fn respelled(text: &str, variables: &Variables<'_>) -> Option<String> {
    let mut places = Vec::new();
    collect_keys(&steersman_yaml::parse(text).ok()?, variables, &mut places);
    places.sort_unstable();
    places.dedup();
    let mut out = String::with_capacity(text.len());
    let mut rest = places.as_slice();
    for (number, line) in text.lines().enumerate() {
        let count = rest.iter().take_while(|place| place.line == number).count();
        let (here, below) = rest.split_at(count);
        rest = below;
        // The document begins with the spec.
        if out.is_empty() && line.trim_end() == "---" {
            continue;
        }
        respell(line, here, &mut out)?;
        out.push('\n');
    }
    Some(out)
}

/// A key that becomes another one, its place counted from 0.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: usize,
    column: usize,
    from: String,
    to: String,
}

fn collect_keys(node: &Yaml, variables: &Variables<'_>, places: &mut Vec<Place>) {
    match &node.value {
        Content::Mapping(pairs) => {
            for (key, value) in pairs {
                if let Some(from) = key.as_str()
                    && let Some(to) = variables.keys.of(from)
                    && to != from
                {
                    places.push(Place {
                        line: key.line as usize - 1,
                        column: key.column as usize - 1,
                        from: from.to_owned(),
                        to,
                    });
                }
                collect_keys(value, variables, places);
            }
        }
        Content::Sequence(items) => {
            for item in items {
                collect_keys(item, variables, places);
            }
        }
        _ => {}
    }
}

/// A line with other keys; none where one is not written as it reads.
fn respell(line: &str, places: &[Place], out: &mut String) -> Option<()> {
    let mut written = 0;
    for place in places {
        let (start, _) = line.char_indices().nth(place.column)?;
        if !line.get(start..)?.starts_with(&place.from) {
            return None;
        }
        out.push_str(line.get(written..start)?);
        out.push_str(&place.to);
        written = start + place.from.len();
    }
    out.push_str(line.get(written..)?);
    Some(())
}
