//! The rules for `values.yaml`.

use serde_json::Value;
use steersman_gotemplate::{Map, MapType};
use steersman_yaml::Content;

use super::subject::{Entry, Subject};
use super::{LintInput, Report, Severity};
use crate::notice::Notice;
use crate::schema;
use crate::values::{Values, coalesce_tables, from_map, to_map, with_float_numbers};

const FILE: &str = "values.yaml";

pub(super) fn lint(subject: &Subject, input: &LintInput<'_>, report: &mut Report) {
    let exists = match subject.entry(FILE) {
        Entry::Missing => Err("file does not exist"),
        Entry::File | Entry::Folder => Ok(()),
    };
    if report.check(Severity::Info, FILE, exists) {
        let mut notices = Vec::new();
        let result = check(subject, input, &mut notices);
        report.notices.extend(notices);
        report.check(Severity::Error, FILE, result);
    }
}

fn check(subject: &Subject, input: &LintInput<'_>, notices: &mut Vec<Notice>) -> Result<(), String> {
    let content = subject
        .read(FILE)
        .map_err(|error| format!("unable to parse YAML: {error}"))?;
    let values = read(&content).map_err(|error| format!("unable to parse YAML: {error}"))?;
    let merged = Map::new(MapType::Any);
    coalesce_tables(&merged, &to_map(input.values), notices);
    coalesce_tables(&merged, &to_map(&values), notices);
    if input.skip_schema_validation || subject.entry("values.schema.json") == Entry::Missing {
        return Ok(());
    }
    let schema = subject.read("values.schema.json")?;
    if schema.is_empty() {
        return Ok(());
    }
    schema::check_single(&schema, &from_map(&merged))
}

/// Reads the first document, as Helm does here and nowhere else.
fn read(content: &[u8]) -> Result<Values, String> {
    let node = steersman_yaml::parse_bytes(content).map_err(|error| error.converting())?;
    let found = match &node.value {
        Content::Null => return Ok(Values::new()),
        Content::Mapping(_) => None,
        Content::Sequence(_) => Some("array"),
        Content::String(_) => Some("string"),
        Content::Bool(_) => Some("bool"),
        Content::Int(_) | Content::Uint(_) | Content::Float(_) => Some("number"),
    };
    if let Some(found) = found {
        return Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
             common.Values"
        ));
    }
    match with_float_numbers(node)? {
        Value::Object(values) => Ok(values),
        _ => Ok(Values::new()),
    }
}
