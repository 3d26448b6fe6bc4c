//! Arguments, checked against the types of parameters.

use crate::error::Error;
use crate::function::Parameter;
use crate::tree::{NodeId, NodeKind, Template};
use crate::value::{ListType, MapType, Value};

use super::{Execution, Operand};

impl Parameter {
    /// Go's name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Reflect => "reflect.Value",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Strings => "[]string",
            Self::Named(name) | Self::NamedInt64(name) => name,
        }
    }

    /// What a nil becomes, for the types that have one.
    fn nil(self) -> Option<Value> {
        match self {
            Self::Any | Self::Map | Self::List | Self::Strings => Some(Value::Nil),
            Self::Reflect => Some(Value::Invalid),
            Self::Named(name) if name.starts_with(['*', '[']) || name.starts_with("map[") => Some(Value::Nil),
            _ => None,
        }
    }

    /// Whether a value that is there can be given to a parameter of this type.
    fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any | Self::Reflect, _)
            | (Self::Bool, Value::Bool(_))
            | (Self::Int, Value::Int(_))
            | (Self::Int64, Value::Int64(_))
            | (Self::Float64, Value::Float(_))
            | (Self::String, Value::Str(_)) => true,
            (Self::Map, Value::Map(map)) => map.map_type() != MapType::String,
            (Self::List, Value::List(list)) => list.list_type() == ListType::Any,
            (Self::Strings, Value::List(list)) => list.list_type() == ListType::String,
            (Self::Named(_) | Self::NamedInt64(_), Value::Nil) => false,
            (Self::Named(name) | Self::NamedInt64(name), value) => {
                let found = value.type_name();
                // A pointer is dereferenced once.
                found == name || found.strip_prefix('*') == Some(name)
            }
            _ => false,
        }
    }
}

impl Execution<'_> {
    /// The value of an argument for a parameter of this type.
    pub(super) fn argument(
        &mut self,
        template: &Template,
        dot: &Operand,
        parameter: Parameter,
        id: NodeId,
    ) -> Result<Value, Error> {
        self.node = id;
        let tree = &*template.tree;
        let operand = match tree.node(id).kind {
            NodeKind::Dot => dot.clone(),
            NodeKind::Nil => {
                return parameter.nil().ok_or_else(|| {
                    self.fail(
                        template,
                        format!("cannot assign nil to {}", parameter.type_name()),
                    )
                });
            }
            NodeKind::Field(names) => self.fields(template, dot, dot, names, id, &[], None)?,
            NodeKind::Variable { slot, names } => self.variable(template, dot, id, slot, names, &[], None)?,
            NodeKind::Pipe { .. } => Operand::plain(crate::stack::grow(|| self.pipeline(template, dot, id))?),
            NodeKind::Function { function, .. } => self.function(template, dot, id, function, &[], None)?,
            NodeKind::Chain { operand, fields } => {
                self.chain(template, dot, id, operand, fields, &[], None)?
            }
            _ => return self.constant_argument(template, parameter, id),
        };
        self.validate(template, operand, parameter)
    }

    /// A constant takes the type of the parameter, where it can.
    fn constant_argument(
        &self,
        template: &Template,
        parameter: Parameter,
        id: NodeId,
    ) -> Result<Value, Error> {
        let tree = &*template.tree;
        let kind = tree.node(id).kind;
        let number = match kind {
            NodeKind::Number(number) => Some(tree.number(number)),
            _ => None,
        };
        let (value, expected) = match parameter {
            Parameter::Bool => match kind {
                NodeKind::Bool(value) => (Some(Value::Bool(value)), "bool"),
                _ => (None, "bool"),
            },
            Parameter::Int => (number.and_then(|n| n.int).map(Value::Int), "integer"),
            Parameter::Int64 | Parameter::NamedInt64(_) => {
                (number.and_then(|n| n.int).map(Value::Int64), "integer")
            }
            // Go cuts off what a type has no bits for.
            Parameter::Uint32 => (
                number
                    .and_then(|n| n.uint)
                    .map(|uint| Value::Uint64(uint & u64::from(u32::MAX))),
                "unsigned integer",
            ),
            Parameter::Float64 => (number.and_then(|n| n.float).map(Value::Float), "float"),
            Parameter::String => match kind {
                NodeKind::String(string) => (Some(Value::Str(tree.string(string).value.clone())), "string"),
                _ => (None, "string"),
            },
            Parameter::Any | Parameter::Reflect => match kind {
                NodeKind::Bool(value) => (Some(Value::Bool(value)), ""),
                NodeKind::String(string) => (Some(Value::Str(tree.string(string).value.clone())), ""),
                NodeKind::Number(number) => (Some(self.number(template, tree.number(number))?), ""),
                _ => {
                    let node = tree.print(id);
                    let message = format!("can't handle assignment of {node} to empty interface argument");
                    return Err(self.fail(template, message));
                }
            },
            Parameter::Map | Parameter::List | Parameter::Strings | Parameter::Named(_) => {
                let (node, type_name) = (tree.print(id), parameter.type_name());
                let message = format!("can't handle {node} for arg of type {type_name}");
                return Err(self.fail(template, message));
            }
        };
        value.ok_or_else(|| {
            let node = tree.print(id);
            self.fail(template, format!("expected {expected}; found {node}"))
        })
    }

    /// The value as a parameter of this type gets it.
    pub(super) fn validate(
        &self,
        template: &Template,
        operand: Operand,
        parameter: Parameter,
    ) -> Result<Value, Error> {
        let type_name = parameter.type_name();
        if matches!(operand.value, Value::Invalid) {
            return parameter
                .nil()
                .ok_or_else(|| self.fail(template, format!("invalid value; expected {type_name}")));
        }
        match (&operand.value, parameter) {
            (Value::Map(map), Parameter::Map) if map.map_type() != MapType::String => {
                return Ok(map.retyped(MapType::Any).into());
            }
            (Value::Object(object), Parameter::Any) => {
                return Ok(object.copied().unwrap_or(operand.value));
            }
            (value, parameter) if parameter.accepts(value) => return Ok(operand.value),
            _ => {}
        }
        let got = match &operand.value {
            Value::Nil => "interface {}",
            value => value.type_name(),
        };
        let message = format!("wrong type for value; expected {type_name}; got {got}");
        Err(self.fail(template, message))
    }
}
