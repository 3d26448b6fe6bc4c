//! Events to nodes: aliases are expanded, merge keys applied, scalars typed.

use super::budget::{Budget, Size};
use super::cursor::Mark;
use super::grammar::{EventKind, Grammar, Scalar};
use super::{MAX_DEPTH, Problem, TOO_DEEP};
use crate::{Content, Error, Node, go_syntax, resolve};
use resolve::Words;
use std::collections::BTreeMap;

/// The nodes of one document under construction.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    root: Option<Node>,
    open: Vec<Collection>,
    anchors: BTreeMap<&'a str, usize>,
    /// One for each anchor of the text, in its order.
    targets: Vec<Option<Target>>,
    budget: Budget,
    words: Words,
    /// The first thing wrong with the content. goyaml notices it when the whole document has been read, so
    /// errors of syntax that follow it come first.
    failure: Option<Error>,
}

/// What an alias copies.
#[derive(Debug)]
struct Target {
    node: Node,
    size: Size,
}

/// A sequence or mapping whose end has not been read.
#[derive(Debug)]
struct Collection {
    items: Items,
    start: Mark,
    target: Option<usize>,
    size: Size,
}

#[derive(Debug)]
enum Items {
    Sequence(Vec<Node>),
    Mapping { pairs: Vec<(Node, Node)>, key: Key },
}

/// The key of the pair that is being read.
#[derive(Debug)]
enum Key {
    Missing,
    Merge,
    Read(Node),
}

const EXCESSIVE_ALIASING: &str = "document contains excessive aliasing";

