//! The walk over parsed templates: every branch, with what is known about values.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value as Json;
use steersman_gotemplate::syntax::{Branch, Node, Part};
use steersman_gotemplate::{TemplateSet, stack};

use super::output::Output;
use super::resolve::print;
use super::subject::Subject;
use super::value::{Abstract, Shape};
use super::{Lookup, Place, Undetermined};

/// How many nodes are visited for one chart.
const MAX_STEPS: usize = 4_000_000;
/// How often a template may be among its own callers.
const MAX_RECURSION: usize = 2;
const MAX_DEPTH: usize = 120;

/// Walks through templates, and keeps what it learns besides their output.
pub(super) struct Walk<'a> {
    pub(super) subject: &'a Subject<'a>,
    /// The texts that values are compared with, by the place of the value.
    pub(super) compared: BTreeMap<Rc<[String]>, BTreeSet<String>>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) undetermined: Vec<Undetermined>,
    /// The file whose output this is.
    pub(super) file: String,
    pub(super) steps: usize,
    stack: Vec<String>,
    known: BTreeMap<(String, usize), Rc<[Output]>>,
    lines: RefCell<BTreeMap<String, Vec<usize>>>,
    pub(super) concrete: BTreeMap<String, Option<Json>>,
    loops: usize,
}

/// The variables of a template.
pub(super) type Frame = Vec<Abstract>;

impl<'a> Walk<'a> {
    pub(super) fn new(subject: &'a Subject<'a>) -> Self {
        Self {
            subject,
            compared: BTreeMap::new(),
            lookups: Vec::new(),
            undetermined: Vec::new(),
            file: String::new(),
            steps: 0,
            stack: Vec::new(),
            known: BTreeMap::new(),
            lines: RefCell::default(),
            concrete: BTreeMap::new(),
            loops: 0,
        }
    }

