//! The objects of a definition: written in a task, in a text, or in a file that may be a template.

use std::sync::Arc;

use steersman_chart::survey::Place;
use steersman_yaml::{Content, Node};

use super::jinja::{self, is_template};

/// An object, as far as it is written.
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    /// Where it names one, template or not.
    pub(super) namespace: Option<String>,
    pub(super) place: Place,
    /// All of it; absent where only its kind could be read.
    pub(super) node: Option<Node>,
}

/// What is in a definition.
pub(super) enum Found {
    Object(Box<Object>),
    /// Something that only a run can tell.
    Unknown(Place, String),
}

/// What arguments of a module say of objects that do not say it themselves.
#[derive(Clone, Default)]
pub(super) struct Defaults {
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
}

/// A file, and the line in it before the first one of a text.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
}

impl Source {
    fn place(&self, line: u32) -> Place {
        Place {
            file: Arc::clone(&self.file),
            line: self.line + line as usize,
        }
    }
}

/// The objects of a definition that is written as a map, a list or a text.
pub(super) fn of_node(node: &Node, defaults: &Defaults, source: &Source) -> Vec<Found> {
    match &node.value {
        Content::Sequence(items) => {
            let each = items.iter().flat_map(|item| of_node(item, defaults, source));
            each.collect()
        }
        Content::String(text) if jinja::expression(text).is_some() => {
            let message = format!("the definition is the template `{}`", text.trim());
            vec![Found::Unknown(source.place(node.line), message)]
        }
        Content::String(text) => {
            let within = Source {
                file: Arc::clone(&source.file),
                line: source.line + node.line as usize,
            };
            of_text(text, defaults, &within)
        }
        Content::Mapping(_) => of_map(node, defaults, source),
        _ => Vec::new(),
    }
}

/// The objects of a text of YAML documents, which may be a template.
pub(super) fn of_text(text: &str, defaults: &Defaults, source: &Source) -> Vec<Found> {
    let has_templates = is_template(text) || text.contains("{#");
    let yaml = if has_templates {
        jinja::skeleton(text)
    } else {
        text.to_owned()
    };
    match steersman_yaml::parse_documents(&yaml) {
        Ok(documents) => {
            let each = documents.iter().flat_map(|node| of_node(node, defaults, source));
            each.collect()
        }
        Err(_) if has_templates => of_lines(&yaml, source),
        Err(error) => {
            let message = format!("not valid YAML: {}", error.message());
            vec![Found::Unknown(source.place(error.line()), message)]
        }
    }
}

fn of_map(node: &Node, defaults: &Defaults, source: &Source) -> Vec<Found> {
    // Branches of a template that exclude each other are keys of one map here.
    let (kinds, versions) = (all(node, "kind"), all(node, "apiVersion"));
    let line = |given: Option<&&Node>| source.place(given.map_or(node.line, |given| given.line));
    let kinds: Vec<(String, Place)> = if kinds.is_empty() {
        let kind = defaults.kind.iter();
        kind.map(|kind| (kind.clone(), line(None))).collect()
    } else {
        let texts = kinds.iter();
        texts
            .map(|kind| (jinja::scalar(kind).unwrap_or_default(), line(Some(kind))))
            .collect()
    };
    if kinds.is_empty() {
        let message = "an object whose kind can't be read".to_owned();
        return vec![Found::Unknown(source.place(node.line), message)];
    }
    let version = |index: usize| {
        let given = versions.get(index).or(versions.last());
        given
            .and_then(|given| jinja::scalar(given))
            .or_else(|| defaults.api_version.clone())
            .unwrap_or_default()
    };
    let namespace = node
        .get("metadata")
        .and_then(|metadata| jinja::scalar(metadata.get("namespace")?));
    let mut found = Vec::new();
    for (index, (kind, place)) in kinds.into_iter().enumerate() {
        let api_version = version(index);
        if let (Some(of), Some(Content::Sequence(items))) = (
            kind.strip_suffix("List"),
            node.get("items").map(|items| &items.value),
        ) {
            let defaults = Defaults {
                api_version: Some(api_version),
                kind: Some(of.to_owned()).filter(|of| !of.is_empty()),
            };
            found.extend(items.iter().flat_map(|item| of_node(item, &defaults, source)));
            continue;
        }
        found.push(named(api_version, kind, namespace.clone(), place, Some(node)));
    }
    found
}

