//! Go's slices.

use std::rc::Rc;

use super::Value;

/// The Go type of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// `[]interface {}`.
    Any,
    /// `[]string`.
    String,
    /// `[]int`.
    Int,
    /// `[][]interface {}`.
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
#[derive(Clone, Debug)]
pub struct List {
    element: ListType,
    items: Rc<[Value]>,
    is_nil: bool,
}

impl List {
    /// A list of these items, which the caller vouches to be of `list_type`.
    #[must_use]
    pub fn new(list_type: ListType, items: Vec<Value>) -> Self {
        Self {
            element: list_type,
            items: items.into(),
            is_nil: false,
        }
    }

    /// Go's nil slice of this type. It prints as an empty one, but JSON shows it as `null`.
    #[must_use]
    pub fn nil(list_type: ListType) -> Self {
        Self {
            element: list_type,
            items: Rc::default(),
            is_nil: true,
        }
    }

    /// Whether this is a nil slice.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.is_nil
    }

    /// The Go type.
    #[must_use]
    pub fn list_type(&self) -> ListType {
        self.element
    }

    /// The items.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether this is the only handle of the list.
    pub(super) fn is_unshared(&self) -> bool {
        Rc::strong_count(&self.items) == 1
    }

    pub(super) fn items_mut(&mut self) -> &mut Rc<[Value]> {
        &mut self.items
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
