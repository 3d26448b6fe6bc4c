//! From Go's syntax of regular expressions to that of the crate `regex`.
//!
//! Both come from RE2 and match alike. They differ in what they accept, and in that Go's `\d`, `\s`,
//! `\w` and `\b` know ASCII only.

use std::fmt::Write as _;

/// Why an expression is wrong, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {what}: `{place}`")]
pub(super) struct SyntaxError {
    what: &'static str,
    place: String,
}

fn error<T>(what: &'static str, place: &str) -> Result<T, SyntaxError> {
    Err(SyntaxError {
        what,
        place: place.to_owned(),
    })
}

const INVALID_ESCAPE: &str = "invalid escape sequence";
const INVALID_RANGE: &str = "invalid character class range";
const MISSING_BRACKET: &str = "missing closing ]";
const MISSING_PARENTHESIS: &str = "missing closing )";

/// How often an expression may be repeated.
const GREATEST_COUNT: u32 = 1000;

/// How deep groups may be nested.
const GREATEST_DEPTH: usize = 200;

/// The same expression in the syntax of the crate `regex`.
pub(super) fn translate(pattern: &str) -> Result<String, SyntaxError> {
    let mut translator = Translator {
        pattern,
        rest: pattern,
        output: String::with_capacity(pattern.len() + 16),
        depth: 0,
        repeatable: false,
        last_repetition: None,
        pending_flags: String::new(),
        names: Vec::new(),
    };
    translator.run()?;
    Ok(translator.output)
}

struct Translator<'a> {
    pattern: &'a str,
    rest: &'a str,
    output: String,
    /// The groups that are open.
    depth: usize,
    /// Whether there is something before this that can be repeated.
    repeatable: bool,
    /// Where the repetition that ends here starts, if one does.
    last_repetition: Option<&'a str>,
    /// Flags after something that can be repeated: an operator after them is for that.
    pending_flags: String,
    /// The names of groups so far.
    names: Vec<&'a str>,
}

impl<'a> Translator<'a> {
    fn run(&mut self) -> Result<(), SyntaxError> {
        while let Some(character) = self.rest.chars().next() {
            let here = self.rest;
            let last_repetition = self.last_repetition.take();
            let repeats = matches!(character, '*' | '+' | '?') || repetition_count(here).is_some();
            if !repeats && !here.starts_with("(?") {
                self.flush_flags();
            }
            match character {
                '*' | '+' | '?' => {
                    self.skip(1);
                    self.repetition(here, last_repetition)?;
                }
                '{' => match repetition_count(here) {
                    Some((count, length)) => {
                        if !count.is_valid() {
                            return error("invalid repeat count", prefix(here, length));
                        }
                        self.skip(length);
                        self.repetition(here, last_repetition)?;
                    }
                    None => self.literal_from_rest(character),
                },
                '(' => self.open_group()?,
                ')' => {
                    if self.depth == 0 {
                        return error("unexpected )", self.pattern);
                    }
                    self.depth -= 1;
                    self.pass(1, true);
                }
                '|' => self.pass(1, false),
                '^' | '$' | '.' => self.pass(1, true),
                '[' => self.class()?,
                '\\' => self.escape()?,
                _ => self.literal_from_rest(character),
            }
        }
        if self.depth > 0 {
            return error(MISSING_PARENTHESIS, self.pattern);
        }
        self.flush_flags();
        Ok(())
    }

    fn flush_flags(&mut self) {
        self.output.push_str(&self.pending_flags);
        self.pending_flags.clear();
    }

    fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// Takes the next bytes over as they are.
    fn pass(&mut self, length: usize, repeatable: bool) {
        self.output.push_str(prefix(self.rest, length));
        self.skip(length);
        self.repeatable = repeatable;
    }

    fn literal(&mut self, character: char) {
        push_literal(&mut self.output, character);
        self.repeatable = true;
    }

