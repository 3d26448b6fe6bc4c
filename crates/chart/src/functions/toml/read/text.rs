//! Strings and the names of keys.

use steersman_gotemplate::format;

use super::cursor::{Cursor, END, ParseError, is_line_end};

impl Cursor<'_> {
    /// One part of a key, with or without quotes. A part without quotes may turn out to be empty.
    pub(super) fn key_part(&mut self) -> Result<String, ParseError> {
        match self.peek()? {
            '"' => {
                self.next()?;
                self.string()
            }
            '\'' => {
                self.next()?;
                self.raw_string()
            }
            _ => {
                self.begin();
                while is_bare(self.next()?) {}
                self.back();
                Ok(self.current().to_owned())
            }
        }
    }

    /// The string whose opening quotes come next.
    pub(super) fn quoted_text(&mut self, quote: char) -> Result<String, ParseError> {
        if self.accept(quote)? {
            if self.accept(quote)? {
                return self.long_text(quote);
            }
            // There is no third quote: these two are an empty string.
            self.back();
        }
        if quote == '"' {
            self.string()
        } else {
            self.raw_string()
        }
    }

    /// The string after `"`.
    fn string(&mut self) -> Result<String, ParseError> {
        self.begin();
        loop {
            match self.next()? {
                END => return Err(self.error("unexpected EOF; expected '\"'")),
                '\n' | '\r' => return Err(self.line_before(LINE_END)),
                '\\' => self.escape()?,
                '"' => break,
                _ => {}
            }
        }
        let content = self.without_quotes(1);
        self.unescaped(content)
    }

    /// The string after `'`.
    fn raw_string(&mut self) -> Result<String, ParseError> {
        self.begin();
        loop {
            match self.next()? {
                END => return Err(self.error("unexpected EOF; expected \"'\"")),
                '\n' | '\r' => return Err(self.line_before(LINE_END)),
                '\'' => return Ok(self.without_quotes(1).to_owned()),
                _ => {}
            }
        }
    }

    /// The string of several lines after three quotes.
    fn long_text(&mut self, quote: char) -> Result<String, ParseError> {
        self.begin();
        loop {
            match self.next()? {
                END => {
                    let (outer, three) = (other(quote), String::from(quote).repeat(3));
                    return Err(self.error(format!("unexpected EOF; expected {outer}{three}{outer}")));
                }
                '\\' if quote == '"' && is_line_end(self.peek()?) => {
                    self.next()?;
                }
                '\\' if quote == '"' => self.escape()?,
                character if character == quote && self.ends_long_text(quote)? => break,
                _ => {}
            }
        }
        let content = without_first_line_end(self.without_quotes(3));
        if quote == '"' {
            let joined = without_line_escapes(content);
            self.unescaped(&joined)
        } else {
            Ok(content.to_owned())
        }
    }

    /// Whether the quote before here and those after it end a string. Up to two more quotes may
    /// stand before those that do.
    fn ends_long_text(&mut self, quote: char) -> Result<bool, ParseError> {
        if !self.accept(quote)? {
            return Ok(false);
        }
        if !self.accept(quote)? {
            self.back();
            return Ok(false);
        }
        if self.peek()? != quote {
            return Ok(true);
        }
        let five = String::from(quote).repeat(5);
        let is_escaped = quote == '"' && self.current().ends_with("\\\"\"\"\"\"");
        if self.current().ends_with(&five) && !is_escaped {
            let outer = other(quote);
            return Err(self.error(format!("unexpected {outer}{five}{quote}{outer}")));
        }
        self.back();
        self.back();
        Ok(false)
    }

    fn without_quotes(&self, count: usize) -> &str {
        let current = self.current();
        current.get(..current.len() - count).unwrap_or_default()
    }

    /// Checks the escape sequence after a backslash.
    fn escape(&mut self) -> Result<(), ParseError> {
        match self.next()? {
            'e' | 'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\' => Ok(()),
            'x' => self.digits(2, "two hexadecimal digits after '\\x'"),
            'u' => self.digits(4, "four hexadecimal digits after '\\u'"),
            'U' => self.digits(8, "eight hexadecimal digits after '\\U'"),
            other => Err(self.lost(format!("invalid escape in string '\\{other}'"))),
        }
    }

    fn digits(&mut self, count: usize, what: &str) -> Result<(), ParseError> {
        for _ in 0..count {
            if !self.next()?.is_ascii_hexdigit() {
                let found = format::quote(self.current());
                return Err(self.error(format!("expected {what}, but got {found} instead")));
            }
        }
        Ok(())
    }

    /// The text with what its escape sequences stand for. They were checked by [`Self::escape`].
    fn unescaped(&self, text: &str) -> Result<String, ParseError> {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            result.push_str(before);
            let mut characters = after.chars();
            let digits = match characters.next() {
                Some(space @ (' ' | '\t')) => {
                    return Err(self.here(format!("invalid escape: '\\{space}'")));
                }
                Some('x') => 2,
                Some('u') => 4,
                Some('U') => 8,
                simple => {
                    result.extend(simple.map(escaped));
                    rest = characters.as_str();
                    continue;
                }
            };
            let (code, after) = characters.as_str().split_at_checked(digits).unwrap_or_default();
            let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
            result
                .push(character.ok_or_else(|| {
                    self.here(format!("Escaped character '\\u{code}' is not valid UTF-8."))
                })?);
            rest = after;
        }
        result.push_str(rest);
        Ok(result)
    }
}

const LINE_END: &str = "strings cannot contain newlines";

fn is_bare(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// The quote that a message puts around some of this one.
fn other(quote: char) -> char {
    if quote == '"' { '\'' } else { '"' }
}

/// What a backslash and this character stand for.
fn escaped(character: char) -> char {
    match character {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        other => other,
    }
}

fn without_first_line_end(text: &str) -> &str {
    text.strip_prefix('\n')
        .or_else(|| text.strip_prefix("\r\n"))
        .unwrap_or(text)
}

/// The text without every backslash at the end of a line, and without the white space after it.
fn without_line_escapes(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        result.push_str(before);
        let next = after.trim_start_matches([' ', '\t', '\r', '\n']);
        let white = after.get(..after.len() - next.len()).unwrap_or_default();
        if white.contains('\n') {
            rest = next;
            continue;
        }
        // An escape sequence stays as it is, also one of a backslash.
        let width = after.chars().next().map_or(0, char::len_utf8);
        let (sequence, after) = after.split_at_checked(width).unwrap_or_default();
        result.push('\\');
        result.push_str(sequence);
        rest = after;
    }
    result.push_str(rest);
    result
}
