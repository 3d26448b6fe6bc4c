//! Go's slices.

use std::rc::Rc;

use super::Value;

/// The Go type of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// `[]interface {}`: the lists of YAML.
    Any,
    /// `[]string`: what `keys` and `splitList` give.
    String,
    /// `[]int`: what `until` and `untilStep` give.
    Int,
    /// `[][]interface {}`: what `chunk` gives.
    Lists,
    /// A slice of some other type, by Go's name of it, such as `[]*chart.Maintainer`.
    Named(&'static str),
}

impl ListType {
    /// Go's name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "[]interface {}",
            Self::String => "[]string",
            Self::Int => "[]int",
            Self::Lists => "[][]interface {}",
            Self::Named(name) => name,
        }
    }
}

/// A slice: a sequence that no template function changes in place.
///
/// ```
/// use steersman_gotemplate::{List, ListType, Value, format};
///
/// let hosts = List::new(ListType::String, vec![Value::from("a.example"), Value::from("b.example")]);
/// assert_eq!(hosts.list_type().type_name(), "[]string");
/// assert_eq!(format::print_value(&hosts.into()), "[a.example b.example]");
/// ```
#[derive(Clone, Debug)]
pub struct List(Rc<Inner>);

/// Behind one thin pointer: lists are passed around far more often than they are made.
#[derive(Debug)]
struct Inner {
    element: ListType,
    items: Vec<Value>,
    is_nil: bool,
}

impl List {
    /// A list of these items, which the caller vouches to be of `list_type`.
    #[must_use]
    pub fn new(list_type: ListType, items: Vec<Value>) -> Self {
        Self(Rc::new(Inner {
            element: list_type,
            items,
            is_nil: false,
        }))
    }

    /// Go's nil slice of this type. It prints as an empty one, but JSON shows it as `null`.
    #[must_use]
    pub fn nil(list_type: ListType) -> Self {
        Self(Rc::new(Inner {
            element: list_type,
            items: Vec::new(),
            is_nil: true,
        }))
    }

    /// Whether this is a nil slice.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.0.is_nil
    }

    /// The Go type.
    #[must_use]
    pub fn list_type(&self) -> ListType {
        self.0.element
    }

    /// In order; of a nil slice none.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.0.items
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.items.len()
    }

    /// Whether this is the only handle of the list.
    pub(super) fn is_unshared(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// The items, if nobody else has this list.
    pub(super) fn items_mut(&mut self) -> Option<&mut Vec<Value>> {
        Rc::get_mut(&mut self.0).map(|inner| &mut inner.items)
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
    }
}
