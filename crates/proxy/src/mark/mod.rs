//! The marks of an owner on the objects that its runs make.

mod body;
mod fields;
mod marker;
mod standing;

pub(crate) use body::{Format, mark_body};
pub(crate) use marker::{Marker, Way};
pub use marker::{Marks, Unowned};
pub use standing::{Standing, names_in_annotations};
