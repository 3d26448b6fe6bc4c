//! The types of arguments: what Ansible takes for one.

use steersman_yaml::{Content, Node};

/// A type, by the words of specifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Int,
    Float,
    Bool,
    List,
    Dict,
    /// Whatever it is.
    Raw,
}

const TRUE_OR_FALSE: [&str; 14] = [
    "y", "yes", "on", "1", "true", "t", "1.0", "n", "no", "off", "0", "false", "f", "0.0",
];

impl Type {
    /// `None` for a word that is no type.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "str" | "path" | "bytes" | "bits" => Self::Text,
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "list" => Self::List,
            "dict" => Self::Dict,
            "raw" | "json" | "jsonarg" => Self::Raw,
            _ => return None,
        })
    }

    /// Whether Ansible takes a value for this, or makes it this. What only a run knows is taken.
    pub(super) fn takes(self, node: &Node) -> bool {
        let text = node.as_str().map(str::trim);
        if text.is_some_and(|text| text.contains("{{") || text.contains("{%")) || node.value == Content::Null
        {
            return true;
        }
        match (self, &node.value) {
            (Self::Raw, _)
            | (
                Self::Text | Self::List,
                Content::String(_) | Content::Int(_) | Content::Uint(_) | Content::Float(_),
            )
            | (Self::Text | Self::Int | Self::Float | Self::Bool | Self::List, Content::Bool(_))
            | (Self::Int | Self::Float, Content::Int(_) | Content::Uint(_))
            | (Self::Float, Content::Float(_))
            | (Self::List, Content::Sequence(_))
            | (Self::Dict, Content::Mapping(_)) => true,
            (Self::Int, Content::Float(number)) => number.fract() == 0.0,
            (Self::Int, Content::String(_)) => text.is_some_and(|text| text.parse::<i64>().is_ok()),
            (Self::Float, Content::String(_)) => text.is_some_and(|text| text.parse::<f64>().is_ok()),
            (Self::Bool, Content::Int(number)) => matches!(number, 0 | 1),
            (Self::Bool, Content::String(_)) => {
                text.is_some_and(|text| TRUE_OR_FALSE.contains(&text.to_lowercase().as_str()))
            }
            (Self::Dict, Content::String(_)) => {
                text.is_some_and(|text| text.starts_with('{') || text.contains('='))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Type;

    #[test]
    fn types_take_what_ansible_converts() {
        for (name, takes, refuses) in [
            ("str", "[a, '1', 1, true]", "[[a], {a: 1}]"),
            ("int", "[1, '1', true, 1.0, '{{ x }}', null]", "[a, 1.5, [1]]"),
            ("float", "[1, 1.5, '1.5']", "[a, {}]"),
            ("bool", "[true, 'yes', 'T', 1]", "[maybe, 2, []]"),
            ("list", "[[a], 'a,b', 1]", "[{a: 1}]"),
            ("dict", "[{a: 1}, 'a=1', '{\"a\": 1}']", "[a, [a], 1]"),
            ("raw", "[a, [a], {a: 1}]", "[]"),
        ] {
            let kind = Type::named(name).unwrap();
            for (text, expect) in [(takes, true), (refuses, false)] {
                let list = steersman_yaml::parse(text).unwrap();
                let steersman_yaml::Content::Sequence(items) = list.value else {
                    panic!("{text} is a list");
                };
                for item in items {
                    assert_eq!(kind.takes(&item), expect, "{name}: {item:?}");
                }
            }
        }
        assert_eq!(Type::named("string"), None);
    }
}
