//! What happens to a value between Go and YAML: sigs.k8s.io/yaml writes JSON and reads it as YAML.

use crate::Error;
use crate::number::{self, Integer};
use std::borrow::Cow;

/// The integer that a float has become after JSON, where it has: JSON writes whole numbers below 1e21 with
/// all their digits, and YAML takes those that fit into 64 bits for integers.
pub(super) fn integer(value: f64) -> Option<String> {
    if value.fract() != 0.0 || value.abs() >= 1e21 {
        return None;
    }
    let shortest = number::shortest(value);
    let (mantissa, exponent) = shortest.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let places = exponent.parse::<usize>().ok()? + 1;
    let width = places + usize::from(value.is_sign_negative());
    match number::integer(&format!("{digits:0<width$}"))? {
        Integer::Signed(value) => Some(value.to_string()),
        Integer::Unsigned(value) => Some(value.to_string()),
    }
}

/// The string that is left of one after JSON. Go escapes ASCII's control characters but DEL, and no others;
/// YAML refuses those, folds a NEL like any line break in quotes, and finds no key behind 1,024 characters.
pub(super) fn through_json(value: &str, is_key: bool) -> Result<Cow<'_, str>, Error> {
    if is_key && value.len() > MAX_KEY_LENGTH / 6 && json_length(value) > MAX_KEY_LENGTH {
        return Err(Error::content("did not find expected ',' or '}'", 0));
    }
    if !value.bytes().any(|byte| matches!(byte, 0x7f | 0xc2 | 0xef)) {
        return Ok(Cow::Borrowed(value));
    }
    let is_refused =
        |character| matches!(character, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}'..='\u{ffff}');
    if value.contains(is_refused) {
        return Err(Error::content("control characters are not allowed", 0));
    }
    if !value.contains('\u{85}') {
        return Ok(Cow::Borrowed(value));
    }
    if is_key {
        return Err(Error::content("did not find expected ',' or '}'", 0));
    }
    Ok(Cow::Owned(fold_next_lines(value)))
}

const MAX_KEY_LENGTH: usize = 1024;

/// How many characters Go's JSON of a string has.
fn json_length(value: &str) -> usize {
    let length = |character| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        _ => 1,
    };
    value.chars().map(length).sum::<usize>() + 2
}

/// Joins the lines between the NELs: one NEL is a space, more lose the first, and the spaces around them are
/// gone.
fn fold_next_lines(value: &str) -> String {
    let mut folded = String::with_capacity(value.len());
    let mut breaks = 0;
    let mut lines = value.split('\u{85}').peekable();
    let mut is_first = true;
    while let Some(line) = lines.next() {
        let line = if is_first {
            line
        } else {
            line.trim_start_matches(' ')
        };
        let line = if lines.peek().is_some() {
            line.trim_end_matches(' ')
        } else {
            line
        };
        if !is_first {
            breaks += 1;
        }
        let is_last = lines.peek().is_none();
        if !is_first && (!line.is_empty() || is_last) {
            if breaks == 1 {
                folded.push(' ');
            } else {
                folded.extend(std::iter::repeat_n('\n', breaks - 1));
            }
            breaks = 0;
        }
        folded.push_str(line);
        is_first = false;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::{fold_next_lines, integer, through_json};

    #[test]
    fn whole_floats_become_integers() {
        for (value, expect) in [
            (5.0, Some("5")),
            (-0.0, Some("0")),
            (1e18, Some("1000000000000000000")),
            (1.2e19, Some("12000000000000000000")),
            (9_223_372_036_854_775_807.0, Some("9223372036854776000")),
            (-1_234_500.0, Some("-1234500")),
            (-1e19, None),
            (1e20, None),
            (0.5, None),
        ] {
            assert_eq!(integer(value).as_deref(), expect, "{value}");
        }
    }

    #[test]
    fn next_lines_are_folded() {
        for (value, expect) in [
            ("a\u{85}b", "a b"),
            ("a \u{85} b", "a b"),
            ("a\u{85}\u{85}b", "a\nb"),
            ("a\u{85} \u{85}\u{85}b", "a\n\nb"),
            ("\u{85}a\u{85}", " a "),
        ] {
            assert_eq!(fold_next_lines(value), expect, "{value:?}");
        }
    }

    #[test]
    fn long_keys_are_refused() {
        assert!(through_json(&"k".repeat(1022), true).is_ok());
        assert!(through_json(&"k".repeat(1023), true).is_err());
        assert!(through_json(&"<".repeat(171), true).is_err());
        assert!(through_json(&"k".repeat(1023), false).is_ok());
    }
}
