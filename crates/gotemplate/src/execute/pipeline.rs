//! Pipelines, commands and constants.

use crate::error::Error;
use crate::tree::{NodeId, NodeKind, Number, Slot, Span, Template};
use crate::value::Value;

use super::{Execution, Operand};

impl Execution<'_> {
    /// The value of a pipeline; what it declares or assigns is set to that.
    pub(super) fn pipeline(
        &mut self,
        template: &Template,
        dot: &Operand,
        id: NodeId,
    ) -> Result<Value, Error> {
        self.node = id;
        let tree = &*template.tree;
        let NodeKind::Pipe {
            variables, commands, ..
        } = tree.node(id).kind
        else {
            return Err(self.fail(template, "not a pipeline"));
        };
        let mut value = None;
        for command in tree.list(commands) {
            let result = self.command(template, dot, *command, value.take())?;
            value = Some(result.unboxed());
        }
        let value = value.unwrap_or_default();
        for variable in tree.list(variables) {
            self.set_variable(template, *variable, Operand::plain(value.clone()))?;
        }
        Ok(value)
    }

    pub(super) fn set_variable(
        &mut self,
        template: &Template,
        variable: NodeId,
        value: Operand,
    ) -> Result<(), Error> {
        if let NodeKind::Variable { slot, names } = template.tree.node(variable).kind {
            let base = self.base;
            let place = match slot {
                Slot::At(slot) => self.slots.get_mut(base + slot as usize),
                Slot::Undefined => None,
            };
            match place {
                Some(place) => *place = Some(value),
                None => return Err(self.undefined(template, names)),
            }
        }
        Ok(())
    }

    fn undefined(&self, template: &Template, names: Span) -> Error {
        let name = template.tree.names(names).first().cloned().unwrap_or_default();
        self.fail(template, format!("undefined variable: {name}"))
    }

    /// The value of one command, the last argument of which is the value of the one before.
    fn command(
        &mut self,
        template: &Template,
        dot: &Operand,
        id: NodeId,
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        let tree = &*template.tree;
        let NodeKind::Command(span) = tree.node(id).kind else {
            return Err(self.fail(template, "not a command"));
        };
        let Some((first, arguments)) = tree.list(span).split_first() else {
            return Err(self.fail(template, "empty command"));
        };
        let first = *first;
        match tree.node(first).kind {
            NodeKind::Field(names) => {
                self.node = first;
                self.fields(template, dot, dot, names, first, arguments, last)
            }
            NodeKind::Chain { operand, fields } => {
                self.chain(template, dot, first, operand, fields, arguments, last)
            }
            NodeKind::Function { function, .. } => {
                self.node = first;
                self.function(template, dot, id, function, arguments, last)
            }
            NodeKind::Pipe { .. } => {
                self.not_a_function(template, first, arguments, last.as_ref())?;
                crate::stack::grow(|| self.pipeline(template, dot, first)).map(Operand::plain)
            }
            NodeKind::Variable { slot, names } => {
                self.variable(template, dot, first, slot, names, arguments, last)
            }
            _ => {
                self.node = first;
                self.not_a_function(template, first, arguments, last.as_ref())?;
                self.constant(template, dot, first)
            }
        }
    }

    fn constant(&self, template: &Template, dot: &Operand, id: NodeId) -> Result<Operand, Error> {
        let tree = &*template.tree;
        Ok(match tree.node(id).kind {
            NodeKind::Bool(value) => Operand::plain(Value::Bool(value)),
            NodeKind::Dot => dot.clone(),
            NodeKind::Nil => return Err(self.fail(template, "nil is not a command")),
            NodeKind::Number(number) => Operand::plain(self.number(template, tree.number(number))?),
            NodeKind::String(string) => Operand::plain(Value::Str(tree.string(string).value.clone())),
            _ => {
                let node = crate::format::quote(&tree.print(id));
                return Err(self.fail(template, format!("can't evaluate command {node}")));
            }
        })
    }

    /// A numeric constant where nothing says which type it should have.
    pub(super) fn number(&self, template: &Template, number: &Number) -> Result<Value, Error> {
        if let Some(complex) = number.complex {
            return Ok(Value::object(complex));
        }
        let text = template.tree.slice(number.text.start, number.text.end);
        if let Some(float) = number.float
            && is_written_as_float(text)
        {
            return Ok(Value::Float(float));
        }
        match number.int {
            Some(int) => Ok(Value::Int(int)),
            None => Err(self.fail(template, format!("{text} overflows int"))),
        }
    }

    pub(super) fn not_a_function(
        &self,
        template: &Template,
        node: NodeId,
        arguments: &[NodeId],
        last: Option<&Value>,
    ) -> Result<(), Error> {
        if arguments.is_empty() && last.is_none() {
            return Ok(());
        }
        let node = template.tree.print(node);
        Err(self.fail(template, format!("can't give argument to non-function {node}")))
    }

    /// A variable, or a field of one.
    #[expect(clippy::too_many_arguments, reason = "the parts of a command")]
    pub(super) fn variable(
        &mut self,
        template: &Template,
        dot: &Operand,
        id: NodeId,
        slot: Slot,
        names: Span,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        self.node = id;
        let value = match slot {
            Slot::At(slot) => self.slots.get(self.base + slot as usize).and_then(Option::as_ref),
            Slot::Undefined => None,
        };
        let Some(value) = value else {
            return Err(self.undefined(template, names));
        };
        let Some(fields) = names.after_first() else {
            self.not_a_function(template, id, arguments, last.as_ref())?;
            return Ok(value.clone());
        };
        let Some((first, rest)) = template.tree.names(fields).split_first() else {
            return Ok(value.clone());
        };
        let has_arguments = rest.is_empty() && (!arguments.is_empty() || last.is_some());
        let found = self.field(template, first, value, has_arguments)?;
        self.more_fields(template, dot, found, fields, id, arguments, last)
    }
}

/// Whether a constant is a `float64` by the way it is written.
fn is_written_as_float(text: &str) -> bool {
    let is_hexadecimal_int =
        text.len() > 2 && (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']);
    !is_hexadecimal_int && !text.starts_with('\'') && text.contains(['.', 'e', 'E', 'p', 'P'])
}
