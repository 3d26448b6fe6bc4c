//! The text of a document, character by character, with the line of each error.

use steersman_gotemplate::{Value, format};

/// Why a text is no TOML: the line that it is found in, and Go's message.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A place in the text.
///
/// The end of the text is the character NUL, which the text itself cannot contain.
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// The byte after `text` that is no UTF-8.
    broken: Option<u8>,
    pub(super) place: usize,
    pub(super) line: usize,
    /// Where what is being read began.
    start: usize,
    /// Whether the last character was the end.
    at_end: bool,
}

pub(super) const END: char = '\0';

impl<'t> Cursor<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        let (text, broken) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                (
                    std::str::from_utf8(valid).unwrap_or_default(),
                    rest.first().copied(),
                )
            }
        };
        Self {
            text,
            broken,
            place: 0,
            line: 1,
            start: 0,
            at_end: false,
        }
    }

    /// The next character, which is passed.
    pub(super) fn next(&mut self) -> Result<char, ParseError> {
        let mut rest = self.text.get(self.place..).unwrap_or_default().chars();
        let Some(character) = rest.next() else {
            if let Some(byte) = self.broken {
                return Err(self.here(format!("invalid UTF-8 byte: 0x{byte:02x}")));
            }
            self.at_end = true;
            return Ok(END);
        };
        self.line += usize::from(character == '\n');
        let is_lone_return = character == '\r' && rest.next() != Some('\n');
        if is_lone_return || (character.is_ascii_control() && !"\t\r\n".contains(character)) {
            let code = character as u32;
            let message = format!("TOML files cannot contain control characters: '0x{code:02x}'");
            return Err(self.here(message));
        }
        self.place += character.len_utf8();
        Ok(character)
    }

    /// Goes back before the last character.
    pub(super) fn back(&mut self) {
        if std::mem::take(&mut self.at_end) {
            return;
        }
        let last = self
            .text
            .get(..self.place)
            .and_then(|before| before.chars().next_back());
        self.place -= last.map_or(0, char::len_utf8);
        self.line -= usize::from(last == Some('\n'));
    }

    /// The next character, which is not passed.
    pub(super) fn peek(&mut self) -> Result<char, ParseError> {
        let character = self.next()?;
        self.back();
        Ok(character)
    }

    /// Passes the next character if it is this one.
    pub(super) fn accept(&mut self, wanted: char) -> Result<bool, ParseError> {
        let is_wanted = self.next()? == wanted;
        if !is_wanted {
            self.back();
        }
        Ok(is_wanted)
    }

    /// Passes all characters that are as wanted.
    pub(super) fn skip(&mut self, wanted: impl Fn(char) -> bool) -> Result<(), ParseError> {
        while wanted(self.next()?) {}
        self.back();
        self.begin();
        Ok(())
    }

    /// What is read from here on is a thing of its own.
    pub(super) fn begin(&mut self) {
        self.start = self.place;
    }

    /// What was read since it began.
    pub(super) fn current(&self) -> &'t str {
        self.text.get(self.start..self.place).unwrap_or_default()
    }

    /// An error in the present line.
    pub(super) fn here(&self, message: impl Into<String>) -> ParseError {
        ParseError {
            line: self.line,
            message: message.into(),
        }
    }

    /// An error where the character that was read last is; the end counts to the line before it.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        let is_after_line = self.at_end
            && self
                .text
                .get(..self.place)
                .is_some_and(|text| text.ends_with('\n'));
        ParseError {
            line: self.line - usize::from(is_after_line),
            message: message.into(),
        }
    }

    /// An error in the line before the present one.
    pub(super) fn line_before(&self, message: impl Into<String>) -> ParseError {
        ParseError {
            line: self.line.saturating_sub(1),
            message: message.into(),
        }
    }

    /// An error at the character that was read last: in the line that it ends, if it is a line feed.
    pub(super) fn unexpected(&self, character: char, message: impl Into<String>) -> ParseError {
        if character == '\n' {
            self.line_before(message)
        } else {
            self.error(message)
        }
    }

    /// An error of Go's lexer that comes without a place of its own: at the end, it counts to the
    /// line before.
    pub(super) fn lost(&self, message: impl Into<String>) -> ParseError {
        if self.at_end {
            self.line_before(message)
        } else {
            self.here(message)
        }
    }
}

/// A character as Go's `%q` shows it.
pub(super) fn quoted(character: char) -> String {
    format::sprintf(b"%q", &[Value::Int(i64::from(character as u32))]).to_string()
}

pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

pub(super) fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}
