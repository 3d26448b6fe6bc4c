//! From `values.schema.json` to what is known of the values.

mod limits;
mod reference;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::meet::{both, either};
use super::node::{Limits, Node, Rest, Types};
use super::notice::Notices;

/// How many schemas are read, all references followed.
const MAX_NODES: usize = 20_000;

/// How deep schemas may be nested, all references followed.
const MAX_DEPTH: usize = 40;

/// How many schemas are joined at one place.
const MAX_BRANCHES: usize = 64;

/// Keywords that limit values and have no counterpart in a structural schema.
const LOST: [&str; 13] = [
    "if",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "uniqueItems",
    "additionalItems",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
];

/// Reads a schema of a draft from 4 to 2020-12. References are followed inside of the document.
pub(super) fn read(document: &Value, notices: &mut Notices) -> Node {
    let mut reader = Reader {
        document,
        siblings_count: siblings_count(document),
        nodes: 0,
        depth: 0,
        following: Vec::new(),
        notices,
    };
    reader.node(document)
}

/// Whether keywords beside a `$ref` count, as they do since 2019-09.
fn siblings_count(document: &Value) -> bool {
    let dialect = document
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    !["draft-03", "draft-04", "draft-06", "draft-07"]
        .iter()
        .any(|old| dialect.contains(old))
}

struct Reader<'a, 'n> {
    document: &'a Value,
    siblings_count: bool,
    nodes: usize,
    depth: usize,
    /// The references that are being followed.
    following: Vec<&'a str>,
    notices: &'n mut Notices,
}

