//! What a chart's defaults tell of its values.

use std::collections::BTreeSet;

use steersman_yaml::{Content, Node as Yaml};

use super::comments::Comments;
use super::meet::blend;
use super::node::{Node, Rest, Types};
use super::notice::Notices;
use super::read;

/// What Kubernetes calls maps of quantities, which may be decimals, too.
const QUANTITIES: [&str; 2] = ["limits", "requests"];

/// How deep maps are looked into.
const MAX_DEPTH: usize = 40;

/// Reads a `values.yaml`. `varied` are the names of values that templates take in several types.
pub(super) fn infer(file: &[u8], varied: &BTreeSet<String>, notices: &mut Notices) -> Node {
    let text = String::from_utf8_lossy(file);
    let comments = Comments::read(&text);
    let documents = steersman_yaml::parse_documents(&text).unwrap_or_default();
    let mut inference = Inference {
        comments,
        varied,
        notices,
    };
    let mut all = Node::of(Types::OBJECT);
    for document in &documents {
        if let Content::Mapping(pairs) = &document.value {
            let node = inference.mapping(pairs, "", 0);
            all = blend(node, all, inference.notices);
        }
    }
    all
}

struct Inference<'a, 'n> {
    comments: Comments<'a>,
    varied: &'a BTreeSet<String>,
    notices: &'n mut Notices,
}

impl Inference<'_, '_> {
    fn mapping(&mut self, pairs: &[(Yaml, Yaml)], path: &str, depth: usize) -> Node {
        let mut node = Node::of(Types::OBJECT);
        for (key, value) in pairs {
            let Ok(name) = key.key_string() else { continue };
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let place = self.notices.enter(&name);
            let property = self.property(&name, key.line, value, &path, depth + 1);
            self.notices.leave(place);
            node.properties.insert(name, property);
        }
        node
    }

    fn property(&mut self, name: &str, line: u32, value: &Yaml, path: &str, depth: usize) -> Node {
        let hint = self.comments.of(path, line);
        let mut node = if depth > MAX_DEPTH || self.varied.contains(name) {
            Node::default()
        } else {
            self.value(name, value, path, depth)
        };
        if let (Some(types), true) = (hint.types, is_empty(value) && !self.varied.contains(name)) {
            node.types = types;
        }
        if let Some(schema) = hint.schema {
            let mut written = read::read(&schema, self.notices);
            super::meet::complete(&mut written, &node, false);
            node = written;
        }
        if hint.description.is_some() {
            node.description = hint.description;
        }
        node
    }

    fn value(&mut self, name: &str, value: &Yaml, path: &str, depth: usize) -> Node {
        match &value.value {
            Content::Bool(_) => Node::of(Types::BOOLEAN),
            Content::Int(_) | Content::Uint(_) => Node::of(Types::INTEGER_OR_STRING),
            Content::String(text) => Node::of(types_of_text(text)),
            Content::Null | Content::Float(_) => Node::default(),
            Content::Sequence(items) if items.is_empty() => Node::default(),
            Content::Sequence(items) => list(items),
            Content::Mapping(pairs) if pairs.is_empty() => Node::default(),
            Content::Mapping(pairs)
                if QUANTITIES.contains(&name) && pairs.iter().all(|(_, value)| is_scalar(value)) =>
            {
                Node::of(Types::OBJECT)
            }
            Content::Mapping(pairs) => self.mapping(pairs, path, depth),
        }
    }
}

/// Numbers are written as text, and texts that begin like numbers as numbers; texts of several lines may be YAML in
/// disguise, for which many charts take the YAML itself as well.
fn types_of_text(text: &str) -> Types {
    let is_truth = ["true", "false"].contains(&text);
    let is_milli = text
        .strip_suffix('m')
        .is_some_and(|number| number.parse::<f64>().is_ok());
    if text.contains('\n')
        || is_truth
        || is_milli
        || text.parse::<f64>().is_ok_and(|number| number.fract() != 0.0)
    {
        Types::ANY
    } else if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        Types::INTEGER_OR_STRING
    } else {
        Types::STRING
    }
}

fn list(items: &[Yaml]) -> Node {
    let kind = |item: &Yaml| match &item.value {
        Content::Mapping(_) => Types::OBJECT,
        Content::Int(_) | Content::Uint(_) => Types::INTEGER_OR_STRING,
        Content::String(text) => types_of_text(text),
        _ => Types::ANY,
    };
    let types = items.iter().map(kind).fold(Types::NONE, Types::or);
    let is_known = types == Types::OBJECT || Types::INTEGER_OR_STRING.contains(types);
    let item = Node {
        types: if is_known { types } else { Types::ANY },
        rest: Rest::Open,
        ..Node::default()
    };
    Node {
        types: Types::ARRAY,
        items: is_known.then(|| Box::new(item)),
        ..Node::default()
    }
}

fn is_scalar(value: &Yaml) -> bool {
    !matches!(value.value, Content::Sequence(_) | Content::Mapping(_))
}

fn is_empty(value: &Yaml) -> bool {
    match &value.value {
        Content::Null => true,
        Content::String(text) => text.is_empty(),
        Content::Sequence(items) => items.is_empty(),
        Content::Mapping(pairs) => pairs.is_empty(),
        _ => false,
    }
}