    fn literal_from_rest(&mut self, character: char) {
        self.skip(character.len_utf8());
        self.literal(character);
    }

    /// The repetition operator from `start` to here, and a `?` that makes it lazy.
    fn repetition(&mut self, start: &'a str, last: Option<&'a str>) -> Result<(), SyntaxError> {
        if self.rest.starts_with('?') {
            self.skip(1);
        }
        let operator = prefix(start, start.len() - self.rest.len());
        if let Some(last) = last {
            let both = prefix(last, last.len() - self.rest.len());
            return error("invalid nested repetition operator", both);
        }
        if !self.repeatable {
            return error("missing argument to repetition operator", operator);
        }
        self.output.push_str(operator);
        self.last_repetition = Some(start);
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), SyntaxError> {
        let here = self.rest;
        if self.depth == GREATEST_DEPTH {
            return error("expression nests too deeply", self.pattern);
        }
        let Some(special) = here.strip_prefix("(?") else {
            self.depth += 1;
            self.pass(1, false);
            return Ok(());
        };
        let named = special.strip_prefix("P<").or_else(|| special.strip_prefix('<'));
        let is_assertion = special.starts_with("<=") || special.starts_with("<!");
        if let Some(named) = named.filter(|named| !named.is_empty() && !is_assertion) {
            return self.named_group(named);
        }
        self.flags(special)
    }

