//! From a role's `argument_specs` to what is known of its variables.

use serde_json::{Map, Value};

use super::Variables;
use crate::definition::node::{Node, Rest, Types, plain_value};
use crate::definition::notice::Notices;

/// How deep options are looked into.
const MAX_DEPTH: usize = 40;

/// What options say of each other, and a structural schema does not.
const LOST: [&str; 5] = [
    "mutually_exclusive",
    "required_together",
    "required_one_of",
    "required_if",
    "required_by",
];

/// What a role says of itself when it is run as a whole.
pub(super) struct Specs {
    /// A sentence on what it does.
    pub(super) about: Option<String>,
    /// Its options, by the keys that become them.
    pub(super) node: Node,
}

/// Reads the entry point `main`; none where the text has none.
pub(super) fn read(text: &str, variables: &Variables<'_>, notices: &mut Notices) -> Option<Specs> {
    let document = match steersman_yaml::to_json(text) {
        Ok(document) => document,
        Err(error) => {
            notices.add(format!("argument_specs can't be read and say nothing: {error}"));
            return None;
        }
    };
    let main = document["argument_specs"]["main"].as_object()?;
    let mut reader = Reader {
        variables,
        notices,
        depth: 0,
    };
    let mut node = Node::of(Types::OBJECT);
    reader.options(main, &mut node);
    let about = ["short_description", "description"];
    Some(Specs {
        about: about.into_iter().find_map(|key| prose(main.get(key))),
        // A role may use more than it says.
        node: Node {
            rest: Rest::Open,
            ..node
        },
    })
}

struct Reader<'a, 'n> {
    variables: &'a Variables<'a>,
    notices: &'n mut Notices,
    depth: usize,
}

impl Reader<'_, '_> {
    /// The `options` of a map. Ansible takes no others; but where some have no key, there may be any.
    fn options(&mut self, spec: &Map<String, Value>, node: &mut Node) {
        let Some(options) = spec.get("options").and_then(Value::as_object) else {
            return;
        };
        let nothing = Map::new();
        let mut lost = Vec::new();
        let mut is_closed = true;
        for (variable, option) in options {
            if self.depth == 0 && self.variables.is_left_out(variable) {
                continue;
            }
            let Some(key) = self.variables.keys.of(variable) else {
                lost.push(variable.as_str());
                continue;
            };
            let option = option.as_object().unwrap_or(&nothing);
            is_closed &= !option.contains_key("aliases");
            let place = self.notices.enter(&key);
            let property = self.option(option);
            self.notices.leave(place);
            if option.get("required") == Some(&Value::Bool(true)) {
                node.required.insert(key.clone());
            }
            node.properties.insert(key, property);
        }
        if is_closed && lost.is_empty() && !options.is_empty() {
            node.rest = Rest::Closed;
        }
        super::note_lost(&lost, self.notices);
        for keyword in LOST.iter().filter(|keyword| spec.contains_key(**keyword)) {
            self.notices.add(format!(
                "{keyword} has no counterpart in a definition and is not checked"
            ));
        }
    }

    fn option(&mut self, spec: &Map<String, Value>) -> Node {
        if self.depth >= MAX_DEPTH {
            self.notices
                .add("the options are too deep to be followed: any value is accepted");
            return Node::default();
        }
        self.depth += 1;
        let named = |key: &str| spec.get(key).and_then(Value::as_str);
        let mut node = Node::of(self.types(named("type").unwrap_or("str")));
        node.description = prose(spec.get("description"));
        if node.types == Types::ARRAY {
            let has_options = spec.contains_key("options");
            let elements = named("elements").or(has_options.then_some("dict"));
            let mut items = elements.map_or_else(Node::default, |name| Node::of(self.types(name)));
            let place = self.notices.enter_items();
            if items.types == Types::OBJECT {
                self.options(spec, &mut items);
            }
            self.choices(spec, &mut items);
            self.notices.leave(place);
            node.items = Some(Box::new(items));
        } else {
            if node.types == Types::OBJECT {
                self.options(spec, &mut node);
            }
            self.choices(spec, &mut node);
        }
        let is_secret = spec.get("no_log") == Some(&Value::Bool(true));
        if is_secret {
            node.limits.format = Some(super::SECRET.to_owned());
        }
        node.default = spec
            .get("default")
            .filter(|default| !is_secret && !super::has_template(default))
            .filter(|default| node.types.contains(Types::of(default)) && is_choice(&node, default))
            .map(plain_value);
        self.depth -= 1;
        node
    }

    /// The types of values of a type of Ansible's.
    fn types(&mut self, name: &str) -> Types {
        match name {
            "str" | "path" => Types::STRING,
            "int" => Types::INTEGER,
            "float" => Types::NUMBER,
            "bool" => Types::BOOLEAN,
            "list" => Types::ARRAY,
            "dict" => Types::OBJECT,
            // `1M` or a number.
            "bytes" | "bits" => Types::INTEGER_OR_STRING,
            "raw" | "json" | "jsonarg" => Types::ANY,
            other => {
                let other: String = other.escape_debug().take(60).collect();
                self.notices
                    .add(format!("the type `{other}` is not known: any value is accepted"));
                Types::ANY
            }
        }
    }

    fn choices(&mut self, spec: &Map<String, Value>, node: &mut Node) {
        let Some(choices) = spec.get("choices").and_then(Value::as_array) else {
            return;
        };
        let choices: Vec<Value> = choices.iter().map(plain_value).collect();
        let is_of_type = |value: &Value| {
            let kind = Types::of(value);
            Types::SCALAR.contains(kind) && node.types.contains(kind)
        };
        if choices.iter().all(is_of_type) {
            node.limits.choice = Some(choices).filter(|choices| !choices.is_empty());
        } else {
            self.notices.add(
                "its choices are not all of its type, and are not checked: texts such as yes need quotes",
            );
        }
    }
}

/// Whether a value is among the choices, if there are any.
pub(super) fn is_choice(node: &Node, value: &Value) -> bool {
    let choice = node.limits.choice.as_ref();
    choice.is_none_or(|choice| choice.contains(&plain_value(value)))
}

/// A text, or several as paragraphs.
fn prose(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).map(str::trim).collect();
            parts.join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
