//! What the scanner makes of characters.

use super::cursor::Mark;
use std::borrow::Cow;

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) start: Mark,
    /// The flow level whose simple key this token may start.
    pub(super) key_level: Option<u32>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: &'a str, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag { handle: &'a str, suffix: String },
    Scalar { value: Cow<'a, str>, is_plain: bool },
}

impl Token<'_> {
    /// Where the token ends, for one that is a single character.
    pub(super) fn after(&self) -> Mark {
        Mark {
            column: self.start.column + 1,
            ..self.start
        }
    }
}
