//! Parsed templates for programs that read them without executing them.
//!
//! ```
//! use std::sync::Arc;
//! use steersman_gotemplate::{FunctionTable, TemplateSet, syntax::Part};
//!
//! let mut set = TemplateSet::new(Arc::new(FunctionTable::new(&[])));
//! set.parse("greeting", "hello {{ .name }}")?;
//! let template = set.template("greeting").expect("it was parsed");
//! let Part::List(parts) = template.root.part() else { panic!("a template is a list") };
//! let text = parts.filter_map(|node| match node.part() {
//!     Part::Text(text) => Some(text),
//!     _ => None,
//! });
//! assert_eq!(text.collect::<String>(), "hello ");
//! # Ok::<(), steersman_gotemplate::Error>(())
//! ```

use std::fmt;

use crate::set::TemplateSet;
use crate::tree::{self, NodeId, NodeKind, Slot, Span, Tree};
use crate::value::Str;

/// What one text, or one `define` in it, was parsed to.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// What [`TemplateSet::execute`] and `{{template}}` call it by.
    pub name: &'a Str,
    /// The name under which its text was parsed: as a rule that of a file.
    pub source: &'a Str,
    /// What it consists of, a [`Part::List`].
    pub root: Node<'a>,
    /// How many variables can be in use at the same time; the first is `$`, the dot that the template was given.
    pub slots: usize,
}

/// A node of a parsed template.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    tree: &'a Tree,
    id: NodeId,
}

