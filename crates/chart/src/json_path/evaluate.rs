//! From nodes and values to text.

use std::cmp::Ordering;

use serde_json::Value;

use steersman_sprig::json::{Escape, Layout, encode};

use super::parse::{Node, Slice};
use crate::notice::shown;
use crate::values::to_value;

/// Why nothing is selected. Helm does not say, so that there is nothing to tell.
#[derive(Debug)]
pub(super) struct Nothing;

/// What an expression prints of a value.
pub(super) fn print(nodes: &[Node], value: &Value) -> Result<String, Nothing> {
    let mut groups = Vec::new();
    run(nodes, 0, value, false, &mut groups)?;
    let texts = groups.iter().map(|group| {
        let texts: Vec<String> = group.iter().map(text).collect();
        texts.join(" ")
    });
    Ok(texts.collect())
}

/// Evaluates nodes from a place on, in a range up to its end, whose place it gives.
fn run(
    nodes: &[Node],
    start: usize,
    value: &Value,
    in_range: bool,
    groups: &mut Vec<Vec<Value>>,
) -> Result<Option<usize>, Nothing> {
    let mut place = start;
    while let Some(node) = nodes.get(place) {
        let results = match node {
            Node::List(list) => {
                let word = list.iter().find_map(|node| match node {
                    Node::Word(word) => Some(word.as_str()),
                    _ => None,
                });
                let results = walk_all(list, vec![value.clone()])?;
                match word {
                    Some("end") if in_range => return Ok(Some(place)),
                    Some("end") => return Err(Nothing),
                    Some("range") => {
                        place = repeat(nodes, place, &results, groups)?;
                        continue;
                    }
                    _ => results,
                }
            }
            other => walk(other, vec![value.clone()])?,
        };
        groups.push(results);
        place += 1;
    }
    Ok(None)
}

/// Evaluates the body of a range for each value, and gives the place after its end.
fn repeat(
    nodes: &[Node],
    place: usize,
    values: &[Value],
    groups: &mut Vec<Vec<Value>>,
) -> Result<usize, Nothing> {
    let mut end = None;
    for value in values {
        end = run(nodes, place + 1, value, true, groups)?;
    }
    if values.is_empty() {
        end = run(nodes, place + 1, &Value::Null, true, &mut Vec::new())?;
    }
    Ok(end.unwrap_or(place) + 1)
}

fn walk_all(nodes: &[Node], values: Vec<Value>) -> Result<Vec<Value>, Nothing> {
    nodes.iter().try_fold(values, |values, node| walk(node, values))
}

fn walk(node: &Node, values: Vec<Value>) -> Result<Vec<Value>, Nothing> {
    let constant = |value: Value| Ok(values.iter().map(|_| value.clone()).collect());
    match node {
        Node::List(nodes) => walk_all(nodes, values),
        Node::Text(text) => Ok(vec![Value::from(text.as_str())]),
        Node::Integer(number) => constant(Value::from(*number)),
        Node::Float(number) => constant(Value::from(*number)),
        Node::Bool(value) => constant(Value::from(*value)),
        Node::Field(name) => field(name, &values),
        Node::Slice(slice) => slices(slice, &values),
        Node::Wildcard => Ok(values.iter().flat_map(children).collect()),
        Node::Descendants => Ok(descendants(&values)),
        Node::Union(lists) => {
            let mut results = Vec::new();
            for list in lists {
                results.extend(walk_all(list, values.clone())?);
            }
            Ok(results)
        }
        Node::Filter {
            left,
            operator,
            right,
        } => filter(left, operator, right, &values),
        Node::Word(word) if word == "range" => Ok(values),
        Node::Word(word) if word == "end" => Ok(Vec::new()),
        Node::Word(_) => Err(Nothing),
    }
}

fn field(name: &str, values: &[Value]) -> Result<Vec<Value>, Nothing> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<Value> = values
        .iter()
        .filter_map(|value| value.as_object()?.get(name).cloned())
        .collect();
    if found.is_empty() { Err(Nothing) } else { Ok(found) }
}

fn slices(slice: &Slice, values: &[Value]) -> Result<Vec<Value>, Nothing> {
    let mut results = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        let items = value.as_array().ok_or(Nothing)?;
        let length = items.len() as i64;
        let mut from = slice.from.unwrap_or(0);
        if from < 0 {
            from += length;
        }
        let mut to = slice.to.unwrap_or(length);
        if to < 0 || (to == 0 && slice.is_single) {
            to += length;
        }
        if from == to {
            return Ok(results);
        }
        let step = slice.step.unwrap_or(1);
        if from < 0 || from >= length || to > length || from > to || step <= 0 {
            return Err(Nothing);
        }
        let items = items.iter().take(to as usize).skip(from as usize);
        results.extend(items.step_by(step as usize).cloned());
    }
    Ok(results)
}

fn children(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(entries) => entries.values().cloned().collect(),
        Value::Array(items) => items.clone(),
        // Go walks over the bytes of a text.
        Value::String(text) => text.bytes().map(Value::from).collect(),
        _ => Vec::new(),
    }
}

/// All values that have others inside, the outer ones first.
fn descendants(values: &[Value]) -> Vec<Value> {
    let mut results = Vec::new();
    for value in values {
        let inner = children(value);
        if !inner.is_empty() {
            results.push(value.clone());
            results.extend(descendants(&inner));
        }
    }
    results
}

fn filter(left: &[Node], operator: &str, right: &[Node], values: &[Value]) -> Result<Vec<Value>, Nothing> {
    let mut results = Vec::new();
    for value in values {
        for item in value.as_array().ok_or(Nothing)? {
            let found = walk_all(left, vec![item.clone()]);
            if operator == "exists" {
                if found.is_ok_and(|found| !found.is_empty()) {
                    results.push(item.clone());
                }
                continue;
            }
            let (found, wanted) = (found?, walk_all(right, vec![item.clone()]));
            let passes = match (found.as_slice(), wanted?.as_slice()) {
                ([], _) | (_, []) => false,
                ([found], [wanted]) => compare(found, operator, wanted)?,
                _ => return Err(Nothing),
            };
            if passes {
                results.push(item.clone());
            }
        }
    }
    Ok(results)
}

/// Compares two values of one kind; integers and floating-point numbers are different kinds.
fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Nothing> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            let (left, right) = (
                left.as_f64().unwrap_or_default(),
                right.as_f64().unwrap_or_default(),
            );
            left.partial_cmp(&right).ok_or(Nothing)?
        }
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => left.cmp(right),
        _ => return Err(Nothing),
    };
    match operator {
        "==" => Ok(order == Ordering::Equal),
        "!=" => Ok(order != Ordering::Equal),
        "<" => Ok(order == Ordering::Less),
        "<=" => Ok(order != Ordering::Greater),
        ">" => Ok(order == Ordering::Greater),
        ">=" => Ok(order != Ordering::Less),
        _ => Err(Nothing),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => {
            encode(&to_value(value), Escape::Html, Layout::Compact).unwrap_or_default()
        }
        other => shown(&to_value(other)),
    }
}
