//! Events to nodes: aliases are expanded, merge keys applied, scalars typed.

use super::cursor::Mark;
use super::grammar::{EventKind, Grammar, Scalar};
use super::{MAX_DEPTH, Problem, TOO_DEEP};
use crate::{Content, Error, Node, go_syntax, resolve};
use std::collections::BTreeMap;

/// How many bytes of nodes and text may be copied for the anchors and aliases of one document. In Go copies
/// share their text; here a long text behind many aliases would fill the memory.
const COPY_BUDGET: usize = 128 << 20;

/// The nodes of one document under construction.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    open: Vec<Collection>,
    anchors: BTreeMap<&'a str, usize>,
    /// One for each anchor of the text, in its order.
    targets: Vec<Option<Target>>,
    usage: Usage,
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

/// What a node costs.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Decoding steps, as goyaml counts them.
    steps: usize,
    bytes: usize,
    depth: usize,
}

#[derive(Debug, Default)]
struct Usage {
    steps: usize,
    steps_in_aliases: usize,
    copied: usize,
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

#[derive(Debug)]
enum Key {
    Missing,
    Merge,
    Read(Node),
}

impl<'a> Tree<'a> {
    pub(super) fn new() -> Self {
        Self {
            open: Vec::new(),
            anchors: BTreeMap::new(),
            targets: Vec::new(),
            usage: Usage::default(),
            failure: None,
        }
    }

    /// Reads up to the end of the next document; nothing where the text has ended.
    pub(super) fn read_document(mut self, grammar: &mut Grammar<'a>) -> Result<Option<Node>, Error> {
        let mut root = None;
        loop {
            let event = grammar.next()?;
            let start = event.start;
            match event.kind {
                EventKind::StreamEnd => return Ok(None),
                EventKind::DocumentStart => {}
                EventKind::DocumentEnd => break,
                EventKind::Alias(name) => self.alias(name, start, &mut root)?,
                EventKind::Scalar(scalar) => self.scalar(scalar, start, &mut root),
                EventKind::SequenceStart { anchor } => {
                    self.open(Items::Sequence(Vec::new()), start, anchor)?;
                }
                EventKind::MappingStart { anchor } => {
                    self.open(
                        Items::Mapping {
                            pairs: Vec::new(),
                            key: Key::Missing,
                        },
                        start,
                        anchor,
                    )?;
                }
                EventKind::SequenceEnd | EventKind::MappingEnd => self.close(&mut root),
            }
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(Some(root.unwrap_or_else(|| node(Content::Null, Mark::default())))),
        }
    }

    fn fail(&mut self, problem: impl Into<String>, place: Mark) {
        if self.failure.is_none() {
            self.failure = Some(Error::content(problem, place.line + 1));
        }
    }

    fn set_anchor(&mut self, anchor: Option<&'a str>) -> Option<usize> {
        let anchor = anchor?;
        self.targets.push(None);
        let target = self.targets.len() - 1;
        self.anchors.insert(anchor, target);
        Some(target)
    }

    fn open(&mut self, items: Items, start: Mark, anchor: Option<&'a str>) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::of_scanner(TOO_DEEP, start.line).into());
        }
        let target = self.set_anchor(anchor);
        self.count(1, 0, start);
        let size = Size {
            steps: 1,
            bytes: size_of::<Node>(),
            depth: 1,
        };
        self.open.push(Collection {
            items,
            start,
            target,
            size,
        });
        Ok(())
    }

    fn close(&mut self, root: &mut Option<Node>) {
        let Some(collection) = self.open.pop() else { return };
        let content = match collection.items {
            Items::Sequence(items) => Content::Sequence(items),
            Items::Mapping { pairs, .. } => Content::Mapping(pairs),
        };
        let node = node(content, collection.start);
        self.finish(node, collection.size, collection.target, collection.start, root);
    }

    fn scalar(&mut self, scalar: Scalar<'a>, start: Mark, root: &mut Option<Node>) {
        let target = self.set_anchor(scalar.anchor);
        if self.is_merge(&scalar) {
            // A merge key is no value and cannot be referred to as anything but a string.
            if let Some(target) = target {
                self.define(
                    target,
                    &node(Content::String("<<".to_owned()), start),
                    Size::default(),
                );
            }
            if let Some(Collection {
                items: Items::Mapping { key, .. },
                ..
            }) = self.open.last_mut()
            {
                *key = Key::Merge;
            }
            return;
        }
        self.count(1, 0, start);
        let bytes = size_of::<Node>() + scalar.value.len();
        let content = match scalar.tag {
            None if scalar.is_implicit => resolve::plain(scalar.value),
            None => Content::String(scalar.value.into_owned()),
            // Nothing but a mapping can be merged, whatever the tag makes of the text.
            Some(_) if self.expects_merged() => Content::Null,
            Some(tag) => resolve::tagged(&tag, scalar.value).unwrap_or_else(|problem| {
                self.fail(problem, start);
                Content::Null
            }),
        };
        self.finish(
            node(content, start),
            Size {
                steps: 1,
                bytes,
                depth: 0,
            },
            target,
            start,
            root,
        );
    }