    /// The group whose name starts `named`. Go lets two groups have one name, and names start with
    /// digits; the crate does not, and then the group has none.
    fn named_group(&mut self, named: &'a str) -> Result<(), SyntaxError> {
        let here = self.rest;
        let Some(end) = named.find('>') else {
            return error("invalid named capture", here);
        };
        let name = prefix(named, end);
        let length = here.len() - named.len() + end + 1;
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return error("invalid named capture", prefix(here, length));
        }
        self.depth += 1;
        self.flush_flags();
        if self.names.contains(&name) || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.output.push('(');
            self.skip(length);
            self.repeatable = false;
        } else {
            self.names.push(name);
            self.pass(length, false);
        }
        Ok(())
    }

    /// Flags for a group, or for the rest of the one around.
    fn flags(&mut self, flags: &str) -> Result<(), SyntaxError> {
        let here = self.rest;
        let mut negative = false;
        let mut has_flag = false;
        for (place, character) in flags.char_indices() {
            let length = 2 + place + character.len_utf8();
            match character {
                'i' | 'm' | 's' | 'U' => has_flag = true,
                '-' if !negative => {
                    negative = true;
                    has_flag = false;
                }
                ':' | ')' if !negative || has_flag => {
                    if character == ':' {
                        self.flush_flags();
                        self.depth += 1;
                        self.pass(length, false);
                    } else if place > 0 {
                        self.pending_flags.push_str(prefix(here, length));
                        self.skip(length);
                    } else {
                        self.skip(length);
                    }
                    return Ok(());
                }
                _ => return error("invalid or unsupported Perl syntax", prefix(here, length)),
            }
        }
        error("invalid or unsupported Perl syntax", here)
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let here = self.rest;
        let mut characters = here.chars();
        characters.next();
        let Some(kind) = characters.next() else {
            return error("trailing backslash at end of expression", "");
        };
        match kind {
            'A' | 'z' => self.pass(2, true),
            'b' | 'B' => {
                self.skip(2);
                let _ = write!(self.output, r"(?-u:\{kind})");
                self.repeatable = true;
            }
            'Q' => self.quotation(),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.skip(2);
                push_perl_class(&mut self.output, kind);
                self.repeatable = true;
            }
            'p' | 'P' => {
                self.unicode_class()?;
                self.repeatable = true;
            }
            _ => {
                let (character, length) = escaped_character(here)?;
                self.skip(length);
                self.literal(character);
            }
        }
        Ok(())
    }

    /// Everything until `\E` stands for itself.
    fn quotation(&mut self) {
        let quoted = self.rest.get(2..).unwrap_or_default();
        let (quoted, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        for character in quoted.chars() {
            self.literal(character);
        }
        self.rest = rest;
    }

    fn unicode_class(&mut self) -> Result<(), SyntaxError> {
        let here = self.rest;
        let after = here.get(2..).unwrap_or_default();
        let (name, length) = if let Some(braced) = after.strip_prefix('{') {
            let Some(end) = braced.find('}') else {
                return error(INVALID_RANGE, here);
            };
            (prefix(braced, end), 4 + end)
        } else if let Some(character) = after.chars().next() {
            (prefix(after, character.len_utf8()), 2 + character.len_utf8())
        } else {
            return error(INVALID_RANGE, here);
        };
        let (negative, name) = match name.strip_prefix('^') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return error(INVALID_RANGE, prefix(here, length));
        }
        let kind = if here.starts_with("\\P") == negative {
            'p'
        } else {
            'P'
        };
        let _ = write!(self.output, r"\{kind}{{{name}}}");
        self.skip(length);
        Ok(())
    }

    fn class(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        self.skip(1);
        self.output.push('[');
        if self.rest.starts_with('^') {
            self.output.push('^');
            self.skip(1);
        }
        let mut is_first = true;
        loop {
            if self.rest.starts_with(']') && !is_first {
                self.skip(1);
                self.output.push(']');
                self.repeatable = true;
                return Ok(());
            }
            is_first = false;
            if !self.named_class()? {
                self.class_range(start)?;
            }
        }
    }

    /// `[:alpha:]`, `\d` or `\pL` in brackets, if there is one here.
    fn named_class(&mut self) -> Result<bool, SyntaxError> {
        let here = self.rest;
        if let Some(named) = here.strip_prefix("[:")
            && let Some(end) = named.find(":]")
        {
            let name = prefix(named, end);
            if !is_posix_class(name.strip_prefix('^').unwrap_or(name)) {
                return error(INVALID_RANGE, prefix(here, end + 4));
            }
            let _ = write!(self.output, "[:{name}:]");
            self.skip(end + 4);
            return Ok(true);
        }
        match here.as_bytes() {
            [b'\\', kind @ (b'd' | b'D' | b's' | b'S' | b'w' | b'W'), ..] => {
                push_perl_class(&mut self.output, char::from(*kind));
                self.skip(2);
                Ok(true)
            }
            [b'\\', b'p' | b'P', ..] => {
                self.unicode_class()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A character or a range of characters in the brackets that opened at `class`.
    fn class_range(&mut self, class: &str) -> Result<(), SyntaxError> {
        let start = self.rest;
        let low = self.class_character(class)?;
        let mut high = low;
        if self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]") {
            self.skip(1);
            high = self.class_character(class)?;
            if high < low {
                return error(INVALID_RANGE, prefix(start, start.len() - self.rest.len()));
            }
        }
        push_literal(&mut self.output, low);
        if high != low {
            self.output.push('-');
            push_literal(&mut self.output, high);
        }
        Ok(())
    }

    fn class_character(&mut self, class: &str) -> Result<char, SyntaxError> {
        let Some(character) = self.rest.chars().next() else {
            return error(MISSING_BRACKET, class);
        };
        let (character, length) = if character == '\\' {
            escaped_character(self.rest)?
        } else {
            (character, character.len_utf8())
        };
        self.skip(length);
        Ok(character)
    }
}

/// The first `length` bytes.
fn prefix(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or(text)
}

fn push_literal(output: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || (!character.is_ascii() && !character.is_control()) {
        output.push(character);
    } else {
        let _ = write!(output, r"\x{{{:x}}}", u32::from(character));
    }
}

fn push_perl_class(output: &mut String, kind: char) {
    let members = match kind.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\x0c\r\x20",
        _ => "0-9A-Za-z_",
    };
    let negation = if kind.is_ascii_uppercase() { "^" } else { "" };
    let _ = write!(output, "[{negation}{members}]");
}

