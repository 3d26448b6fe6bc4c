//! From `values.schema.json` to what is known of the values.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::meet::{both, either};
use super::node::{Bound, Limits, Node, Rest, Types, plain, plain_value};
use super::notice::Notices;

/// How many schemas are read, all references followed.
const MAX_NODES: usize = 20_000;

/// How deep schemas may be nested, all references followed.
const MAX_DEPTH: usize = 40;

/// How many schemas are joined at one place.
const MAX_BRANCHES: usize = 64;

/// Formats that mean the same to Helm and to the API server. Others are said by a pattern, if at all.
const FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "ipv4",
    "ipv6",
    "date",
    "date-time",
];

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
        let Some(target) = resolve(self.document, reference) else {
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
            limits: self.limits(schema),
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

    fn limits(&mut self, schema: &Map<String, Value>) -> Limits {
        let count = |key: &str| schema.get(key).and_then(whole);
        let mut limits = Limits {
            choice: schema
                .get("enum")
                .and_then(Value::as_array)
                .map(|values| values.iter().map(plain_value).collect()),
            minimum: bound(schema, "minimum", "exclusiveMinimum"),
            maximum: bound(schema, "maximum", "exclusiveMaximum"),
            multiple_of: schema.get("multipleOf").and_then(number),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: schema.get("pattern").and_then(Value::as_str).map(str::to_owned),
            format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            max_properties: count("maxProperties"),
        };
        if let Some(constant) = schema.get("const") {
            limits.choice = Some(vec![plain_value(constant)]);
        }
        if limits.choice.as_ref().is_some_and(Vec::is_empty) {
            limits.choice = None;
        }
        if limits
            .choice
            .iter()
            .flatten()
            .any(|value| value.is_object() || value.is_array())
        {
            self.notices.add("a choice among lists or maps is not checked");
            limits.choice = None;
        }
        if let Some(pattern) = limits
            .pattern
            .take_if(|pattern| !steersman_chart::is_expression(pattern))
        {
            self.notices.add(format!(
                "the pattern {pattern} is no regular expression of the API server's and is not checked"
            ));
        }
        if let Some(format) = limits
            .format
            .take_if(|format| !FORMATS.contains(&format.as_str()))
        {
            self.notices.add(format!("the format {format} is not checked"));
        }
        limits
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

fn number(value: &Value) -> Option<Number> {
    value.as_number().map(plain)
}

fn whole(value: &Value) -> Option<u64> {
    number(value)
        .and_then(|number| number.as_u64())
        .filter(|number| i64::try_from(*number).is_ok())
}

/// A bound in the spelling of draft 4, where exclusiveness is a boolean beside it, or of later drafts.
fn bound(schema: &Map<String, Value>, inclusive: &str, exclusive: &str) -> Option<Bound> {
    let at = |key: &str| schema.get(key).and_then(number);
    let is_exclusive = schema.get(exclusive) == Some(&Value::Bool(true));
    let own = at(inclusive).map(|number| Bound {
        number,
        exclusive: is_exclusive,
    });
    let other = at(exclusive).map(|number| Bound {
        number,
        exclusive: true,
    });
    other.or(own)
}

/// The schema that a reference inside of the document names.
fn resolve<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    let own_name = document
        .get("$id")
        .or_else(|| document.get("id"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let reference = match own_name.trim_end_matches('#') {
        "" => reference,
        name => reference.strip_prefix(name).unwrap_or(reference),
    };
    let fragment = reference
        .strip_prefix('#')
        .or(reference.is_empty().then_some(""))?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return document.pointer(&percent_decoded(fragment)?);
    }
    ["definitions", "$defs"].iter().find_map(|keyword| {
        let schemas = document.get(*keyword)?.as_object()?;
        schemas.values().find(|schema| {
            schema.get("$anchor").and_then(Value::as_str) == Some(fragment)
                || ["$id", "id"]
                    .iter()
                    .any(|key| schema.get(*key).and_then(Value::as_str) == Some(reference))
        })
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
