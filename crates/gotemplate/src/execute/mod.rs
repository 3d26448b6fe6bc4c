//! Evaluation of parsed templates.

mod argument;
mod budget;
mod call;
mod field;
mod pipeline;
mod range;
mod runtime;
mod view;

use std::fmt;

use crate::error::{At, Error, ErrorKind};
use crate::format;
use crate::limits::Options;
use crate::set::TemplateSet;
use crate::tree::{Branch, NodeId, NodeKind, Template};
use crate::value::{Str, Value, WeakMap, World};

use budget::Budget;
use view::View;

/// Executions of templates of one set that share a budget: one rendering.
///
/// ```
/// use std::sync::Arc;
/// use steersman_gotemplate::{ErrorKind, Execution, FunctionTable, Limits, Options, TemplateSet, Value};
/// # use steersman_gotemplate::{Failure, LookupQuery, Timestamp, World};
/// # struct Nowhere;
/// # impl World for Nowhere {
/// #     fn now(&self) -> Timestamp { Timestamp::default() }
/// #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
/// #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::Nil) }
/// # }
///
/// let mut set = TemplateSet::new(Arc::new(FunctionTable::default()));
/// set.parse("web", "kind: Deployment")?;
/// let limits = Limits { output_bytes: 20, ..Limits::default() };
/// let options = Options { limits, ..Options::default() };
/// let mut execution = Execution::new(&set, &Nowhere, &options);
/// assert_eq!(execution.execute("web", &Value::Nil)?, "kind: Deployment");
/// let error = execution.execute("web", &Value::Nil).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Budget);
/// # Ok::<(), steersman_gotemplate::Error>(())
/// ```
pub struct Execution<'a> {
    set: &'a TemplateSet,
    world: &'a dyn World,
    options: Options<'a>,
    budget: Budget,
    /// The templates that can be called, those of the current expansion included.
    view: View<'a>,
    output: Vec<u8>,
    /// The variables of all templates that are being executed.
    slots: Vec<Option<Operand>>,
    /// Where the variables of the current template start.
    base: usize,
    /// What is being evaluated, for messages.
    node: NodeId,
    /// The spent budget that ended a template called by a function.
    exhausted: Option<Error>,
    /// The maps in which functions put something.
    changed: Vec<WeakMap>,
}

/// A value as an expression sees it.
#[derive(Clone, Debug)]
struct Operand {
    value: Value,
    /// Whether its static type is `interface {}`, as that of what maps and lists contain.
    /// Messages name that type instead of the value's own.
    boxed: bool,
}

impl Operand {
    fn plain(value: Value) -> Self {
        Self { value, boxed: false }
    }

    /// What is in the interface, if it is one: a nil one contains nothing.
    fn unboxed(self) -> Value {
        match self.value {
            Value::Nil => Value::Invalid,
            value => value,
        }
    }

    fn type_name(&self) -> &str {
        if self.boxed || matches!(self.value, Value::Nil) {
            "interface {}"
        } else {
            self.value.type_name()
        }
    }
}

