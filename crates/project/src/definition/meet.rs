//! Joining what two places say of the same value.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::node::{Bound, Limits, Node, Rest, Types};
use super::notice::Notices;

/// What is known of the values of a map is taken over for each of its properties as long as it is no larger.
const COPIED: usize = 8;

/// So many alternatives of a value are kept. Those of real charts are one or two.
const ALTERNATIVES: usize = 16;

/// What holds where both hold.
pub(super) fn both(first: Node, second: Node) -> Node {
    let types = first.types.and(second.types);
    let (rest, properties) = both_maps((first.rest, first.properties), (second.rest, second.properties));
    let mut any_of = first.any_of;
    any_of.extend(second.any_of);
    let mut not = first.not;
    not.extend(second.not);
    let mut required = first.required;
    required.extend(second.required);
    let (limits, more) = both_limits(first.limits, second.limits);
    any_of.extend(more.map(|more| vec![more]));
    any_of.truncate(ALTERNATIVES);
    not.truncate(ALTERNATIVES);
    Node {
        types,
        description: first.description.or(second.description),
        default: first.default.or(second.default),
        limits,
        any_of,
        not,
        items: match (first.items, second.items) {
            (Some(first), Some(second)) => Some(Box::new(both(*first, *second))),
            (first, second) => first.or(second),
        },
        properties,
        required,
        rest,
    }
}

type Keys = (Rest, BTreeMap<String, Node>);

fn both_maps((first_rest, first): Keys, (second_rest, mut second): Keys) -> Keys {
    let mut properties = BTreeMap::new();
    for (key, node) in first {
        if let Some(joined) = match second.remove(&key) {
            Some(other) => Some(both(node, other)),
            None => under(&second_rest, node),
        } {
            properties.insert(key, joined);
        }
    }
    for (key, node) in second {
        if let Some(node) = under(&first_rest, node) {
            properties.insert(key, node);
        }
    }
    let rest = match (first_rest, second_rest) {
        (Rest::Closed, _) | (_, Rest::Closed) => Rest::Closed,
        (Rest::Each(first), Rest::Each(second)) => Rest::Each(Box::new(both(*first, *second))),
        (Rest::Open, other) | (other, Rest::Open) => other,
    };
    (rest, properties)
}

/// A property that the other side does not name.
fn under(rest: &Rest, node: Node) -> Option<Node> {
    match rest {
        Rest::Open => Some(node),
        Rest::Closed => None,
        Rest::Each(each) => Some(both(node, copied(each))),
    }
}

/// What is known of the values of a map, for one of them; nothing where that is large, as there may be many of them.
fn copied(each: &Node) -> Node {
    if each.is_smaller_than(COPIED) {
        each.clone()
    } else {
        Node::default()
    }
}

/// The limits of both, and what has no place in one set.
fn both_limits(first: Limits, second: Limits) -> (Limits, Option<Limits>) {
    let choice = match (first.choice, second.choice) {
        (Some(first), Some(second)) => {
            Some(first.into_iter().filter(|value| second.contains(value)).collect())
        }
        (first, second) => first.or(second),
    };
    let other_pattern = match (&first.pattern, &second.pattern) {
        (Some(first), Some(second)) if first != second => Some(second.clone()),
        _ => None,
    };
    let limits = Limits {
        choice,
        minimum: stricter(first.minimum, second.minimum, |first, second| first > second),
        maximum: stricter(first.maximum, second.maximum, |first, second| first < second),
        multiple_of: first.multiple_of.or(second.multiple_of),
        min_length: first.min_length.max(second.min_length),
        max_length: smaller(first.max_length, second.max_length),
        pattern: first.pattern.or(second.pattern),
        format: first.format.or(second.format),
        min_items: first.min_items.max(second.min_items),
        max_items: smaller(first.max_items, second.max_items),
        max_properties: smaller(first.max_properties, second.max_properties),
    };
    let more = other_pattern.map(|pattern| Limits {
        pattern: Some(pattern),
        ..Limits::default()
    });
    (limits, more)
}

