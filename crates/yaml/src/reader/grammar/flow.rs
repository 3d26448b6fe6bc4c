//! Sequences and mappings in brackets.

use super::super::token::Kind;
use super::{Event, EventKind, Grammar, Parsed, State};

impl<'a> Grammar<'a> {
    pub(super) fn flow_sequence_entry(&mut self, is_first: bool) -> Parsed<'a> {
        if is_first {
            self.skip();
        }
        if !self.is_next(|kind| matches!(kind, Kind::FlowSequenceEnd))? {
            if !is_first {
                if !self.is_next(|kind| matches!(kind, Kind::FlowEntry))? {
                    return Err(self.expected("did not find expected ',' or ']'"));
                }
                self.skip();
            }
            let token = self.peek()?;
            let start = token.start;
            match token.kind {
                Kind::Key => {
                    self.skip();
                    self.state = State::FlowSequenceEntryMappingKey;
                    return Ok(Event {
                        kind: EventKind::MappingStart { anchor: None },
                        start,
                    });
                }
                Kind::FlowSequenceEnd => {}
                _ => {
                    self.outer.push(State::FlowSequenceEntry);
                    return self.node(false, false);
                }
            }
        }
        self.end(EventKind::SequenceEnd)
    }

    pub(super) fn flow_sequence_entry_mapping_key(&mut self) -> Parsed<'a> {
        let token = self.peek()?;
        if matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd) {
            // goyaml takes this token here, though the value needs it: `[? : a]` is an error.
            let position = token.after();
            self.skip();
            self.state = State::FlowSequenceEntryMappingValue;
            return Ok(Self::empty_scalar(position));
        }
        self.outer.push(State::FlowSequenceEntryMappingValue);
        self.node(false, false)
    }

    pub(super) fn flow_sequence_entry_mapping_value(&mut self) -> Parsed<'a> {
        self.flow_value(
            |kind| matches!(kind, Kind::FlowEntry | Kind::FlowSequenceEnd),
            State::FlowSequenceEntryMappingEnd,
        )
    }

    pub(super) fn flow_sequence_entry_mapping_end(&mut self) -> Parsed<'a> {
        let start = self.peek()?.start;
        self.state = State::FlowSequenceEntry;
        Ok(Event {
            kind: EventKind::MappingEnd,
            start,
        })
    }

    pub(super) fn flow_mapping_key(&mut self, is_first: bool) -> Parsed<'a> {
        if is_first {
            self.skip();
        }
        if !self.is_next(|kind| matches!(kind, Kind::FlowMappingEnd))? {
            if !is_first {
                if !self.is_next(|kind| matches!(kind, Kind::FlowEntry))? {
                    return Err(self.expected("did not find expected ',' or '}'"));
                }
                self.skip();
            }
            if self.is_next(|kind| matches!(kind, Kind::Key))? {
                self.skip();
                let token = self.peek()?;
                if matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd) {
                    let start = token.start;
                    self.state = State::FlowMappingValue;
                    return Ok(Self::empty_scalar(start));
                }
                self.outer.push(State::FlowMappingValue);
                return self.node(false, false);
            }
            if !self.is_next(|kind| matches!(kind, Kind::FlowMappingEnd))? {
                self.outer.push(State::FlowMappingEmptyValue);
                return self.node(false, false);
            }
        }
        self.end(EventKind::MappingEnd)
    }

    pub(super) fn flow_mapping_value(&mut self) -> Parsed<'a> {
        self.flow_value(
            |kind| matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd),
            State::FlowMappingKey,
        )
    }

    pub(super) fn flow_mapping_empty_value(&mut self) -> Parsed<'a> {
        let start = self.peek()?.start;
        self.state = State::FlowMappingKey;
        Ok(Self::empty_scalar(start))
    }

    /// The value behind a colon, if there is a colon and something behind it.
    pub(super) fn flow_value(&mut self, is_end: fn(&Kind<'a>) -> bool, after: State) -> Parsed<'a> {
        if self.is_next(|kind| matches!(kind, Kind::Value))? {
            self.skip();
            if !self.is_next(is_end)? {
                self.outer.push(after);
                return self.node(false, false);
            }
        }
        let start = self.peek()?.start;
        self.state = after;
        Ok(Self::empty_scalar(start))
    }
}
