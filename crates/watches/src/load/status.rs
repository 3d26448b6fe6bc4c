//! `status` and `scale`: what an entry adds to the status of its resources, shows of it, and scales.

use serde_json::Value as Json;
use steersman_chart::Chart;
use steersman_yaml::{Content, Node};

use super::fields::{Fields, Findings, join, scalar_text};
use crate::procedure::{ParameterType, value_at};
use crate::release_view::ReleaseExpression;
use crate::status_fields::{RESERVED_STATUS, Scale, StatusColumn, StatusField, StatusFields};

pub(super) const FIELDS: &[&str] = &["fields", "columns"];
pub(super) const FIELD_FIELDS: &[&str] = &["type", "value", "description"];
pub(super) const COLUMN_FIELDS: &[&str] = &["name", "field", "priority"];
pub(super) const SCALE_FIELDS: &[&str] = &["spec", "status", "selector"];

/// So many fields there may be: each is in every status, and reckoned with every change.
const MOST_FIELDS: usize = 50;
/// So long a name may be.
const MAX_NAME: usize = 63;
/// Columns that `kubectl get` shows of each resource.
const COLUMNS: &[&str] = &[
    "Name",
    "Namespace",
    "Ready",
    "Reason",
    "Revision",
    "Chart",
    "App",
    "Message",
    "Age",
];

/// What was read, and the names of all fields, also of those that are wrong.
#[derive(Default)]
pub(super) struct ReadStatus {
    pub(super) status: StatusFields,
    names: Vec<String>,
}

/// Reads `status` of an entry. What is wrong with it is noted in `findings`.
pub(super) fn read_status(entry: &Fields<'_>, findings: &mut Findings) -> ReadStatus {
    let mut read = ReadStatus::default();
    let Some((_, node)) = entry.get("status") else {
        return read;
    };
    let Some(fields) = Fields::read_all(node, entry.key("status"), FIELDS, findings) else {
        return read;
    };
    read_fields(&fields, &mut read, findings);
    let items = fields.items("columns", "columns", findings);
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}[{index}]", fields.key("columns"));
        let column = column(item, path, &read, findings);
        read.status.columns.extend(column);
    }
    read
}

fn read_fields(status: &Fields<'_>, read: &mut ReadStatus, findings: &mut Findings) {
    let path = status.key("fields");
    let Some((_, node)) = status.get("fields") else {
        findings.problem(status.node, &status.path, "`fields` must not be empty");
        return;
    };
    let Content::Mapping(pairs) = &node.value else {
        findings.expected("a map of fields", node, &path);
        return;
    };
    if pairs.len() > MOST_FIELDS {
        let message = format!("has {} fields, and may have {MOST_FIELDS}", pairs.len());
        findings.problem(node, &path, message);
    }
    for (key, value) in pairs.iter().take(MOST_FIELDS) {
        let Some(name) = field_name(key, &path, findings) else {
            continue;
        };
        if read.names.contains(&name) {
            findings.problem(key, &path, format_args!("two fields are called `{name}`"));
            continue;
        }
        read.names.push(name.clone());
        read.status.fields.extend(field(name, value, &path, findings));
    }
}

fn field_name(key: &Node, path: &str, findings: &mut Findings) -> Option<String> {
    let name = match key.key_string() {
        Ok(name) => name,
        Err(error) => {
            findings.problem(key, path, error.message());
            return None;
        }
    };
    let shown = name.escape_debug();
    if RESERVED_STATUS.contains(&name.as_str()) {
        let message = format!("`status.{shown}` is the operator's own");
        findings.problem(key, path, message);
        return None;
    }
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts_well || name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let message = format_args!("`{shown}` is not a name such as `endpoint` or `readyMembers`");
        findings.problem(key, path, message);
        return None;
    }
    Some(name)
}

/// A field; where it is no map, that is the expression of a text.
fn field(name: String, node: &Node, path: &str, findings: &mut Findings) -> Option<StatusField> {
    let path = join(path, &name);
    if let Some(source) = scalar_text(node) {
        return Some(StatusField {
            name,
            r#type: ParameterType::String,
            value: expression(&source, node, &path, findings)?,
            description: None,
        });
    }
    let fields = Fields::read_all(node, path, FIELD_FIELDS, findings)?;
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
            read
        }
        None => Some(ParameterType::String),
    };
    let value = if let Some((source, node)) = fields.text("value", findings) {
        expression(&source, node, &fields.key("value"), findings)
    } else {
        findings.problem(fields.node, &fields.path, "`value` must not be empty");
        None
    };
    Some(StatusField {
        name,
        r#type: r#type?,
        value: value?,
        description: fields.text("description", findings).map(|(text, _)| text),
    })
}

fn expression(source: &str, node: &Node, key: &str, findings: &mut Findings) -> Option<ReleaseExpression> {
    let read = ReleaseExpression::parse(source);
    read.map_err(|error| findings.problem(node, key, error)).ok()
}

