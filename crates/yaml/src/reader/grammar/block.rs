//! Sequences and mappings by indentation.

use super::super::token::Kind;
use super::{Event, EventKind, Grammar, Parsed, State};

impl<'a> Grammar<'a> {
    pub(super) fn block_sequence_entry(&mut self, is_first: bool) -> Parsed<'a> {
        if is_first {
            self.skip();
        }
        let token = self.peek()?;
        let position = token.after();
        match token.kind {
            Kind::BlockEntry => {
                self.skip();
                self.node_unless(
                    |kind| matches!(kind, Kind::BlockEntry | Kind::BlockEnd),
                    State::BlockSequenceEntry,
                    false,
                    position,
                )
            }
            Kind::BlockEnd => self.end(EventKind::SequenceEnd),
            _ => Err(self.expected("did not find expected '-' indicator")),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Parsed<'a> {
        let token = self.peek()?;
        let (start, position) = (token.start, token.after());
        if matches!(token.kind, Kind::BlockEntry) {
            self.skip();
            return self.node_unless(
                |kind| matches!(kind, Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd),
                State::IndentlessSequenceEntry,
                false,
                position,
            );
        }
        self.leave();
        Ok(Event {
            kind: EventKind::SequenceEnd,
            start,
        })
    }

    pub(super) fn block_mapping_key(&mut self, is_first: bool) -> Parsed<'a> {
        if is_first {
            self.skip();
        }
        let token = self.peek()?;
        let position = token.after();
        match token.kind {
            Kind::Key => {
                self.skip();
                self.node_unless(
                    |kind| matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd),
                    State::BlockMappingValue,
                    true,
                    position,
                )
            }
            Kind::BlockEnd => self.end(EventKind::MappingEnd),
            _ => Err(self.expected("did not find expected key")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Parsed<'a> {
        let token = self.peek()?;
        let (start, position) = (token.start, token.after());
        if matches!(token.kind, Kind::Value) {
            self.skip();
            return self.node_unless(
                |kind| matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd),
                State::BlockMappingKey,
                true,
                position,
            );
        }
        self.state = State::BlockMappingKey;
        Ok(Self::empty_scalar(start))
    }
}