    /// Whether a scalar stands for the key `<<`.
    fn is_merge(&self, scalar: &Scalar<'_>) -> bool {
        let is_key = matches!(
            self.open.last(),
            Some(Collection {
                items: Items::Mapping {
                    key: Key::Missing,
                    ..
                },
                ..
            })
        );
        is_key
            && scalar.value == "<<"
            && (scalar.is_implicit || scalar.tag.as_deref() == Some("tag:yaml.org,2002:merge"))
    }
    fn expects_merged(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Collection {
                items: Items::Mapping { key: Key::Merge, .. },
                ..
            })
        )
    }

    fn alias(&mut self, name: &str, start: Mark, root: &mut Option<Node>) -> Result<(), Error> {
        let Some(target) = self.anchors.get(name).copied() else {
            // goyaml looks anchors up while it reads, so this comes at once.
            return Err(Error::content(
                format!("unknown anchor '{name}' referenced"),
                start.line + 1,
            ));
        };
        let Some(size) = self
            .targets
            .get(target)
            .and_then(Option::as_ref)
            .map(|target| target.size)
        else {
            self.fail(format!("anchor '{name}' value contains itself"), start);
            self.finish(node(Content::Null, start), Size::default(), None, start, root);
            return Ok(());
        };
        if self.open.len() + size.depth > MAX_DEPTH {
            return Err(Problem::of_scanner(TOO_DEEP, start.line).into());
        }
        self.count(1 + size.steps, size.steps, start);
        self.usage.copied = self.usage.copied.saturating_add(size.bytes);
        self.check_copies(start);
        // Nothing is copied once the document has failed: its content no longer counts.
        let copy = match self.targets.get(target) {
            Some(Some(target)) if self.failure.is_none() => target.node.clone(),
            _ => node(Content::Null, start),
        };
        self.finish_alias(
            copy,
            Size {
                steps: 1 + size.steps,
                ..size
            },
            start,
            root,
        );
        Ok(())
    }

    /// Counts decoding steps. Few of them may come from aliases in a long document.
    fn count(&mut self, steps: usize, in_aliases: usize, place: Mark) {
        let usage = &mut self.usage;
        usage.steps += steps;
        usage.steps_in_aliases += in_aliases;
        if usage.steps_in_aliases > 100
            && usage.steps > 1000
            && usage.steps_in_aliases as f64 / usage.steps as f64 > allowed_alias_ratio(usage.steps)
        {
            self.fail("document contains excessive aliasing", place);
        }
    }

    fn check_copies(&mut self, place: Mark) {
        if self.usage.copied > COPY_BUDGET {
            self.fail("document contains excessive aliasing", place);
        }
    }

    fn define(&mut self, target: usize, node: &Node, size: Size) {
        self.usage.copied = self.usage.copied.saturating_add(size.bytes);
        self.check_copies(Mark {
            line: node.line - 1,
            column: 0,
        });
        if self.failure.is_none()
            && let Some(slot) = self.targets.get_mut(target)
        {
            *slot = Some(Target {
                node: node.clone(),
                size,
            });
        }
    }

    fn finish(
        &mut self,
        node: Node,
        size: Size,
        target: Option<usize>,
        place: Mark,
        root: &mut Option<Node>,
    ) {
        if let Some(target) = target {
            self.define(target, &node, size);
        }
        self.attach(node, size, false, place, root);
    }

    fn finish_alias(&mut self, node: Node, size: Size, place: Mark, root: &mut Option<Node>) {
        self.attach(node, size, true, place, root);
    }

    /// Puts a finished node where it belongs.
    fn attach(&mut self, node: Node, size: Size, is_alias: bool, place: Mark, root: &mut Option<Node>) {
        let Some(parent) = self.open.last_mut() else {
            *root = Some(node);
            return;
        };
        parent.size.steps += size.steps;
        parent.size.bytes += size.bytes;
        parent.size.depth = parent.size.depth.max(size.depth + 1);
        match &mut parent.items {
            Items::Sequence(items) => items.push(node),
            Items::Mapping { pairs, key } => match std::mem::replace(key, Key::Missing) {
                Key::Read(key) => pairs.push((key, node)),
                Key::Merge => {
                    if !merge(pairs, node, is_alias) {
                        self.fail("map merge requires map or sequence of maps as the value", place);
                    }
                }
                Key::Missing => {
                    let is_collection = matches!(node.value, Content::Sequence(_) | Content::Mapping(_));
                    let problem = (is_collection && self.failure.is_none())
                        .then(|| format!("invalid map key: {}", go_syntax::format(&node)));
                    *key = Key::Read(node);
                    if let Some(problem) = problem {
                        self.fail(problem, place);
                    }
                }
            },
        }
    }
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

/// goyaml's limit of the share of decoding steps that may come from aliases: from 99 % in short documents, by
/// which a small one cannot grow beyond some 400,000 steps, down to 10 %.
fn allowed_alias_ratio(steps: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let position = ((steps as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    0.99 - 0.89 * position
}
