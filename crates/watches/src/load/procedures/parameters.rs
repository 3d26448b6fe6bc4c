//! `parameters`: what a run of a procedure may say.

use serde_json::Value as Json;
use steersman_yaml::{Content, Node};

use crate::load::fields::{Fields, Findings, join};
use crate::procedure::{Parameter, ParameterType};

pub(in crate::load) const FIELDS: &[&str] = &["type", "required", "default", "description", "enum"];

/// Fields that each run has.
const RESERVED: &[&str] = &["resource"];
/// So long a name may be.
const MAX_NAME: usize = 63;

/// Reads the parameters of a procedure: a map by their names.
pub(super) fn read(procedure: &Fields<'_>, findings: &mut Findings) -> Vec<Parameter> {
    let path = procedure.key("parameters");
    let Some((_, node)) = procedure.get("parameters") else {
        return Vec::new();
    };
    let Content::Mapping(pairs) = &node.value else {
        findings.expected("a map of parameters", node, &path);
        return Vec::new();
    };
    let mut parameters: Vec<Parameter> = Vec::new();
    for (key, value) in pairs {
        let Some(name) = name(key, &path, findings) else {
            continue;
        };
        if parameters.iter().any(|one| one.name == name) {
            findings.problem(key, &path, format_args!("two parameters are called `{name}`"));
        } else {
            parameters.extend(parameter(name, value, &path, findings));
        }
    }
    parameters
}

fn name(key: &Node, path: &str, findings: &mut Findings) -> Option<String> {
    let name = match key.key_string() {
        Ok(name) => name,
        Err(error) => {
            findings.problem(key, path, error.message());
            return None;
        }
    };
    let shown = name.escape_debug();
    if RESERVED.contains(&name.as_str()) {
        findings.problem(
            key,
            path,
            format_args!("each run has the field `{shown}` already"),
        );
        return None;
    }
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts_well || name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let message = format_args!("`{shown}` is not a name such as `snapshot` or `keepDays`");
        findings.problem(key, path, message);
        return None;
    }
    Some(name)
}

fn parameter(name: String, node: &Node, path: &str, findings: &mut Findings) -> Option<Parameter> {
    let fields = Fields::read_all(node, join(path, &name), FIELDS, findings)?;
    let r#type = match fields.text("type", findings) {
        Some((text, node)) => {
            let read = ParameterType::parse(&text);
            if read.is_none() {
                let message = format!(
                    "`{}` is none of `string`, `integer`, `number`, `boolean`",
                    text.escape_debug()
                );
                findings.problem(node, &fields.key("type"), message);
            }
            read?
        }
        None => ParameterType::String,
    };
    let mut parameter = Parameter {
        name,
        r#type,
        required: fields.boolean("required", findings).unwrap_or(false),
        default: None,
        description: fields.text("description", findings).map(|(text, _)| text),
        allowed: Vec::new(),
    };
    let items = fields.items("enum", "values", findings);
    // Each is checked by the type alone, and not by those before it.
    let allowed = items
        .iter()
        .filter_map(|item| checked(item, &fields.key("enum"), &parameter, findings));
    parameter.allowed = allowed.collect();
    // Checked against all that it may be.
    let default = fields.get("default");
    parameter.default =
        default.and_then(|(_, node)| checked(node, &fields.key("default"), &parameter, findings));
    Some(parameter)
}

/// A value that the parameter may be.
fn checked(node: &Node, key: &str, parameter: &Parameter, findings: &mut Findings) -> Option<Json> {
    let value = match node.to_json() {
        Ok(value) => value,
        Err(error) => {
            findings.problem(node, key, error.message());
            return None;
        }
    };
    match parameter.check(&value) {
        Ok(()) => Some(value),
        Err(error) => {
            findings.problem(node, key, error);
            None
        }
    }
}
