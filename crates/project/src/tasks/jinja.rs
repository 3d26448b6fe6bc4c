//! Texts with templates of Jinja in them. What a name stands for is known only where a loop over a written list says it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use steersman_yaml::{Content, Node};

/// Stands for what a template prints. No file of a role has it.
const HOLE: char = '\u{E000}';

/// What names stand for.
pub(super) type Bound = BTreeMap<String, Node>;

/// Whether only a run can tell what the text is.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains(HOLE)
}

/// The text with what is known filled in; `None` where something stays unknown.
pub(super) fn filled(text: &str, bound: &Bound) -> Option<String> {
    static EXPRESSION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\{\{-?\s*(.*?)\s*-?\}\}").ok());
    if !is_template(text) {
        return Some(text.to_owned());
    }
    let mut out = String::new();
    let mut rest = 0;
    for found in EXPRESSION.as_ref()?.captures_iter(text) {
        let (whole, inner) = (found.get(0)?, found.get(1)?);
        out.push_str(&text[rest..whole.start()]);
        out.push_str(&scalar(value(inner.as_str(), bound)?)?);
        rest = whole.end();
    }
    out.push_str(&text[rest..]);
    (!is_template(&out)).then_some(out)
}

/// What a text of nothing but one template stands for, where that is known.
pub(super) fn whole<'a>(text: &str, bound: &'a Bound) -> Option<&'a Node> {
    value(expression(text)?, bound)
}

/// The inside of a text of nothing but one template.
pub(super) fn expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_matches(['-', ' ', '\n', '\t']);
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner)
}

/// `item`, `item.kind` or `item['kind']`, with filters behind it that only read YAML.
fn value<'a>(expression: &str, bound: &'a Bound) -> Option<&'a Node> {
    let mut parts = expression.split('|').map(str::trim);
    let path = parts.next()?;
    if !parts.all(|filter| matches!(filter, "from_yaml" | "from_yaml_all" | "list" | "string" | "trim")) {
        return None;
    }
    let path = path
        .replace("['", ".")
        .replace("[\"", ".")
        .replace(['\'', '"', ']'], "");
    let mut names = path.split('.');
    let mut node = bound.get(names.next()?)?;
    for name in names {
        node = node.get(name)?;
    }
    Some(node)
}

/// A scalar as a template prints it.
pub(super) fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Content::String(text) => Some(text.clone()),
        Content::Int(number) => Some(number.to_string()),
        Content::Uint(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The file that an expression looks up: `lookup('template', 'web.yaml.j2') | from_yaml`.
pub(super) fn looked_up_file(expression: &str, bound: &Bound) -> Option<(&'static str, String)> {
    static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let call = r#"^(?:lookup|query|q)\(\s*['"](?:ansible\.builtin\.)?(template|file)['"]\s*,\s*([^,()]+?)\s*[,)]"#;
        Regex::new(call).ok()
    });
    let found = CALL.as_ref()?.captures(expression)?;
    let folder = match found.get(1)?.as_str() {
        "template" => "templates",
        _ => "files",
    };
    let argument = found.get(2)?.as_str();
    let quoted = ['\'', '"'].iter().find_map(|quote| {
        let inner = argument.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(['\'', '"'])).then_some(inner)
    });
    let name = match quoted {
        Some(name) => name.to_owned(),
        None => scalar(value(argument, bound)?)?,
    };
    Some((folder, name))
}

/// Arguments of a lookup of objects.
pub(super) type LookupArguments = BTreeMap<String, Option<String>>;

