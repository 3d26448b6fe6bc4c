//! Values for want of a value, and choices between values.

use steersman_gotemplate::Parameter::{Any, Bool, String as Text};
use steersman_gotemplate::{Failure, Function, Runtime, Value};

use crate::arguments::{any, boolean, rest, text};
use crate::table::{Outcome, pure, variadic};

pub(crate) const FUNCTIONS: &[Function] = &[
    variadic(pure(
        "default",
        &[Any, Any],
        "The second value, or the first if the second is empty or missing.",
        default,
    )),
    pure(
        "empty",
        &[Any],
        "Whether the value is the empty one of its kind.",
        empty,
    ),
    variadic(pure(
        "coalesce",
        &[Any],
        "The first value that is not empty.",
        coalesce,
    )),
    variadic(pure("all", &[Any], "Whether no value is empty.", all)),
    variadic(pure("any", &[Any], "Whether some value is not empty.", some)),
    pure(
        "ternary",
        &[Any, Any, Bool],
        "The first value if the condition holds, else the second.",
        ternary,
    ),
    pure("fail", &[Text], "Fails with this message.", fail),
];

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

fn default(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let given = any(arguments, 1);
    Ok(if is_empty(given) { any(arguments, 0) } else { given }.clone())
}

fn empty(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(is_empty(any(arguments, 0)).into())
}

fn coalesce(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let found = rest(arguments, 0).iter().find(|value| !is_empty(value));
    Ok(found.cloned().unwrap_or(Value::Nil))
}

fn all(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((!arguments.iter().any(is_empty)).into())
}

fn some(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((!arguments.iter().all(is_empty)).into())
}

fn ternary(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let place = usize::from(!boolean(arguments, 2));
    Ok(any(arguments, place).clone())
}

fn fail(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
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
