//! What a chart, its subcharts and all of their defaults tell of the values.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::{Chart, Outline, Values};

use super::infer::infer;
use super::meet::{blend, both, complete};
use super::node::{Node, Rest, Types, plain_value};
use super::notice::Notices;
use super::read::read;
use super::varied::varied;

const GLOBAL: &str = "global";

/// So many of a map's defaults are held against what is known of all its values.
const EXAMPLES: usize = 100;

/// What is known of a chart's values where `given` are set anyway, such as a watch's `overrideValues`.
pub(super) fn values_of(chart: &Chart, given: &Values, notices: &mut Notices) -> Node {
    let outline = chart.outline();
    let part = of_chart(&outline, &varied(&outline), notices);
    let defaults = Value::Object(defaults(chart, &outline, given));
    let mut node = part.node;
    node.types = Types::OBJECT;
    relax(&mut node, Some(&defaults), notices);
    node.types = Types::OBJECT;
    node
}

/// What is known of a chart's values.
struct Part {
    node: Node,
    /// Whether the chart has a schema, whose word counts more than its defaults.
    is_certain: bool,
}

fn of_chart(outline: &Outline, varied: &BTreeSet<String>, notices: &mut Notices) -> Part {
    let mut inferred = outline
        .values_file()
        .map_or_else(|| Node::of(Types::OBJECT), |file| infer(file, varied, notices));
    let mut certain = outline.schema().and_then(|schema| schema_of(schema, notices));
    for subchart in outline.subcharts() {
        let name = subchart.name();
        let place = notices.enter(name);
        let own = of_chart(subchart, varied, notices);
        let by_schema = certain.as_mut().and_then(|node| node.properties.remove(name));
        let is_shut = by_schema.is_none() && certain.as_ref().is_some_and(|node| node.rest == Rest::Closed);
        let joined = join(by_schema, inferred.properties.remove(name), own, notices);
        notices.leave(place);
        if is_shut {
            continue;
        }
        let mut joined = joined;
        lift_globals(&mut inferred, &mut joined, notices);
        certain
            .as_mut()
            .unwrap_or(&mut inferred)
            .properties
            .insert(name.to_owned(), joined);
    }
    match certain {
        Some(mut node) => {
            complete(&mut node, &inferred, false);
            Part {
                node,
                is_certain: true,
            }
        }
        None => Part {
            node: inferred,
            is_certain: false,
        },
    }
}

fn schema_of(text: &[u8], notices: &mut Notices) -> Option<Node> {
    match serde_json::from_slice(text) {
        Ok(schema) => {
            let mut node = read(&schema, notices);
            node.types = Types::OBJECT;
            node.description = None;
            Some(node)
        }
        Err(error) => {
            notices.add(format!(
                "values.schema.json can't be read and says nothing: {error}"
            ));
            None
        }
    }
}

/// What a parent's schema, a parent's defaults and a subchart itself tell of the subchart's values.
fn join(by_schema: Option<Node>, by_defaults: Option<Node>, own: Part, notices: &mut Notices) -> Node {
    let about = by_schema
        .as_ref()
        .and_then(|node| node.description.clone())
        .or_else(|| by_defaults.as_ref().and_then(|node| node.description.clone()));
    let mut node = match (by_schema, own.is_certain) {
        (Some(parent), true) => both(parent, own.node),
        (Some(mut parent), false) => {
            complete(&mut parent, &own.node, true);
            parent
        }
        (None, true) => own.node,
        (None, false) => match &by_defaults {
            Some(parent) => blend(parent.clone(), own.node, notices),
            None => own.node,
        },
    };
    if let Some(hints) = &by_defaults {
        complete(&mut node, hints, false);
    }
    node.description = about.or(node.description);
    node
}

/// What a subchart takes as a global value is given at the top.
fn lift_globals(parent: &mut Node, subchart: &mut Node, notices: &mut Notices) {
    if subchart.rest == Rest::Closed {
        return;
    }
    let Some(globals) = subchart.properties.remove(GLOBAL) else {
        return;
    };
    let own = parent.properties.remove(GLOBAL);
    let joined = match own {
        Some(own) => notices.at(GLOBAL, |notices| blend(own, globals, notices)),
        None => globals,
    };
    parent.properties.insert(GLOBAL.to_owned(), joined);
}

