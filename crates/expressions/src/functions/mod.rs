//! Functions by their names, and what each does.

mod conversions;
mod sets;
mod strings;
mod times;

use crate::error::EvaluationError;
use crate::resources::Resources;
use crate::value::{Val, types};

/// A function. Those of a target have it as their first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// As it is written.
    pub(crate) name: &'static str,
    body: Body,
}

/// What a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Conversion,
    Duration,
    Optional,
    Set,
    Size,
    Text,
    Time,
    Type,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
    Either,
}

/// Name, how it is called, with how many arguments at least and at most without a target, and what it belongs to.
type Row = (&'static str, Style, usize, usize, Body);

const TABLE: &[Row] = &[
    ("bool", Style::Global, 1, 1, Body::Conversion),
    ("bytes", Style::Global, 1, 1, Body::Conversion),
    ("double", Style::Global, 1, 1, Body::Conversion),
    ("dyn", Style::Global, 1, 1, Body::Conversion),
    ("int", Style::Global, 1, 1, Body::Conversion),
    ("string", Style::Global, 1, 1, Body::Conversion),
    ("uint", Style::Global, 1, 1, Body::Conversion),
    ("duration", Style::Global, 1, 1, Body::Conversion),
    ("timestamp", Style::Global, 1, 1, Body::Conversion),
    ("base64.decode", Style::Global, 1, 1, Body::Conversion),
    ("base64.encode", Style::Global, 1, 1, Body::Conversion),
    ("type", Style::Global, 1, 1, Body::Type),
    ("size", Style::Either, 0, 0, Body::Size),
    ("optional.none", Style::Global, 0, 0, Body::Optional),
    ("optional.of", Style::Global, 1, 1, Body::Optional),
    ("optional.ofNonZeroValue", Style::Global, 1, 1, Body::Optional),
    ("hasValue", Style::Member, 0, 0, Body::Optional),
    ("value", Style::Member, 0, 0, Body::Optional),
    ("sets.contains", Style::Global, 2, 2, Body::Set),
    ("sets.equivalent", Style::Global, 2, 2, Body::Set),
    ("sets.intersects", Style::Global, 2, 2, Body::Set),
    ("matches", Style::Either, 1, 1, Body::Text),
    ("contains", Style::Member, 1, 1, Body::Text),
    ("startsWith", Style::Member, 1, 1, Body::Text),
    ("endsWith", Style::Member, 1, 1, Body::Text),
    ("charAt", Style::Member, 1, 1, Body::Text),
    ("indexOf", Style::Member, 1, 2, Body::Text),
    ("lastIndexOf", Style::Member, 1, 2, Body::Text),
    ("join", Style::Member, 0, 1, Body::Text),
    ("lowerAscii", Style::Member, 0, 0, Body::Text),
    ("upperAscii", Style::Member, 0, 0, Body::Text),
    ("replace", Style::Member, 2, 3, Body::Text),
    ("reverse", Style::Member, 0, 0, Body::Text),
    ("split", Style::Member, 1, 2, Body::Text),
    ("substring", Style::Member, 1, 2, Body::Text),
    ("trim", Style::Member, 0, 0, Body::Text),
    ("getDate", Style::Member, 0, 1, Body::Time),
    ("getDayOfMonth", Style::Member, 0, 1, Body::Time),
    ("getDayOfWeek", Style::Member, 0, 1, Body::Time),
    ("getDayOfYear", Style::Member, 0, 1, Body::Time),
    ("getFullYear", Style::Member, 0, 1, Body::Time),
    ("getMonth", Style::Member, 0, 1, Body::Time),
    ("getHours", Style::Member, 0, 1, Body::Duration),
    ("getMinutes", Style::Member, 0, 1, Body::Duration),
    ("getSeconds", Style::Member, 0, 1, Body::Duration),
    ("getMilliseconds", Style::Member, 0, 1, Body::Duration),
];

impl Function {
    /// The function that `name(…)` with so many arguments calls.
    pub(crate) fn global(name: &str, arguments: usize) -> Option<Self> {
        Self::find(name, |style, least, most| match style {
            Style::Global => (least..=most).contains(&arguments),
            Style::Either => (least + 1..=most + 1).contains(&arguments),
            Style::Member => false,
        })
    }

    /// The function that `target.name(…)` with so many arguments calls.
    pub(crate) fn member(name: &str, arguments: usize) -> Option<Self> {
        Self::find(name, |style, least, most| {
            style != Style::Global && (least..=most).contains(&arguments)
        })
    }

    /// Whether a function has this name, however it is called.
    pub(crate) fn is_known(name: &str) -> bool {
        Self::find(name, |_, _, _| true).is_some()
    }

    fn find(name: &str, fits: impl Fn(Style, usize, usize) -> bool) -> Option<Self> {
        let row = TABLE
            .iter()
            .find(|(known, style, least, most, _)| *known == name && fits(*style, *least, *most));
        row.map(|(name, _, _, _, body)| Self { name, body: *body })
    }
}

impl Resources {
    /// What a function makes of its arguments, the target first.
    ///
    /// # Errors
    /// It does not take these.
    pub(crate) fn call<'a>(
        &mut self,
        function: Function,
        arguments: &[Val<'a>],
    ) -> Result<Val<'a>, EvaluationError> {
        let name = function.name;
        match function.body {
            Body::Conversion => match arguments {
                [value] => self.converted(name, value),
                _ => Err(wrong(name, arguments)),
            },
            Body::Type => match arguments {
                [value] => Ok(Val::Type(value.kind())),
                _ => Err(wrong(name, arguments)),
            },
            Body::Size => match arguments {
                [value] => self.size(value),
                _ => Err(wrong(name, arguments)),
            },
            Body::Optional => optional(name, arguments),
            Body::Set => self.set(name, arguments),
            Body::Text => self.text_function(name, arguments),
            Body::Time => times::part(name, arguments),
            Body::Duration => times::part_or_length(name, arguments),
        }
    }

    fn size<'a>(&mut self, value: &Val<'a>) -> Result<Val<'a>, EvaluationError> {
        let size = match value {
            Val::Text(text) => {
                self.budget.read(text.as_str().len())?;
                text.as_str().chars().count()
            }
            Val::Bytes(bytes) => bytes.len(),
            Val::List(list) => list.len(),
            Val::Map(map) => map.len(),
            other => return Err(types("size", &[other])),
        };
        Ok(Val::Int(size as i64))
    }
}

