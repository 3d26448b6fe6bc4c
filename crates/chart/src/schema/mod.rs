//! `values.schema.json`.

mod message;

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::Value;
use steersman_sprig::expression_places;

use crate::values::Values;
use message::Quoting;

/// The place that schemas have for Helm; it is part of messages.
const LOCATION: &str = "file:///values.schema.json";

/// The largest schema that is read.
const MAX_BYTES: usize = 5 << 20;

/// How many places the patterns of a schema may have, all together: they are compiled to some tens of megabytes then.
const MAX_PLACES: u64 = 200_000;

/// The stack for each byte of a schema: its references can form a chain as long as it has room
/// for, and are followed by recursion. The system provides only what is used.
const STACK_PER_BYTE: usize = 256;

/// A schema, compiled once.
pub(crate) struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
    stack: usize,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema")
            .field("size", &self.schemas.size())
            .finish_non_exhaustive()
    }
}

impl Schema {
    /// Compiles the text of a `values.schema.json`. References into other files or the network
    /// are refused: a chart has no say in what this machine reads.
    pub(crate) fn compile(text: &[u8]) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("schema is larger than the maximum size {MAX_BYTES}"));
        }
        let document: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if pattern_places(&document) > MAX_PLACES {
            return Err("the patterns of the schema are too large".to_owned());
        }
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NoLoader));
        let mut schemas = Schemas::new();
        let stack = (1 << 20) + text.len() * STACK_PER_BYTE;
        let root = stacker::grow(stack, || {
            let added = compiler.add_resource(LOCATION, document);
            added.map_err(|error| message::of_compilation(&error))?;
            let root = compiler.compile(LOCATION, &mut schemas);
            root.map_err(|error| message::of_compilation(&error))
        })?;
        Ok(Self { schemas, root, stack })
    }

    /// Validates on a stack that is large enough for the schema's references.
    pub(crate) fn check(&self, values: &Value) -> Result<(), Findings> {
        stacker::grow(self.stack, || {
            self.schemas
                .validate(values, self.root)
                .map_err(|error| Findings {
                    message: message::of_validation(&error, Quoting::Values),
                    without_values: message::of_validation(&error, Quoting::Nothing),
                })
        })
    }
}

/// What schemas say about values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// In Helm's words.
    pub(crate) message: String,
    /// The findings with what the user wrote left out, for where secrets must not be shown.
    pub(crate) without_values: String,
}

impl Findings {
    pub(crate) fn push(&mut self, both: &str) {
        self.message.push_str(both);
        self.without_values.push_str(both);
    }
}

impl From<String> for Findings {
    fn from(message: String) -> Self {
        Self {
            without_values: message.clone(),
            message,
        }
    }
}

/// The places of all regular expressions in a schema, and of what looks like them.
fn pattern_places(schema: &Value) -> u64 {
    match schema {
        Value::Object(entries) => entries.iter().fold(0, |sum: u64, (key, value)| {
            let own = match (key.as_str(), value) {
                ("pattern", Value::String(pattern)) => expression_places(pattern),
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.keys().fold(0, |sum: u64, pattern| {
                        sum.saturating_add(expression_places(pattern))
                    })
                }
                _ => 0,
            };
            sum.saturating_add(own).saturating_add(pattern_places(value))
        }),
        Value::Array(items) => items
            .iter()
            .fold(0, |sum: u64, item| sum.saturating_add(pattern_places(item))),
        _ => 0,
    }
}

struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        if url.starts_with("urn:") {
            // As Helm: a name that nobody resolves allows everything.
            return Ok(Value::Bool(true));
        }
        Err("references to other files and to the network are not followed".into())
    }
}

