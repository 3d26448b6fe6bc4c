//! Parsed templates: nodes in one arena per text, immutable and shared by all threads.

mod print;

use std::ops::Range;
use std::sync::Arc;

use crate::format::Complex;
use crate::value::Str;

/// The number of a node in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

/// Consecutive entries of one of a tree's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The span without its first entry, unless nothing is left of it then.
    pub(crate) fn after_first(self) -> Option<Self> {
        (self.len() > 1).then_some(Self {
            start: self.start + 1,
            end: self.end,
        })
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One template: a file, or a `define` in one.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: Str,
    pub(crate) tree: Arc<Tree>,
    /// A [`NodeKind::List`].
    pub(crate) root: NodeId,
    /// How many variables can be in use at the same time, `$` included.
    pub(crate) slots: u32,
}

impl Template {
    /// Whether this is nothing but white space and comments.
    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_blank(self.root)
    }
}

/// What one text was parsed to.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The name under which the text was parsed.
    pub(crate) name: Str,
    /// The text; a stand-in of the same length where that is no UTF-8.
    pub(crate) text: String,
    /// The text where it is no UTF-8.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) lists: Vec<NodeId>,
    pub(crate) names: Vec<Str>,
    pub(crate) numbers: Vec<Number>,
    pub(crate) strings: Vec<StringLiteral>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// The byte of the text that messages point at.
    pub(crate) position: u32,
    pub(crate) kind: NodeKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeKind {
    /// Bytes of the text that are output as they are.
    Text { start: u32, end: u32 },
    /// A pipeline whose value is printed, unless it declares or assigns variables.
    Action { pipe: NodeId },
    /// `{{break}}`: ends the innermost `range`.
    Break,
    /// `{{continue}}`: on to the next element of the innermost `range`.
    Continue,
    /// `{{if}}`: an `else if` is a list of one more `If`.
    If(Branch),
    /// `{{with}}`: the value of its pipeline is the dot inside.
    With(Branch),
    /// `{{range}}`: its pipeline may have up to two variables.
    Range(Branch),
    /// `{{template}}`, and the use of a `{{block}}`. The name is in `names`.
    Template { name: u32, pipe: Option<NodeId> },
    /// A sequence of the nodes above.
    List(Span),
    /// Declared or assigned variables and commands, both in `lists`.
    Pipe {
        variables: Span,
        assigns: bool,
        commands: Span,
    },
    /// A function, method, field or value with its arguments.
    Command(Span),
    /// A function by its number in the function table; the name is in `names`.
    Function { function: u16, name: u32 },
    /// A variable and fields of it; the names are in `names`, that of the variable first.
    Variable { slot: Slot, names: Span },
    /// Fields of the dot.
    Field(Span),
    /// Fields of a parenthesised pipeline or of a function's result.
    Chain { operand: NodeId, fields: Span },
    /// The dot alone: `.` without fields.
    Dot,
    /// The literal `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A number or a character, in `numbers`.
    Number(u32),
    /// A literal; the index of what it reads as, and of how it is quoted, in `strings`.
    String(u32),
}

/// The three parts of an `if`, `with` or `range`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: NodeId,
    pub(crate) list: NodeId,
    pub(crate) otherwise: Option<NodeId>,
}

/// The place of a variable in the frame of its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    At(u32),
    /// A variable that the parser knows but that is out of scope when it is used, such as
    /// one declared in the other branch of an `if`.
    Undefined,
}

/// A string constant.
#[derive(Clone, Debug)]
pub(crate) struct StringLiteral {
    /// As written, with quotes.
    pub(crate) quoted: Range<u32>,
    pub(crate) value: Str,
}

/// A numeric constant, in each type that can hold it.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    /// Where it is in the text, as written: `0x1F`.
    pub(crate) text: Range<u32>,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    /// What it is by the way it is written, with an imaginary part.
    pub(crate) complex: Option<Complex>,
}

impl Tree {
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    pub(crate) fn list(&self, span: Span) -> &[NodeId] {
        &self.lists[span.range()]
    }

    pub(crate) fn names(&self, span: Span) -> &[Str] {
        &self.names[span.range()]
    }

    pub(crate) fn name(&self, index: u32) -> &Str {
        &self.names[index as usize]
    }

    pub(crate) fn number(&self, index: u32) -> &Number {
        &self.numbers[index as usize]
    }

    pub(crate) fn string(&self, index: u32) -> &StringLiteral {
        &self.strings[index as usize]
    }

    pub(crate) fn slice(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// A part of the text as it was given.
    pub(crate) fn raw(&self, start: u32, end: u32) -> &[u8] {
        let bytes = self.bytes.as_deref().unwrap_or(self.text.as_bytes());
        &bytes[start as usize..end as usize]
    }

    pub(crate) fn add(&mut self, position: u32, kind: NodeKind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { position, kind });
        id
    }

    pub(crate) fn add_list(&mut self, items: &[NodeId]) -> Span {
        let start = self.lists.len() as u32;
        self.lists.extend_from_slice(items);
        Span {
            start,
            end: self.lists.len() as u32,
        }
    }

    pub(crate) fn add_names<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Span {
        let start = self.names.len() as u32;
        self.names.extend(names.into_iter().map(Str::from));
        Span {
            start,
            end: self.names.len() as u32,
        }
    }

    pub(crate) fn add_name(&mut self, name: impl Into<Str>) -> u32 {
        self.names.push(name.into());
        self.names.len() as u32 - 1
    }

    /// The line from 1 and the column from 0, in bytes, of a byte of the text.
    pub(crate) fn place(&self, position: u32) -> (usize, usize) {
        let before = &self.text.as_bytes()[..position as usize];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = match before.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => before.len() - newline - 1,
            None => before.len(),
        };
        (line, column)
    }

    /// Whether a node is nothing but white space and comments.
    pub(crate) fn is_blank(&self, id: NodeId) -> bool {
        match self.node(id).kind {
            NodeKind::Text { start, end } => self.slice(start, end).trim().is_empty(),
            NodeKind::List(span) => self.list(span).iter().all(|item| self.is_blank(*item)),
            _ => false,
        }
    }
}
