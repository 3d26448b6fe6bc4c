//! Matching, finding, replacing and splitting by regular expressions of Go's syntax.

mod broken;
mod cost;
mod expand;
mod search;
mod syntax;

use std::cell::RefCell;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};
use steersman_gotemplate::{Failure, List, ListType, Runtime, Str, Value, format};

use crate::Outcome;
use crate::arguments::{bytes, integer, string};
use cost::Cost;

/// How many expressions a thread keeps compiled: charts use few, in many places.
const KEPT: usize = 64;

/// How large a compiled expression may be, in bytes.
const SIZE_LIMIT: usize = 4 << 20;

/// How large the machine may get that a search makes of an expression as it goes, in bytes.
const MACHINE_LIMIT: usize = 512 << 10;

/// How long an expression may be: its syntax tree takes some hundred times as much memory.
const MAX_LENGTH: usize = 64 << 10;

/// How many [places](Cost::places) an expression may have to be kept.
const KEPT_PLACES: u64 = 4096;

/// The steps of compiling one place of an expression: some microseconds.
const STEPS_PER_PLACE: u64 = 30;

/// The places and bytes that a search passes in one step.
const PLACES_AND_BYTES_PER_STEP: u64 = 64;

thread_local! {
    static COMPILED: RefCell<Vec<Rc<Compiled>>> = const { RefCell::new(Vec::new()) };
}

/// An expression, and what searching for it costs.
struct Compiled {
    pattern: Str,
    regex: Regex,
    cost: Cost,
}

/// See [`crate::expression_places`].
pub(crate) fn places(expression: &str) -> u64 {
    Cost::of(expression).places
}

/// What becomes of an expression that does not compile.
#[derive(Clone, Copy)]
enum OnError {
    /// Go panics, and says which expression.
    Panics,
    /// The function returns Go's error.
    Fails,
}

/// See [`crate::is_expression`].
pub(crate) fn is_expression(expression: &str) -> bool {
    translated(expression.as_bytes()).is_ok_and(|translated| {
        Cost::of(&translated).places <= KEPT_PLACES
            && RegexBuilder::new(&translated)
                .size_limit(SIZE_LIMIT)
                .build()
                .is_ok()
    })
}

fn compiled(
    runtime: &mut dyn Runtime,
    arguments: &[Value],
    on_error: OnError,
) -> Result<Rc<Compiled>, Failure> {
    let pattern = string(arguments, 0);
    let known = COMPILED.with_borrow(|kept| {
        let known = kept.iter().rev().find(|known| known.pattern == pattern);
        known.cloned()
    });
    let compiled = match known {
        Some(known) => known,
        None => compile(runtime, pattern, on_error)?,
    };
    let length = bytes(arguments, 1).len() as u64;
    runtime.spend(1 + length.saturating_mul(compiled.cost.places) / PLACES_AND_BYTES_PER_STEP)?;
    Ok(compiled)
}

fn compile(runtime: &mut dyn Runtime, pattern: Str, on_error: OnError) -> Result<Rc<Compiled>, Failure> {
    runtime.spend(64 + pattern.len() as u64)?;
    let failed = |error: String| {
        Failure::new(match on_error {
            OnError::Fails => error,
            OnError::Panics => format!("regexp: Compile({}): {error}", backquoted(pattern.as_bytes())),
        })
    };
    let translated = translated(pattern.as_bytes()).map_err(failed)?;
    let cost = Cost::of(&translated);
    runtime.spend(cost.places.saturating_mul(STEPS_PER_PLACE).min(SIZE_LIMIT as u64))?;
    let regex = RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(MACHINE_LIMIT)
        .build()
        .map_err(|error| {
            let problem = match error {
                regex::Error::CompiledTooBig(_) => "expression too large",
                _ => "invalid expression",
            };
            failed(format!("error parsing regexp: {problem}: `{}`", pattern.text()))
        })?;
    let compiled = Rc::new(Compiled { pattern, regex, cost });
    if cost.places <= KEPT_PLACES {
        COMPILED.with_borrow_mut(|kept| {
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push(Rc::clone(&compiled));
        });
    }
    Ok(compiled)
}

