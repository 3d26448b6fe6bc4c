//! Characters to tokens: indentation becomes block starts and ends, and keys are found by the colon behind
//! them.

mod property;
mod scalar;
mod simple_key;

use super::cursor::{Cursor, END, Mark};
use super::token::{Kind, Token};
use super::{MAX_DEPTH, Problem};
use simple_key::SimpleKey;
use std::collections::VecDeque;

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the next token and the queue"
)]
pub(super) struct Scanner<'a> {
    pub(super) cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// How many tokens have left the queue; a token's number is its place in the whole stream.
    taken: usize,
    head_is_ready: bool,
    ended: bool,
    /// The column of the innermost block collection, -1 outside of any.
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) simple_key_allowed: bool,
    /// One for the block context and one for each open flow collection.
    simple_keys: Vec<SimpleKey>,
    next_token_may_be_key: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            queue: VecDeque::new(),
            taken: 0,
            head_is_ready: false,
            ended: false,
            indent: -1,
            indents: Vec::new(),
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            next_token_may_be_key: false,
        }
    }

    /// The next token, which stays in place.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, Problem> {
        if !self.head_is_ready {
            self.fetch_until_head_is_certain()?;
            self.head_is_ready = true;
        }
        self.queue.front().ok_or_else(|| self.problem("found no token"))
    }

    /// Takes the token that was peeked at.
    pub(super) fn take(&mut self) -> Option<Token<'a>> {
        self.head_is_ready = false;
        self.taken += 1;
        self.queue.pop_front()
    }

    pub(super) fn in_flow(&self) -> bool {
        self.simple_keys.len() > 1
    }

    pub(super) fn problem(&self, problem: &'static str) -> Problem {
        Problem::of_scanner(problem, self.cursor.line())
    }

    fn fetch_until_head_is_certain(&mut self) -> Result<(), Problem> {
        while self.head_may_be_key()? {
            self.fetch_next_token()?;
        }
        Ok(())
    }

    /// Whether the head of the queue is missing or may yet get a key token before it.
    fn head_may_be_key(&mut self) -> Result<bool, Problem> {
        let Some(head) = self.queue.front() else {
            return Ok(!self.ended);
        };
        let Some(level) = head.key_level else {
            return Ok(false);
        };
        let is_key_of_level = |key: &SimpleKey| key.is_possible && key.token_number == self.taken;
        if self.simple_keys.get(level as usize).is_some_and(is_key_of_level) {
            self.is_valid_key(level as usize)
        } else {
            Ok(false)
        }
    }

    fn fetch_next_token(&mut self) -> Result<(), Problem> {
        self.skip_to_next_token();
        self.close_blocks_beyond(self.cursor.column() as i64);
        let current = self.cursor.current();
        if current == END {
            return self.fetch_stream_end();
        }
        if self.cursor.column() == 0 {
            if current == b'%' {
                return self.fetch_directive();
            }
            if self.cursor.is_document_indicator() {
                let kind = if current == b'-' {
                    Kind::DocumentStart
                } else {
                    Kind::DocumentEnd
                };
                return self.fetch_document_indicator(kind);
            }
        }
        let in_flow = self.in_flow();
        match current {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.cursor.is_blank_or_break(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.cursor.is_blank_or_break(1) => self.fetch_key(),
            b':' if in_flow || self.cursor.is_blank_or_break(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_quoted_scalar(true),
            b'"' => self.fetch_quoted_scalar(false),
            b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(self.problem("found character that cannot start any token"))
            }
            _ => self.fetch_plain_scalar(),
        }
    }

    fn push(&mut self, kind: Kind<'a>, start: Mark) {
        let key_level = self
            .next_token_may_be_key
            .then(|| self.simple_keys.len() as u32 - 1);
        self.next_token_may_be_key = false;
        self.queue.push_back(Token {
            kind,
            start,
            key_level,
        });
    }

    fn insert(&mut self, token_number: usize, kind: Kind<'a>, start: Mark) {
        // The place may be gone, see `forget_key`; goyaml then appends.
        let index = token_number.checked_sub(self.taken).unwrap_or(self.queue.len());
        let index = index.min(self.queue.len());
        self.queue.insert(
            index,
            Token {
                kind,
                start,
                key_level: None,
            },
        );
    }

    /// Skips blanks, comments and line breaks. Tabs may stand in flow context and where no key can start.
    fn skip_to_next_token(&mut self) {
        let cursor = &mut self.cursor;
        if cursor.position() == 0 && [cursor.peek(0), cursor.peek(1), cursor.peek(2)] == [0xef, 0xbb, 0xbf] {
            cursor.skip();
        }
        loop {
            while self.cursor.current() == b' '
                || self.cursor.current() == b'\t' && (self.in_flow() || !self.simple_key_allowed)
            {
                self.cursor.skip_ascii(1);
            }
            if self.cursor.current() == b'#' {
                self.cursor.skip_line();
            }
            if !self.cursor.is_break() {
                return;
            }
            self.cursor.skip_break();
            if !self.in_flow() {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Opens a block collection if the column is deeper than the current one. Its token goes to the given
    /// number in the stream, or to the end of the queue.
    fn open_block(
        &mut self,
        column: u32,
        token_number: Option<usize>,
        kind: Kind<'a>,
        mark: Mark,
    ) -> Result<(), Problem> {
        if self.in_flow() || self.indent >= i64::from(column) {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = i64::from(column);
        if self.indents.len() > MAX_DEPTH {
            return Err(self.problem(super::TOO_DEEP));
        }
        match token_number {
            Some(number) => self.insert(number, kind, mark),
            None => self.push(kind, mark),
        }
        Ok(())
    }

    fn close_blocks_beyond(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.cursor.mark());
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), Problem> {
        self.cursor.finish_line();
        self.close_blocks_beyond(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.ended = true;
        self.push(Kind::StreamEnd, self.cursor.mark());
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Problem> {
        self.close_blocks_beyond(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark();
        let kind = self.scan_directive()?;
        self.push(kind, start);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind<'a>) -> Result<(), Problem> {
        self.close_blocks_beyond(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push_indicator(kind, 3);
        Ok(())
    }

    fn push_indicator(&mut self, kind: Kind<'a>, length: usize) {
        let start = self.cursor.mark();
        self.cursor.skip_ascii(length);
        self.push(kind, start);
    }

    fn fetch_flow_start(&mut self, kind: Kind<'a>) -> Result<(), Problem> {
        self.save_simple_key()?;
        if self.simple_keys.len() > MAX_DEPTH {
            return Err(self.problem(super::TOO_DEEP));
        }
        self.simple_key_allowed = true;
        let token_number = self.taken + self.queue.len();
        self.push_indicator(kind, 1);
        self.simple_keys.push(SimpleKey {
            token_number,
            ..SimpleKey::default()
        });
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind<'a>) -> Result<(), Problem> {
        self.remove_simple_key()?;
        if self.in_flow()
            && let Some(key) = self.simple_keys.pop()
        {
            self.forget_key(key.token_number);
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Problem> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Problem> {
        // In flow context the dash is left to the grammar, which knows what it disturbs.
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return Err(self.problem("block sequence entries are not allowed in this context"));
            }
            let mark = self.cursor.mark();
            self.open_block(mark.column, None, Kind::BlockSequenceStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Problem> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return Err(self.problem("mapping keys are not allowed in this context"));
            }
            let mark = self.cursor.mark();
            self.open_block(mark.column, None, Kind::BlockMappingStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = !self.in_flow();
        self.push_indicator(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Problem> {
        let level = self.simple_keys.len() - 1;
        if self.is_valid_key(level)? {
            let key = self.simple_keys.get(level).copied().unwrap_or_default();
            self.insert(key.token_number, Kind::Key, key.mark);
            self.open_block(
                key.mark.column,
                Some(key.token_number),
                Kind::BlockMappingStart,
                key.mark,
            )?;
            if let Some(key) = self.simple_keys.last_mut() {
                key.is_possible = false;
            }
            self.simple_key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.simple_key_allowed {
                    return Err(self.problem("mapping values are not allowed in this context"));
                }
                let mark = self.cursor.mark();
                self.open_block(mark.column, None, Kind::BlockMappingStart, mark)?;
            }
            self.simple_key_allowed = !self.in_flow();
        }
        self.push_indicator(Kind::Value, 1);
        Ok(())
    }

    fn fetch_anchor(&mut self) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark();
        let kind = self.scan_anchor()?;
        self.push(kind, start);
        Ok(())
    }

    fn fetch_tag(&mut self) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark();
        let kind = self.scan_tag()?;
        self.push(kind, start);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, is_literal: bool) -> Result<(), Problem> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.cursor.mark();
        let value = self.scan_block_scalar(is_literal)?;
        self.push(
            Kind::Scalar {
                value: value.into(),
                is_plain: false,
            },
            start,
        );
        Ok(())
    }

    fn fetch_quoted_scalar(&mut self, is_single: bool) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark();
        let value = self.scan_quoted_scalar(is_single)?;
        self.push(
            Kind::Scalar {
                value,
                is_plain: false,
            },
            start,
        );
        Ok(())
    }

    fn fetch_plain_scalar(&mut self) -> Result<(), Problem> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark();
        let value = self.scan_plain_scalar()?;
        self.push(
            Kind::Scalar {
                value,
                is_plain: true,
            },
            start,
        );
        Ok(())
    }
}
