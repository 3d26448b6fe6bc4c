//! Calls of functions and methods.

use smallvec::SmallVec;

use crate::error::Error;
use crate::function::{Failure, Parameter, Runtime as _};
use crate::tree::{NodeId, Template};
use crate::value::{Str, Value};

use super::field::Receiver;
use super::{Execution, Operand};

/// The arguments of one call; few calls have more.
type Arguments = SmallVec<[Value; 4]>;

/// What is called: its name and the types of its parameters.
struct Callee<'c> {
    name: &'c str,
    parameters: &'c [Parameter],
    variadic: bool,
}

impl Callee<'_> {
    /// The type of the argument of this number.
    fn parameter(&self, index: usize) -> Parameter {
        let last = self.parameters.last().copied().unwrap_or(Parameter::Any);
        self.parameters.get(index).copied().unwrap_or(last)
    }
}

impl Execution<'_> {
    /// The result of a function. `id` is the node that a failure of the function is put at.
    pub(super) fn function(
        &mut self,
        template: &Template,
        dot: &Operand,
        id: NodeId,
        function: u16,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        self.step(template)?;
        let Some(function) = self.set.functions().get(function) else {
            return Err(self.fail(template, "function is not in the table"));
        };
        let callee = Callee {
            name: function.name,
            parameters: function.parameters,
            variadic: function.variadic,
        };
        self.check_count(template, &callee, arguments, last.as_ref())?;
        if let "and" | "or" = function.name {
            return self.short_circuit(template, dot, function.name == "or", arguments, last);
        }
        let values = self.arguments(template, dot, &callee, arguments, last)?;
        if function.name == "call" {
            let name = arguments.first().map(|argument| template.tree.print(*argument));
            let failure = crate::builtin::call_failure(name.as_deref(), values.first());
            return Err(self.call_failed(template, id, function.name, failure));
        }
        self.accounted(&values, |execution| (function.call)(execution, &values))
            .map(Operand::plain)
            .map_err(|failure| self.call_failed(template, id, function.name, failure))
    }

    /// The result of `call`, with the work of looking at its arguments accounted for, and the
    /// memory of its result as far as it has not done so itself.
    fn accounted(
        &mut self,
        arguments: &[Value],
        call: impl FnOnce(&mut Self) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        let steps = arguments.iter().map(Value::steps).sum();
        if steps > 0 {
            self.spend(steps)?;
        }
        let before = self.budget.reserved();
        let value = crate::stack::grow(|| call(self))?;
        let reserved = self.budget.reserved() - before;
        self.reserve(value.new_bytes().saturating_sub(reserved))?;
        Ok(value)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a command")]
    pub(super) fn method(
        &mut self,
        template: &Template,
        dot: &Operand,
        receiver: &Receiver,
        name: &Str,
        id: NodeId,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        self.step(template)?;
        let name = name.text();
        let signature = match receiver {
            Receiver::Object(_, signature) => *signature,
            Receiver::Map(_, method) => method.signature,
        };
        let callee = Callee {
            name: &name,
            parameters: signature.parameters,
            variadic: signature.variadic,
        };
        self.check_count(template, &callee, arguments, last.as_ref())?;
        if let Some(reason) = signature.refusal {
            return Err(self.fail(template, reason.to_owned()));
        }
        let values = self.arguments(template, dot, &callee, arguments, last)?;
        let result = match receiver {
            Receiver::Object(object, _) => self
                .spend(object.steps(&name, &values))
                .and_then(|()| self.accounted(&values, |_| object.call(&name, &values))),
            Receiver::Map(map, method) => {
                self.accounted(&values, |execution| (method.call)(execution, map, &values))
            }
        };
        result
            .map(Operand::plain)
            .map_err(|failure| self.call_failed(template, id, &name, failure))
    }

    fn call_failed(&mut self, template: &Template, id: NodeId, name: &str, failure: Failure) -> Error {
        if failure.exhausted
            && let Some(error) = self.exhausted.take()
        {
            return error;
        }
        self.node = id;
        let message = format!("error calling {name}: {}", failure.message);
        if failure.exhausted {
            self.over(template, &message)
        } else {
            self.fail(template, message)
        }
    }

    fn check_count(
        &self,
        template: &Template,
        callee: &Callee<'_>,
        arguments: &[NodeId],
        last: Option<&Value>,
    ) -> Result<(), Error> {
        let given = arguments.len() + usize::from(last.is_some());
        let parameters = callee.parameters.len();
        let name = callee.name;
        if callee.variadic && given + 1 < parameters {
            let (want, got) = (parameters - 1, arguments.len());
            let message = format!("wrong number of args for {name}: want at least {want} got {got}");
            return Err(self.fail(template, message));
        }
        if !callee.variadic && given != parameters {
            let message = format!("wrong number of args for {name}: want {parameters} got {given}");
            return Err(self.fail(template, message));
        }
        Ok(())
    }

    fn arguments(
        &mut self,
        template: &Template,
        dot: &Operand,
        callee: &Callee<'_>,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Arguments, Error> {
        let mut values = Arguments::new();
        for (index, argument) in arguments.iter().enumerate() {
            values.push(self.argument(template, dot, callee.parameter(index), *argument)?);
        }
        if let Some(last) = last {
            let parameter = callee.parameter(arguments.len());
            values.push(self.validate(template, Operand::plain(last), parameter)?);
        }
        Ok(values)
    }

    /// `and` and `or`, which evaluate no more arguments than they need.
    fn short_circuit(
        &mut self,
        template: &Template,
        dot: &Operand,
        until: bool,
        arguments: &[NodeId],
        last: Option<Value>,
    ) -> Result<Operand, Error> {
        let mut value = Value::Invalid;
        for argument in arguments {
            value = self.argument(template, dot, Parameter::Reflect, *argument)?;
            if value.is_true() == until {
                return Ok(Operand::plain(value));
            }
        }
        Ok(Operand::plain(last.unwrap_or(value)))
    }
}
