//! Values for want of a value, and choices between values.

use steersman_gotemplate::{Failure, Runtime, Value};

use crate::Outcome;
use crate::arguments::{any, boolean, rest, text};

/// Sprig's emptiness: nothing, zero, false, or without content; never a struct.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Invalid | Value::Nil => true,
        Value::Bool(truth) => !truth,
        Value::Int(number) | Value::Int64(number) => *number == 0,
        Value::Uint64(number) => *number == 0,
        Value::Byte(number) => *number == 0,
        Value::Float(number) => *number == 0.0,
        Value::Str(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Object(object) => object.kind_name() != "struct" && !object.is_true(),
    }
}

pub(crate) fn default(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let given = any(arguments, 1);
    Ok(if is_empty(given) { any(arguments, 0) } else { given }.clone())
}

pub(crate) fn empty(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(is_empty(any(arguments, 0)).into())
}

pub(crate) fn coalesce(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let found = rest(arguments, 0).iter().find(|value| !is_empty(value));
    Ok(found.cloned().unwrap_or(Value::Nil))
}

pub(crate) fn all(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((!arguments.iter().any(is_empty)).into())
}

pub(crate) fn some(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((!arguments.iter().all(is_empty)).into())
}

pub(crate) fn ternary(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let place = usize::from(!boolean(arguments, 2));
    Ok(any(arguments, place).clone())
}

pub(crate) fn fail(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Err(Failure::new(text(arguments, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{check, int, texts};

    #[test]
    fn empty_values_give_way() {
        for value in [
            Value::Nil,
            int(0),
            false.into(),
            "".into(),
            texts(&[]),
            0.0.into(),
        ] {
            check("default", &["D".into(), value.clone()], "D");
            check("empty", &[value], "true");
        }
        check("default", &["D".into()], "D");
        check("default", &["D".into(), int(1)], "1");
    }

    #[test]
    fn choices_look_at_emptiness() {
        check("coalesce", &["".into(), int(0), "c".into()], "c");
        check("coalesce", &[], "<nil>");
        check("all", &[int(1), "".into()], "false");
        check("all", &[], "true");
        check("any", &[int(1), "".into()], "true");
        check("any", &[], "false");
        check("ternary", &["y".into(), "n".into(), false.into()], "n");
    }
}
