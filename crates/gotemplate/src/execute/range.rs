//! `{{range}}`: loops over lists, maps, bytes, and up to integers.

use crate::error::Error;
use crate::format;
use crate::tree::{Branch, NodeId, NodeKind, Template};
use crate::value::{List, ListType, MapType, Object, Str, Value};

use super::{Execution, Flow, Operand};

/// One loop: its body, and the variables that it sets.
struct Loop<'t> {
    template: &'t Template,
    list: NodeId,
    variables: &'t [NodeId],
}

impl Execution<'_> {
    pub(super) fn walk_range(
        &mut self,
        template: &Template,
        dot: &Operand,
        branch: Branch,
    ) -> Result<Flow, Error> {
        let value = self.pipeline(template, dot, branch.pipe)?;
        // A map is copied, so that its entries can be changed meanwhile.
        self.budget
            .spend(value.steps(), self.options.expired)
            .map_err(|message| self.over(template, &message))?;
        let NodeKind::Pipe { variables, .. } = template.tree.node(branch.pipe).kind else {
            return Err(self.fail(template, "not a pipeline"));
        };
        let body = Loop {
            template,
            list: branch.list,
            variables: template.tree.list(variables),
        };
        let ran = match &value {
            Value::Invalid | Value::Nil => false,
            Value::Int(count) => self.count(&body, &value, *count, Value::Int)?,
            Value::Int64(count) => self.count(&body, &value, *count, Value::Int64)?,
            Value::Byte(count) => self.count(&body, &value, i64::from(*count), |n| Value::Byte(n as u8))?,
            Value::Uint64(count) => {
                let last = i64::try_from(*count).unwrap_or(i64::MAX);
                self.count(&body, &value, last, |n| Value::Uint64(n as u64))?
            }
            Value::Bytes(bytes) => {
                let bytes = bytes.iter().map(|byte| Operand::plain(Value::Byte(*byte)));
                self.items(&body, bytes)?
            }
            Value::List(list) => self.list(&body, list)?,
            Value::Map(map) => self.entries(&body, map.entries(), map.map_type() != MapType::String)?,
            Value::Object(object) => self.object(&body, object.as_ref(), &value)?,
            Value::Bool(_) | Value::Float(_) | Value::Str(_) => {
                return Err(self.cannot_iterate(template, &value));
            }
        };
        match branch.otherwise {
            Some(otherwise) if !ran => match self.walk(template, dot, otherwise)? {
                // A break ends the innermost loop, and this is one though it does not loop.
                Flow::Break => Ok(Flow::Next),
                flow => Ok(flow),
            },
            _ => Ok(Flow::Next),
        }
    }

    fn cannot_iterate(&self, template: &Template, value: &Value) -> Error {
        let value = format::print_value(value);
        self.fail(template, format!("range can't iterate over {value}"))
    }

    fn count(
        &mut self,
        body: &Loop<'_>,
        value: &Value,
        count: i64,
        number: impl Fn(i64) -> Value,
    ) -> Result<bool, Error> {
        if body.variables.len() > 1 {
            let value = format::print_value(value);
            let message = format!("can't use {value} to iterate over more than one variable");
            return Err(self.fail(body.template, message));
        }
        for index in 0..count.max(0) {
            if !self.iteration(body, Value::Invalid, Operand::plain(number(index)))? {
                break;
            }
        }
        Ok(count > 0)
    }

    fn items(&mut self, body: &Loop<'_>, items: impl Iterator<Item = Operand>) -> Result<bool, Error> {
        let mut ran = false;
        for (index, item) in items.enumerate() {
            ran = true;
            if !self.iteration(body, Value::Int(index as i64), item)? {
                break;
            }
        }
        Ok(ran)
    }

    fn list(&mut self, body: &Loop<'_>, list: &List) -> Result<bool, Error> {
        let boxed = list.list_type() == ListType::Any;
        let items = list.items().iter().cloned();
        self.items(body, items.map(|value| Operand { value, boxed }))
    }

    fn entries(&mut self, body: &Loop<'_>, entries: Vec<(Str, Value)>, boxed: bool) -> Result<bool, Error> {
        let ran = !entries.is_empty();
        for (key, value) in entries {
            if !self.iteration(body, Value::Str(key), Operand { value, boxed })? {
                break;
            }
        }
        Ok(ran)
    }

    fn object(&mut self, body: &Loop<'_>, object: &dyn Object, value: &Value) -> Result<bool, Error> {
        match object.kind_name() {
            "map" => {
                let mut entries = object.entries().unwrap_or_default();
                entries.sort_by(|(left, _), (right, _)| left.cmp(right));
                self.entries(body, entries, false)
            }
            "slice" => {
                let items = object.items().unwrap_or_default().into_iter();
                self.items(body, items.map(Operand::plain))
            }
            _ => match object.integer() {
                Some(count) => self.count(body, value, count, Value::Int64),
                None => Err(self.cannot_iterate(body.template, value)),
            },
        }
    }

    /// Runs the body once, and says whether there may be a next time.
    fn iteration(&mut self, body: &Loop<'_>, index: Value, item: Operand) -> Result<bool, Error> {
        match body.variables {
            [] => {}
            [variable] => self.set_variable(body.template, *variable, item.clone())?,
            [first, second, ..] => {
                self.set_variable(body.template, *first, Operand::plain(index))?;
                self.set_variable(body.template, *second, item.clone())?;
            }
        }
        let flow = self.walk(body.template, &item, body.list)?;
        Ok(flow != Flow::Break)
    }
}
