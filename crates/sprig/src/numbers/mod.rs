//! Conversions to numbers, arithmetic, rounding and sequences.

mod decimal;

use steersman_gotemplate::{Failure, List, ListType, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{any, float, integer, rest, text};
use crate::cast::{IntegerError, parse_int, to_float64, to_int64};
use crate::text::printed;
use decimal::Decimal;

pub(crate) fn int(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int(to_int64(any(arguments, 0))))
}

pub(crate) fn int64(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(to_int64(any(arguments, 0))))
}

pub(crate) fn float64(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(to_float64(any(arguments, 0)).into())
}

/// A number that does not fit becomes the nearest that does: only the error is dropped.
pub(crate) fn atoi(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int(match parse_int(&text(arguments, 0), 10) {
        Ok(number) | Err(IntegerError::Range(number)) => number,
        Err(IntegerError::Syntax) => 0,
    }))
}

pub(crate) fn to_decimal(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let digits = printed(runtime, any(arguments, 0))?;
    Ok(Value::Int64(parse_int(&digits.text(), 8).unwrap_or(0)))
}

/// The integers combined from left to right.
fn fold(arguments: &[Value], start: i64, from: usize, combine: fn(i64, i64) -> i64) -> Outcome {
    Ok(Value::Int64(
        rest(arguments, from).iter().map(to_int64).fold(start, combine),
    ))
}

pub(crate) fn add(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    fold(arguments, 0, 0, i64::wrapping_add)
}

pub(crate) fn add1(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(to_int64(any(arguments, 0)).wrapping_add(1)))
}

pub(crate) fn sub(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(
        to_int64(any(arguments, 0)).wrapping_sub(to_int64(any(arguments, 1))),
    ))
}

pub(crate) fn mul(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    fold(arguments, to_int64(any(arguments, 0)), 1, i64::wrapping_mul)
}

pub(crate) fn max(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    fold(arguments, to_int64(any(arguments, 0)), 1, i64::max)
}

pub(crate) fn min(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    fold(arguments, to_int64(any(arguments, 0)), 1, i64::min)
}

pub(crate) fn div(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    divided(arguments, i64::wrapping_div)
}

pub(crate) fn modulo(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    divided(arguments, i64::wrapping_rem)
}

fn divided(arguments: &[Value], divide: fn(i64, i64) -> i64) -> Outcome {
    let divisor = to_int64(any(arguments, 1));
    if divisor == 0 {
        return Err(Failure::new("runtime error: integer divide by zero"));
    }
    Ok(Value::Int64(divide(to_int64(any(arguments, 0)), divisor)))
}

/// The floats from `from` on, combined as decimals from left to right.
fn decimals(
    runtime: &mut dyn Runtime,
    start: f64,
    others: &[Value],
    combine: fn(&Decimal, &Decimal) -> Result<Decimal, Failure>,
) -> Outcome {
    let mut result = Decimal::from_float(start)?;
    for other in others {
        runtime.spend(1 + result.digits() / 64)?;
        result = combine(&result, &Decimal::from_float(to_float64(other))?)?;
    }
    Ok(result.to_float().into())
}

pub(crate) fn addf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    decimals(runtime, 0.0, rest(arguments, 0), Decimal::add)
}

pub(crate) fn add1f(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    decimals(
        runtime,
        to_float64(any(arguments, 0)),
        &[Value::Int(1)],
        Decimal::add,
    )
}

pub(crate) fn subf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    decimals(
        runtime,
        to_float64(any(arguments, 0)),
        rest(arguments, 1),
        Decimal::subtract,
    )
}

pub(crate) fn mulf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    decimals(
        runtime,
        to_float64(any(arguments, 0)),
        rest(arguments, 1),
        Decimal::multiply,
    )
}

pub(crate) fn divf(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    decimals(
        runtime,
        to_float64(any(arguments, 0)),
        rest(arguments, 1),
        Decimal::divide,
    )
}

pub(crate) fn maxf(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(extreme(arguments, f64::max, f64::INFINITY).into())
}

pub(crate) fn minf(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(extreme(arguments, f64::min, f64::NEG_INFINITY).into())
}

/// Go's `math.Max` and `math.Min` give NaN as soon as one number is NaN, unless the other is the
/// infinity that they look for.
fn extreme(arguments: &[Value], choose: fn(f64, f64) -> f64, unbeatable: f64) -> f64 {
    let first = to_float64(any(arguments, 0));
    rest(arguments, 1)
        .iter()
        .map(to_float64)
        .fold(first, |left, right| {
            let chosen = choose(left, right);
            let is_beaten = chosen.total_cmp(&unbeatable).is_ne();
            if (left.is_nan() || right.is_nan()) && is_beaten {
                f64::NAN
            } else {
                chosen
            }
        })
}

pub(crate) fn ceil(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(to_float64(any(arguments, 0)).ceil().into())
}

pub(crate) fn floor(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(to_float64(any(arguments, 0)).floor().into())
}

