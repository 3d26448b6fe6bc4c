//! Operators: arithmetic, comparisons, and what is equal.

use std::cmp::Ordering;

use jiff::SignedDuration;

use crate::budget::MAX_NESTING;
use crate::error::EvaluationError;
use crate::moment::in_range;
use crate::node::Binary;
use crate::resources::Resources;
use crate::value::{List, Map, Val, types};

type Result<T> = std::result::Result<T, EvaluationError>;

/// What two whole numbers of one type give; none where that is too large.
macro_rules! whole {
    ($operator:expr, $left:expr, $right:expr) => {
        match $operator {
            Binary::Add => $left.checked_add($right),
            Binary::Subtract => $left.checked_sub($right),
            Binary::Multiply => $left.checked_mul($right),
            _ if $right == 0 => return Err(EvaluationError::DivisionByZero),
            Binary::Divide => $left.checked_div($right),
            _ => $left.checked_rem($right),
        }
    };
}

impl Resources {
    /// What an operator makes of two values.
    ///
    /// # Errors
    /// It does not take values of these types, or the result has no place in its own.
    pub(crate) fn combined<'a>(
        &mut self,
        operator: Binary,
        left: &Val<'a>,
        right: &Val<'a>,
    ) -> Result<Val<'a>> {
        match operator {
            Binary::Equal => Ok(Val::Bool(self.is_equal(left, right)?)),
            Binary::NotEqual => Ok(Val::Bool(!self.is_equal(left, right)?)),
            Binary::In => Ok(Val::Bool(self.contains(right, left)?)),
            Binary::Less => Ok(Val::Bool(self.order(operator, left, right)?.is_lt())),
            Binary::LessOrEqual => Ok(Val::Bool(self.order(operator, left, right)?.is_le())),
            Binary::Greater => Ok(Val::Bool(self.order(operator, left, right)?.is_gt())),
            Binary::GreaterOrEqual => Ok(Val::Bool(self.order(operator, left, right)?.is_ge())),
            _ => self.calculated(operator, left, right),
        }
    }

    /// Whether two values are equal. Those of different types are not, but for numbers.
    ///
    /// # Errors
    /// The budget is used up.
    pub(crate) fn is_equal<'a>(&mut self, left: &Val<'a>, right: &Val<'a>) -> Result<bool> {
        self.is_equal_within(left, right, MAX_NESTING)
    }

    fn is_equal_within<'a>(&mut self, left: &Val<'a>, right: &Val<'a>, depth: usize) -> Result<bool> {
        let depth = depth.checked_sub(1).ok_or(EvaluationError::TooDeep)?;
        self.budget.spend(1)?;
        Ok(match (left, right) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(left), Val::Bool(right)) => left == right,
            (Val::Text(left), Val::Text(right)) => {
                self.budget.read(left.as_str().len())?;
                left == right
            }
            (Val::Bytes(left), Val::Bytes(right)) => {
                self.budget.read(left.len())?;
                left == right
            }
            (Val::Time(left), Val::Time(right)) => left == right,
            (Val::Duration(left), Val::Duration(right)) => left == right,
            (Val::Type(left), Val::Type(right)) => left == right,
            (Val::Optional(left), Val::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => self.is_equal_within(left, right, depth)?,
                (left, right) => left.is_none() && right.is_none(),
            },
            (Val::List(left), Val::List(right)) => self.are_equal_lists(left, right, depth)?,
            (Val::Map(left), Val::Map(right)) => self.are_equal_maps(left, right, depth)?,
            (left, right) => numbers(left, right) == Some(Ordering::Equal),
        })
    }

    fn are_equal_lists<'a>(&mut self, left: &List<'a>, right: &List<'a>, depth: usize) -> Result<bool> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !self.is_equal_within(&left, &right, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn are_equal_maps<'a>(&mut self, left: &Map<'a>, right: &Map<'a>, depth: usize) -> Result<bool> {
        if left.len() != right.len() {
            return Ok(false);
        }
        self.budget.allocate(left.len() * size_of::<Val<'_>>())?;
        for key in left.keys() {
            // A key that is looked up may have to be looked for.
            self.budget.spend(1 + right.len() / 64)?;
            let Some(key) = key.key() else {
                return Ok(false);
            };
            match (left.get(&key), right.get(&key)) {
                (Some(left), Some(right)) if self.is_equal_within(&left, &right, depth)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// `value in container`: an element of a list, or a key of a map.
    pub(crate) fn contains<'a>(&mut self, container: &Val<'a>, value: &Val<'a>) -> Result<bool> {
        match container {
            Val::List(list) => {
                for item in list.iter() {
                    if self.is_equal(&item, value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Val::Map(map) => {
                self.budget.spend(1 + map.len() / 64)?;
                Ok(value.key().is_some_and(|key| map.get(&key).is_some()))
            }
            _ => Err(types("in", &[value, container])),
        }
    }

    fn order<'a>(&mut self, operator: Binary, left: &Val<'a>, right: &Val<'a>) -> Result<Ordering> {
        let order = match (left, right) {
            (Val::Bool(left), Val::Bool(right)) => Some(left.cmp(right)),
            (Val::Text(left), Val::Text(right)) => {
                self.budget.read(left.as_str().len())?;
                Some(left.cmp(right))
            }
            (Val::Bytes(left), Val::Bytes(right)) => {
                self.budget.read(left.len())?;
                Some(left.cmp(right))
            }
            (Val::Time(left), Val::Time(right)) => Some(left.cmp(right)),
            (Val::Duration(left), Val::Duration(right)) => Some(left.cmp(right)),
            (left, right) => numbers(left, right),
        };
        order.ok_or_else(|| types(operator.sign(), &[left, right]))
    }

    fn calculated<'a>(&mut self, operator: Binary, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let sign = operator.sign();
        let overflow = EvaluationError::Overflow(sign);
        match (operator, left, right) {
            (_, Val::Int(left), Val::Int(right)) => {
                let result = whole!(operator, *left, *right);
                result.map(Val::Int).ok_or(overflow)
            }
            (_, Val::Uint(left), Val::Uint(right)) => {
                let result = whole!(operator, *left, *right);
                result.map(Val::Uint).ok_or(overflow)
            }
            (Binary::Add, Val::Double(left), Val::Double(right)) => Ok(Val::Double(left + right)),
            (Binary::Subtract, Val::Double(left), Val::Double(right)) => Ok(Val::Double(left - right)),
            (Binary::Multiply, Val::Double(left), Val::Double(right)) => Ok(Val::Double(left * right)),
            (Binary::Divide, Val::Double(left), Val::Double(right)) => Ok(Val::Double(left / right)),
            (Binary::Add, Val::Text(left), Val::Text(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                self.budget.allocate(left.len() + right.len())?;
                Ok(Val::text(&[left, right].concat()))
            }
            (Binary::Add, Val::Bytes(left), Val::Bytes(right)) => {
                self.budget.allocate(left.len() + right.len())?;
                Ok(Val::Bytes([left.as_ref(), right.as_ref()].concat().into()))
            }
            (Binary::Add, Val::List(left), Val::List(right)) => {
                self.budget
                    .allocate((left.len() + right.len()) * size_of::<Val<'_>>())?;
                Ok(Val::list(left.iter().chain(right.iter()).collect()))
            }
            (Binary::Add, Val::Duration(left), Val::Duration(right)) => {
                left.checked_add(*right).map(Val::Duration).ok_or(overflow)
            }
            (Binary::Subtract, Val::Duration(left), Val::Duration(right)) => {
                left.checked_sub(*right).map(Val::Duration).ok_or(overflow)
            }
            (Binary::Add, Val::Time(time), Val::Duration(by))
            | (Binary::Add, Val::Duration(by), Val::Time(time)) => {
                let later = time.checked_add(SignedDuration::from_nanos(*by)).ok();
                later.and_then(in_range).map(Val::Time).ok_or(overflow)
            }
            (Binary::Subtract, Val::Time(time), Val::Duration(by)) => {
                let earlier = time.checked_sub(SignedDuration::from_nanos(*by)).ok();
                earlier.and_then(in_range).map(Val::Time).ok_or(overflow)
            }
            (Binary::Subtract, Val::Time(left), Val::Time(right)) => {
                let nanoseconds = left.as_nanosecond() - right.as_nanosecond();
                i64::try_from(nanoseconds)
                    .map(Val::Duration)
                    .map_err(|_| overflow)
            }
            _ => Err(types(sign, &[left, right])),
        }
    }

    /// `-value`
    pub(crate) fn negated<'a>(value: &Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Int(number) => {
                let negated = number.checked_neg().map(Val::Int);
                negated.ok_or(EvaluationError::Overflow("-"))
            }
            Val::Double(number) => Ok(Val::Double(-number)),
            Val::Duration(length) => {
                let negated = length.checked_neg().map(Val::Duration);
                negated.ok_or(EvaluationError::Overflow("-"))
            }
            other => Err(types("-", &[other])),
        }
    }
}

/// How two numbers of whatever types are ordered; none where one is no number.
fn numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Double(_), _) | (_, Val::Double(_)) => as_double(left)?.partial_cmp(&as_double(right)?),
        _ => Some(as_integer(left)?.cmp(&as_integer(right)?)),
    }
}

fn as_integer(value: &Val<'_>) -> Option<i128> {
    match value {
        Val::Int(number) => Some(i128::from(*number)),
        Val::Uint(number) => Some(i128::from(*number)),
        _ => None,
    }
}

fn as_double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Int(number) => Some(*number as f64),
        Val::Uint(number) => Some(*number as f64),
        Val::Double(number) => Some(*number),
        _ => None,
    }
}