/// An object of this kind, unless a template decides which one that is.
fn named(
    api_version: String,
    kind: String,
    namespace: Option<String>,
    place: Place,
    node: Option<&Node>,
) -> Found {
    for (what, text) in [("kind", &kind), ("API version", &api_version)] {
        if text.is_empty() {
            return Found::Unknown(place, format!("an object whose {what} can't be read"));
        }
        if is_template(text) {
            return Found::Unknown(place, format!("a template decides the {what} of an object"));
        }
    }
    Found::Object(Box::new(Object {
        api_version,
        kind,
        namespace,
        place,
        node: node.cloned(),
    }))
}

fn all<'a>(node: &'a Node, name: &str) -> Vec<&'a Node> {
    let Content::Mapping(pairs) = &node.value else {
        return Vec::new();
    };
    let named = pairs.iter().filter(|(key, _)| key.as_str() == Some(name));
    named.map(|(_, value)| value).collect()
}

/// What a template that is no YAML says at the beginnings of its lines: kinds, each with the API version before it.
fn of_lines(text: &str, source: &Source) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut version, mut waiting) = (None, None);
    for (line, number) in text.lines().zip(1_u32..) {
        let value = |key: &str| {
            let value = line.strip_prefix(key)?.split(" #").next()?;
            Some(value.trim().trim_matches(['"', '\'']).to_owned())
        };
        if line.starts_with("---") {
            (version, waiting) = (None, None);
        } else if let Some(given) = value("apiVersion:") {
            if let Some((kind, place)) = waiting.take() {
                found.push(named(given.clone(), kind, None, place, None));
            }
            version = Some(given);
        } else if let Some(kind) = value("kind:") {
            let place = source.place(number);
            match version.clone() {
                Some(version) => found.push(named(version, kind, None, place, None)),
                None => waiting = Some((kind, place)),
            }
        }
    }
    if found.is_empty() {
        let message = "a template whose objects can't be read".to_owned();
        found.push(Found::Unknown(source.place(0), message));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Defaults, Found, Source, of_text};

    fn check(text: &str, expect: &[&str]) {
        let source = Source {
            file: Arc::from("a.j2"),
            line: 0,
        };
        let found = of_text(text, &Defaults::default(), &source);
        let lines: Vec<String> = found
            .iter()
            .map(|found| match found {
                Found::Object(object) => {
                    let namespace = object.namespace.as_deref().unwrap_or("-");
                    format!(
                        "{} {} {namespace} {}",
                        object.api_version, object.kind, object.place.line
                    )
                }
                Found::Unknown(place, message) => format!("{}: {message}", place.line),
            })
            .collect();
        assert_eq!(lines, expect, "{text}");
    }

    #[test]
    fn objects_of_documents_and_lists_are_found() {
        check(
            "apiVersion: v1\nkind: Service\nmetadata: {namespace: a}\n---\napiVersion: apps/v1\nkind: Deployment\n",
            &["v1 Service a 2", "apps/v1 Deployment - 6"],
        );
        check(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n",
            &["v1 Pod - 4"],
        );
        check(
            "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]\n",
            &["v1 Pod - 3"],
        );
        check(
            "kind: [\n",
            &["2: not valid YAML: did not find expected node content"],
        );
    }

    #[test]
    fn each_branch_of_a_template_counts() {
        check(
            "apiVersion: v1\n{% if a %}\nkind: Service\n{% else %}\nkind: Pod\n{% endif %}\nmetadata:\n  name: {{ b }}\n  {{ c | to_yaml }}\n",
            &["v1 Service - 3", "v1 Pod - 5"],
        );
        check(
            "apiVersion: v1\nkind: {{ kind }}\n",
            &["2: a template decides the kind of an object"],
        );
        check("{{ all }}\n", &["1: an object whose kind can't be read"]);
    }

    #[test]
    fn a_template_that_is_no_yaml_is_read_by_its_lines() {
        check(
            "kind: Job # first\napiVersion: batch/v1\nspec:\n- a\n{{ b }}\n  c: d\n---\napiVersion: v1\nkind: 'Pod'\n",
            &["batch/v1 Job - 1", "v1 Pod - 9"],
        );
        check("- a\n{{ b }}\n", &["0: a template whose objects can't be read"]);
    }
}
