//! Tokens to events: YAML's grammar as a machine of states, so that nesting costs no stack.

mod block;
mod flow;

use super::Problem;
use super::cursor::Mark;
use super::scanner::Scanner;
use super::token::{Kind, Token};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A step through a document.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) kind: EventKind<'a>,
    pub(super) start: Mark,
}

#[derive(Debug)]
pub(super) enum EventKind<'a> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar(Scalar<'a>),
    SequenceStart { anchor: Option<&'a str> },
    SequenceEnd,
    MappingStart { anchor: Option<&'a str> },
    MappingEnd,
}

#[derive(Debug)]
pub(super) struct Scalar<'a> {
    pub(super) anchor: Option<&'a str>,
    pub(super) tag: Option<String>,
    pub(super) value: Cow<'a, str>,
    /// The scalar is plain without a tag, or its tag is a lone `!`.
    pub(super) is_implicit: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

#[derive(Debug)]
pub(super) struct Grammar<'a> {
    pub(super) scanner: Scanner<'a>,
    state: State,
    /// Where to go on behind the nodes that are being read.
    outer: Vec<State>,
    tag_directives: BTreeMap<&'a str, String>,
}

type Parsed<'a> = Result<Event<'a>, Problem>;

impl<'a> Grammar<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            scanner: Scanner::new(text),
            state: State::ImplicitDocumentStart,
            outer: Vec::new(),
            tag_directives: BTreeMap::new(),
        }
    }

    pub(super) fn next(&mut self) -> Parsed<'a> {
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceFirstEntry => self.block_sequence_entry(true),
            State::BlockSequenceEntry => self.block_sequence_entry(false),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.block_mapping_key(true),
            State::BlockMappingKey => self.block_mapping_key(false),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.flow_sequence_entry(true),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => self.flow_sequence_entry_mapping_end(),
            State::FlowMappingFirstKey => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => self.flow_mapping_empty_value(),
            State::End => Ok(Event {
                kind: EventKind::StreamEnd,
                start: self.scanner.cursor.mark(),
            }),
        }
    }

    fn peek(&mut self) -> Result<&Token<'a>, Problem> {
        self.scanner.peek()
    }

    fn skip(&mut self) {
        self.scanner.take();
    }

    /// Whether the next token is of a kind.
    fn is_next(&mut self, expected: fn(&Kind<'a>) -> bool) -> Result<bool, Problem> {
        Ok(expected(&self.peek()?.kind))
    }

    fn leave(&mut self) {
        self.state = self.outer.pop().unwrap_or(State::End);
    }

    /// An error at the next token.
    fn expected(&mut self, problem: &'static str) -> Problem {
        match self.peek() {
            Ok(token) => Problem::of_grammar(problem, token.start.line),
            Err(problem) => problem,
        }
    }

    fn empty_scalar(start: Mark) -> Event<'a> {
        let scalar = Scalar {
            anchor: None,
            tag: None,
            value: Cow::Borrowed(""),
            is_implicit: true,
        };
        Event {
            kind: EventKind::Scalar(scalar),
            start,
        }
    }

    fn document_start(&mut self, may_be_implicit: bool) -> Parsed<'a> {
        if !may_be_implicit {
            while self.is_next(|kind| matches!(kind, Kind::DocumentEnd))? {
                self.skip();
            }
        }
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            Kind::StreamEnd => {
                self.state = State::End;
                self.skip();
                return Ok(Event {
                    kind: EventKind::StreamEnd,
                    start,
                });
            }
            Kind::VersionDirective { .. } | Kind::TagDirective { .. } | Kind::DocumentStart => {
                self.directives()?;
                if !self.is_next(|kind| matches!(kind, Kind::DocumentStart))? {
                    return Err(self.expected("did not find expected <document start>"));
                }
                self.skip();
                self.state = State::DocumentContent;
            }
            _ if may_be_implicit => {
                self.directives()?;
                self.state = State::BlockNode;
            }
            _ => return Err(self.expected("did not find expected <document start>")),
        }
        self.outer.push(State::DocumentEnd);
        Ok(Event {
            kind: EventKind::DocumentStart,
            start,
        })
    }

    fn directives(&mut self) -> Result<(), Problem> {
        let mut has_version = false;
        while self
            .is_next(|kind| matches!(kind, Kind::VersionDirective { .. } | Kind::TagDirective { .. }))?
        {
            let Some(token) = self.scanner.take() else { break };
            match token.kind {
                Kind::VersionDirective { .. } if has_version => {
                    return Err(Problem::of_grammar(
                        "found duplicate %YAML directive",
                        token.start.line,
                    ));
                }
                Kind::VersionDirective { major: 1, minor: 1 } => has_version = true,
                Kind::TagDirective { handle, prefix } => {
                    if self.tag_directives.insert(handle, prefix).is_some() {
                        return Err(Problem::of_grammar(
                            "found duplicate %TAG directive",
                            token.start.line,
                        ));
                    }
                }
                _ => {
                    return Err(Problem::of_grammar(
                        "found incompatible YAML document",
                        token.start.line,
                    ));
                }
            }
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            self.tag_directives
                .entry(handle)
                .or_insert_with(|| prefix.to_owned());
        }
        Ok(())
    }

    fn document_content(&mut self) -> Parsed<'a> {
        let token = self.peek()?;
        if matches!(
            token.kind,
            Kind::VersionDirective { .. }
                | Kind::TagDirective { .. }
                | Kind::DocumentStart
                | Kind::DocumentEnd
                | Kind::StreamEnd
        ) {
            let start = token.start;
            self.leave();
            return Ok(Self::empty_scalar(start));
        }
        self.node(true, false)
    }

    fn document_end(&mut self) -> Parsed<'a> {
        let token = self.peek()?;
        let start = token.start;
        if matches!(token.kind, Kind::DocumentEnd) {
            self.skip();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(Event {
            kind: EventKind::DocumentEnd,
            start,
        })
    }

    fn node(&mut self, is_block: bool, may_be_indentless: bool) -> Parsed<'a> {
        let start = self.peek()?.start;
        if let Kind::Alias(name) = self.peek()?.kind {
            self.leave();
            self.skip();
            return Ok(Event {
                kind: EventKind::Alias(name),
                start,
            });
        }
        let (anchor, tag) = self.properties()?;
        let kind = match self.peek()?.kind {
            Kind::BlockEntry if may_be_indentless => {
                self.state = State::IndentlessSequenceEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::Scalar { .. } => return self.scalar(start, anchor, tag),
            Kind::FlowSequenceStart => {
                self.state = State::FlowSequenceFirstEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::FlowMappingStart => {
                self.state = State::FlowMappingFirstKey;
                EventKind::MappingStart { anchor }
            }
            Kind::BlockSequenceStart if is_block => {
                self.state = State::BlockSequenceFirstEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::BlockMappingStart if is_block => {
                self.state = State::BlockMappingFirstKey;
                EventKind::MappingStart { anchor }
            }
            _ if anchor.is_some() || tag.is_some() => {
                self.leave();
                let is_implicit = tag.is_none();
                EventKind::Scalar(Scalar {
                    anchor,
                    tag,
                    value: Cow::Borrowed(""),
                    is_implicit,
                })
            }
            _ => return Err(self.expected("did not find expected node content")),
        };
        Ok(Event { kind, start })
    }

    fn scalar(&mut self, start: Mark, anchor: Option<&'a str>, tag: Option<String>) -> Parsed<'a> {
        self.leave();
        let Some(Token {
            kind: Kind::Scalar { value, is_plain },
            ..
        }) = self.scanner.take()
        else {
            return Err(self.expected("did not find expected node content"));
        };
        let is_implicit = match tag.as_deref() {
            None => is_plain,
            Some(tag) => tag == "!",
        };
        Ok(Event {
            kind: EventKind::Scalar(Scalar {
                anchor,
                tag,
                value,
                is_implicit,
            }),
            start,
        })
    }

    /// The anchor and the tag before a node, in either order.
    fn properties(&mut self) -> Result<(Option<&'a str>, Option<String>), Problem> {
        let mut anchor = None;
        let mut tag = None;
        loop {
            match self.peek()?.kind {
                Kind::Anchor(name) if anchor.is_none() => {
                    anchor = Some(name);
                    self.skip();
                }
                Kind::Tag { .. } if tag.is_none() => {
                    let Some(Token {
                        kind: Kind::Tag { handle, suffix },
                        start,
                        ..
                    }) = self.scanner.take()
                    else {
                        break;
                    };
                    tag = Some((handle, suffix, start));
                }
                _ => break,
            }
        }
        let Some((handle, suffix, start)) = tag else {
            return Ok((anchor, None));
        };
        if handle.is_empty() {
            return Ok((anchor, Some(suffix)));
        }
        match self.tag_directives.get(handle) {
            Some(prefix) => Ok((anchor, Some(format!("{prefix}{suffix}")))),
            None => Err(Problem::of_grammar("found undefined tag handle", start.line)),
        }
    }

    /// The node behind a dash or a colon that was taken, or nothing where one of the given tokens follows.
    fn node_unless(
        &mut self,
        is_next_entry: fn(&Kind<'a>) -> bool,
        after: State,
        may_be_indentless: bool,
        position: Mark,
    ) -> Parsed<'a> {
        if self.is_next(is_next_entry)? {
            self.state = after;
            return Ok(Self::empty_scalar(position));
        }
        self.outer.push(after);
        self.node(true, may_be_indentless)
    }

    /// Takes the token that ends a collection.
    fn end(&mut self, kind: EventKind<'a>) -> Parsed<'a> {
        let start = self.peek()?.start;
        self.leave();
        self.skip();
        Ok(Event { kind, start })
    }
}
