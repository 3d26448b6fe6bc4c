//! Which objects a target means.

use crate::identity::Id;
use crate::kustomization::Target;
use crate::resource::Resource;
use regex::{Regex, RegexBuilder};

/// The size in bytes that a regular expression may take when it is compiled.
const MAX_EXPRESSION: usize = 1 << 20;

/// A target with its regular expressions compiled.
#[derive(Debug)]
pub(crate) struct Selector {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Selector {
    pub(crate) fn new(target: &Target) -> Result<Self, String> {
        Ok(Self {
            group: whole(&target.group)?,
            version: whole(&target.version)?,
            kind: whole(&target.kind)?,
            name: whole(&target.name)?,
            namespace: whole(&target.namespace)?,
            labels: requirements(&target.label_selector)?,
            annotations: requirements(&target.annotation_selector)?,
        })
    }

    /// Whether an object is meant: by the names it has or had at first, and the kind it has.
    pub(crate) fn matches(&self, resource: &Resource) -> bool {
        let (current, original) = (resource.current_id(), resource.original_id());
        let either = |expression: &Option<Regex>, part: fn(&Id) -> &str| {
            fits(expression.as_ref(), part(&original)) || fits(expression.as_ref(), part(&current))
        };
        either(&self.namespace, Id::effective_namespace)
            && either(&self.name, |id| &id.name)
            && fits(self.group.as_ref(), &current.gvk.group)
            && fits(self.version.as_ref(), &current.gvk.version)
            && fits(self.kind.as_ref(), &current.gvk.kind)
            && self.matches_pairs(resource)
    }

    /// Whether the labels and annotations of an object fit.
    pub(crate) fn matches_pairs(&self, resource: &Resource) -> bool {
        are_met(&self.labels, &resource.pairs("labels"))
            && are_met(&self.annotations, &resource.pairs("annotations"))
    }
}

fn fits(expression: Option<&Regex>, text: &str) -> bool {
    expression.is_none_or(|expression| expression.is_match(text))
}

/// An expression for a whole text; none for an empty one, which stands for anything.
fn whole(pattern: &str) -> Result<Option<Regex>, String> {
    if pattern.is_empty() {
        return Ok(None);
    }
    compile(&format!("^(?:{pattern})$")).map(Some)
}

/// Compiles a regular expression of bounded size.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_EXPRESSION)
        .build()
        .map_err(|error| format!("`{pattern}` is no regular expression: {error}"))
}

/// One part of a label selector.
#[derive(Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Missing(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

fn are_met(requirements: &[Requirement], pairs: &[(String, String)]) -> bool {
    let value = |key: &String| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    requirements.iter().all(|requirement| match requirement {
        Requirement::Exists(key) => value(key).is_some(),
        Requirement::Missing(key) => value(key).is_none(),
        Requirement::In(key, values) => value(key).is_some_and(|value| values.contains(value)),
        Requirement::NotIn(key, values) => value(key).is_none_or(|value| !values.contains(value)),
    })
}

/// Reads a label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    parts(text)
        .into_iter()
        .map(|part| requirement(part).ok_or_else(|| format!("`{part}` is no label selector")))
        .collect()
}

/// The parts between commas that are outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

fn requirement(part: &str) -> Option<Requirement> {
    if let Some((key, values)) = part.split_once('(') {
        let values = values
            .strip_suffix(')')?
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let (key, operator) = key.trim().split_once(char::is_whitespace)?;
        return match operator.trim() {
            "in" => Some(Requirement::In(key.to_owned(), values)),
            "notin" => Some(Requirement::NotIn(key.to_owned(), values)),
            _ => None,
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(word(key)?, vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once('=') {
        let value = value.strip_prefix('=').unwrap_or(value);
        return Some(Requirement::In(word(key)?, vec![value.trim().to_owned()]));
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Requirement::Missing(word(key)?)),
        None => Some(Requirement::Exists(word(part)?)),
    }
}

fn word(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{are_met, requirements};

    #[test]
    fn label_selectors_are_those_of_kubernetes() {
        let pairs = [
            ("app".to_owned(), "web".to_owned()),
            ("tier".to_owned(), "front".to_owned()),
        ];
        for (selector, expect) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (web, api),!missing", true),
            ("app notin (web)", false),
            ("missing", false),
            ("missing!=x", true),
        ] {
            assert_eq!(
                are_met(&requirements(selector).unwrap(), &pairs),
                expect,
                "{selector}"
            );
        }
        requirements("app in web").unwrap_err();
    }
}