pub(crate) fn round(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let number = to_float64(any(arguments, 0));
    let up_from = if arguments.len() > 2 {
        float(arguments, 2)
    } else {
        0.5
    };
    let power = power_of_ten(integer(arguments, 1));
    let shifted = power * number;
    // Of a negative number the fraction is negative, hence less than the threshold.
    let rounded = if shifted.fract() >= up_from {
        shifted.ceil()
    } else {
        shifted.floor()
    };
    Ok((rounded / power).into())
}

/// Ten to a whole power as Go's `math.Pow` has it, which from the 23rd power on is not always the
/// nearest float: squares of the fraction are multiplied, each of them rounded.
fn power_of_ten(places: i64) -> f64 {
    let mut left = places.unsigned_abs().min(400);
    // Ten is 0.625 times two to the fourth.
    let (mut square, mut exponent) = (0.625_f64, 4);
    let (mut fraction, mut total) = (1.0_f64, 0);
    while left > 0 {
        if left & 1 == 1 {
            fraction *= square;
            total += exponent;
        }
        square *= square;
        exponent *= 2;
        if square < 0.5 {
            square += square;
            exponent -= 1;
        }
        left >>= 1;
    }
    if places < 0 {
        (fraction, total) = (1.0 / fraction, -total);
    }
    // In two steps, as two to the whole exponent may be out of range where the result is not.
    let half: i32 = total / 2;
    fraction * 2_f64.powi(half) * 2_f64.powi(total - half)
}

pub(crate) fn until(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let limit = integer(arguments, 0);
    Ok(int_list(sequence(
        runtime,
        0,
        limit,
        if limit < 0 { -1 } else { 1 },
    )?))
}

pub(crate) fn until_step(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (start, end, step) = (
        integer(arguments, 0),
        integer(arguments, 1),
        integer(arguments, 2),
    );
    Ok(int_list(sequence(runtime, start, end, step)?))
}

fn int_list(numbers: Vec<i64>) -> Value {
    List::new(ListType::Int, numbers.into_iter().map(Value::Int).collect()).into()
}

/// The integers from `start` until before `end`; none where the step leads away.
fn sequence(runtime: &mut dyn Runtime, start: i64, end: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let distance = i128::from(end) - i128::from(start);
    let step = i128::from(step);
    if distance == 0 || step == 0 || (distance > 0) != (step > 0) {
        return Ok(Vec::new());
    }
    let count = usize::try_from((distance.abs() + step.abs() - 1) / step.abs()).unwrap_or(usize::MAX);
    runtime.reserve(count.saturating_mul(size_of::<Value>()))?;
    runtime.spend((count / 16) as u64)?;
    Ok((0..count as i128)
        .map(|place| (i128::from(start) + place * step) as i64)
        .collect())
}

pub(crate) fn seq(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (start, end, step) = match rest(arguments, 0) {
        [_] => (1, integer(arguments, 0), None),
        [_, _] => (integer(arguments, 0), integer(arguments, 1), None),
        [_, _, _] => (
            integer(arguments, 0),
            integer(arguments, 2),
            Some(integer(arguments, 1)),
        ),
        _ => return Ok("".into()),
    };
    let direction = if end < start { -1 } else { 1 };
    if direction < 0 && step.is_some_and(|step| step > 0) {
        return Ok("".into());
    }
    let numbers = sequence(
        runtime,
        start,
        end.wrapping_add(direction),
        step.unwrap_or(direction),
    )?;
    let mut result = String::new();
    for number in numbers {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(&number.to_string());
    }
    Ok(Str::from(result).into())
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::{check, int};

    #[test]
    fn integers_wrap_around() {
        check("add", &[int(i64::MAX), int(1)], "-9223372036854775808");
        check("div", &[int(7), int(-2)], "-3");
        check("mod", &[int(-7), int(2)], "-1");
    }

    #[test]
    fn decimals_do_not_show_binary_fractions() {
        check("addf", &[0.1.into(), 0.2.into()], "0.3");
        check("mulf", &[1.1.into(), 1.1.into()], "1.21");
        check("divf", &[int(10), int(3)], "3.3333333333333335");
    }

    #[test]
    fn nan_wins_unless_the_extreme_is_there() {
        check("maxf", &["NaN".into(), int(1)], "NaN");
        check("maxf", &["NaN".into(), "inf".into()], "+Inf");
        check("maxf", &["NaN".into(), "-inf".into()], "NaN");
        check("minf", &["NaN".into(), "-inf".into()], "-Inf");
    }

    #[test]
    fn sequences_follow_their_step() {
        check("seq", &[int(3)], "1 2 3");
        check("seq", &[int(0), int(2), int(5)], "0 2 4");
        check("seq", &[int(2), int(0)], "2 1 0");
        check("untilStep", &[int(3), int(6), int(2)], "[3 5]");
        check("until", &[int(-3)], "[0 -1 -2]");
    }
}