impl<'a> Tree<'a> {
    pub(super) fn new(words: Words) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Reads up to the end of the next document; nothing where the text has ended.
    pub(super) fn read_document(mut self, grammar: &mut Grammar<'a>) -> Result<Option<Node>, Error> {
        loop {
            let event = grammar.next()?;
            let start = event.start;
            match event.kind {
                EventKind::StreamEnd => return Ok(None),
                EventKind::DocumentStart => {}
                EventKind::DocumentEnd => break,
                EventKind::Alias(name) => self.alias(name, start)?,
                EventKind::Scalar(scalar) => self.scalar(scalar, start)?,
                EventKind::SequenceStart { anchor } => {
                    self.open(Items::Sequence(Vec::new()), start, anchor)?;
                }
                EventKind::MappingStart { anchor } => {
                    let items = Items::Mapping {
                        pairs: Vec::new(),
                        key: Key::Missing,
                    };
                    self.open(items, start, anchor)?;
                }
                EventKind::SequenceEnd | EventKind::MappingEnd => self.close()?,
            }
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.root),
        }
    }

    fn fail(&mut self, problem: impl Into<String>, place: Mark) {
        if self.failure.is_none() {
            self.failure = Some(Error::content(problem, place.line + 1));
        }
    }

    /// The key that waits for its value, where the next node is a part of a mapping.
    fn key(&mut self) -> Option<&mut Key> {
        match &mut self.open.last_mut()?.items {
            Items::Mapping { key, .. } => Some(key),
            Items::Sequence(_) => None,
        }
    }

    fn open(&mut self, items: Items, start: Mark, anchor: Option<&'a str>) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::of_scanner(TOO_DEEP, start.line).into());
        }
        if !self.budget.count_node() {
            self.fail(EXCESSIVE_ALIASING, start);
        }
        self.budget.count_bytes(Size::of_empty_collection(), start)?;
        let target = self.declare(anchor);
        self.open.push(Collection {
            items,
            start,
            target,
            size: Size::of_empty_collection(),
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(collection) = self.open.pop() else {
            return Ok(());
        };
        let content = match collection.items {
            Items::Sequence(items) => Content::Sequence(items),
            Items::Mapping { pairs, .. } => Content::Mapping(pairs),
        };
        let node = node(content, collection.start);
        self.define(collection.target, &node, collection.size)?;
        self.attach(node, collection.size, false);
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar<'a>, start: Mark) -> Result<(), Error> {
        let target = self.declare(scalar.anchor);
        let size = Size::of_scalar(&scalar.value);
        self.budget.count_bytes(size, start)?;
        if matches!(self.key(), Some(Key::Missing)) && is_merge(&scalar) {
            let key = node(Content::String(scalar.value.into_owned()), start);
            self.define(target, &key, size)?;
            if let Some(key) = self.key() {
                *key = Key::Merge;
            }
            return Ok(());
        }
        if !self.budget.count_node() {
            self.fail(EXCESSIVE_ALIASING, start);
        }
        let content = match scalar.tag {
            None if scalar.is_implicit => resolve::plain(scalar.value, self.words),
            None => Content::String(scalar.value.into_owned()),
            // Nothing but a mapping can be merged, whatever the tag makes of the text.
            Some(_) if matches!(self.key(), Some(Key::Merge)) => Content::Null,
            Some(tag) => resolve::tagged(&tag, scalar.value, self.words).unwrap_or_else(|problem| {
                self.fail(problem, start);
                Content::Null
            }),
        };
        let node = node(content, start);
        self.define(target, &node, size)?;
        self.attach(node, size, false);
        Ok(())
    }

    /// Makes an anchor known: from here on an alias means the node that starts here.
    fn declare(&mut self, anchor: Option<&'a str>) -> Option<usize> {
        let anchor = anchor?;
        self.targets.push(None);
        let target = self.targets.len() - 1;
        self.anchors.insert(anchor, target);
        Some(target)
    }

    /// Keeps a finished node for the aliases of its anchor.
    fn define(&mut self, target: Option<usize>, node: &Node, size: Size) -> Result<(), Error> {
        let Some(target) = target else { return Ok(()) };
        self.budget.count_bytes(size, mark(node))?;
        // Nothing is copied once the document has failed: its content no longer counts.
        if self.failure.is_none()
            && let Some(slot) = self.targets.get_mut(target)
        {
            *slot = Some(Target {
                node: node.clone(),
                size,
            });
        }
        Ok(())
    }

    fn alias(&mut self, name: &str, start: Mark) -> Result<(), Error> {
        let Some(target) = self.anchors.get(name) else {
            // goyaml looks anchors up while it reads, so this comes at once.
            let problem = format!("unknown anchor '{name}' referenced");
            return Err(Error::content(problem, start.line + 1));
        };
        let Some(Some(target)) = self.targets.get(*target) else {
            self.fail(format!("anchor '{name}' value contains itself"), start);
            self.attach(node(Content::Null, start), Size::default(), true);
            return Ok(());
        };
        let size = target.size;
        if self.open.len() + size.depth > MAX_DEPTH {
            return Err(Problem::of_scanner(TOO_DEEP, start.line).into());
        }
        let is_affordable = self.budget.count_alias(size);
        if is_affordable {
            self.budget.count_bytes(size, start)?;
        }
        let copy = if is_affordable && self.failure.is_none() {
            target.node.clone()
        } else {
            node(Content::Null, start)
        };
        if !is_affordable {
            self.fail(EXCESSIVE_ALIASING, start);
        }
        self.attach(copy, size.behind_alias(), true);
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn attach(&mut self, node: Node, size: Size, is_alias: bool) {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        parent.size.add_item(size);
        let (pairs, key) = match &mut parent.items {
            Items::Sequence(items) => return items.push(node),
            Items::Mapping { pairs, key } => (pairs, key),
        };
        match std::mem::replace(key, Key::Missing) {
            Key::Read(key) => pairs.push((key, node)),
            Key::Merge => {
                let place = mark(&node);
                if !merge(pairs, node, is_alias) {
                    self.fail("map merge requires map or sequence of maps as the value", place);
                }
            }
            Key::Missing => {
                let is_collection = matches!(node.value, Content::Sequence(_) | Content::Mapping(_));
                if is_collection && self.failure.is_none() {
                    let problem = format!("invalid map key: {}", go_syntax::format(&node));
                    self.failure = Some(Error::content(problem, node.line));
                }
                *key = Key::Read(node);
            }
        }
    }
}

/// Whether a key stands for the pairs of its value.
fn is_merge(key: &Scalar<'_>) -> bool {
    key.value == "<<" && (key.is_implicit || key.tag.as_deref() == Some("tag:yaml.org,2002:merge"))
}

/// Appends the pairs of a mapping, or of a sequence of mappings, the first of which takes precedence.
fn merge(pairs: &mut Vec<(Node, Node)>, value: Node, is_alias: bool) -> bool {
    match value.value {
        Content::Mapping(merged) => pairs.extend(merged),
        Content::Sequence(items) if !is_alias => {
            for item in items.into_iter().rev() {
                let Content::Mapping(merged) = item.value else {
                    return false;
                };
                pairs.extend(merged);
            }
        }
        _ => return false,
    }
    true
}

fn node(value: Content, start: Mark) -> Node {
    Node {
        value,
        line: start.line + 1,
        column: start.column + 1,
    }
}

fn mark(node: &Node) -> Mark {
    Mark {
        line: node.line - 1,
        column: node.column - 1,
    }
}
