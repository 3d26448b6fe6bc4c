//! A position in the text that knows its line and column.

/// A place: line and column counted from 0, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The text and how far it has been read. The end of the text reads as a zero byte, which no valid text
/// contains.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    position: usize,
    line: u32,
    line_start: usize,
    /// How many bytes of the current line, up to the position, continue a character.
    continuations: usize,
}

pub(super) const END: u8 = 0;

const BLANK: u8 = 1;
const BREAK: u8 = 2;
/// The byte may start one of the line breaks beyond ASCII.
const WIDE_BREAK: u8 = 4;
const FLOW_INDICATOR: u8 = 8;
const COLON: u8 = 16;
const WIDE: u8 = 32;
const QUOTE: u8 = 64;

const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0x80;
    while byte < 256 {
        table[byte] = WIDE;
        byte += 1;
    }
    table[b' ' as usize] = BLANK;
    table[b'\t' as usize] = BLANK;
    table[b'\n' as usize] = BREAK;
    table[b'\r' as usize] = BREAK;
    table[END as usize] = BREAK;
    table[0xc2] = WIDE | WIDE_BREAK;
    table[0xe2] = WIDE | WIDE_BREAK;
    table[b',' as usize] = FLOW_INDICATOR;
    table[b'?' as usize] = FLOW_INDICATOR;
    table[b'[' as usize] = FLOW_INDICATOR;
    table[b']' as usize] = FLOW_INDICATOR;
    table[b'{' as usize] = FLOW_INDICATOR;
    table[b'}' as usize] = FLOW_INDICATOR;
    table[b':' as usize] = COLON;
    table[b'\'' as usize] = QUOTE;
    table[b'"' as usize] = QUOTE;
    table[b'\\' as usize] = QUOTE;
    table
};

fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            line: 0,
            line_start: 0,
            continuations: 0,
        }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    pub(super) fn column(&self) -> usize {
        self.position - self.line_start - self.continuations
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            line: self.line,
            column: self.column() as u32,
        }
    }

    /// The text between two positions that the cursor has visited.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The byte at a distance from the position.
    pub(super) fn peek(&self, distance: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.position + distance)
            .copied()
            .unwrap_or(END)
    }

    pub(super) fn current(&self) -> u8 {
        self.peek(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.position >= self.text.len()
    }

    /// The length in bytes of the line break at a distance, 0 where there is none.
    pub(super) fn break_length(&self, distance: usize) -> usize {
        match self.peek(distance) {
            b'\r' if self.peek(distance + 1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xc2 if self.peek(distance + 1) == 0x85 => 2,
            0xe2 if self.peek(distance + 1) == 0x80 && matches!(self.peek(distance + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_break(&self) -> bool {
        class(self.current()) & (BREAK | WIDE_BREAK) != 0 && self.break_length(0) > 0
    }

    pub(super) fn is_blank(&self) -> bool {
        class(self.current()) & BLANK != 0
    }

    /// Whether a blank, a line break or the end of the text stands at a distance.
    pub(super) fn is_blank_or_break(&self, distance: usize) -> bool {
        let class = class(self.peek(distance));
        class & (BLANK | BREAK) != 0 || class & WIDE_BREAK != 0 && self.break_length(distance) > 0
    }

    /// Whether `---` or `...` stands alone here.
    pub(super) fn is_document_indicator(&self) -> bool {
        self.column() == 0
            && matches!(
                (self.peek(0), self.peek(1), self.peek(2)),
                (b'-', b'-', b'-') | (b'.', b'.', b'.')
            )
            && self.is_blank_or_break(3)
    }

    /// Moves by bytes that are ASCII and no line breaks.
    pub(super) fn skip_ascii(&mut self, count: usize) {
        self.position = (self.position + count).min(self.text.len());
    }

    /// Moves by one character that is no line break.
    pub(super) fn skip(&mut self) {
        let width = match self.current() {
            ..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        };
        self.continuations += width - 1;
        self.position = (self.position + width).min(self.text.len());
    }

    /// Moves over a line break, if one is here.
    pub(super) fn skip_break(&mut self) {
        let length = self.break_length(0);
        if length > 0 {
            self.position += length;
            self.line += 1;
            self.line_start = self.position;
            self.continuations = 0;
        }
    }

    /// Moves over a line break and gives what it stands for: a line feed, except for the Unicode separators.
    pub(super) fn take_break(&mut self) -> &'a str {
        let length = self.break_length(0);
        let separator = if length == 3 {
            self.slice(self.position, self.position + 3)
        } else {
            "\n"
        };
        self.skip_break();
        if length == 0 { "" } else { separator }
    }

    /// Moves to the line after one that the end of the text has cut short.
    pub(super) fn finish_line(&mut self) {
        if self.column() != 0 {
            self.line += 1;
            self.line_start = self.position;
            self.continuations = 0;
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.position += 1;
        }
    }

    /// Moves to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.skip_until(BREAK, |_| false);
    }

    /// Moves over characters of a plain scalar up to a blank, a break, or an indicator that may end it.
    pub(super) fn skip_plain(&mut self, in_flow: bool) {
        let stop = if in_flow {
            BLANK | BREAK | COLON | FLOW_INDICATOR
        } else {
            BLANK | BREAK | COLON
        };
        self.skip_until(stop, |cursor| {
            cursor.current() == b':' && !cursor.is_blank_or_break(1)
        });
    }

    /// Moves over characters of a quoted scalar up to a blank, a break, a quote or a backslash.
    pub(super) fn skip_quoted(&mut self) {
        self.skip_until(BLANK | BREAK | QUOTE, |_| false);
    }

    /// Moves over letters, digits, `_` and `-`.
    pub(super) fn skip_word(&mut self) {
        while self.current().is_ascii_alphanumeric() || matches!(self.current(), b'_' | b'-') {
            self.position += 1;
        }
    }

    /// Moves to the first byte of one of the classes unless it is to be passed over.
    fn skip_until(&mut self, stop: u8, pass: impl Fn(&Self) -> bool) {
        loop {
            let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
            let run = rest
                .iter()
                .take_while(|byte| class(**byte) & (stop | WIDE) == 0)
                .count();
            self.position += run;
            let class = class(self.current());
            if class & WIDE != 0 {
                if class & WIDE_BREAK != 0 && self.break_length(0) > 0 {
                    return;
                }
                self.skip();
            } else if !self.is_end() && pass(self) {
                self.position += 1;
            } else {
                return;
            }
        }
    }

    /// Whether at most `count` characters lie between a position on this line and the current one.
    pub(super) fn is_within(&self, from: usize, count: usize) -> bool {
        let bytes = self.position.saturating_sub(from);
        bytes <= count || bytes <= 4 * count && self.slice(from, self.position).chars().count() <= count
    }
}