/// The defaults of all charts, also of those that are off by default, under what is given.
fn defaults(chart: &Chart, outline: &Outline, given: &Values) -> Values {
    let mut all = defaults_below(outline, Values::new());
    if let Ok(coalesced) = chart.coalesce(given) {
        steersman_chart::values::overlay(&mut all, coalesced);
    }
    all
}

fn defaults_below(outline: &Outline, from_above: Values) -> Values {
    let mut all = outline.values().clone();
    steersman_chart::values::overlay(&mut all, from_above);
    for subchart in outline.subcharts() {
        let mut above = match all.remove(subchart.name()) {
            Some(Value::Object(above)) => above,
            _ => Values::new(),
        };
        if let (Some(Value::Object(globals)), None) = (all.get(GLOBAL), above.get(GLOBAL)) {
            above.insert(GLOBAL.to_owned(), Value::Object(globals.clone()));
        }
        let below = defaults_below(subchart, above);
        // A global value that is given at the top takes the place of the subchart's default.
        if let (Some(Value::Object(globals)), Value::Object(own)) = (
            below.get(GLOBAL),
            all.entry(GLOBAL).or_insert_with(|| Value::Object(Values::new())),
        ) {
            for (key, value) in globals {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        all.insert(subchart.name().to_owned(), Value::Object(below));
    }
    all
}

/// Takes back what the defaults make up for: keys that are required and given, types that a default is not of. A null
/// removes a default, so it is allowed where there is one and the chart can do without.
fn relax(node: &mut Node, default: Option<&Value>, notices: &mut Notices) {
    guess_types(node, default);
    if let Some(value) = default {
        let kind = Types::of(value);
        if !node.types.contains(kind) && kind != Types::NULL {
            notices.add("its default is of another type than the schema says: any value is accepted");
            *node = std::mem::take(node).loosened();
        }
        node.default = Some(plain_value(value));
    }
    let entries = default.and_then(Value::as_object);
    for (key, property) in &mut node.properties {
        let place = notices.enter(key);
        let default = entries.and_then(|entries| entries.get(key));
        relax(property, default, notices);
        if default.is_some() && !node.required.contains(key) {
            property.types = property.types.or(Types::NULL);
        }
        notices.leave(place);
    }
    if let Some(entries) = entries {
        // A null among the defaults is none.
        node.required
            .retain(|key| entries.get(key).is_none_or(Value::is_null));
    }
    if let Rest::Each(each) = &mut node.rest {
        let place = notices.enter_items();
        relax(each, None, notices);
        for (_, value) in entries
            .into_iter()
            .flatten()
            .filter(|(key, _)| !node.properties.contains_key(*key))
            .take(EXAMPLES)
        {
            relax(each, Some(value), notices);
            each.types = each.types.or(Types::NULL);
            each.default = None;
        }
        notices.leave(place);
    }
    if let Some(items) = &mut node.items {
        let place = notices.enter_items();
        relax(items, None, notices);
        let all = default.and_then(Value::as_array).into_iter().flatten();
        if all.map(Types::of).any(|kind| !items.types.contains(kind)) {
            **items = std::mem::take(&mut **items).loosened();
        }
        notices.leave(place);
    }
}

/// A schema without `type` that is about the parts of a map, or a choice between values, means values of that type.
fn guess_types(node: &mut Node, default: Option<&Value>) {
    if node.types != Types::ANY {
        return;
    }
    if let Some(choice) = &node.limits.choice {
        node.types = choice.iter().map(Types::of).fold(Types::NONE, Types::or);
        return;
    }
    let is_map = !node.properties.is_empty() || !node.required.is_empty() || node.rest != Rest::Open;
    let guess = match (is_map, node.items.is_some()) {
        (true, false) => Types::OBJECT,
        (false, true) => Types::ARRAY,
        _ => return,
    };
    if default.is_none_or(|value| guess.or(Types::NULL).contains(Types::of(value))) {
        node.types = guess.or(Types::NULL);
    }
}
