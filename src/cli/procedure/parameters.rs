//! What a run is made of: the parameters of the command line, and a name.

use anyhow::anyhow;
use serde_json::{Map, Value};

use crate::cli::Failure;

/// The field of a run's spec that names the resource.
pub(super) const RESOURCE: &str = "resource";

/// How long a name may be so that a Job, and a label, can begin with it.
const LONGEST: usize = 63;
/// So many characters the server adds to a name.
const ADDED: usize = 5;

/// The parameters of a run: `typed` ones are what they look like, and `texts` are texts whatever they look like.
pub(super) fn read(typed: &[String], texts: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut parameters = Map::new();
    let typed = typed.iter().map(|given| ("--set", given));
    let texts = texts.iter().map(|given| ("--set-string", given));
    for (flag, given) in typed.chain(texts) {
        let (name, value) = given.split_once('=').unwrap_or_default();
        if name.is_empty() {
            let error = anyhow!("`{flag} {}` gives no parameter", given.escape_debug());
            return Err(Failure::usage(error, Some(format!("write {flag} NAME=VALUE"))));
        }
        let shown = name.escape_debug();
        if name == RESOURCE {
            let error = anyhow!("`{shown}` is no parameter: it is the resource that the command names");
            return Err(Failure::usage(error, None));
        }
        let value = match flag {
            "--set" => literal(value),
            _ => value.into(),
        };
        if parameters.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(
                anyhow!("parameter `{shown}` is given twice"),
                None,
            ));
        }
    }
    Ok(parameters)
}

/// A number, `true` or `false` as JSON writes it, and a text else. A whole number that no field can hold is a text, too, so that it
/// is refused and not rounded.
fn literal(text: &str) -> Value {
    let is_whole = text
        .trim_start_matches('-')
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    let has_space = text.contains(char::is_whitespace);
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) if !has_space && (!is_whole || number.is_i64()) => Value::Number(number),
        Ok(Value::Bool(value)) if !has_space => Value::Bool(value),
        _ => text.into(),
    }
}

/// What the names of runs begin with, which the server completes: the resource and the procedure, as far as there is room for them.
pub(super) fn prefix(resource: &str, procedure: &str) -> String {
    let room = LONGEST - ADDED - "--".len();
    let resource = cut(resource, room.saturating_sub(procedure.len()).max(room / 2));
    let procedure = cut(procedure, room - resource.len());
    format!("{resource}-{procedure}-")
}

/// The beginning of a name, which ends as a name may.
fn cut(name: &str, length: usize) -> &str {
    let start = name.get(..length).unwrap_or(name);
    start.trim_end_matches(['-', '.'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_what_they_look_like() {
        let check = |text: &str, expect: Value| assert_eq!(literal(text), expect, "{text}");
        check("3", json!(3));
        check("-3", json!(-3));
        check("1.5", json!(1.5));
        check("1e3", json!(1000.0));
        check("true", json!(true));
        for text in [
            "",
            "True",
            "null",
            "+3",
            "007",
            " 3",
            "3 ",
            "-",
            "10m",
            "[1]",
            "\"a\"",
            "9223372036854775808",
            "123456789012345678901234567890",
            "a=b",
        ] {
            check(text, json!(text));
        }
    }

    #[test]
    fn each_parameter_is_given_once_with_its_name() {
        let check = |typed: &[&str], texts: &[&str], expect: Option<Value>| {
            let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
            let found = read(&owned(typed), &owned(texts)).ok().map(Value::Object);
            assert_eq!(found, expect, "{typed:?} {texts:?}");
        };
        check(&[], &[], Some(json!({})));
        check(
            &["depth=2", "to=a=b"],
            &["snapshot=20260102"],
            Some(json!({"depth": 2, "to": "a=b", "snapshot": "20260102"})),
        );
        check(&["depth"], &[], None);
        check(&["=2"], &[], None);
        check(&["depth=1", "depth=2"], &[], None);
        check(&["depth=1"], &["depth=2"], None);
        check(&["resource=other"], &[], None);
    }

    #[test]
    fn names_are_cut_where_they_would_be_too_long() {
        let check = |resource: &str, procedure: &str, expect: &str| {
            let found = prefix(resource, procedure);
            assert!(found.len() + ADDED <= LONGEST, "{found}");
            assert_eq!(found, expect);
        };
        check("west", "backup", "west-backup-");
        let long = "a".repeat(60);
        check(&long, "backup", &format!("{}-backup-", "a".repeat(50)));
        check(
            &long,
            &"b".repeat(63),
            &format!("{}-{}-", "a".repeat(28), "b".repeat(28)),
        );
        check("a", &"b".repeat(63), &format!("a-{}-", "b".repeat(55)));
        let with_dot = format!("{}.b", "a".repeat(49));
        check(&with_dot, "backup", &format!("{}-backup-", "a".repeat(49)));
    }
}
