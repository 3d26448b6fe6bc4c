//! The functions that every Go template can call.

use crate::function::Function;

/// Go's predefined functions, as a group for [`FunctionTable::new`](crate::FunctionTable::new).
#[must_use]
pub fn builtins() -> &'static [Function] {
    &[]
}