/// A column; where it is no map, that is the name of the field.
fn column(node: &Node, path: String, read: &ReadStatus, findings: &mut Findings) -> Option<StatusColumn> {
    let (field, name, priority) = if let Some(field) = scalar_text(node) {
        known_field(&field, node, &path, read, findings)?;
        (field, None, 0)
    } else {
        let fields = Fields::read_all(node, path.clone(), COLUMN_FIELDS, findings)?;
        let field = named_field(&fields, "field", read, findings).map(|field| field.name.clone());
        let name = fields.text("name", findings);
        let name = name.filter(|(name, _)| !name.is_empty()).map(|(name, _)| name);
        (field?, name, priority(&fields, findings)?)
    };
    let name = name.unwrap_or_else(|| capitalized(&field));
    if COLUMNS.contains(&name.as_str()) {
        let message = format!("each resource has a column `{}` already", name.escape_debug());
        findings.problem(node, &path, message);
        return None;
    }
    if read.status.columns.iter().any(|column| column.name == name) {
        let message = format!("two columns are called `{}`", name.escape_debug());
        findings.problem(node, &path, message);
        return None;
    }
    Some(StatusColumn {
        name,
        field,
        priority,
    })
}

fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn priority(fields: &Fields<'_>, findings: &mut Findings) -> Option<i32> {
    let Some((_, node)) = fields.get("priority") else {
        return Some(0);
    };
    if let Content::Int(number) = node.value
        && let Ok(number) = i32::try_from(number)
        && number >= 0
    {
        return Some(number);
    }
    findings.expected("a whole number from 0", node, &fields.key("priority"));
    None
}

/// The field that a field of the file names, which has to be there.
fn named_field<'a>(
    fields: &Fields<'_>,
    field: &str,
    read: &'a ReadStatus,
    findings: &mut Findings,
) -> Option<&'a StatusField> {
    let Some((name, node)) = fields.text(field, findings) else {
        let message = format!("`{field}` must not be empty");
        findings.problem(fields.node, &fields.path, message);
        return None;
    };
    known_field(&name, node, &fields.key(field), read, findings)
}

fn known_field<'a>(
    name: &str,
    node: &Node,
    key: &str,
    read: &'a ReadStatus,
    findings: &mut Findings,
) -> Option<&'a StatusField> {
    let found = read.status.fields.iter().find(|field| field.name == name);
    // What is wrong with it was said where it stands.
    if found.is_none() && !read.names.iter().any(|known| known == name) {
        let known: Vec<String> = read.names.iter().map(|name| format!("`{name}`")).collect();
        let among = match known.as_slice() {
            [] => "there are none".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        let message = format!("`{}` is none of `status.fields`: {among}", name.escape_debug());
        findings.problem(node, key, message);
    }
    found
}

/// Reads `scale` of an entry. What is wrong with it is noted in `findings`.
pub(super) fn read_scale(
    entry: &Fields<'_>,
    read: &ReadStatus,
    chart: Option<&Chart>,
    findings: &mut Findings,
) -> Option<Scale> {
    let (_, node) = entry.get("scale")?;
    let fields = Fields::read_all(node, entry.key("scale"), SCALE_FIELDS, findings)?;
    let spec = scaled(&fields, chart, findings);
    let number = named_field(&fields, "status", read, findings);
    let number =
        number.filter(|field| is_of_type(field, ParameterType::Integer, &fields, "status", findings));
    let selector = fields
        .get("selector")
        .and_then(|_| named_field(&fields, "selector", read, findings))
        .filter(|field| is_of_type(field, ParameterType::String, &fields, "selector", findings));
    Some(Scale {
        spec: spec?,
        status: number?.name.clone(),
        selector: selector.map(|field| field.name.clone()),
    })
}

fn is_of_type(
    field: &StatusField,
    expected: ParameterType,
    fields: &Fields<'_>,
    key: &str,
    findings: &mut Findings,
) -> bool {
    let is_it = field.r#type == expected;
    if !is_it {
        let message = format!(
            "`{}` is of type {}, and has to be of type {}",
            field.name,
            field.r#type.as_str(),
            expected.as_str()
        );
        findings.problem(fields.node, &fields.key(key), message);
    }
    is_it
}

/// The path of the number in the spec.
fn scaled(fields: &Fields<'_>, chart: Option<&Chart>, findings: &mut Findings) -> Option<String> {
    let Some((text, node)) = fields.text("spec", findings) else {
        findings.problem(fields.node, &fields.path, "`spec` must not be empty");
        return None;
    };
    let path = text.strip_prefix(".spec.").unwrap_or(&text);
    let is_name = |name: &str| {
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts_well
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    if !path.split('.').all(is_name) {
        let message = format!(
            "`{}` is no path of the spec such as `size` or `cluster.size`",
            text.escape_debug()
        );
        findings.problem(node, &fields.key("spec"), message);
        return None;
    }
    let default = chart.and_then(|chart| value_at(chart.values(), path));
    let is_number = |value: &Json| value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if default.is_some_and(|value| !value.is_null() && !is_number(value)) {
        let message = format!("the chart's value of `{path}` is no whole number");
        findings.problem(node, &fields.key("spec"), message);
        return None;
    }
    Some(path.to_owned())
}
