//! Typed reading of the file's nodes, noting what is wrong instead of stopping at it.

use std::fmt::Display;

use steersman_model::suggest;
use steersman_yaml::{Content, Node};

use crate::error::{Notice, Problem};

/// What was found wrong or odd so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    pub(super) notices: Vec<Notice>,
}

impl Findings {
    pub(super) fn problem(&mut self, node: &Node, key: &str, message: impl Display) {
        self.problem_with_hint(node, key, message, None);
    }

    pub(super) fn problem_with_hint(
        &mut self,
        node: &Node,
        key: &str,
        message: impl Display,
        hint: Option<String>,
    ) {
        self.problems.push(Problem {
            line: node.line,
            column: node.column,
            key: key.to_owned(),
            message: message.to_string(),
            hint,
        });
    }

    pub(super) fn notice(&mut self, node: &Node, key: &str, message: impl Display) {
        self.notices.push(Notice {
            line: node.line,
            key: key.to_owned(),
            message: message.to_string(),
        });
    }

    pub(super) fn expected(&mut self, what: &str, node: &Node, key: &str) {
        self.problem(
            node,
            key,
            format_args!("expected {what}, found {}", describe(node)),
        );
    }
}

/// A mapping whose keys are fields, and where it stands.
pub(super) struct Fields<'a> {
    /// The path to the mapping, such as `[0].selector`.
    pub(super) path: String,
    /// The mapping itself.
    pub(super) node: &'a Node,
    present: Vec<(&'static str, &'a Node, &'a Node)>,
}

impl<'a> Fields<'a> {
    /// Sorts the keys of a mapping by field, in any case of letters as Go's JSON does. Keys that are no field, and
    /// keys that occur twice, are noticed.
    pub(super) fn read(
        node: &'a Node,
        path: String,
        known: &'static [&'static str],
        findings: &mut Findings,
    ) -> Option<Self> {
        Self::read_with(node, path, known, findings, |findings, key, path, meant| {
            findings.notice(key, path, format_args!("unknown field is ignored{meant}"));
        })
    }

    /// The same where a key that is no field is a problem: without what it was to say, the rest would say something else.
    pub(super) fn read_all(
        node: &'a Node,
        path: String,
        known: &'static [&'static str],
        findings: &mut Findings,
    ) -> Option<Self> {
        Self::read_with(node, path, known, findings, |findings, key, path, meant| {
            findings.problem(key, path, format_args!("unknown field{meant}"));
        })
    }

    fn read_with(
        node: &'a Node,
        path: String,
        known: &'static [&'static str],
        findings: &mut Findings,
        unknown: fn(&mut Findings, &Node, &str, &str),
    ) -> Option<Self> {
        let Content::Mapping(pairs) = &node.value else {
            findings.expected("a map", node, &path);
            return None;
        };
        let mut present: Vec<(&'static str, &'a Node, &'a Node)> = Vec::new();
        for (key, value) in pairs {
            let name = match key.key_string() {
                Ok(name) => name,
                Err(error) => {
                    findings.problem(key, &path, error.message());
                    continue;
                }
            };
            let mut all = known.iter().copied();
            let Some(field) = all.find(|field| field.eq_ignore_ascii_case(&name) || is_on(key, field)) else {
                let meant = suggest(&name, known)
                    .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                unknown(findings, key, &join(&path, name.escape_debug()), &meant);
                continue;
            };
            // Keys of a merged mapping stand before the mapping, where its anchor is, and are there to be replaced.
            if let Some((_, earlier, _)) = present.iter().find(|(other, _, _)| *other == field)
                && earlier.line >= node.line
            {
                let earlier = earlier.line;
                findings.notice(
                    key,
                    &join(&path, field),
                    format_args!("given twice: this one counts, not the one on line {earlier}"),
                );
            }
            present.retain(|(other, _, _)| *other != field);
            present.push((field, key, value));
        }
        Some(Self { path, node, present })
    }

    /// The key and the value of a field, if it is there and not null.
    pub(super) fn get(&self, field: &str) -> Option<(&'a Node, &'a Node)> {
        let (_, key, value) = self.present.iter().find(|(name, _, _)| *name == field)?;
        (value.value != Content::Null).then_some((key, value))
    }

    /// The value of a field, if it is there, be it null.
    pub(super) fn given(&self, field: &str) -> Option<&'a Node> {
        let found = self.present.iter().find(|(name, _, _)| *name == field);
        found.map(|(_, _, value)| *value)
    }

    /// The items of a field that is a list of `what`; none where it is not there.
    pub(super) fn items(&self, field: &str, what: &str, findings: &mut Findings) -> &'a [Node] {
        match self.get(field).map(|(_, node)| node) {
            Some(Node {
                value: Content::Sequence(items),
                ..
            }) => items,
            Some(node) => {
                findings.expected(&format!("a list of {what}"), node, &self.key(field));
                &[]
            }
            None => &[],
        }
    }

    /// The value of a field that is a text.
    pub(super) fn text(&self, field: &str, findings: &mut Findings) -> Option<(String, &'a Node)> {
        let (_, node) = self.get(field)?;
        if let Some(text) = scalar_text(node) {
            return Some((text, node));
        }
        findings.expected("a text", node, &self.key(field));
        None
    }

    /// The value of a field that is true or false.
    pub(super) fn boolean(&self, field: &str, findings: &mut Findings) -> Option<bool> {
        let (_, node) = self.get(field)?;
        if let Content::Bool(value) = node.value {
            return Some(value);
        }
        findings.expected("true or false", node, &self.key(field));
        None
    }

    /// The path of a field.
    pub(super) fn key(&self, field: &str) -> String {
        join(&self.path, field)
    }
}

/// Whether a key is `on`, which YAML 1.1 takes for a boolean where it is not quoted.
fn is_on(key: &Node, field: &str) -> bool {
    field == "on" && key.value == Content::Bool(true)
}

/// `drift.ignore`: keys with dots between, as messages name a place in the file.
pub(super) fn join(path: &str, step: impl Display) -> String {
    if path.is_empty() {
        step.to_string()
    } else {
        format!("{path}.{step}")
    }
}

/// A scalar as text, as sigs.k8s.io/yaml turns numbers and booleans into the strings that Go expects.
pub(super) fn scalar_text(node: &Node) -> Option<String> {
    match &node.value {
        Content::String(text) => Some(text.clone()),
        Content::Uint(number) => Some(number.to_string()),
        Content::Bool(_) | Content::Int(_) | Content::Float(_) => node.key_string().ok(),
        Content::Null | Content::Sequence(_) | Content::Mapping(_) => None,
    }
}

/// What a node is, in words.
pub(super) fn describe(node: &Node) -> String {
    match &node.value {
        Content::Null => "nothing".to_owned(),
        Content::Bool(_) | Content::Int(_) | Content::Uint(_) | Content::Float(_) => {
            let kind = if matches!(node.value, Content::Bool(_)) {
                "the boolean"
            } else {
                "the number"
            };
            format!("{kind} `{}`", scalar_text(node).unwrap_or_default())
        }
        Content::String(text) => format!("the text `{}`", shortened(text)),
        Content::Sequence(_) => "a list".to_owned(),
        Content::Mapping(_) => "a map".to_owned(),
    }
}

/// A text that fits into a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
