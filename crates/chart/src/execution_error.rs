//! Errors of templates as Helm shows them: one line for a message of `fail` or `required`, and a
//! trail of places for most others.

use steersman_gotemplate::Error;

use crate::functions::{WARNING_END, WARNING_START};

/// The error of a template that does not parse.
pub(crate) fn of_parser(file: &str, error: &str) -> String {
    let tokens: Vec<&str> = error.split(": ").collect();
    match tokens.as_slice() {
        [_, place, .., message] => format!("parse error at ({place}): {message}"),
        [_, message] => format!("parse error at ({message}): {message}"),
        _ => format!("parse error in ({file}): {error}"),
    }
}

/// The error of a template that fails.
pub(crate) fn of_execution(error: &Error) -> String {
    let text = error.to_string();
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(place), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return text;
    };
    if let Some(message) = warning(rest) {
        return format!("execution error at ({place}): {message}");
    }
    trail(&text).unwrap_or(text)
}

/// What stands between the first mark of a warning and the last one of its end.
pub(crate) fn warning(text: &str) -> Option<&str> {
    let start = text.find(WARNING_START)? + WARNING_START.len();
    let rest = text.get(start..)?;
    rest.get(..rest.rfind(WARNING_END)?)
}

/// One place in a chain of templates that include each other.
#[derive(PartialEq, Eq)]
struct Step<'a> {
    place: &'a str,
    function: String,
    message: &'a str,
}

/// The chain of places, if the error consists of nothing else: the error of a function other than
/// `include` is shown in Go's own form.
fn trail(text: &str) -> Option<String> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut link = Some(text);
    while let Some(text) = link {
        let (step, inner) = read(text)?;
        if steps.last() != Some(&step) {
            steps.push(step);
        }
        link = inner;
    }
    let mut shown = String::new();
    for step in &steps {
        if !step.place.is_empty() {
            shown.push_str(step.place);
            shown.push_str("\n  ");
        }
        if !step.function.is_empty() {
            shown.push_str(&step.function);
            shown.push_str("\n    ");
        }
        if !step.message.is_empty() {
            shown.push_str(step.message);
            shown.push('\n');
        }
    }
    Some(shown.trim().to_owned())
}

/// The outermost place in an error, and the error that it wraps.
fn read(text: &str) -> Option<(Step<'_>, Option<&str>)> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        let step = Step {
            place: "",
            function: String::new(),
            message: text,
        };
        return Some((step, None));
    }
    let Some((place, after)) = rest.split_once(": executing ") else {
        let (place, message) = rest.rsplit_once(": ")?;
        let step = Step {
            place,
            function: String::new(),
            message: shortened(message),
        };
        return Some((step, None));
    };
    let (function, after) = after.strip_prefix('"')?.split_once('"')?;
    let (context, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
    let step = Step {
        place,
        function: format!("executing \"{function}\" at <{context}>:"),
        message: shortened(message),
    };
    Some((step, wrapped(message)))
}

/// The error that a function returned, if this is about one.
fn wrapped(message: &str) -> Option<&str> {
    let (name, inner) = message.strip_prefix("error calling ")?.split_once(": ")?;
    let is_name = name
        .chars()
        .all(|character| character.is_alphanumeric() || character == '_');
    is_name.then_some(inner)
}

fn shortened(message: &str) -> &str {
    message
        .split_once(" template:")
        .map_or(message, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_includes_becomes_a_trail() {
        let text = r#"template: a/t.yaml:1:3: executing "a/t.yaml" at <include "x" .>: error calling include: template: a/_h.tpl:2:5: executing "x" at <.Values.b.c>: nil pointer evaluating interface {}.c"#;
        let expect = "a/t.yaml:1:3\n  executing \"a/t.yaml\" at <include \"x\" .>:\n    error calling include:\na/_h.tpl:2:5\n  executing \"x\" at <.Values.b.c>:\n    nil pointer evaluating interface {}.c";
        assert_eq!(trail(text).as_deref(), Some(expect));
    }

    #[test]
    fn the_error_of_another_function_stays_as_it_is() {
        let text = r#"template: a/t.yaml:1:3: executing "a/t.yaml" at <index .x 1>: error calling index: out of range"#;
        assert_eq!(trail(text), None);
    }

    #[test]
    fn errors_of_the_parser_lose_their_prefix() {
        assert_eq!(
            of_parser("a/t.yaml", "template: a/t.yaml:3: unexpected EOF"),
            "parse error at (a/t.yaml:3): unexpected EOF"
        );
    }
}
