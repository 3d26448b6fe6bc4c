//! The patterns of `.Files.Glob`: those of `github.com/gobwas/glob` with `/` as the separator.

use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// How deep alternatives may lie in alternatives.
const MAX_DEPTH: usize = 32;

/// A pattern: `*` and `?` do not match a slash, `**` does, `{a,b}` are alternatives, `[a-z]` and
/// `[!abc]` are classes, and `\` takes the next character as it is.
pub(crate) struct Glob(Option<Regex>);

impl Glob {
    /// The pattern, or, as in Helm, one that matches all names where it is malformed.
    pub(crate) fn new(pattern: &str) -> Self {
        let mut translated = String::from("(?s)^(?:");
        let mut rest = pattern.chars().peekable();
        let whole = translate(&mut rest, &mut translated, 0);
        translated.push_str(")$");
        Self(whole.and_then(|()| Regex::new(&translated).ok()))
    }

    /// Whether the name as a whole matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

fn translate(rest: &mut Peekable<Chars<'_>>, out: &mut String, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => out.push_str(".*"),
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => class(rest, out)?,
            '{' => {
                out.push_str("(?:");
                translate(rest, out, depth + 1)?;
                out.push(')');
            }
            '}' if depth > 0 => return Some(()),
            ',' if depth > 0 => out.push('|'),
            '\\' => literal(rest.next()?, out),
            other => literal(other, out),
        }
    }
    (depth == 0).then_some(())
}

/// One range or any number of characters, but not both.
fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if rest.next_if_eq(&'!').is_some() {
        out.push('^');
    }
    let mut character = rest.next()?;
    if rest.next_if_eq(&'-').is_some() {
        literal(character, out);
        out.push('-');
        literal(rest.next()?, out);
        if rest.next()? != ']' {
            return None;
        }
    } else {
        if character == ']' {
            return None;
        }
        while character != ']' {
            let shown = if character == '\\' {
                rest.next()?
            } else {
                character
            };
            literal(shown, out);
            character = rest.next()?;
        }
    }
    out.push(']');
    Some(())
}

fn literal(character: char, out: &mut String) {
    out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        let glob = Glob::new(pattern);
        for name in matching {
            assert!(glob.matches(name), "{pattern} {name}");
        }
        for name in other {
            assert!(!glob.matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        check("conf/*.ini", &["conf/a.ini"], &["conf/a/b.ini", "a.ini"]);
        check("conf/**.ini", &["conf/a.ini", "conf/a/b.ini"], &["a.ini"]);
        check("**", &["a", "a/b"], &[]);
    }

    #[test]
    fn alternatives_and_classes_are_understood() {
        check("{a,b/*}.txt", &["a.txt", "b/x.txt"], &["c.txt"]);
        check("[a-c]1", &["b1"], &["d1"]);
        check("[!ab]1", &["c1"], &["a1"]);
    }

    #[test]
    fn a_malformed_pattern_matches_everything() {
        check("[a", &["anything/at all"], &[]);
        check("{a", &["anything/at all"], &[]);
    }
}
