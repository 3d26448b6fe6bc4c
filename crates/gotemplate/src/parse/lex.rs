//! Text and actions cut into tokens.

use crate::format::{quote_bytes, unicode_point};

const LEFT: &str = "{{";
const RIGHT: &str = "}}";
/// A trim marker is a minus and the white space beside it.
const MARKER: usize = 2;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The lexer failed; its message says why.
    Error,
    Bool,
    /// A printable ASCII character that means nothing by itself, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn keyword(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "nil" => Self::Nil,
            "range" => Self::Range,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Block
                | Self::Break
                | Self::Continue
                | Self::Dot
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    /// The byte at which it starts.
    pub(super) position: u32,
    pub(super) text: &'t str,
    /// The line on which it starts.
    pub(super) line: u32,
}

impl Token<'_> {
    pub(super) const NONE: Token<'static> = Token {
        kind: Kind::Eof,
        position: 0,
        text: "",
        line: 0,
    };

    /// The token as messages show it.
    pub(super) fn describe(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            kind if kind.is_keyword() => format!("<{}>", self.text),
            _ if self.text.len() > 10 => {
                let head: String = self.text.chars().take(10).collect();
                format!("{}...", quote_bytes(head.as_bytes()))
            }
            _ => quote_bytes(self.text.as_bytes()),
        }
    }
}

