//! Values as Go's `%#v` prints them, which goyaml puts into some of its messages.

use crate::{Content, Node, number};
use std::cmp::Ordering;
use std::fmt::Write;

/// The name of the Go type that a value has after decoding.
pub(crate) fn type_name(node: &Node) -> &'static str {
    match &node.value {
        Content::Null => "%!s(<nil>)",
        Content::Bool(_) => "bool",
        Content::Int(_) => "int",
        Content::Uint(_) => "uint64",
        Content::Float(_) => "float64",
        Content::String(_) => "string",
        Content::Sequence(_) => "[]interface {}",
        Content::Mapping(_) => "map[interface {}]interface {}",
    }
}

/// The value in Go syntax.
pub(crate) fn format(node: &Node) -> String {
    let mut out = String::new();
    if matches!(node.value, Content::Null) {
        out.push_str("<nil>");
    } else {
        write_node(node, &mut out);
    }
    out
}

/// A message need not hold a whole document.
const MAX_LENGTH: usize = 64 << 10;

fn write_node(node: &Node, out: &mut String) {
    if out.len() > MAX_LENGTH {
        return;
    }
    // Writing to a string does not fail.
    let _ = match &node.value {
        Content::Null => write!(out, "interface {{}}(nil)"),
        Content::Bool(value) => write!(out, "{value}"),
        Content::Int(value) => write!(out, "{value}"),
        Content::Uint(value) => write!(out, "{value:#x}"),
        Content::Float(value) => write!(out, "{}", float(*value)),
        Content::String(text) => {
            quote(text, out);
            Ok(())
        }
        Content::Sequence(items) => {
            out.push_str("[]interface {}{");
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write_node(item, out);
            }
            write!(out, "}}")
        }
        Content::Mapping(pairs) => {
            out.push_str("map[interface {}]interface {}{");
            for (position, (key, value)) in sorted(pairs).into_iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write_node(key, out);
                out.push(':');
                write_node(value, out);
            }
            write!(out, "}}")
        }
    };
}

/// The pairs that a Go map would hold, in the order in which Go prints them. Between keys of different types
/// that order depends on addresses; this is the one in Helm's own build.
fn sorted(pairs: &[(Node, Node)]) -> Vec<(&Node, &Node)> {
    let mut sorted: Vec<(&Node, &Node)> = pairs.iter().map(|(key, value)| (key, value)).collect();
    sorted.sort_by(|a, b| compare(a.0, b.0));
    sorted.reverse();
    sorted.dedup_by(|a, b| compare(a.0, b.0) == Ordering::Equal);
    sorted.reverse();
    sorted
}

fn compare(a: &Node, b: &Node) -> Ordering {
    match (&a.value, &b.value) {
        (Content::Bool(a), Content::Bool(b)) => a.cmp(b),
        (Content::Int(a), Content::Int(b)) => a.cmp(b),
        (Content::Uint(a), Content::Uint(b)) => a.cmp(b),
        (Content::Float(a), Content::Float(b)) => a.total_cmp(b),
        (Content::String(a), Content::String(b)) => a.cmp(b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(content: &Content) -> u8 {
    match content {
        Content::Null => 0,
        Content::String(_) => 1,
        Content::Uint(_) => 2,
        Content::Int(_) => 3,
        Content::Float(_) => 4,
        Content::Bool(_) => 5,
        Content::Sequence(_) => 6,
        Content::Mapping(_) => 7,
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 {
            "+Inf".to_owned()
        } else {
            "-Inf".to_owned()
        }
    } else {
        number::general(value)
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars().take(MAX_LENGTH) {
        let _ = match character {
            '"' | '\\' => write!(out, "\\{character}"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{c}' => write!(out, "\\f"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{b}' => write!(out, "\\v"),
            _ if character < ' ' || character == '\u{7f}' => write!(out, "\\x{:02x}", u32::from(character)),
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                write!(out, "\\u{:04x}", u32::from(character))
            }
            _ => write!(out, "{character}"),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::format;
    use crate::parse;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (text, expect) in [
            ("a: ", r#"map[interface {}]interface {}{"a":interface {}(nil)}"#),
            ("[1, 2.5, 'x\"', yes]", r#"[]interface {}{1, 2.5, "x\"", true}"#),
            ("~", "<nil>"),
            (
                "{b: 1, a: 2, b: 3}",
                r#"map[interface {}]interface {}{"a":2, "b":3}"#,
            ),
            ("1e6", "1e+06"),
        ] {
            assert_eq!(format(&parse(text).unwrap()), expect, "{text}");
        }
    }
}