/// How execution goes on after a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'a> Execution<'a> {
    /// Nothing is executed yet. All that is executed here spends from one budget, that of `options`.
    #[must_use]
    pub fn new(set: &'a TemplateSet, world: &'a dyn World, options: &Options<'a>) -> Self {
        Self {
            set,
            world,
            options: *options,
            budget: Budget::new(options),
            view: View::new(set),
            output: Vec::new(),
            slots: Vec::new(),
            base: 0,
            node: NodeId(0),
            exhausted: None,
            changed: Vec::new(),
        }
    }

    /// Empties the maps that functions have changed and that somebody still has, such as those that
    /// contain themselves, which would never be freed. Whoever made the data of all executions, and needs
    /// none of it any longer, calls this when they are over.
    pub fn dismantle(&mut self) {
        for map in std::mem::take(&mut self.changed) {
            if let Some(map) = map.upgrade() {
                Value::Map(map).dismantle();
            }
        }
    }

    /// The output of the template `name` with `data` as its dot.
    ///
    /// # Errors
    /// There is no such template, it fails, or a limit is reached. The execution can be used
    /// for other templates after that, unless the limit was one of the whole execution.
    pub fn execute(&mut self, name: &str, data: &Value) -> Result<Str, Error> {
        let result = self.execute_named(name, data);
        self.slots.clear();
        self.base = 0;
        self.view.reset();
        self.exhausted = None;
        let output = std::mem::take(&mut self.output);
        result.map(|()| Str::from_bytes(output))
    }

    fn execute_named(&mut self, name: &str, data: &Value) -> Result<(), Error> {
        let Some(template) = self.view.get(name.as_bytes()) else {
            return Err(Error::not_found(name, &self.set.name().text()));
        };
        self.run(&template, Operand::plain(data.clone()).unboxed())
    }

    /// Appends the output of a template to that of its caller.
    fn run(&mut self, template: &Template, dot: Value) -> Result<(), Error> {
        let node = std::mem::replace(&mut self.node, template.root);
        if !self.budget.enter() {
            return Err(self.over(template, &self.budget.too_deep()));
        }
        let base = std::mem::replace(&mut self.base, self.slots.len());
        let dot = Operand::plain(dot);
        self.slots.push(Some(dot.clone()));
        self.slots.resize(self.base + template.slots as usize, None);
        let result = crate::stack::grow(|| self.walk(template, &dot, template.root));
        self.slots.truncate(self.base);
        self.base = base;
        self.budget.leave();
        self.node = node;
        result.map(|_| ())
    }

    fn walk(&mut self, template: &Template, dot: &Operand, id: NodeId) -> Result<Flow, Error> {
        self.node = id;
        self.step(template)?;
        let tree = &*template.tree;
        match tree.node(id).kind {
            NodeKind::Text { start, end } => {
                let text = tree.raw(start, end);
                self.budget
                    .write(text.len())
                    .map_err(|error| self.over(template, &error))?;
                self.output.extend_from_slice(text);
            }
            NodeKind::Action { pipe } => {
                let value = self.pipeline(template, dot, pipe)?;
                if let NodeKind::Pipe { variables, .. } = tree.node(pipe).kind
                    && variables.len() == 0
                {
                    self.node = id;
                    self.print(template, &value)?;
                }
            }
            NodeKind::List(span) => {
                for item in tree.list(span) {
                    let flow = self.walk(template, dot, *item)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
            }
            NodeKind::If(branch) => return self.walk_branch(template, dot, branch, false),
            NodeKind::With(branch) => return self.walk_branch(template, dot, branch, true),
            NodeKind::Range(branch) => {
                return crate::stack::grow(|| self.walk_range(template, dot, branch));
            }
            NodeKind::Template { name, pipe } => {
                self.walk_template(template, dot, tree.name(name), pipe)?;
            }
            NodeKind::Break => return Ok(Flow::Break),
            NodeKind::Continue => return Ok(Flow::Continue),
            _ => return Err(self.fail(template, format!("unknown node: {}", tree.print(id)))),
        }
        Ok(Flow::Next)
    }

    fn walk_branch(
        &mut self,
        template: &Template,
        dot: &Operand,
        branch: Branch,
        rebinds: bool,
    ) -> Result<Flow, Error> {
        let value = self.pipeline(template, dot, branch.pipe)?;
        crate::stack::grow(|| {
            if value.is_true() {
                if rebinds {
                    self.walk(template, &Operand::plain(value), branch.list)
                } else {
                    self.walk(template, dot, branch.list)
                }
            } else if let Some(otherwise) = branch.otherwise {
                self.walk(template, dot, otherwise)
            } else {
                Ok(Flow::Next)
            }
        })
    }

    fn walk_template(
        &mut self,
        template: &Template,
        dot: &Operand,
        name: &Str,
        pipe: Option<NodeId>,
    ) -> Result<(), Error> {
        let Some(callee) = self.view.get(name.as_bytes()) else {
            let name = format::quote_bytes(name.as_bytes());
            return Err(self.fail(template, format!("template {name} not defined")));
        };
        let dot = match pipe {
            Some(pipe) => self.pipeline(template, dot, pipe)?,
            None => Value::Invalid,
        };
        self.run(&callee, dot)
    }

    fn print(&mut self, template: &Template, value: &Value) -> Result<(), Error> {
        let before = self.output.len();
        let fits = format::write_value(&mut self.output, value, self.budget.output_left());
        let written = self.output.len() - before;
        self.budget
            .write(written)
            .map_err(|error| self.over(template, &error))?;
        if fits {
            Ok(())
        } else {
            Err(self.over(template, "value is too large to print"))
        }
    }

    /// Accounts for one node.
    fn step(&mut self, template: &Template) -> Result<(), Error> {
        self.budget
            .spend(1, self.options.expired)
            .map_err(|message| self.over(template, &message))
    }

    /// A failure at the current node.
    fn fail(&self, template: &Template, message: impl Into<String>) -> Error {
        Error::execution(ErrorKind::Execution, self.at(template), message)
    }

    /// A spent budget at the current node.
    fn over(&self, template: &Template, message: &str) -> Error {
        Error::execution(ErrorKind::Budget, self.at(template), message)
    }

    fn at<'t>(&self, template: &'t Template) -> At<'t> {
        let tree = &template.tree;
        let (line, column) = tree.place(tree.node(self.node).position);
        At {
            source: tree.name.text(),
            template: template.name.text(),
            line,
            column,
            context: tree.print(self.node),
        }
    }
}

impl TemplateSet {
    /// The output of the template `name` with `data` as its dot.
    ///
    /// Templates that belong to one rendering share one [`Execution`] instead, so that they
    /// share its budget.
    ///
    /// # Errors
    /// There is no such template, it fails, or a limit of `options` is reached.
    pub fn execute(
        &self,
        name: &str,
        data: &Value,
        world: &dyn World,
        options: &Options<'_>,
    ) -> Result<Str, Error> {
        Execution::new(self, world, options).execute(name, data)
    }
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("set", self.set)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