/// Checks values against one schema alone.
///
/// # Errors
/// Helm's message, without the name of a chart.
pub(crate) fn check_single(schema: &[u8], values: &Values) -> Result<(), String> {
    let schema = Schema::compile(schema)?;
    let checked = schema.check(&Value::Object(values.clone()));
    checked.map_err(|findings| findings.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, values: &str, expect: Result<(), &str>) {
        let values = crate::values::read(values.as_bytes()).unwrap();
        let schema = Schema::compile(schema.as_bytes()).map_err(Findings::from);
        let result = schema.and_then(|schema| schema.check(&Value::Object(values)));
        let result = result.as_ref().copied();
        assert_eq!(result.map_err(|findings| findings.message.as_str()), expect);
    }

    #[test]
    fn values_can_be_left_out_of_messages() {
        let schema = r#"{"properties": {"a": {"pattern": "^x+$"}, "b": {"format": "ipv4"}, "c": {"maximum": 3},
            "d": {"enum": ["x"]}, "e": {"const": 5}, "f": {"multipleOf": 7}, "g": {"type": "boolean"},
            "h": {"exclusiveMinimum": 99999999}, "i": {"contentEncoding": "base64"}, "j": {"minLength": 99},
            "k": {"contentMediaType": "application/json"}, "l": {"minimum": 99999999}, "m": {"exclusiveMaximum": 1},
            "n": {"not": {"type": "string"}}}}"#;
        let names: Vec<char> = ('a'..='n').collect();
        let text = |name: &char| match name {
            'c' | 'e' | 'f' | 'h' | 'l' | 'm' => format!("{name}: 87654321\n"),
            name => format!("{name}: canary-value\n"),
        };
        let values: String = names.iter().map(text).collect();
        let values = crate::values::read(values.as_bytes()).unwrap();
        let schema = Schema::compile(schema.as_bytes()).unwrap();
        let findings = schema.check(&Value::Object(values)).unwrap_err();
        assert!(findings.message.contains("canary-value"), "{}", findings.message);
        let told = &findings.without_values;
        assert!(!told.contains("canary") && !told.contains("87654321"), "{told}");
        assert!(
            told.contains("- at '/a': the value does not match pattern '^x+$'"),
            "{told}"
        );
    }

    #[test]
    fn messages_are_those_of_helm() {
        let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "required": ["a", "b"], "additionalProperties": false,
            "properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}, "c": {"minimum": 3}}}"#;
        check(schema, "a: x\nb: x\nc: 3\n", Ok(()));
        check(
            schema,
            "a: 1\nb: x\n",
            Err("- at '/a': got number, want string\n"),
        );
        check(schema, "a: x\n", Err("- at '': missing property 'b'\n"));
        check(
            schema,
            "a: x\nb: z\n",
            Err("- at '/b': value must be one of 'x', 'y'\n"),
        );
        check(
            schema,
            "a: x\nb: x\nc: 1.5\n",
            Err("- at '/c': minimum: got 1.5, want 3\n"),
        );
        check(
            schema,
            "a: x\nb: x\nd: 1\n",
            Err("- at '': additional properties 'd' not allowed\n"),
        );
    }

    #[test]
    fn whole_floats_are_integers() {
        check(r#"{"properties": {"a": {"type": "integer"}}}"#, "a: 3\n", Ok(()));
    }

    #[test]
    fn long_chains_of_references_are_followed_to_their_end() {
        let mut links: Vec<String> = (0..10_000)
            .map(|link| format!("\"a{link}\":{{\"$ref\":\"#/definitions/a{}\"}}", link + 1))
            .collect();
        links.push("\"a10000\":{\"required\":[\"b\"]}".to_owned());
        let schema = format!(
            "{{\"$ref\":\"#/definitions/a0\",\"definitions\":{{{}}}}}",
            links.join(",")
        );
        check(&schema, "{}", Err("- at '': missing property 'b'\n"));
        let endless = r##"{"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}"##;
        let schema = Schema::compile(endless.as_bytes()).unwrap();
        assert!(schema.check(&Value::Object(Values::new())).is_err());
    }

    #[test]
    fn patterns_have_a_size() {
        let huge = r#"{"properties": {"a": {"pattern": "((x{100}){100}){100}"}}}"#;
        check(huge, "{}", Err("the patterns of the schema are too large"));
        let many: Vec<String> = (0..500)
            .map(|number| format!("\"p{number}.{{900}}\": {{}}"))
            .collect();
        let many = format!("{{\"patternProperties\": {{{}}}}}", many.join(","));
        check(&many, "{}", Err("the patterns of the schema are too large"));
    }

    #[test]
    fn files_and_network_are_out_of_reach() {
        let refused = |url: &str| {
            format!(
                "failing loading \"{url}\": references to other files and to the network are not followed"
            )
        };
        for url in ["file:///etc/passwd", "http://127.0.0.1/x.json"] {
            check(&format!(r#"{{"$ref": "{url}"}}"#), "{}", Err(&refused(url)));
        }
    }
}
