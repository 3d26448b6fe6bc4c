//! What the comments of a values file tell of its values.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::Types;

/// What comments tell of one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hint {
    /// The prose, without annotations such as `@param`; it goes into the schema.
    pub(super) description: Option<String>,
    /// What it may be, if they say so.
    pub(super) types: Option<Types>,
    /// A JSON Schema that is written there.
    pub(super) schema: Option<Value>,
}

/// The comments of a values file.
pub(super) struct Comments<'a> {
    lines: Vec<&'a str>,
    /// What names the value that it is about by its path.
    by_path: BTreeMap<String, Hint>,
}

impl<'a> Comments<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let by_path = by_path(&lines);
        Self { lines, by_path }
    }

    /// What comments say of the value at a path, whose key is on a line (counted from 1) and in a column.
    pub(super) fn of(&self, path: &str, line: u32) -> Hint {
        if let Some(hint) = self.by_path.get(path) {
            return hint.clone();
        }
        let line = (line as usize).saturating_sub(1);
        let hint = block_hint(&self.block_above(line));
        if hint == Hint::default() {
            let description = self.lines.get(line).and_then(|line| trailing(line));
            return Hint { description, ..hint };
        }
        hint
    }

    /// The comment lines right above a line, without their signs.
    fn block_above(&self, line: usize) -> Vec<&'a str> {
        let above = self.lines.get(..line).unwrap_or_default();
        let is_comment = |line: &&&str| line.trim_start().starts_with('#');
        let length = above.iter().rev().take_while(is_comment).count();
        let block = above.get(above.len() - length..).unwrap_or_default();
        block.iter().map(|line| uncommented(line)).collect()
    }
}

fn uncommented(line: &str) -> &str {
    let text = line.trim().trim_start_matches('#');
    text.strip_prefix(' ').unwrap_or(text).trim_end()
}

/// `@param PATH [MODIFIERS] TEXT` of readme-generator, and `PATH -- TEXT` of helm-docs.
fn by_path(lines: &[&str]) -> BTreeMap<String, Hint> {
    let mut hints = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        if !line.trim_start().starts_with('#') {
            continue;
        }
        let text = uncommented(line).trim_start();
        if let Some(parameter) = text
            .strip_prefix("@param ")
            .or_else(|| text.strip_prefix("@extra "))
        {
            let (path, rest) = split_word(parameter.trim_start());
            hints.insert(path.to_owned(), parameter_hint(rest));
        } else if let Some((path, description)) = text.split_once(" -- ")
            && is_path(path)
        {
            let more = lines
                .iter()
                .skip(number + 1)
                .take_while(|line| line.trim_start().starts_with('#'));
            let mut block = vec![description];
            block.extend(
                more.map(|line| uncommented(line))
                    .take_while(|line| !line.starts_with('@') && !line.contains("-- ")),
            );
            hints.insert(path.to_owned(), documented(&block));
        }
    }
    hints
}

fn is_path(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/[]\"".contains(c);
    !text.is_empty() && text.chars().all(is_part) && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// What follows the path of a `@param`: modifiers in brackets and a text.
fn parameter_hint(rest: &str) -> Hint {
    let Some((modifiers, text)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Hint {
            description: joined(&[rest]),
            ..Hint::default()
        };
    };
    let mut types: Option<Types> = None;
    let mut is_nullable = false;
    for modifier in modifiers.split(',').map(str::trim) {
        match modifier {
            "nullable" => is_nullable = true,
            other => types = types.or_else(|| named_type(other)),
        }
    }
    Hint {
        description: joined(&[text]),
        types: types.map(|types| if is_nullable { types.or(Types::NULL) } else { types }),
        schema: None,
    }
}

/// The types that documentation tools name.
fn named_type(name: &str) -> Option<Types> {
    Some(match name {
        "array" | "list" => Types::ARRAY,
        "object" | "map" | "dict" => Types::OBJECT,
        "string" | "int" | "integer" => Types::INTEGER_OR_STRING,
        "bool" | "boolean" => Types::BOOLEAN,
        _ => return None,
    })
}

/// What the lines above a key tell.
fn block_hint(block: &[&str]) -> Hint {
    let (block, schema) = without_schema(block);
    let documented_from = block.iter().rposition(|line| is_documentation(line));
    let mut hint = match documented_from {
        Some(start) => {
            let lines = block.get(start..).unwrap_or_default();
            let mut lines: Vec<&str> = lines.to_vec();
            lines[0] = lines[0].trim_start().trim_start_matches("--").trim_start();
            documented(&lines)
        }
        None => Hint {
            description: plain(&block),
            ..Hint::default()
        },
    };
    hint.schema = schema;
    hint
}

fn is_documentation(line: &str) -> bool {
    line == "--" || line.starts_with("-- ")
}

/// The text of helm-docs, with a type in parentheses before it and lines for the tool after it.
fn documented(lines: &[&str]) -> Hint {
    let mut types = None;
    let mut lines: Vec<&str> = (lines.iter())
        .take_while(|line| !line.starts_with("@sect"))
        .filter(|line| !line.starts_with('@'))
        .copied()
        .collect();
    if let Some(first) = lines.first_mut()
        && let Some((name, text)) = first.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        && !name.contains(' ')
    {
        types = named_type(name);
        *first = text.trim_start();
    }
    Hint {
        description: joined(&lines),
        types,
        schema: None,
    }
}

/// Lines without a `# @schema` block, and what that says.
fn without_schema<'a>(block: &[&'a str]) -> (Vec<&'a str>, Option<Value>) {
    let mut rest = Vec::new();
    let mut schema = String::new();
    let mut inside = false;
    for line in block {
        if line.trim() == "@schema" {
            inside = !inside;
        } else if inside {
            schema.push_str(line);
            schema.push('\n');
        } else if !line.trim_start().starts_with("@schema") {
            rest.push(*line);
        }
    }
    let schema = (!inside && !schema.is_empty())
        .then(|| steersman_yaml::to_json(&schema).ok())
        .flatten();
    (rest, schema.filter(Value::is_object))
}

/// Comments without marks: prose, as far as it goes. What looks like a value that was commented out ends it.
fn plain(lines: &[&str]) -> Option<String> {
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| !c.is_alphanumeric());
    let prose: Vec<&str> = (lines.iter())
        .copied()
        .filter(|line| !is_rule(line) && !line.starts_with('@'))
        .take_while(|line| !is_commented_out(line))
        .collect();
    joined(&prose)
}

fn is_commented_out(line: &str) -> bool {
    let text = line.trim_start();
    let text = text.strip_prefix("- ").unwrap_or(text);
    let Some((key, value)) = text.split_once(':') else {
        return false;
    };
    let is_key = !key.is_empty() && !key.contains(' ');
    let value = value.trim_start();
    let is_value = value.is_empty()
        || value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*'])
        || !value.contains(' ')
        || line.starts_with(' ');
    is_key && is_value && !value.starts_with("//")
}

/// Lines as paragraphs.
fn joined(lines: &[&str]) -> Option<String> {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        if line.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            continue;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push(' ');
        }
        text.extend(line.chars().filter(|c| !c.is_control()));
    }
    let text = text.trim();
    text.contains(char::is_alphanumeric).then(|| text.to_owned())
}

/// A comment behind a value on its line.
fn trailing(line: &str) -> Option<String> {
    let mut quote = None;
    let mut before = ' ';
    for (place, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (None, '#') if before.is_whitespace() => {
                let text = uncommented(line.get(place..)?);
                return joined(&[text.trim_start_matches("-- ")]);
            }
            _ => {}
        }
        before = c;
    }
    None
}