    /// Whether no more is visited.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps > MAX_STEPS
    }

    /// Forgets what a template of this name prints, as another text gets the name.
    pub(super) fn forget(&mut self, name: &str) {
        self.known.retain(|(known, _), _| known != name);
    }

    /// What a template can print, given this dot.
    pub(super) fn template(&mut self, set: &TemplateSet, name: &str, dot: &Abstract) -> Rc<[Output]> {
        let key = match (dot.options.as_slice(), &dot.open) {
            ([Shape::Dot(chart)], None) => Some((name.to_owned(), *chart)),
            _ => None,
        };
        if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Rc::clone(known);
        }
        let Some(template) = set.template(name) else {
            return Rc::from([]);
        };
        let place = self.place(template.root);
        let callers = self.stack.iter().filter(|caller| *caller == name).count();
        if callers >= MAX_RECURSION || self.stack.len() >= MAX_DEPTH {
            let why = format!("template {name:?}, which includes itself");
            return Rc::from([Output::Value(Abstract::open(why), place)]);
        }
        self.stack.push(name.to_owned());
        let loops = std::mem::take(&mut self.loops);
        let mut frame = vec![Abstract::default(); template.slots.max(1)];
        if let Some(first) = frame.first_mut() {
            *first = dot.clone();
        }
        let mut out = Vec::new();
        stack::grow(|| self.node(template.root, set, dot, &mut frame, &mut out));
        self.loops = loops;
        self.stack.pop();
        let out: Rc<[Output]> = out.into();
        // What was cut short depends on its callers.
        if let Some(key) = key.filter(|_| callers == 0) {
            self.known.insert(key, Rc::clone(&out));
        }
        out
    }

    fn node(
        &mut self,
        node: Node<'_>,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
        out: &mut Vec<Output>,
    ) {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return;
        }
        match node.part() {
            Part::Text(text) => out.push(Output::Text(text.into(), self.place(node))),
            Part::List(nodes) => {
                for node in nodes {
                    self.node(node, set, dot, frame, out);
                }
            }
            Part::Action(pipeline) => {
                let value = self.pipeline(pipeline, set, dot, frame);
                let is_silent =
                    matches!(pipeline.part(), Part::Pipeline { variables, .. } if variables.len() > 0);
                if !is_silent {
                    let place = self.place(node);
                    print(value, place, out);
                }
            }
            Part::If(branch) => self.branch(branch, false, set, dot, frame, out),
            Part::With(branch) => self.branch(branch, true, set, dot, frame, out),
            Part::Range(branch) => self.range(branch, set, dot, frame, out),
            Part::Template(name, pipeline) => {
                let value = match pipeline {
                    Some(pipeline) => self.pipeline(pipeline, set, dot, frame),
                    None => Abstract::json(Json::Null),
                };
                let inner = self.template(set, &name.text(), &value);
                out.push(Output::Either(vec![inner]));
            }
            _ => {}
        }
    }

    fn branch(
        &mut self,
        branch: Branch<'_>,
        is_with: bool,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
        out: &mut Vec<Output>,
    ) {
        let value = self.pipeline(branch.pipeline, set, dot, frame);
        // A loop is walked through once, so that what a later round finds is not known in it.
        let truth = value.truth().filter(|_| self.loops == 0);
        let mut arms: Vec<Rc<[Output]>> = Vec::new();
        if truth != Some(false) {
            let inner = if is_with { value.not_empty() } else { dot.clone() };
            let mut body = Vec::new();
            stack::grow(|| self.node(branch.body, set, &inner, frame, &mut body));
            arms.push(body.into());
        }
        if truth != Some(true) {
            let mut body = Vec::new();
            if let Some(otherwise) = branch.otherwise {
                stack::grow(|| self.node(otherwise, set, dot, frame, &mut body));
            }
            arms.push(body.into());
        }
        out.push(Output::Either(arms));
    }

    fn range(
        &mut self,
        branch: Branch<'_>,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
        out: &mut Vec<Output>,
    ) {
        let (commands, slots) = match branch.pipeline.part() {
            Part::Pipeline {
                variables, commands, ..
            } => (commands, variables.filter_map(slot).collect::<Vec<_>>()),
            _ => return,
        };
        let value = self.commands(commands, set, dot, frame);
        self.loops += 1;
        for (key, element) in self.elements(&value) {
            match slots.as_slice() {
                [only] => assign(frame, *only, element.clone()),
                [first, second, ..] => {
                    assign(frame, *first, key);
                    assign(frame, *second, element.clone());
                }
                [] => {}
            }
            let mut body = Vec::new();
            stack::grow(|| self.node(branch.body, set, &element, frame, &mut body));
            out.push(Output::Either(vec![body.into(), Rc::from([])]));
        }
        self.loops -= 1;
        if let Some(otherwise) = branch.otherwise {
            let mut body = Vec::new();
            stack::grow(|| self.node(otherwise, set, dot, frame, &mut body));
            out.push(Output::Either(vec![body.into(), Rc::from([])]));
        }
    }

    pub(super) fn pipeline(
        &mut self,
        node: Node<'_>,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
    ) -> Abstract {
        let Part::Pipeline {
            variables,
            assigns,
            commands,
        } = node.part()
        else {
            return self.operand(node, set, dot, frame);
        };
        let value = self.commands(commands, set, dot, frame);
        for slot in variables.filter_map(slot) {
            let before = match frame.get(slot) {
                // The assignment may be in a branch that is not taken.
                Some(before) if assigns => before.clone(),
                _ => Abstract::default(),
            };
            assign(frame, slot, before.or(value.clone()));
        }
        value
    }

    fn commands<'n>(
        &mut self,
        commands: impl Iterator<Item = Node<'n>>,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
    ) -> Abstract {
        let mut value = None;
        for command in commands {
            value = Some(stack::grow(|| {
                self.command(command, value.take(), set, dot, frame)
            }));
        }
        value.unwrap_or_default()
    }

    fn command(
        &mut self,
        node: Node<'_>,
        last: Option<Abstract>,
        set: &TemplateSet,
        dot: &Abstract,
        frame: &mut Frame,
    ) -> Abstract {
        self.steps += 1;
        let Part::Command(mut nodes) = node.part() else {
            return self.operand(node, set, dot, frame);
        };
        let Some(first) = nodes.next() else {
            return Abstract::default();
        };
        let mut arguments: Vec<Abstract> = Vec::new();
        for node in nodes {
            arguments.push(self.operand(node, set, dot, frame));
        }
        arguments.extend(last);
        match first.part() {
            Part::Function(name) => self.call(&name.text(), &arguments, node, set),
            Part::Field(names) => self.fields(dot, names, &arguments),
            Part::Chain(operand, names) => {
                let value = self.operand(operand, set, dot, frame);
                self.fields(&value, names, &arguments)
            }
            Part::Variable(Some(slot), names) => {
                let value = frame.get(slot).cloned().unwrap_or_default();
                self.fields(&value, names, &arguments)
            }
            _ => self.operand(first, set, dot, frame),
        }
    }

    fn operand(&mut self, node: Node<'_>, set: &TemplateSet, dot: &Abstract, frame: &mut Frame) -> Abstract {
        match node.part() {
            Part::Dot => dot.clone(),
            Part::Nil => Abstract::json(Json::Null),
            Part::Bool(flag) => Abstract::json(flag),
            Part::Number(text) => match serde_json::from_str::<Json>(text) {
                Ok(number @ Json::Number(_)) => Abstract::json(number),
                _ => Abstract::open(text),
            },
            Part::String(text) => Abstract::json(text.text().into_owned()),
            Part::Field(names) => self.fields(dot, names, &[]),
            Part::Variable(slot, names) => {
                let value = slot.and_then(|slot| frame.get(slot)).cloned();
                self.fields(&value.unwrap_or_default(), names, &[])
            }
            Part::Chain(operand, names) => {
                let value = self.operand(operand, set, dot, frame);
                self.fields(&value, names, &[])
            }
            Part::Function(name) => self.call(&name.text(), &[], node, set),
            Part::Pipeline { .. } => stack::grow(|| self.pipeline(node, set, dot, frame)),
            _ => stack::grow(|| self.command(node, None, set, dot, frame)),
        }
    }

    /// The file, and the line counted from 1; the ends of lines are looked for once for each text.
    pub(super) fn place(&self, node: Node<'_>) -> Place {
        let text = node.whole_text();
        let position = node.position().min(text.len());
        let mut lines = self.lines.borrow_mut();
        // Texts that `tpl` expands all have the same name.
        let key = format!("{}\0{}", node.source().text(), text.len());
        let ends = lines
            .entry(key)
            .or_insert_with(|| text.match_indices('\n').map(|(at, _)| at).collect());
        Place {
            file: node.source().text().as_ref().into(),
            line: ends.partition_point(|end| *end < position) + 1,
        }
    }
}

fn slot(node: Node<'_>) -> Option<usize> {
    match node.part() {
        Part::Variable(slot, _) => slot,
        _ => None,
    }
}

fn assign(frame: &mut Frame, slot: usize, value: Abstract) {
    if let Some(variable) = frame.get_mut(slot) {
        *variable = value;
    }
}
