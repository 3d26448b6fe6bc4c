//! Plain, quoted and block scalars: where they end, and how their lines are joined.

use super::super::Problem;
use super::super::cursor::END;
use super::Scanner;
use std::borrow::Cow;

/// The line breaks between two lines of a scalar.
#[derive(Debug, Default)]
struct Breaks<'a> {
    first: &'a str,
    others: String,
}

impl Breaks<'_> {
    /// Appends what the breaks are folded to: one line feed becomes a space, several lose the first.
    fn fold_into(&mut self, text: &mut String) {
        match (self.first, self.others.as_str()) {
            ("\n", "") => text.push(' '),
            ("\n", others) => text.push_str(others),
            (first, others) => {
                text.push_str(first);
                text.push_str(others);
            }
        }
        self.first = "";
        self.others.clear();
    }
}

/// A scalar whose last part is still a piece of the input: borrowed, if that is all there is.
fn finish(mut joined: String, rest: &str) -> Cow<'_, str> {
    if joined.is_empty() {
        return Cow::Borrowed(rest);
    }
    joined.push_str(rest);
    Cow::Owned(joined)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_plain_scalar(&mut self) -> Result<Cow<'a, str>, Problem> {
        let in_flow = self.in_flow();
        let indent = self.indent + 1;
        let mut joined = String::new();
        let (mut from, mut to) = (self.cursor.position(), self.cursor.position());
        let mut breaks = Breaks::default();
        let mut crossed_line = false;
        while !self.cursor.is_document_indicator() && self.cursor.current() != b'#' {
            let start = self.cursor.position();
            self.cursor.skip_plain(in_flow);
            if self.cursor.position() > start {
                if crossed_line {
                    joined.push_str(self.cursor.slice(from, to));
                    breaks.fold_into(&mut joined);
                    crossed_line = false;
                    from = start;
                }
                to = self.cursor.position();
            }
            if !self.cursor.is_blank() && !self.cursor.is_break() {
                break;
            }
            loop {
                if self.cursor.is_blank() {
                    if crossed_line
                        && (self.cursor.column() as i64) < indent
                        && self.cursor.current() == b'\t'
                    {
                        return Err(self.problem("found a tab character that violates indentation"));
                    }
                    self.cursor.skip_ascii(1);
                } else if self.cursor.is_break() {
                    self.scan_break(&mut breaks, &mut crossed_line);
                } else {
                    break;
                }
            }
            if !in_flow && (self.cursor.column() as i64) < indent {
                break;
            }
        }
        // What follows on a new line may be a key.
        if crossed_line {
            self.simple_key_allowed = true;
        }
        Ok(finish(joined, self.cursor.slice(from, to)))
    }

    fn scan_break(&mut self, breaks: &mut Breaks<'a>, crossed_line: &mut bool) {
        let text = self.cursor.take_break();
        if *crossed_line {
            breaks.others.push_str(text);
        } else {
            breaks.first = text;
            *crossed_line = true;
        }
    }

    /// Scans from the opening quote to the closing one.
    pub(super) fn scan_quoted_scalar(&mut self, is_single: bool) -> Result<Cow<'a, str>, Problem> {
        let quote = self.cursor.current();
        self.cursor.skip_ascii(1);
        let mut joined = String::new();
        let mut from = self.cursor.position();
        let mut breaks = Breaks::default();
        loop {
            if self.cursor.is_document_indicator() {
                return Err(self.problem("found unexpected document indicator"));
            }
            if self.cursor.current() == END {
                return Err(self.problem("found unexpected end of stream"));
            }
            let mut crossed_line = self.scan_quoted_line(is_single, &mut joined, &mut from)?;
            if self.cursor.current() == quote {
                break;
            }
            let end = self.cursor.position();
            loop {
                if self.cursor.is_blank() {
                    self.cursor.skip_ascii(1);
                } else if self.cursor.is_break() {
                    self.scan_break(&mut breaks, &mut crossed_line);
                } else {
                    break;
                }
            }
            if crossed_line {
                joined.push_str(self.cursor.slice(from, end));
                breaks.fold_into(&mut joined);
                from = self.cursor.position();
            }
        }
        let rest = self.cursor.slice(from, self.cursor.position());
        self.cursor.skip_ascii(1);
        Ok(finish(joined, rest))
    }

    /// Scans up to a blank, a break, the end or the closing quote. What cannot stay a piece of the input is
    /// appended to `joined`, and `from` moved behind it. Tells whether the line ended in a backslash.
    fn scan_quoted_line(
        &mut self,
        is_single: bool,
        joined: &mut String,
        from: &mut usize,
    ) -> Result<bool, Problem> {
        loop {
            self.cursor.skip_quoted();
            match self.cursor.current() {
                b'\'' if is_single && self.cursor.peek(1) == b'\'' => {
                    joined.push_str(self.cursor.slice(*from, self.cursor.position() + 1));
                    self.cursor.skip_ascii(2);
                    *from = self.cursor.position();
                }
                b'\'' if is_single => return Ok(false),
                b'"' if !is_single => return Ok(false),
                b'\\' if !is_single => {
                    joined.push_str(self.cursor.slice(*from, self.cursor.position()));
                    if self.cursor.break_length(1) > 0 {
                        self.cursor.skip_ascii(1);
                        self.cursor.skip_break();
                        *from = self.cursor.position();
                        return Ok(true);
                    }
                    joined.push(self.scan_escape()?);
                    *from = self.cursor.position();
                }
                b'\'' | b'"' | b'\\' => self.cursor.skip_ascii(1),
                _ => return Ok(false),
            }
        }
    }

    /// Scans a backslash and what belongs to it.
    fn scan_escape(&mut self) -> Result<char, Problem> {
        let character = match self.cursor.peek(1) {
            b'0' => '\0',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\u{b}',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'e' => '\u{1b}',
            b' ' => ' ',
            b'"' => '"',
            b'\'' => '\'',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.scan_code_point(2),
            b'u' => return self.scan_code_point(4),
            b'U' => return self.scan_code_point(8),
            _ => return Err(self.problem("found unknown escape character")),
        };
        self.cursor.skip_ascii(2);
        Ok(character)
    }

    fn scan_code_point(&mut self, digits: usize) -> Result<char, Problem> {
        let mut value = 0;
        for distance in 2..2 + digits {
            let Some(digit) = char::from(self.cursor.peek(distance)).to_digit(16) else {
                return Err(self.problem("did not find expected hexdecimal number"));
            };
            value = value << 4 | digit;
        }
        let Some(character) = char::from_u32(value) else {
            return Err(self.problem("found invalid Unicode character escape code"));
        };
        self.cursor.skip_ascii(2 + digits);
        Ok(character)
    }

    /// Scans a literal or folded scalar, from its `|` or `>`.
    pub(super) fn scan_block_scalar(&mut self, is_literal: bool) -> Result<String, Problem> {
        self.cursor.skip_ascii(1);
        let (chomping, increment) = self.scan_block_scalar_header()?;
        let mut indent = match increment {
            0 => 0,
            increment => self.indent.max(0) + increment,
        };
        let mut text = String::new();
        let mut first_break = "";
        let mut other_breaks = String::new();
        let mut last_line_is_indented = false;
        self.scan_block_scalar_breaks(&mut indent, &mut other_breaks)?;
        while self.cursor.column() as i64 == indent && self.cursor.current() != END {
            let is_indented = self.cursor.is_blank();
            if !is_literal && first_break == "\n" && !last_line_is_indented && !is_indented {
                if other_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(first_break);
            }
            text.push_str(&other_breaks);
            other_breaks.clear();
            last_line_is_indented = is_indented;
            let start = self.cursor.position();
            self.cursor.skip_line();
            text.push_str(self.cursor.slice(start, self.cursor.position()));
            first_break = self.cursor.take_break();
            self.scan_block_scalar_breaks(&mut indent, &mut other_breaks)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(first_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&other_breaks);
        }
        Ok(text)
    }

    /// Scans the rest of the header's line: chomping and indentation in either order, both optional. An
    /// indentation of 0 stands for none.
    fn scan_block_scalar_header(&mut self) -> Result<(Chomping, i64), Problem> {
        let mut chomping = self.scan_chomping();
        let mut increment = 0;
        if let digit @ b'0'..=b'9' = self.cursor.current() {
            if digit == b'0' {
                return Err(self.problem("found an indentation indicator equal to 0"));
            }
            increment = i64::from(digit - b'0');
            self.cursor.skip_ascii(1);
            if chomping.is_none() {
                chomping = self.scan_chomping();
            }
        }
        self.scan_to_line_end()?;
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.cursor.current() {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.cursor.skip_ascii(1);
        Some(chomping)
    }

    /// Skips indentation and empty lines, and finds the indentation from them where it is 0.
    fn scan_block_scalar_breaks(&mut self, indent: &mut i64, breaks: &mut String) -> Result<(), Problem> {
        let mut deepest = 0;
        loop {
            while (*indent == 0 || (self.cursor.column() as i64) < *indent) && self.cursor.current() == b' ' {
                self.cursor.skip_ascii(1);
            }
            let column = self.cursor.column() as i64;
            deepest = deepest.max(column);
            if (*indent == 0 || column < *indent) && self.cursor.current() == b'\t' {
                return Err(self.problem("found a tab character where an indentation space is expected"));
            }
            if !self.cursor.is_break() {
                break;
            }
            breaks.push_str(self.cursor.take_break());
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