fn smaller(first: Option<u64>, second: Option<u64>) -> Option<u64> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

fn stricter(first: Option<Bound>, second: Option<Bound>, wins: impl Fn(f64, f64) -> bool) -> Option<Bound> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let (one, other) = (float(&first.number), float(&second.number));
            let second_wins = wins(other, one) || (second.exclusive && !wins(one, other));
            Some(if second_wins { second } else { first })
        }
        (first, second) => first.or(second),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::MAX)
}

/// What holds where one of several holds, as far as a structural schema can say it.
pub(super) fn either(branches: Vec<Node>, notices: &mut Notices) -> Node {
    let mut branches: Vec<Node> = branches
        .into_iter()
        .filter(|branch| branch.types != Types::NONE)
        .collect();
    if branches.len() < 2 {
        return branches.pop().unwrap_or_default();
    }
    let all = branches
        .iter()
        .fold(Types::NONE, |all, branch| all.or(branch.types));
    // A branch for null alone makes the value nullable.
    if let Some(place) = branches.iter().position(|branch| branch.types == Types::NULL) {
        branches.remove(place);
        let mut rest = either(branches, notices);
        rest.types = rest.types.or(Types::NULL);
        if let Some(choice) = &mut rest.limits.choice
            && !choice.contains(&Value::Null)
        {
            choice.push(Value::Null);
        }
        return rest;
    }
    let mut node = Node::of(all);
    node.description = branches.iter().find_map(|branch| branch.description.clone());
    limits_of_either(&mut node, &branches, notices);
    parts_of_either(&mut node, branches, notices);
    node
}

fn limits_of_either(node: &mut Node, branches: &[Node], notices: &mut Notices) {
    let same = |other: &Node| {
        other.limits == branches[0].limits
            && other.any_of == branches[0].any_of
            && other.not == branches[0].not
    };
    if branches.iter().all(same) {
        node.limits = branches[0].limits.clone();
        node.any_of.clone_from(&branches[0].any_of);
        node.not.clone_from(&branches[0].not);
        return;
    }
    if let Some(choices) = branches
        .iter()
        .map(|branch| branch.limits.choice.clone())
        .collect::<Option<Vec<_>>>()
    {
        let mut choice: Vec<Value> = Vec::new();
        for value in choices.into_iter().flatten() {
            if !choice.contains(&value) {
                choice.push(value);
            }
        }
        node.limits.choice = Some(choice);
        return;
    }
    let is_alternative = |branch: &Node| {
        branch.types == branches[0].types
            && Types::SCALAR.contains(branch.types)
            && branch.any_of.is_empty()
            && branch.not.is_empty()
    };
    if branches.iter().all(is_alternative) {
        let alternatives: Vec<Limits> = branches.iter().map(|branch| branch.limits.clone()).collect();
        if alternatives.iter().all(|limits| *limits != Limits::default()) {
            node.any_of = vec![alternatives];
        }
        return;
    }
    let is_disjoint = branches.iter().enumerate().all(|(place, branch)| {
        let others = branches.iter().enumerate().filter(|(other, _)| *other != place);
        others
            .fold(Types::NONE, |all, (_, other)| all.or(other.types))
            .meets(branch.types)
            .eq(&false)
    });
    let has_choice = branches.iter().any(|branch| branch.limits.choice.is_some());
    let is_plain = branches
        .iter()
        .all(|branch| branch.any_of.is_empty() && branch.not.is_empty());
    if is_disjoint && !has_choice && is_plain {
        for branch in branches {
            node.limits = both_limits(std::mem::take(&mut node.limits), branch.limits.clone()).0;
        }
        return;
    }
    notices
        .add("which limits hold depends on which of several schemas the value follows: they are not checked");
}

