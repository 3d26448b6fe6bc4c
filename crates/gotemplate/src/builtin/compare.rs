//! `eq`, `ne`, `lt`, `le`, `gt` and `ge`.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::format::{self, Complex};
use crate::function::{Failure, Runtime};
use crate::value::{Str, Value};

/// A value by its basic kind: only those of one kind can be compared, except that integers
/// with and without a sign can.
#[derive(Clone, Debug)]
enum Basic {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    String(Str),
    Complex(Complex),
}

impl Basic {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Int(number) | Value::Int64(number) => Self::Int(*number),
            Value::Uint64(number) => Self::Uint(*number),
            Value::Byte(number) => Self::Uint(u64::from(*number)),
            Value::Float(number) => Self::Float(*number),
            Value::Str(text) => Self::String(text.clone()),
            Value::Object(object) => match object.kind_name() {
                "complex128" => Self::Complex(*object.as_any().downcast_ref()?),
                "string" => Self::String(object.text()?),
                _ => Self::Int(object.integer()?),
            },
            _ => return None,
        })
    }

    /// The order of two values that can be compared; NaN is in none with any other.
    fn compare(&self, other: &Self) -> Result<Option<Ordering>, Incompatible> {
        Ok(match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Uint(left), Self::Uint(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Self::Uint(left), Self::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::String(left), Self::String(right)) => Some(left.cmp(right)),
            // Complex numbers are equal or not, but in no order.
            (Self::Complex(left), Self::Complex(right)) => (left == right).then_some(Ordering::Equal),
            _ => return Err(Incompatible),
        })
    }
}

struct Incompatible;

fn incompatible(left: &Value, right: &Value) -> Failure {
    Failure::new(format!(
        "incompatible types for comparison: {} and {}",
        left.type_name(),
        right.type_name()
    ))
}

pub(super) fn eq(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    let Some((first, others)) = arguments.split_first() else {
        return Err(Failure::new("missing argument for comparison"));
    };
    if others.is_empty() {
        return Err(Failure::new("missing argument for comparison"));
    }
    for other in others {
        if equal(first, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn equal(left: &Value, right: &Value) -> Result<bool, Failure> {
    match (Basic::of(left), Basic::of(right)) {
        (Some(one), Some(other)) => match one.compare(&other) {
            Ok(ordering) => Ok(ordering == Some(Ordering::Equal)),
            Err(Incompatible) => Err(incompatible(left, right)),
        },
        (None, None) => composites_equal(left, right),
        _ if left.is_nil() || right.is_nil() => Ok(false),
        _ => Err(incompatible(left, right)),
    }
}

fn composites_equal(left: &Value, right: &Value) -> Result<bool, Failure> {
    let is_nil = |value: &Value| match value {
        Value::Map(map) => map.is_nil(),
        Value::List(list) => list.is_nil(),
        other => other.is_nil(),
    };
    let have_one_kind = left.is_nil() || right.is_nil() || left.kind_name() == right.kind_name();
    if have_one_kind && (is_nil(left) || is_nil(right)) {
        return Ok(is_nil(left) == is_nil(right));
    }
    let text = |value: &Value| format::sprintf(b"%s", std::slice::from_ref(value));
    if !have_one_kind {
        return Err(Failure::new(format!(
            "non-comparable types {}: {}, {}: {}",
            text(left),
            left.type_name(),
            right.type_name(),
            format::print_value(right)
        )));
    }
    match (left, right) {
        (Value::Object(one), Value::Object(other)) if !matches!(one.kind_name(), "map" | "slice") => {
            Ok(Rc::ptr_eq(one, other))
        }
        _ => Err(Failure::new(format!(
            "non-comparable type {}: {}",
            text(right),
            right.type_name()
        ))),
    }
}

pub(super) fn ne(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!eq(runtime, arguments)?.is_true()))
}

pub(super) fn lt(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(less(arguments)?))
}

pub(super) fn le(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    if less(arguments)? {
        return Ok(Value::Bool(true));
    }
    eq(runtime, arguments)
}

pub(super) fn gt(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!le(runtime, arguments)?.is_true()))
}

pub(super) fn ge(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!less(arguments)?))
}

fn less(arguments: &[Value]) -> Result<bool, Failure> {
    let invalid = || Failure::new("invalid type for comparison");
    let [left, right] = arguments else {
        return Err(invalid());
    };
    let one = Basic::of(left).ok_or_else(invalid)?;
    let other = Basic::of(right).ok_or_else(invalid)?;
    match one.compare(&other) {
        Ok(_) if matches!(one, Basic::Bool(_) | Basic::Complex(_)) => Err(invalid()),
        Ok(ordering) => Ok(ordering == Some(Ordering::Less)),
        Err(Incompatible) => Err(incompatible(left, right)),
    }
}
