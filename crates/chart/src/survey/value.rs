//! What is known about a value without rendering.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

use super::output::Output;

/// How many possible values of one thing are told apart. With more it could be anything.
pub(super) const MAX_OPTIONS: usize = 32;

/// The key under which a dictionary holds what was put under keys that are not known.
pub(super) const ANY_KEY: &str = "\0";

/// A dictionary that `set` can change.
pub(super) type Dictionary = Rc<RefCell<BTreeMap<String, Abstract>>>;

/// All that a value can be: one of some options, or, where it is open, anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Abstract {
    pub(super) options: Vec<Shape>,
    /// What decides, where it can be something else than the options.
    pub(super) open: Option<Rc<str>>,
}

/// One of the alternatives of an [`Abstract`]: known whole, in part, or by where it comes from.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A value that is known whole.
    Json(Rc<Json>),
    /// What templates print.
    Text(Rc<[Output]>),
    Dictionary(Dictionary),
    List(Rc<Vec<Abstract>>),
    /// The dot that the templates of a chart are given, by the chart's number.
    Dot(usize),
    /// A place in the values of the whole chart; the user decides.
    Values(Rc<[String]>),
    /// `.Files` of a chart.
    Files(usize),
}

impl Abstract {
    /// Anything, because of what `why` names.
    pub(super) fn open(why: impl Into<Rc<str>>) -> Self {
        Self {
            options: Vec::new(),
            open: Some(why.into()),
        }
    }

    pub(super) fn of(shape: Shape) -> Self {
        Self {
            options: vec![shape],
            open: None,
        }
    }

    pub(super) fn json(value: impl Into<Json>) -> Self {
        Self::of(Shape::Json(Rc::new(value.into())))
    }

    pub(super) fn text(output: Vec<Output>) -> Self {
        Self::of(Shape::Text(output.into()))
    }

    /// `true` or `false`, nobody knows which.
    pub(super) fn either() -> Self {
        Self::json(true).or(Self::json(false))
    }

    /// A value that any branch may have given: the alternatives of both.
    pub(super) fn or(mut self, other: Self) -> Self {
        for shape in other.options {
            self.add(shape);
        }
        self.open = self.open.or(other.open);
        self
    }

    pub(super) fn add(&mut self, shape: Shape) {
        if self.options.iter().any(|known| known.is(&shape)) {
            return;
        }
        if self.options.len() >= MAX_OPTIONS {
            self.open
                .get_or_insert_with(|| Rc::from("more values than are told apart"));
            return;
        }
        self.options.push(shape);
    }

    /// Without the options of which it is known that they are empty.
    pub(super) fn not_empty(mut self) -> Self {
        self.options.retain(|shape| shape.truth() != Some(false));
        self
    }

    /// Whether it is true, as far as this is known.
    pub(super) fn truth(&self) -> Option<bool> {
        if self.open.is_some() || self.options.is_empty() {
            return None;
        }
        let first = self.options.first()?.truth()?;
        self.options
            .iter()
            .all(|shape| shape.truth() == Some(first))
            .then_some(first)
    }
}

impl Shape {
    /// Whether both are surely the same.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(a), Self::Json(b)) => Rc::ptr_eq(a, b) || is_scalar(a) && a == b,
            (Self::Text(a), Self::Text(b)) => Rc::ptr_eq(a, b),
            (Self::Dictionary(a), Self::Dictionary(b)) => Rc::ptr_eq(a, b),
            (Self::List(a), Self::List(b)) => Rc::ptr_eq(a, b),
            (Self::Dot(a), Self::Dot(b)) | (Self::Files(a), Self::Files(b)) => a == b,
            (Self::Values(a), Self::Values(b)) => a == b,
            _ => false,
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Self::Json(value) => Some(is_true(value)),
            Self::Dot(_) => Some(true),
            _ => None,
        }
    }
}

fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// Go's truth.
pub(super) fn is_true(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(flag) => *flag,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(entries) => !entries.is_empty(),
    }
}

/// A scalar as templates print it.
pub(super) fn printed(value: &Json) -> Option<String> {
    match value {
        Json::Null => Some(String::new()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Number(number) => Some(number.to_string()),
        Json::String(text) => Some(text.clone()),
        Json::Array(_) | Json::Object(_) => None,
    }
}

/// A place in the values as templates name it.
pub(super) fn dotted(path: &[String]) -> String {
    path.iter()
        .fold(".Values".to_owned(), |text, key| text + "." + key)
}