/// The expression in the syntax of `regex`, or Go's message why it has none.
fn translated(pattern: &[u8]) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(pattern) else {
        let end = pattern
            .utf8_chunks()
            .next()
            .map_or(0, |chunk| chunk.valid().len());
        let rest = String::from_utf8_lossy(pattern.get(end..).unwrap_or_default());
        return Err(format!("error parsing regexp: invalid UTF-8: `{rest}`"));
    };
    if pattern.len() > MAX_LENGTH {
        return Err(format!("error parsing regexp: expression too large: `{text}`"));
    }
    syntax::translate(text).map_err(|error| error.to_string())
}

fn backquoted(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(text)
            if !text.contains(|character: char| {
                character == '`' || (character.is_control() && character != '\t')
            }) =>
        {
            format!("`{text}`")
        }
        _ => format::quote_bytes(text),
    }
}

pub(crate) fn is_match(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    match must_match(runtime, arguments) {
        Err(failure) if !failure.exhausted => Ok(false.into()),
        outcome => outcome,
    }
}

pub(crate) fn must_match(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, |_, regex, arguments| {
        let mut matches = search::matches(&regex.regex, bytes(arguments, 1));
        Ok(matches.next().is_some().into())
    })
}

/// What a search does once its expression is compiled.
type Body = fn(&mut dyn Runtime, &Compiled, &[Value]) -> Outcome;

/// Searches the second argument by the expression that the first one is.
fn searched(runtime: &mut dyn Runtime, arguments: &[Value], on_error: OnError, body: Body) -> Outcome {
    let regex = compiled(runtime, arguments, on_error)?;
    let source = bytes(arguments, 1);
    if std::str::from_utf8(source).is_ok() {
        return body(runtime, &regex, arguments);
    }
    runtime.reserve(source.len().saturating_mul(4))?;
    let mut arguments = arguments.to_vec();
    if let Some(text) = arguments.get_mut(1) {
        *text = broken::hidden(source).into();
    }
    body(runtime, &regex, &arguments).map(broken::shown)
}

pub(crate) fn find(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Panics, first_match)
}

pub(crate) fn must_find(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, first_match)
}

fn first_match(_: &mut dyn Runtime, regex: &Compiled, arguments: &[Value]) -> Outcome {
    let found = search::matches(&regex.regex, bytes(arguments, 1)).next();
    Ok(text(found.map(|found| found.as_bytes()).unwrap_or_default()).into())
}

fn text(bytes: &[u8]) -> Str {
    Str::from_bytes(bytes.to_vec())
}

pub(crate) fn find_all(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Panics, all_matches)
}

pub(crate) fn must_find_all(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, all_matches)
}

/// The number that a negative one stands for: as many as there are.
fn limit(arguments: &[Value]) -> usize {
    usize::try_from(integer(arguments, 2)).unwrap_or(usize::MAX)
}

/// Accounts for a search in the rest of a text, which may have looked at all of it to find that a short match is the
/// longest: `a.*b|a` does.
fn look_ahead(runtime: &mut dyn Runtime, regex: &Compiled, rest: usize) -> Result<(), Failure> {
    /// A machine passes a byte in a nanosecond or two.
    const BYTES_PER_STEP: usize = 64;
    runtime.spend((rest.min(regex.cost.reach) / BYTES_PER_STEP) as u64)
}

fn all_matches(runtime: &mut dyn Runtime, regex: &Compiled, arguments: &[Value]) -> Outcome {
    let mut matches = Vec::new();
    let source = bytes(arguments, 1);
    for found in search::matches(&regex.regex, source).take(limit(arguments)) {
        runtime.reserve(size_of::<Value>() + found.len())?;
        look_ahead(runtime, regex, source.len() - found.end())?;
        matches.push(text(found.as_bytes()));
    }
    if matches.is_empty() {
        return Ok(List::nil(ListType::String).into());
    }
    Ok(Value::strings(matches))
}

pub(crate) fn replace_all(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(
        runtime,
        arguments,
        OnError::Panics,
        |runtime, regex, arguments| replaced(runtime, regex, arguments, expand::expand),
    )
}

pub(crate) fn must_replace_all(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, |runtime, regex, arguments| {
        replaced(runtime, regex, arguments, expand::expand)
    })
}

pub(crate) fn replace_literal(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(
        runtime,
        arguments,
        OnError::Panics,
        |runtime, regex, arguments| replaced(runtime, regex, arguments, literally),
    )
}

pub(crate) fn must_replace_literal(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, |runtime, regex, arguments| {
        replaced(runtime, regex, arguments, literally)
    })
}