impl<'a> Reader<'a, '_> {
    fn node(&mut self, schema: &'a Value) -> Node {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return Node::of(Types::NONE),
            _ => return Node::default(),
        };
        self.nodes += 1;
        if self.nodes > MAX_NODES || self.depth > MAX_DEPTH {
            self.notices
                .add("the schema is too large or too deep to be followed: any value is accepted");
            return Node::default();
        }
        self.depth += 1;
        let node = self.object(schema);
        self.depth -= 1;
        node
    }

    fn object(&mut self, schema: &'a Map<String, Value>) -> Node {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return self.keywords(schema);
        };
        let mut node = self.referenced(reference);
        if let Some(description) = description(schema) {
            node.description = Some(description);
        }
        if self.siblings_count {
            let own = self.keywords(schema);
            node = both(node, own);
        }
        node
    }

    fn referenced(&mut self, reference: &'a str) -> Node {
        if self.following.contains(&reference) {
            self.notices.add(format!(
                "the schema {reference} contains itself: any value is accepted below"
            ));
            return Node::default();
        }
        let Some(target) = reference::resolve(self.document, reference) else {
            self.notices.add(format!(
                "the schema {reference} is not in the chart's values.schema.json: any value is accepted"
            ));
            return Node::default();
        };
        self.following.push(reference);
        let node = self.node(target);
        self.following.pop();
        node
    }

    fn keywords(&mut self, schema: &'a Map<String, Value>) -> Node {
        let mut node = Node {
            types: Self::types(schema),
            description: description(schema),
            limits: limits::limits(schema, self.notices),
            required: strings(schema.get("required")),
            ..Node::default()
        };
        self.properties(schema, &mut node);
        self.items(schema, &mut node);
        for branch in self.branches(schema, "allOf") {
            let branch = self.node(branch);
            node = both(node, branch);
        }
        self.close(schema, &mut node);
        for keyword in ["anyOf", "oneOf"] {
            let branches: Vec<Node> = self
                .branches(schema, keyword)
                .iter()
                .map(|branch| self.node(branch))
                .collect();
            if branches.is_empty() {
                continue;
            }
            let any = either(branches, self.notices);
            node = both(node, any);
        }
        if let Some(not) = schema.get("not") {
            self.not(not, &mut node);
        }
        for keyword in LOST.iter().filter(|keyword| {
            schema
                .get(**keyword)
                .is_some_and(|value| *value != Value::Bool(false))
        }) {
            self.notices.add(format!(
                "{keyword} has no counterpart in a definition and is not checked"
            ));
        }
        node
    }

    /// The schemas of a keyword, none where there are too many.
    fn branches(&mut self, schema: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
        let branches = array(schema, keyword);
        if branches.len() > MAX_BRANCHES {
            self.notices.add(format!(
                "{keyword} has more than {MAX_BRANCHES} schemas and is not checked"
            ));
            return &[];
        }
        branches
    }

    fn types(schema: &Map<String, Value>) -> Types {
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return Types::ANY,
        };
        let known = names.iter().filter_map(|name| Types::named(name));
        known.reduce(Types::or).unwrap_or(Types::ANY)
    }

    fn properties(&mut self, schema: &'a Map<String, Value>, node: &mut Node) {
        for (key, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let place = self.notices.enter(key);
            let property = self.node(property);
            self.notices.leave(place);
            node.properties.insert(key.clone(), property);
        }
    }

    /// What is said about keys that are no properties.
    fn close(&mut self, schema: &'a Map<String, Value>, node: &mut Node) {
        let patterns: Vec<&Value> = (schema.get("patternProperties").and_then(Value::as_object))
            .map(|patterns| patterns.values().collect())
            .unwrap_or_default();
        let is_shut = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let shuts_later = schema.get("unevaluatedProperties") == Some(&Value::Bool(false))
            && ["anyOf", "oneOf", "if", "$ref"]
                .iter()
                .all(|keyword| !schema.contains_key(*keyword));
        match (patterns.as_slice(), schema.get("additionalProperties")) {
            ([pattern], Some(Value::Bool(false))) if node.properties.is_empty() => {
                self.notices.add("which keys there may be is not checked");
                node.rest = Rest::Each(Box::new(self.inside(pattern)));
            }
            ([], Some(each @ Value::Object(_))) => {
                let each = self.inside(each);
                if each != Node::default() {
                    node.rest = meet_rest(std::mem::take(&mut node.rest), Rest::Each(Box::new(each)));
                }
            }
            ([], _) if is_shut || shuts_later => {
                let properties: BTreeSet<String> = (schema.get("properties").and_then(Value::as_object))
                    .map(|properties| properties.keys().cloned().collect())
                    .unwrap_or_default();
                if is_shut {
                    node.properties.retain(|key, _| properties.contains(key));
                }
                node.rest = Rest::Closed;
            }
            ([], _) => {}
            _ => self
                .notices
                .add("what holds for keys of certain patterns is not checked"),
        }
    }

    fn inside(&mut self, schema: &'a Value) -> Node {
        let place = self.notices.enter_items();
        let node = self.node(schema);
        self.notices.leave(place);
        node
    }

    fn items(&mut self, schema: &'a Map<String, Value>, node: &mut Node) {
        match schema.get("items") {
            Some(items @ Value::Object(_)) if !schema.contains_key("prefixItems") => {
                node.items = Some(Box::new(self.inside(items)));
            }
            Some(Value::Array(_)) => self
                .notices
                .add("items that differ by their place are not checked"),
            _ if schema.contains_key("prefixItems") => {
                self.notices
                    .add("items that differ by their place are not checked");
            }
            _ => {}
        }
    }

    /// A schema that must not hold: kept where it is about the value itself.
    fn not(&mut self, schema: &'a Value, node: &mut Node) {
        let not = self.node(schema);
        let says_no_more =
            not.types == Types::ANY && !not.describes_parts() && not.any_of.is_empty() && not.not.is_empty();
        let is_kept = says_no_more && not.limits != Limits::default() && !node.types.meets(Types::OBJECT);
        if is_kept {
            node.not.push(not.limits);
        } else {
            self.notices
                .add("a schema that must not hold is about more than the value itself and is not checked");
        }
    }
}

fn meet_rest(first: Rest, second: Rest) -> Rest {
    let of = |rest| Node {
        rest,
        ..Node::default()
    };
    both(of(first), of(second)).rest
}

fn description(schema: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    text("description").or_else(|| text("title")).map(str::to_owned)
}

fn array<'a>(schema: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn strings(value: Option<&Value>) -> BTreeSet<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