/// Gives the tokens of a text one by one.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    input: &'t str,
    /// Where the token that is being read starts.
    start: usize,
    /// What was read so far.
    position: usize,
    /// The line of `start`.
    line: u32,
    parentheses: u32,
    inside_action: bool,
    /// What is wrong, after a token of kind [`Kind::Error`].
    pub(super) error: String,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(input: &'t str) -> Self {
        Self {
            input,
            start: 0,
            position: 0,
            line: 1,
            parentheses: 0,
            inside_action: false,
            error: String::new(),
        }
    }

    pub(super) fn next_token(&mut self) -> Token<'t> {
        if self.inside_action {
            self.inside_action()
        } else {
            self.outside_action()
        }
    }

    fn rest(&self) -> &'t str {
        &self.input[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|c| valid.contains(c));
        if found {
            self.next();
        }
        found
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn token(&mut self, kind: Kind) -> Token<'t> {
        let token = Token {
            kind,
            position: self.start as u32,
            text: &self.input[self.start..self.position],
            line: self.line,
        };
        self.ignore();
        token
    }

    /// Skips what was read.
    fn ignore(&mut self) {
        let skipped = &self.input.as_bytes()[self.start..self.position];
        self.line += skipped.iter().map(|byte| u32::from(*byte == b'\n')).sum::<u32>();
        self.start = self.position;
    }

    fn fail(&mut self, message: impl Into<String>) -> Token<'t> {
        self.error = message.into();
        Token {
            kind: Kind::Error,
            position: self.start as u32,
            text: "",
            line: self.line,
        }
    }

    fn outside_action(&mut self) -> Token<'t> {
        loop {
            let Some(length) = self.rest().find(LEFT) else {
                self.position = self.input.len();
                let kind = if self.position > self.start {
                    Kind::Text
                } else {
                    Kind::Eof
                };
                return self.token(kind);
            };
            if length > 0 {
                let delimiter = self.position + length;
                let after = &self.input[delimiter + LEFT.len()..];
                let text = &self.input[self.start..delimiter];
                let kept = if has_left_marker(after) {
                    text.trim_end_matches(is_space).len()
                } else {
                    text.len()
                };
                self.position = self.start + kept;
                let token = self.token(Kind::Text);
                self.position = delimiter;
                self.ignore();
                if kept > 0 {
                    return token;
                }
            }
            if let Some(token) = self.left_delimiter() {
                return token;
            }
        }
    }

    /// The delimiter, or nothing where it starts a comment, which is skipped.
    fn left_delimiter(&mut self) -> Option<Token<'t>> {
        self.position += LEFT.len();
        let marker = if has_left_marker(self.rest()) { MARKER } else { 0 };
        if self.rest()[marker..].starts_with("/*") {
            self.position += marker;
            self.ignore();
            return self.comment();
        }
        let token = self.token(Kind::LeftDelimiter);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.parentheses = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token<'t>> {
        let Some(length) = self.rest()["/*".len()..].find("*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.position += "/*".len() + length + "*/".len();
        let Some(trims) = self.at_right_delimiter() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.skip_right_delimiter(trims);
        self.ignore();
        None
    }

    /// Whether a right delimiter follows, and if so, whether it trims.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_marker(rest) && rest[MARKER..].starts_with(RIGHT) {
            Some(true)
        } else {
            rest.starts_with(RIGHT).then_some(false)
        }
    }

    fn skip_right_delimiter(&mut self, trims: bool) {
        if trims {
            self.position += MARKER + RIGHT.len();
            self.position += self.rest().len() - self.rest().trim_start_matches(is_space).len();
        } else {
            self.position += RIGHT.len();
        }
    }

    fn right_delimiter(&mut self, trims: bool) -> Token<'t> {
        let end = self.position;
        if trims {
            self.position += MARKER;
            self.ignore();
        }
        self.position += RIGHT.len();
        let token = self.token(Kind::RightDelimiter);
        self.position = end;
        self.skip_right_delimiter(trims);
        self.ignore();
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Token<'t> {
        if let Some(trims) = self.at_right_delimiter() {
            if self.parentheses == 0 {
                return self.right_delimiter(trims);
            }
            return self.fail("unclosed left paren");
        }
        let Some(first) = self.peek() else {
            return self.fail("unclosed action");
        };
        if is_space(first) {
            return self.space();
        }
        if first == '+' || first == '-' || first.is_ascii_digit() {
            return self.number();
        }
        if is_alphanumeric(first) {
            return self.identifier();
        }
        self.next();
        match first {
            '=' => self.token(Kind::Assign),
            ':' if self.next() == Some('=') => self.token(Kind::Declare),
            ':' => self.fail("expected :="),
            '|' => self.token(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(Kind::Variable, Kind::Variable),
            '.' if self.peek().is_none_or(|c| c.is_ascii_digit()) => {
                self.position -= 1;
                self.number()
            }
            '.' => self.field_or_variable(Kind::Field, Kind::Dot),
            '(' => {
                self.parentheses += 1;
                self.token(Kind::LeftParenthesis)
            }
            ')' if self.parentheses == 0 => self.fail("unexpected right paren"),
            ')' => {
                self.parentheses -= 1;
                self.token(Kind::RightParenthesis)
            }
            ' '..='~' => self.token(Kind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                unicode_point(first)
            )),
        }
    }

    fn space(&mut self) -> Token<'t> {
        let length = self.rest().len() - self.rest().trim_start_matches(is_space).len();
        self.position += length;
        // The last space may belong to the marker of the closing delimiter.
        let last = &self.input[self.position - 1..];
        if has_right_marker(last) && last[MARKER..].starts_with(RIGHT) {
            self.position -= 1;
            if length == 1 {
                return self.right_delimiter(true);
            }
        }
        self.token(Kind::Space)
    }

    fn identifier(&mut self) -> Token<'t> {
        self.skip_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = &self.input[self.start..self.position];
        let kind = match word {
            "true" | "false" => Kind::Bool,
            _ => Kind::keyword(word).unwrap_or(Kind::Identifier),
        };
        self.token(kind)
    }

    /// A field or variable, or just the character that introduces one.
    fn field_or_variable(&mut self, kind: Kind, alone: Kind) -> Token<'t> {
        if self.at_terminator() {
            return self.token(alone);
        }
        self.skip_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.token(kind)
    }

    fn skip_alphanumeric(&mut self) {
        let is_usual = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        loop {
            let usual = self.rest().bytes().take_while(is_usual).count();
            self.position += usual;
            if !self.peek().is_some_and(is_alphanumeric) {
                return;
            }
            self.next();
        }
    }

    fn bad_character(&mut self) -> Token<'t> {
        let character = self.peek().unwrap_or(char::REPLACEMENT_CHARACTER);
        self.fail(format!("bad character {}", unicode_point(character)))
    }

    /// Whether what follows can stand after an identifier.
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(character) => is_space(character) || self.rest().starts_with(RIGHT),
        }
    }

    fn quoted(&mut self, delimiter: char, kind: Kind, unterminated: &str) -> Token<'t> {
        loop {
            let mut character = self.next();
            if character == Some('\\') {
                character = match self.next() {
                    None | Some('\n') => None,
                    Some(_) => continue,
                };
            }
            match character {
                None | Some('\n') => return self.fail(unterminated),
                Some(end) if end == delimiter => return self.token(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Token<'t> {
        match self.rest().find('`') {
            Some(length) => {
                self.position += length + 1;
                self.token(Kind::RawString)
            }
            None => self.fail("unterminated raw quoted string"),
        }
    }

    fn number(&mut self) -> Token<'t> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || !self.input[..self.position].ends_with('i') {
                return self.bad_number();
            }
            return self.token(Kind::Complex);
        }
        self.token(Kind::Number)
    }

    fn bad_number(&mut self) -> Token<'t> {
        let text = &self.input.as_bytes()[self.start..self.position];
        self.fail(format!("bad number syntax: {}", quote_bytes(text)))
    }

    /// Reads what may be a number; whether it is one, its conversion tells.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        const HEXADECIMAL: &str = "0123456789abcdefABCDEF_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEXADECIMAL;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if digits == DECIMAL && self.accept("eE") || digits == HEXADECIMAL && self.accept("pP") {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_alphanumeric(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn has_left_marker(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next() == Some('-') && characters.next().is_some_and(is_space)
}

fn has_right_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b' ' | b'\t' | b'\r' | b'\n', b'-', ..])
}
