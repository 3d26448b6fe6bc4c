//! Go's names for the types and kinds of values, and deep equality.

use steersman_gotemplate::{Failure, Runtime, Value};

use crate::Outcome;
use crate::arguments::{any, text};
use crate::equal::{deep_copy, deep_equal};

pub(crate) fn type_of(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(any(arguments, 0).type_name().into())
}

pub(crate) fn type_is(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((text(arguments, 0) == any(arguments, 1).type_name()).into())
}

pub(crate) fn type_is_like(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let name = any(arguments, 1).type_name();
    let wanted = text(arguments, 0);
    Ok((wanted == name || name.strip_prefix('*') == Some(&*wanted)).into())
}

pub(crate) fn kind_of(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(any(arguments, 0).kind_name().into())
}

pub(crate) fn kind_is(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok((text(arguments, 0) == any(arguments, 1).kind_name()).into())
}

pub(crate) fn equal(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(deep_equal(runtime, any(arguments, 0), any(arguments, 1))?.into())
}

pub(crate) fn copy(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let value = any(arguments, 0);
    if value.is_nil() {
        return Err(Failure::new("reflect: call of reflect.Value.Type on zero Value"));
    }
    deep_copy(runtime, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{check, int};

    #[test]
    fn types_have_gos_names() {
        let map = Value::map([("a", int(1))]);
        check("typeOf", &[map.clone()], "map[string]interface {}");
        check("kindOf", &[map], "map");
        check("typeOf", &[Value::Nil], "<nil>");
        check("kindOf", &[Value::Nil], "invalid");
        check("kindIs", &["float64".into(), 1.5.into()], "true");
        check("typeIsLike", &["int".into(), int(1)], "true");
    }

    #[test]
    fn numbers_of_different_types_differ() {
        check("deepEqual", &[int(1), Value::Int64(1)], "false");
        check("deepEqual", &[int(1), int(1)], "true");
        check("deepEqual", &[Value::Nil, Value::Nil], "true");
    }
}