/// The lookups of objects in a text, `lookup('kubernetes.core.k8s', kind='Secret')`: their arguments, `None` for those that
/// are no written text.
pub(super) fn object_lookups(text: &str) -> Vec<LookupArguments> {
    static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let call = r#"(?:lookup|query|q)\(\s*['"](?:kubernetes\.core\.|community\.kubernetes\.)?k8s['"]\s*,?([^()]*)\)"#;
        Regex::new(call).ok()
    });
    static ARGUMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let argument = r#"(\w+)\s*=\s*(?:'([^']*)'|"([^"]*)"|[^,]+)"#;
        Regex::new(argument).ok()
    });
    let (Some(call), Some(argument)) = (CALL.as_ref(), ARGUMENT.as_ref()) else {
        return Vec::new();
    };
    let calls = call.captures_iter(text).filter_map(|found| found.get(1));
    let arguments = calls.map(|inner| {
        let found = argument.captures_iter(inner.as_str()).filter_map(|found| {
            let text = found.get(2).or_else(|| found.get(3));
            Some((
                found.get(1)?.as_str().to_owned(),
                text.map(|text| text.as_str().to_owned()),
            ))
        });
        found.collect()
    });
    arguments.collect()
}

/// A template of YAML as YAML: a hole is where it prints something, and all of its branches are there.
pub(super) fn skeleton(text: &str) -> String {
    static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)\{#.*?#\}").ok());
    static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{%.*?%\}").ok());
    static EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)\{\{.*?\}\}").ok());
    let hole = HOLE.to_string();
    let lines_of = |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count());
    let (Some(comment), Some(tag), Some(expression)) = (COMMENT.as_ref(), TAG.as_ref(), EXPRESSION.as_ref())
    else {
        return text.to_owned();
    };
    let text = comment.replace_all(text, lines_of);
    let text = expression.replace_all(&text, hole.as_str());
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let bare = tag.replace_all(line, "");
        if bare.trim().is_empty() {
            // Nothing but tags, or nothing at all.
        } else if bare.trim() == hole {
            // What is printed here is most often a part of a map.
            out.push_str(&bare.replace(HOLE, &format!("{hole}: {hole}")));
        } else {
            out.push_str(&tag.replace_all(line, hole.as_str()));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Bound, filled, looked_up_file, object_lookups, skeleton};

    fn bound() -> Bound {
        let item = steersman_yaml::parse("{kind: Pod, file: a.j2}").unwrap();
        Bound::from([("item".to_owned(), item)])
    }

    #[test]
    fn only_what_is_written_is_filled_in() {
        for (text, expect) in [
            ("plain", Some("plain")),
            ("{{ item.kind }}s", Some("Pods")),
            ("{{ item['file'] }}", Some("a.j2")),
            ("{{ item }}", None),
            ("{{ other }}", None),
            ("{{ item.kind | lower }}", None),
            ("{% if a %}Pod{% endif %}", None),
        ] {
            assert_eq!(filled(text, &bound()).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn files_of_lookups_are_found() {
        let found = |text: &str| looked_up_file(text, &bound());
        assert_eq!(
            found("lookup('template', 'web.yaml.j2') | from_yaml"),
            Some(("templates", "web.yaml.j2".to_owned()))
        );
        assert_eq!(
            found("lookup(\"ansible.builtin.file\", item.file)"),
            Some(("files", "a.j2".to_owned()))
        );
        assert_eq!(found("lookup('template', name ~ '.j2')"), None);
        assert_eq!(found("lookup('env', 'HOME')"), None);
    }

    #[test]
    fn lookups_of_objects_have_their_arguments() {
        let text = "{{ lookup('kubernetes.core.k8s', kind='Secret', resource_name=name, namespace=\"a\") }}";
        let found = object_lookups(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["kind"].as_deref(), Some("Secret"));
        assert_eq!(found[0]["resource_name"], None);
        assert_eq!(found[0]["namespace"].as_deref(), Some("a"));
    }

    #[test]
    fn all_branches_of_a_template_are_yaml() {
        let text = "{# two\nlines #}\nkind: {{ a }}\n{% if b %}\nspec:\n  {{ c | to_yaml }}\n{% else %}\nx: {% if y %}1{% endif %}\n{% endif %}\n";
        let found = skeleton(text);
        assert_eq!(
            found,
            "\n\nkind: \u{E000}\n\nspec:\n  \u{E000}: \u{E000}\n\nx: \u{E000}1\u{E000}\n\n"
        );
        assert!(steersman_yaml::parse(&found).is_ok());
    }
}
