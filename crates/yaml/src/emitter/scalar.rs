//! Plain words and block scalars, and the choice between all styles.

use super::analysis::{analyse, is_break, reads_as_text};
use super::{Context, Emitter, MAX_SIMPLE_KEY_LENGTH, Style};

/// Where goyaml v2 starts a new line at the next space.
const WIDTH: usize = 80;

impl Emitter<'_> {
    pub(super) fn emit_string(&mut self, value: &str) {
        let analysis = analyse(value, self.style);
        let may_be_simple_key = !analysis.is_multiline && value.len() <= MAX_SIMPLE_KEY_LENGTH;
        let is_simple_key = self.begin_node(may_be_simple_key) == Context::SimpleKey;
        let folds = !is_simple_key && self.style == Style::V2;
        if value.contains('\n') {
            if analysis.allows_block && !is_simple_key {
                self.write_literal(value);
            } else {
                self.write_double_quoted(value, folds);
            }
        } else if !reads_as_text(value, self.style) || is_simple_key && analysis.is_multiline {
            self.write_double_quoted(value, folds);
        } else if analysis.allows_plain {
            self.write_plain(value, folds);
        } else if analysis.allows_single_quoted {
            self.write_single_quoted(value, folds);
        } else {
            self.write_double_quoted(value, folds);
        }
    }

    /// Writes a text that has no spaces to fold at.
    pub(super) fn write_plain_word(&mut self, text: &str) {
        if !self.after_whitespace {
            self.out.push(' ');
            self.column += 1;
        }
        self.write_str(text);
        self.after_whitespace = false;
        self.in_indentation = false;
    }

    fn write_plain(&mut self, value: &str, folds: bool) {
        if !folds || self.column + value.len() < WIDTH {
            return self.write_plain_word(value);
        }
        self.write_plain_word("");
        let indent = self.scalar_indent();
        let mut after_space = false;
        let mut characters = value.chars().peekable();
        while let Some(character) = characters.next() {
            let is_space = character == ' ';
            if is_space && self.folds_here(after_space) && characters.peek() != Some(&' ') {
                self.write_indent_of(indent);
            } else {
                self.write_char(character);
                self.in_indentation &= is_space;
            }
            after_space = is_space;
        }
        self.after_whitespace = false;
        self.in_indentation = false;
    }

    /// Whether a space that does not follow another one is beyond the width.
    pub(super) fn folds_here(&self, after_space: bool) -> bool {
        !after_space && self.column > WIDTH
    }

    pub(super) fn write_char(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    pub(super) fn write_str(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
    }

    /// Writes a line break that is part of a value: a line feed as the emitter's own, others as they are.
    pub(super) fn write_break_of_value(&mut self, character: char) {
        if character == '\n' {
            self.write_break();
        } else {
            self.out.push(character);
            self.column = 0;
            self.in_indentation = true;
        }
    }

    fn write_literal(&mut self, value: &str) {
        self.write_indicator("|", true, false, false);
        if value.starts_with(|first| first == ' ' || is_break(first)) {
            self.write_indicator("2", false, false, false);
        }
        self.write_indicator(chomping(value), false, false, false);
        self.write_break();
        self.after_whitespace = true;
        let indent = self.scalar_indent();
        let mut rest = value;
        while let Some(first) = rest.chars().next() {
            if is_break(first) {
                self.write_break_of_value(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            }
            let (line, tail) = rest.split_at(rest.find(is_break).unwrap_or(rest.len()));
            self.write_indent_of(indent);
            self.write_str(line);
            self.in_indentation = false;
            rest = tail;
        }
    }
}

/// What has to be said about the line breaks at the end: none, just one, or more.
fn chomping(value: &str) -> &'static str {
    let mut reversed = value.chars().rev();
    match (reversed.next().is_some_and(is_break), reversed.next()) {
        (false, _) => "-",
        (true, None) => "+",
        (true, Some(previous)) if is_break(previous) => "+",
        (true, Some(_)) => "",
    }
}