fn is_posix_class(name: &str) -> bool {
    matches!(
        name,
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

/// The character that the escape at the start of `text` stands for, and the escape's length.
fn escaped_character(text: &str) -> Result<(char, usize), SyntaxError> {
    let after = text.get(1..).unwrap_or_default();
    let Some(kind) = after.chars().next() else {
        return error("trailing backslash at end of expression", "");
    };
    let simple = match kind {
        'a' => Some('\u{7}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        '0'..='7' => return octal(text, after),
        'x' => return hexadecimal(text, after.get(1..).unwrap_or_default()),
        punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => Some(punctuation),
        _ => None,
    };
    match simple {
        Some(character) => Ok((character, 2)),
        None => error(INVALID_ESCAPE, prefix(text, 1 + kind.len_utf8())),
    }
}

/// Up to three octal digits; a lone one that is not zero would be a reference to a group.
fn octal(text: &str, digits: &str) -> Result<(char, usize), SyntaxError> {
    let count = digits
        .bytes()
        .take(3)
        .take_while(|byte| matches!(byte, b'0'..=b'7'))
        .count();
    if count == 1 && !digits.starts_with('0') {
        return error(INVALID_ESCAPE, prefix(text, 2));
    }
    let code = u32::from_str_radix(prefix(digits, count), 8).unwrap_or(0);
    Ok((char::from_u32(code).unwrap_or_default(), 1 + count))
}

/// Two hexadecimal digits, or any number of them in braces.
fn hexadecimal(text: &str, after: &str) -> Result<(char, usize), SyntaxError> {
    let (digits, length) = match after.strip_prefix('{') {
        Some(braced) => match braced.find('}') {
            Some(end) => (prefix(braced, end), 4 + end),
            None => return error(INVALID_ESCAPE, text),
        },
        None => (prefix(after, 2), 4),
    };
    let is_long_enough = !digits.is_empty() && (after.starts_with('{') || digits.len() == 2);
    let code = u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| !digits.starts_with('+'));
    match code.and_then(char::from_u32) {
        Some(character) if is_long_enough => Ok((character, length)),
        _ => error(INVALID_ESCAPE, prefix(text, length)),
    }
}

/// How often something is repeated.
struct Count {
    least: Option<u32>,
    most: Option<u32>,
    is_open: bool,
}

impl Count {
    fn is_valid(&self) -> bool {
        let Some(least) = self.least.filter(|least| *least <= GREATEST_COUNT) else {
            return false;
        };
        self.is_open
            || self
                .most
                .is_some_and(|most| (least..=GREATEST_COUNT).contains(&most))
    }
}

/// The count `{2}`, `{2,}` or `{2,3}` at the start of `text`, and its length; anything else in
/// braces stands for itself.
fn repetition_count(text: &str) -> Option<(Count, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let (least, most) = match prefix(inner, end).split_once(',') {
        None => (prefix(inner, end), None),
        Some((least, most)) => (least, Some(most)),
    };
    let is_number = |digits: &str| {
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    if !is_number(least) || most.is_some_and(|most| !most.is_empty() && !is_number(most)) {
        return None;
    }
    let count = Count {
        least: least.parse().ok(),
        most: most.unwrap_or(least).parse().ok(),
        is_open: most == Some(""),
    };
    Some((count, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `pattern` is accepted and matches `text`, or the message.
    #[track_caller]
    fn check(pattern: &str, text: &str, expect: &str) {
        let shown = match translate(pattern) {
            Err(error) => error.to_string(),
            Ok(translated) => regex::bytes::Regex::new(&translated)
                .unwrap_or_else(|error| panic!("{pattern} became {translated}: {error}"))
                .find(text.as_bytes())
                .map_or("no match".to_owned(), |found| {
                    String::from_utf8_lossy(found.as_bytes()).into_owned()
                }),
        };
        assert_eq!(shown, expect, "{pattern}");
    }

    #[test]
    fn what_go_accepts_and_the_crate_does_not() {
        check(r"[\w-\.]+", "a-b.c d", "a-b.c");
        check(r"[\d-x]+", "1-x", "1-x");
        check(r"\Qa.b\E+", "a.bb", "a.bb");
        check("a{,2}", "a{,2}", "a{,2}");
        check("{", "{", "{");
        check("[[]", "[", "[");
        check("[a&&b]+", "a&b", "a&b");
        check(
            "[a--c]",
            "b",
            "error parsing regexp: invalid character class range: `a--`",
        );
        check(r"\_", "_", "_");
        check("}]", "}]", "}]");
        check("a{01}", "a{01}", "a{01}");
        check(r"\pL\p{^L}", "é1", "é1");
    }

    #[test]
    fn classes_know_ascii_only() {
        check(r"\w+", "aé", "a");
        check(r"\d", "٣", "no match");
        check(r"\bb", "éb", "b");
        check(r"\s", "\u{b}", "no match");
        check(r"[^\D]", "7", "7");
    }

    #[test]
    fn what_the_crate_accepts_and_go_does_not() {
        check(
            "a{1001}",
            "",
            "error parsing regexp: invalid repeat count: `{1001}`",
        );
        check(
            "a**",
            "",
            "error parsing regexp: invalid nested repetition operator: `**`",
        );
        check(
            "a++",
            "",
            "error parsing regexp: invalid nested repetition operator: `++`",
        );
        check(
            "x{2}{3}",
            "",
            "error parsing regexp: invalid nested repetition operator: `{2}{3}`",
        );
        check(
            "(?x)a",
            "",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?x`",
        );
        check(
            "a{2,1}",
            "",
            "error parsing regexp: invalid repeat count: `{2,1}`",
        );
    }

    #[test]
    fn errors_have_gos_words() {
        check("[", "", "error parsing regexp: missing closing ]: `[`");
        check("[a", "", "error parsing regexp: missing closing ]: `[a`");
        check("(a", "", "error parsing regexp: missing closing ): `(a`");
        check("a)", "", "error parsing regexp: unexpected ): `a)`");
        check(
            "*",
            "",
            "error parsing regexp: missing argument to repetition operator: `*`",
        );
        check(
            "a|*",
            "",
            "error parsing regexp: missing argument to repetition operator: `*`",
        );
        check(
            r"(a)\1",
            "",
            r"error parsing regexp: invalid escape sequence: `\1`",
        );
        check(
            "\\",
            "",
            "error parsing regexp: trailing backslash at end of expression: ``",
        );
        check(
            "(?=a)",
            "",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        );
        check(
            "(?<=a)",
            "",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?<`",
        );
        check(
            "[b-a]",
            "",
            "error parsing regexp: invalid character class range: `b-a`",
        );
        check(
            "[[:foo:]]",
            "",
            "error parsing regexp: invalid character class range: `[:foo:]`",
        );
    }

    #[test]
    fn groups_and_flags_are_taken_over() {
        check("(?i)ABC", "abc", "abc");
        check("a(?i)*B", "aab", "aab");
        check("(?P<n>a)(?P<n>b)", "ab", "ab");
        check(
            "a(?i",
            "",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?i`",
        );
        check(
            "(?i)*",
            "",
            "error parsing regexp: missing argument to repetition operator: `*`",
        );
        check("(?i:A)b", "ab", "ab");
        check("(?P<year>[0-9]{4})", "2020", "2020");
        check("(?<year>[0-9]+?)", "2020", "2");
        check("(?U)a+", "aaa", "a");
        check("(?s).(?-s).", "\n\n", "no match");
        check(r"\x41\x{42}\101", "ABA", "ABA");
    }
}
