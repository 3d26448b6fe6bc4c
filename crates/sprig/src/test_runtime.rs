//! Calling a function by its name, for tests.

use std::cell::Cell;

use steersman_gotemplate::{Failure, LookupQuery, Runtime, Str, Timestamp, Value, World};

use crate::functions;

/// A world of 2021-02-03 04:05:06 UTC, with random bytes that count up, and a small budget.
#[derive(Debug, Default)]
pub(crate) struct TestRuntime {
    reserved: usize,
    world: TestWorld,
}

#[derive(Debug, Default)]
struct TestWorld {
    drawn: Cell<u8>,
}

impl World for TestWorld {
    fn now(&self) -> Timestamp {
        Timestamp {
            seconds: 1_612_325_106,
            nanoseconds: 0,
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            self.drawn.set(self.drawn.get().wrapping_mul(73).wrapping_add(41));
            *byte = self.drawn.get();
        }
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::map::<Str>([]))
    }
}

impl Runtime for TestRuntime {
    fn world(&self) -> &dyn World {
        &self.world
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.reserved = self.reserved.saturating_add(bytes);
        if self.reserved > 64 << 20 {
            return Err(Failure::exhausted("out of memory budget"));
        }
        Ok(())
    }

    fn spend(&mut self, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn include(&mut self, _: &str, _: &Value) -> Result<Str, Failure> {
        Err(Failure::new("no templates here"))
    }

    fn expand(&mut self, _: &str, _: &Value) -> Result<Str, Failure> {
        Err(Failure::new("no templates here"))
    }
}

/// What the function gives for arguments of the right types.
pub(crate) fn call(name: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let function = functions()
        .iter()
        .find(|function| function.name == name)
        .unwrap_or_else(|| panic!("no function {name}"));
    (function.call)(&mut TestRuntime::default(), arguments)
}

/// Checks what the function's result prints as, or its message after `error: `.
#[track_caller]
pub(crate) fn check(name: &str, arguments: &[Value], expect: &str) {
    let shown = match call(name, arguments) {
        Ok(value) => steersman_gotemplate::format::print_value(&value).to_string(),
        Err(failure) => format!("error: {failure}"),
    };
    assert_eq!(shown, expect, "{name} {arguments:?}");
}

/// An `int`.
pub(crate) fn int(number: i64) -> Value {
    Value::Int(number)
}

/// A `[]interface {}` of texts.
pub(crate) fn texts(items: &[&str]) -> Value {
    Value::list(items.iter().map(|item| Value::from(*item)).collect())
}
