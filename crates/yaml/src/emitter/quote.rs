//! Strings in single and double quotes.

use super::Emitter;
use super::analysis::{is_break, is_printable};

impl Emitter<'_> {
    pub(super) fn write_single_quoted(&mut self, value: &str, folds: bool) {
        self.write_indicator("'", true, false, false);
        let indent = self.scalar_indent();
        let mut after_space = false;
        let mut after_break = false;
        let mut characters = value.chars().enumerate().peekable();
        while let Some((position, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if character == ' ' {
                let is_inside = position > 0 && next.is_some_and(|next| next != ' ');
                if folds && is_inside && self.folds_here(after_space) {
                    self.write_indent_of(indent);
                } else {
                    self.write_char(' ');
                }
                after_space = true;
            } else if is_break(character) {
                self.write_break_of_value(character);
                after_break = true;
            } else {
                if after_break {
                    self.write_indent_of(indent);
                }
                if character == '\'' {
                    self.write_char('\'');
                }
                self.write_char(character);
                self.in_indentation = false;
                after_space = false;
                after_break = false;
            }
        }
        self.write_indicator("'", false, false, false);
    }

    pub(super) fn write_double_quoted(&mut self, value: &str, folds: bool) {
        // goyaml looks for a byte order mark at the start of the string, whichever character it is at.
        let escapes_all = value.starts_with('\u{feff}');
        self.write_indicator("\"", true, false, false);
        let indent = self.scalar_indent();
        let mut after_space = false;
        let mut characters = value.chars().enumerate().peekable();
        while let Some((position, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if escapes_all
                || matches!(character, '"' | '\\')
                || !is_printable(character)
                || is_break(character)
            {
                self.write_escape(character);
                after_space = false;
            } else if character == ' ' {
                if folds && position > 0 && next.is_some() && self.folds_here(after_space) {
                    self.write_indent_of(indent);
                    if next == Some(' ') {
                        self.write_char('\\');
                    }
                } else {
                    self.write_char(' ');
                }
                after_space = true;
            } else {
                self.write_char(character);
                after_space = false;
            }
        }
        self.write_indicator("\"", false, false, false);
    }

    fn write_escape(&mut self, character: char) {
        let code = u32::from(character);
        let letter = match character {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => character,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if code <= 0xff => return self.write_str(&format!("\\x{code:02X}")),
            _ if code <= 0xffff => return self.write_str(&format!("\\u{code:04X}")),
            _ => return self.write_str(&format!("\\U{code:08X}")),
        };
        self.write_char('\\');
        self.write_char(letter);
    }
}
