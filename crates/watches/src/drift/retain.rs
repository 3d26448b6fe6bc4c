//! Ignored values are written when the chart changes them, and otherwise left as they are.

use serde_json::Value;

use super::ignore::FieldPath;

/// Whether the chart renders something at `path` and has rendered the same before.
pub fn is_retained(rendered: &Value, before: &Value, path: &FieldPath) -> bool {
    let (new, old) = (at(rendered, path), at(before, path));
    new.is_some() && new == old
}

/// Puts the live value at `path` into `rendered`; takes the rendered one out where there is none.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::drift::{FieldPath, retain};
///
/// let mut rendered = json!({"spec": {"replicas": 1, "paused": false}});
/// retain(&mut rendered, &json!({"spec": {"replicas": 5, "paused": true}}), &FieldPath::parse("/spec/replicas")?);
/// assert_eq!(rendered, json!({"spec": {"replicas": 5, "paused": false}}));
/// # Ok::<(), String>(())
/// ```
pub fn retain(rendered: &mut Value, live: &Value, path: &FieldPath) {
    if let Some((last, steps)) = path.steps().split_last() {
        retain_at(rendered, Some(live), steps, last);
    }
}

fn retain_at(rendered: &mut Value, live: Option<&Value>, steps: &[String], last: &str) {
    if let Some((step, rest)) = steps.split_first() {
        let inner = live.and_then(|live| counterpart(rendered, live, step));
        if let Some(rendered) = child_mut(rendered, step) {
            retain_at(rendered, inner, rest, last);
        }
        return;
    }
    let value = live.and_then(|live| counterpart(rendered, live, last));
    match (value, rendered) {
        (Some(value), rendered) => {
            if let Some(slot) = child_mut(rendered, last) {
                *slot = value.clone();
            }
        }
        (None, Value::Object(map)) => {
            map.remove(last);
        }
        (None, Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                let _: Value = items.remove(index);
            }
        }
        (None, _) => {}
    }
}

/// The child of `live` that is the child `step` of `rendered`: an item of a list by its name where
/// it has one, else by its place.
fn counterpart<'a>(rendered: &Value, live: &'a Value, step: &str) -> Option<&'a Value> {
    let Value::Array(found) = live else {
        return live.get(step);
    };
    let index: usize = step.parse().ok()?;
    let name = rendered.get(index)?.get("name");
    match name {
        Some(name) => found.iter().find(|item| item.get("name") == Some(name)),
        None => found.get(index),
    }
}

fn child_mut<'a>(value: &'a mut Value, step: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    }
}

fn at<'a>(value: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps().iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(pointer: &str) -> FieldPath {
        FieldPath::parse(pointer).unwrap()
    }

    #[test]
    fn a_value_that_the_chart_changes_is_written() {
        let replicas = |count: u8| json!({"spec": {"replicas": count}});
        let path = &path("/spec/replicas");
        assert!(is_retained(&replicas(1), &replicas(1), path));
        assert!(!is_retained(&replicas(2), &replicas(1), path));
        assert!(!is_retained(&json!({"spec": {}}), &replicas(1), path));
    }

    #[test]
    fn the_live_value_takes_the_place_of_the_rendered_one() {
        let check = |rendered: Value, live: Value, pointer: &str, expect: Value| {
            let mut rendered = rendered;
            retain(&mut rendered, &live, &path(pointer));
            assert_eq!(rendered, expect, "{pointer}");
        };
        check(
            json!({"spec": {"replicas": 1, "x": 1}}),
            json!({"spec": {"replicas": 5, "x": 2}}),
            "/spec/replicas",
            json!({"spec": {"replicas": 5, "x": 1}}),
        );
        check(
            json!({"data": {"a": "1", "b": "2"}}),
            json!({"data": {"b": "3"}}),
            "/data/a",
            json!({"data": {"b": "2"}}),
        );
        check(
            json!({"c": [{"name": "web", "image": "a"}]}),
            json!({"c": [{"name": "sidecar", "image": "s"}, {"name": "web", "image": "b"}]}),
            "/c/0/image",
            json!({"c": [{"name": "web", "image": "b"}]}),
        );
        check(json!({"c": ["a"]}), json!({"c": []}), "/c/0", json!({"c": []}));
    }
}