fn literally(result: &mut Vec<u8>, replacement: &[u8], _: &Captures<'_>) {
    result.extend_from_slice(replacement);
}

/// Writes what stands in place of a match.
type Replace = fn(&mut Vec<u8>, &[u8], &Captures<'_>);

fn replaced(runtime: &mut dyn Runtime, regex: &Compiled, arguments: &[Value], replace: Replace) -> Outcome {
    let (source, replacement) = (bytes(arguments, 1), bytes(arguments, 2));
    runtime.reserve(source.len())?;
    let mut result = Vec::with_capacity(source.len());
    let mut end = 0;
    for captures in search::captures(&regex.regex, source) {
        let Some(found) = captures.get(0) else { continue };
        result.extend_from_slice(source.get(end..found.start()).unwrap_or_default());
        let before = result.len();
        replace(&mut result, replacement, &captures);
        runtime.reserve(result.len() - before)?;
        look_ahead(runtime, regex, source.len() - found.end())?;
        end = found.end();
    }
    if end == 0 && result.is_empty() {
        return Ok(string(arguments, 1).into());
    }
    result.extend_from_slice(source.get(end..).unwrap_or_default());
    Ok(Str::from_bytes(result).into())
}

pub(crate) fn split(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Panics, parts)
}

pub(crate) fn must_split(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    searched(runtime, arguments, OnError::Fails, parts)
}

fn parts(runtime: &mut dyn Runtime, regex: &Compiled, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 1);
    let limit = limit(arguments);
    if limit == 0 {
        return Ok(List::nil(ListType::String).into());
    }
    if source.is_empty() && !bytes(arguments, 0).is_empty() {
        return Ok(Value::strings([""]));
    }
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for found in search::matches(&regex.regex, source) {
        if parts.len() + 1 == limit {
            break;
        }
        look_ahead(runtime, regex, source.len() - found.end())?;
        end = found.start();
        if found.end() != 0 {
            runtime.reserve(size_of::<Value>() + end - start)?;
            parts.push(text(source.get(start..end).unwrap_or_default()));
        }
        start = found.end();
    }
    if end != source.len() {
        parts.push(text(source.get(start..).unwrap_or_default()));
    }
    Ok(Value::strings(parts))
}

pub(crate) fn quote_meta(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut quoted = Vec::new();
    for byte in bytes(arguments, 0) {
        if br"\.+*?()|[]{}^$".contains(byte) {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    Ok(Str::from_bytes(quoted).into())
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::{check, int};

    #[test]
    fn matches_are_found() {
        check("regexMatch", &["^h.*d$".into(), "hello world".into()], "true");
        check("regexMatch", &["[".into(), "a".into()], "false");
        check("regexFind", &["l.".into(), "hello".into()], "ll");
        check("regexFindAll", &["[a-z]".into(), "abcd".into(), int(2)], "[a b]");
        check("regexFindAll", &["x".into(), "abcd".into(), int(-1)], "[]");
    }

    #[test]
    fn matches_are_replaced() {
        check(
            "regexReplaceAll",
            &["(\\w+) (\\w+)".into(), "a b".into(), "$2 ${1}x $1x".into()],
            "b ax ",
        );
        check(
            "regexReplaceAll",
            &["x*".into(), "abc".into(), "-".into()],
            "-a-b-c-",
        );
        check("regexReplaceAll", &["a".into(), "a".into(), "$$1".into()], "$1");
        check(
            "regexReplaceAllLiteral",
            &["o".into(), "foo".into(), "$1".into()],
            "f$1$1",
        );
    }

    #[test]
    fn texts_are_split_at_matches() {
        check("regexSplit", &["z+".into(), "pizza".into(), int(-1)], "[pi a]");
        check("regexSplit", &["z".into(), "pizza".into(), int(2)], "[pi za]");
        check("regexSplit", &["".into(), "abc".into(), int(-1)], "[a b c]");
        check("regexSplit", &["z".into(), "pizza".into(), int(0)], "[]");
    }

    #[test]
    fn wrong_expressions_are_named() {
        check(
            "regexFind",
            &["[".into(), "a".into()],
            "error: regexp: Compile(`[`): error parsing regexp: missing closing ]: `[`",
        );
        check(
            "mustRegexFind",
            &["a**".into(), "a".into()],
            "error: error parsing regexp: invalid nested repetition operator: `**`",
        );
    }
}