fn optional<'a>(name: &'static str, arguments: &[Val<'a>]) -> Result<Val<'a>, EvaluationError> {
    match (name, arguments) {
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) if is_zero(value) => Ok(Val::Optional(None)),
        ("optional.of" | "optional.ofNonZeroValue", [value]) => Ok(Val::some(value.clone())),
        ("hasValue", [Val::Optional(value)]) => Ok(Val::Bool(value.is_some())),
        ("value", [Val::Optional(Some(value))]) => Ok(value.as_ref().clone()),
        ("value", [Val::Optional(None)]) => Err(EvaluationError::Unusable("value")),
        _ => Err(wrong(name, arguments)),
    }
}

/// Whether it is what its type has for nothing.
fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Optional(None) => true,
        Val::Bool(value) => !value,
        Val::Int(number) | Val::Duration(number) => *number == 0,
        Val::Uint(number) => *number == 0,
        Val::Double(number) => *number == 0.0,
        Val::Text(text) => text.as_str().is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.len() == 0,
        Val::Map(map) => map.len() == 0,
        Val::Time(_) | Val::Type(_) | Val::Optional(Some(_)) => false,
    }
}

/// That a function does not take these.
fn wrong(name: &'static str, arguments: &[Val<'_>]) -> EvaluationError {
    let all: Vec<&Val<'_>> = arguments.iter().collect();
    types(name, &all)
}
