//! `valuesFrom`: which Secrets and `ConfigMap`s have values of releases.

use steersman_chart::Values;
use steersman_chart::values::set::{Reading, set_bounded};
use steersman_yaml::{Content, Node};

use super::dependencies::name_template;
use super::entry::Loader;
use super::fields::{Fields, Findings};
use crate::values_from::{SourceKind, ValueSource, ValuesFrom};

/// How long the list of a resource may be.
const MAX_TEXT: usize = 8192;
/// How many sources a resource may name.
const MOST_SOURCES: usize = 16;

pub(super) const FIELDS: &[&str] = &["sources", "fromResources"];
pub(super) const SOURCE_FIELDS: &[&str] = &["kind", "name", "valuesKey", "targetPath", "optional", "literal"];

impl Loader<'_> {
    /// What the entry says of values from other objects: a list of them, or a map that has one.
    pub(super) fn values_from(&mut self, fields: &Fields<'_>) -> ValuesFrom {
        let Some((_, node)) = fields.get("valuesFrom") else {
            return ValuesFrom::default();
        };
        let key = fields.key("valuesFrom");
        if self.switch(fields, "reuseValues") {
            let message = "a resource that keeps its last values (`reuseValues`) takes none from elsewhere";
            self.findings.problem(node, &key, message);
        }
        if let Content::Sequence(items) = &node.value {
            return ValuesFrom {
                sources: sources(items, &key, &mut self.findings),
                from_resources: false,
            };
        }
        let Some(fields) = Fields::read_all(node, key, FIELDS, &mut self.findings) else {
            return ValuesFrom::default();
        };
        let items = fields.items("sources", "sources", &mut self.findings);
        ValuesFrom {
            sources: sources(items, &fields.key("sources"), &mut self.findings),
            from_resources: self.switch(&fields, "fromResources"),
        }
    }
}

/// The sources that a resource names itself, in a text with a list in YAML, as its annotation `steersman.dev/values-from` has it.
///
/// # Errors
/// What is wrong with it.
pub fn read_value_sources(text: &str) -> Result<Vec<ValueSource>, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("it is longer than {MAX_TEXT} bytes"));
    }
    let node = steersman_yaml::parse_bytes(text.as_bytes()).map_err(|error| error.message().to_string())?;
    let Content::Sequence(items) = &node.value else {
        return Err("it is no list".to_owned());
    };
    if items.len() > MOST_SOURCES {
        return Err(format!("it has more than {MOST_SOURCES} sources"));
    }
    let mut findings = Findings::default();
    let sources = sources(items, "", &mut findings);
    match findings.problems.into_iter().next() {
        Some(problem) => Err(format!("{}: {}", problem.key, problem.message)),
        None => Ok(sources),
    }
}

/// The sources of a list; those that are wrong are left out, with a problem.
fn sources(items: &[Node], key: &str, findings: &mut Findings) -> Vec<ValueSource> {
    let items = items.iter().enumerate();
    items
        .filter_map(|(index, node)| source(node, format!("{key}[{index}]"), findings))
        .collect()
}

fn source(node: &Node, path: String, findings: &mut Findings) -> Option<ValueSource> {
    let fields = Fields::read_all(node, path, SOURCE_FIELDS, findings)?;
    let kind = kind(&fields, findings);
    if fields.get("name").is_none() {
        findings.problem(node, &fields.path, "`name` must not be empty");
    }
    let name = name_template(&fields, "name", findings);
    let values_key = match fields.text("valuesKey", findings) {
        Some((key, node)) if !is_key(&key) => {
            let message = format!("`{}` can't be a key of an object's data", key.escape_debug());
            findings.problem(node, &fields.key("valuesKey"), message);
            return None;
        }
        Some((key, _)) => key,
        None => ValueSource::DEFAULT_KEY.to_owned(),
    };
    let target_path = fields.text("targetPath", findings);
    if let Some((path, node)) = &target_path
        && let Err(error) = set_bounded(&mut Values::new(), &format!("{path}=x"), Reading::Literal)
    {
        let message = format!("`{}` is no path as in `--set`: {error}", path.escape_debug());
        findings.problem(node, &fields.key("targetPath"), message);
    }
    let literal = fields.boolean("literal", findings).unwrap_or(false);
    if literal && target_path.is_none() {
        let message = "`literal` is for a value at a `targetPath`";
        findings.problem(node, &fields.key("literal"), message);
    }
    Some(ValueSource {
        kind: kind?,
        name: name?,
        values_key,
        target_path: target_path.map(|(path, _)| path),
        optional: fields.boolean("optional", findings).unwrap_or(false),
        literal,
    })
}

fn kind(fields: &Fields<'_>, findings: &mut Findings) -> Option<SourceKind> {
    let Some((text, node)) = fields.text("kind", findings) else {
        findings.problem(fields.node, &fields.path, "`kind` must not be empty");
        return None;
    };
    match text.as_str() {
        "Secret" => Some(SourceKind::Secret),
        "ConfigMap" => Some(SourceKind::ConfigMap),
        _ => {
            let message = format!("`{}` is none of `Secret`, `ConfigMap`", text.escape_debug());
            findings.problem(node, &fields.key("kind"), message);
            None
        }
    }
}

/// As Kubernetes has it for the data of Secrets and `ConfigMap`s.
fn is_key(text: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(is_of_key) && !text.starts_with("..") && text != "."
}