/// What a node is. Comments and trimmed white space are gone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Part<'a> {
    /// What is output as it is.
    Text(&'a str),
    /// A pipeline whose value is output, unless it declares or assigns variables.
    Action(Node<'a>),
    /// `{{break}}`: the innermost `range` ends.
    Break,
    /// `{{continue}}`: the innermost `range` goes on with its next element.
    Continue,
    /// `{{if}}`; `else if` is an [`If`](Self::If) alone in the other branch.
    If(Branch<'a>),
    /// `{{with}}`: the dot of the body is the value of the pipeline.
    With(Branch<'a>),
    /// `{{range}}`: the pipeline's variables are set before each round.
    Range(Branch<'a>),
    /// `{{template}}`, with the pipeline that gives it its dot, and the use of a `{{block}}`.
    Template(&'a Str, Option<Node<'a>>),
    /// One node after the other.
    List(Nodes<'a>),
    /// Commands, each of which gets the value of the one before as its last argument.
    Pipeline {
        /// The variables that it declares or assigns, each a [`Part::Variable`].
        variables: Nodes<'a>,
        /// Whether they exist already.
        assigns: bool,
        /// From left to right, each a [`Part::Command`].
        commands: Nodes<'a>,
    },
    /// What is called or given, and its arguments.
    Command(Nodes<'a>),
    /// A function by its name in the [`FunctionTable`](crate::FunctionTable).
    Function(&'a Str),
    /// A variable by its place in the frame of its template, and fields of it. No place: it is out of scope.
    Variable(Option<usize>, &'a [Str]),
    /// Fields of the dot.
    Field(&'a [Str]),
    /// Fields of a parenthesised pipeline.
    Chain(Node<'a>, &'a [Str]),
    /// The dot alone, `.`; with fields it is a [`Part::Field`].
    Dot,
    /// The literal `nil`, which is no command by itself.
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// A number or a character, as written.
    Number(&'a str),
    /// A string, without its quotes.
    String(&'a Str),
}

/// The parts of an `if`, `with` or `range`.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    /// The condition, or what is looped over.
    pub pipeline: Node<'a>,
    /// What is executed if it is true, or for each element.
    pub body: Node<'a>,
    /// What follows `{{else}}`.
    pub otherwise: Option<Node<'a>>,
}

/// Some nodes, one after the other.
#[derive(Clone)]
pub struct Nodes<'a> {
    tree: &'a Tree,
    ids: std::slice::Iter<'a, NodeId>,
}

impl<'a> Iterator for Nodes<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let tree = self.tree;
        self.ids.next().map(|id| Node { tree, id: *id })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.size_hint()
    }
}

impl ExactSizeIterator for Nodes<'_> {}

impl fmt::Debug for Nodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.print())
    }
}

impl TemplateSet {
    /// A parsed template, for its nodes; [`contains`](Self::contains) only says whether it is there.
    #[must_use]
    pub fn template(&self, name: &str) -> Option<Template<'_>> {
        let template: &tree::Template = self.get(name.as_bytes())?;
        Some(Template {
            name: &template.name,
            source: &template.tree.name,
            root: Node {
                tree: &template.tree,
                id: template.root,
            },
            slots: template.slots as usize,
        })
    }
}

impl<'a> Node<'a> {
    /// The kind of node, with the nodes below it.
    #[must_use]
    pub fn part(self) -> Part<'a> {
        let tree = self.tree;
        match tree.node(self.id).kind {
            NodeKind::Text { start, end } => Part::Text(tree.slice(start, end)),
            NodeKind::Action { pipe } => Part::Action(self.at(pipe)),
            NodeKind::Break => Part::Break,
            NodeKind::Continue => Part::Continue,
            NodeKind::If(branch) => Part::If(self.branch(branch)),
            NodeKind::With(branch) => Part::With(self.branch(branch)),
            NodeKind::Range(branch) => Part::Range(self.branch(branch)),
            NodeKind::Template { name, pipe } => {
                Part::Template(tree.name(name), pipe.map(|pipe| self.at(pipe)))
            }
            NodeKind::List(span) => Part::List(self.nodes(span)),
            NodeKind::Pipe {
                variables,
                assigns,
                commands,
            } => Part::Pipeline {
                variables: self.nodes(variables),
                assigns,
                commands: self.nodes(commands),
            },
            NodeKind::Command(span) => Part::Command(self.nodes(span)),
            NodeKind::Function { name, .. } => Part::Function(tree.name(name)),
            NodeKind::Variable { slot, names } => {
                let slot = match slot {
                    Slot::At(slot) => Some(slot as usize),
                    Slot::Undefined => None,
                };
                Part::Variable(slot, tree.names(names).get(1..).unwrap_or_default())
            }
            NodeKind::Field(names) => Part::Field(tree.names(names)),
            NodeKind::Chain { operand, fields } => Part::Chain(self.at(operand), tree.names(fields)),
            NodeKind::Dot => Part::Dot,
            NodeKind::Nil => Part::Nil,
            NodeKind::Bool(value) => Part::Bool(value),
            NodeKind::Number(index) => {
                let text = &tree.number(index).text;
                Part::Number(tree.slice(text.start, text.end))
            }
            NodeKind::String(index) => Part::String(&tree.string(index).value),
        }
    }

    /// The line of the text on which the node begins, from 1.
    #[must_use]
    pub fn line(self) -> usize {
        self.tree.place(self.tree.node(self.id).position).0
    }

    /// The name under which the text was parsed: as a rule that of a file.
    #[must_use]
    pub fn source(self) -> &'a Str {
        &self.tree.name
    }

    /// The byte of the text at which the node begins.
    #[must_use]
    pub fn position(self) -> usize {
        self.tree.node(self.id).position as usize
    }

    /// The text of which the node is a part, where it is UTF-8.
    #[must_use]
    pub fn whole_text(self) -> &'a str {
        &self.tree.text
    }

    /// The node as Go writes it in messages.
    #[must_use]
    pub fn print(self) -> String {
        self.tree.print(self.id)
    }

    fn at(self, id: NodeId) -> Self {
        Self { tree: self.tree, id }
    }

    fn nodes(self, span: Span) -> Nodes<'a> {
        Nodes {
            tree: self.tree,
            ids: self.tree.list(span).iter(),
        }
    }

    fn branch(self, branch: tree::Branch) -> Branch<'a> {
        Branch {
            pipeline: self.at(branch.pipe),
            body: self.at(branch.list),
            otherwise: branch.otherwise.map(|id| self.at(id)),
        }
    }
}
