//! Fields, entries and methods.

use std::rc::Rc;

use crate::error::Error;
use crate::format;
use crate::limits::MissingKey;
use crate::tree::{NodeId, NodeKind, Span, Template};
use crate::value::{Map, MapMethod, MapType, Object, Signature, Str, Value};

use super::{Execution, Operand};

/// What a name means for a receiver.
pub(super) enum Field {
    Value(Operand),
    /// A method, which is still to be called.
    Method(Receiver),
}

/// What a method is called on.
pub(super) enum Receiver {
    Object(Rc<dyn Object>, Signature),
    Map(Map, &'static MapMethod),
}

impl Execution<'_> {
    /// Fields of a parenthesised pipeline or of a function's result.
    #[expect(clippy::too_many_arguments, reason = "the parts of a command")]
    pub(super) fn chain(
        &mut self,
        template: &Template,
        dot: &Operand,
        id: NodeId,
        operand: NodeId,
        fields: Span,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        self.node = operand;
        let receiver = match template.tree.node(operand).kind {
            NodeKind::Pipe { .. } => {
                Operand::plain(crate::stack::grow(|| self.pipeline(template, dot, operand))?)
            }
            NodeKind::Function { function, .. } => {
                self.function(template, dot, operand, function, &[], None)?
            }
            _ => {
                let node = template.tree.print(operand);
                return Err(self.fail(template, format!("can't take a field of {node}")));
            }
        };
        self.fields(template, dot, &receiver, fields, id, arguments, last)
    }

    /// The last of `fields`, each taken of the one before. If it is a method, it gets the
    /// arguments.
    #[expect(clippy::too_many_arguments, reason = "the parts of a command")]
    pub(super) fn fields(
        &mut self,
        template: &Template,
        dot: &Operand,
        receiver: &Operand,
        fields: Span,
        id: NodeId,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        let Some((first, rest)) = template.tree.names(fields).split_first() else {
            return Ok(receiver.clone());
        };
        let has_arguments = rest.is_empty() && (!arguments.is_empty() || last.is_some());
        let found = self.field(template, first, receiver, has_arguments)?;
        self.more_fields(template, dot, found, fields, id, arguments, last)
    }

    /// The last of `fields`, of which the first was found already.
    #[expect(clippy::too_many_arguments, reason = "the parts of a command")]
    pub(super) fn more_fields(
        &mut self,
        template: &Template,
        dot: &Operand,
        mut found: Field,
        fields: Span,
        id: NodeId,
        arguments: &[NodeId],
        mut last: Option<Value>,
    ) -> Result<Operand, Error> {
        let names = template.tree.names(fields);
        for (index, name) in names.iter().enumerate() {
            // Only the last of the names gets the arguments.
            let next = names.get(index + 1);
            let value = match found {
                Field::Value(value) => value,
                Field::Method(receiver) => {
                    let (arguments, last) = match next {
                        Some(_) => (&[][..], None),
                        None => (arguments, last.take()),
                    };
                    self.method(template, dot, &receiver, name, id, arguments, last)?
                }
            };
            let Some(next) = next else {
                return Ok(value);
            };
            let is_last = index + 2 == names.len();
            let has_arguments = is_last && (!arguments.is_empty() || last.is_some());
            found = self.field(template, next, &value, has_arguments)?;
        }
        Err(self.fail(template, "no field is named"))
    }

    pub(super) fn field(
        &self,
        template: &Template,
        name: &Str,
        receiver: &Operand,
        has_arguments: bool,
    ) -> Result<Field, Error> {
        match &receiver.value {
            Value::Map(map) => {
                if let Some(method) = map.method(name.as_bytes()) {
                    return Ok(Field::Method(Receiver::Map(map.clone(), method)));
                }
                if has_arguments {
                    return Err(self.fail(template, format!("{name} is not a method but has arguments")));
                }
                self.entry(template, map, name).map(Field::Value)
            }
            Value::Object(object) => {
                if let Some(signature) = object.method(&name.text()) {
                    return Ok(Field::Method(Receiver::Object(Rc::clone(object), signature)));
                }
                let found = self.object_field(template, object.as_ref(), name, has_arguments)?;
                let found = found.ok_or_else(|| {
                    let members = object.members().unwrap_or_default();
                    if members
                        .iter()
                        .any(|(member, _)| member.as_bytes() == name.as_bytes())
                    {
                        let type_name = object.type_name();
                        let message = format!("{name} is an unexported field of struct type {type_name}");
                        return self.fail(template, message);
                    }
                    self.no_field(template, name, receiver)
                })?;
                Ok(Field::Value(found))
            }
            Value::Invalid => {
                if self.options.missing_key == MissingKey::Error {
                    let key = format::quote_bytes(name.as_bytes());
                    return Err(self.fail(template, format!("nil data; no entry for key {key}")));
                }
                Ok(Field::Value(Operand::plain(Value::Invalid)))
            }
            Value::Nil => {
                let message = format!("nil pointer evaluating {}.{name}", receiver.type_name());
                Err(self.fail(template, message))
            }
            _ => Err(self.no_field(template, name, receiver)),
        }
    }

    fn no_field(&self, template: &Template, name: &Str, receiver: &Operand) -> Error {
        let type_name = receiver.type_name();
        self.fail(
            template,
            format!("can't evaluate field {name} in type {type_name}"),
        )
    }

    fn entry(&self, template: &Template, map: &Map, name: &Str) -> Result<Operand, Error> {
        let boxed = map.map_type() != MapType::String;
        let value = match map.get(name.as_bytes()) {
            Some(value) => value,
            None => self.missing(template, name, if boxed { Value::Nil } else { "".into() })?,
        };
        Ok(Operand { value, boxed })
    }

    /// What stands for an entry that is not in a map whose elements have this zero value.
    fn missing(&self, template: &Template, name: &Str, zero: Value) -> Result<Value, Error> {
        match self.options.missing_key {
            MissingKey::Invalid => Ok(Value::Invalid),
            MissingKey::Zero => Ok(zero),
            MissingKey::Error => {
                let key = format::quote_bytes(name.as_bytes());
                Err(self.fail(template, format!("map has no entry for key {key}")))
            }
        }
    }

    fn object_field(
        &self,
        template: &Template,
        object: &dyn Object,
        name: &Str,
        has_arguments: bool,
    ) -> Result<Option<Operand>, Error> {
        let is_map = object.kind_name() == "map";
        let value = match object.field(&name.text()) {
            Some(value) => value,
            None if is_map && !has_arguments => self.missing(template, name, Value::Nil)?,
            None => return Ok(None),
        };
        if has_arguments && is_map {
            return Err(self.fail(template, format!("{name} is not a method but has arguments")));
        }
        if has_arguments {
            let message = format!("{name} has arguments but cannot be invoked as function");
            return Err(self.fail(template, message));
        }
        Ok(Some(Operand::plain(value)))
    }
}