fn parts_of_either(node: &mut Node, branches: Vec<Node>, notices: &mut Notices) {
    let lists: Vec<Option<Box<Node>>> = (branches.iter())
        .filter(|branch| branch.types.meets(Types::ARRAY))
        .map(|branch| branch.items.clone())
        .collect();
    if let Some(items) = lists.into_iter().collect::<Option<Vec<_>>>()
        && !items.is_empty()
    {
        let items = items.into_iter().map(|items| *items).collect();
        node.items = Some(Box::new(notices.inside(|notices| either(items, notices))));
    }
    let maps: Vec<Node> = (branches.into_iter())
        .filter(|branch| branch.types.meets(Types::OBJECT))
        .collect();
    if maps.is_empty() {
        return;
    }
    let is_shared = |key: &&String| maps.iter().all(|map| map.required.contains(*key));
    node.required = maps
        .first()
        .map(|map| map.required.iter().filter(is_shared).cloned().collect())
        .unwrap_or_default();
    if maps.iter().any(|map| map.required != node.required) {
        notices.add("which keys are required depends on which of several schemas the value follows: that is not checked");
    }
    let keys: std::collections::BTreeSet<&String> =
        maps.iter().flat_map(|map| map.properties.keys()).collect();
    for key in keys {
        let mut choices = Vec::new();
        for map in &maps {
            match (map.properties.get(key), &map.rest) {
                (Some(property), _) => choices.push(property.clone()),
                (None, Rest::Closed) => {}
                (None, Rest::Each(each)) => choices.push(copied(each)),
                (None, Rest::Open) => choices.push(Node::default()),
            }
        }
        let joined = notices.at(key, |notices| either(choices, notices));
        node.properties.insert(key.clone(), joined);
    }
    node.rest = maps
        .iter()
        .map(|map| map.rest.clone())
        .reduce(|first, second| either_rest(first, second, notices))
        .unwrap_or_default();
}

fn either_rest(first: Rest, second: Rest, notices: &mut Notices) -> Rest {
    match (first, second) {
        (Rest::Open, _) | (_, Rest::Open) => Rest::Open,
        (Rest::Closed, other) | (other, Rest::Closed) => other,
        (Rest::Each(first), Rest::Each(second)) => Rest::Each(Box::new(
            notices.inside(|notices| either(vec![*first, *second], notices)),
        )),
    }
}

/// Adds to what an authority says what the defaults tell: descriptions everywhere, and properties where the authority
/// knows some but not all of them.
pub(super) fn complete(authority: &mut Node, hints: &Node, knows_none: bool) {
    if authority.description.is_none() {
        authority.description.clone_from(&hints.description);
    }
    let may_add = authority.rest == Rest::Open
        && authority.types.meets(Types::OBJECT)
        && (knows_none || !authority.properties.is_empty());
    for (key, hint) in &hints.properties {
        match authority.properties.get_mut(key) {
            Some(property) => complete(property, hint, false),
            None if may_add => {
                authority.properties.insert(key.clone(), hint.clone());
            }
            None => {}
        }
    }
}

/// What the defaults of a chart and those of its parent tell of a value.
pub(super) fn blend(above: Node, below: Node, notices: &mut Notices) -> Node {
    if above.types == Types::OBJECT
        && below.types == Types::OBJECT
        && above.rest == Rest::Open
        && below.rest == Rest::Open
    {
        let mut node = above;
        node.description = node.description.or(below.description);
        for (key, property) in below.properties {
            let joined = match node.properties.remove(&key) {
                Some(own) => notices.at(&key, |notices| blend(own, property, notices)),
                None => property,
            };
            node.properties.insert(key, joined);
        }
        return node;
    }
    let description = above.description.clone().or_else(|| below.description.clone());
    let mut node = if above.types == below.types && above.rest == below.rest {
        above
    } else {
        either(vec![above, below], notices)
    };
    node.description = description;
    node
}
