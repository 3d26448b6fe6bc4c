//! What values cost: the work of looking at them, and the memory of those that are new.

use std::rc::Rc;
use std::sync::Arc;

use super::{Str, Value};

/// The bytes of text that are looked at in one step: even the slower functions take about a
/// tenth of a microsecond for as many.
const BYTES_PER_STEP: usize = 16;

/// The items or entries that are looked at in one step. Most functions look at one only.
const ITEMS_PER_STEP: usize = 32;

/// A map has room for some entries from the start.
const SMALLEST_MAP: usize = 4;

impl Value {
    /// The steps that a function takes to look at this value, as far as that exceeds the one
    /// that every call takes.
    pub(crate) fn steps(&self) -> u64 {
        let steps = match self {
            Self::Str(text) => text.len() / BYTES_PER_STEP,
            Self::Bytes(bytes) => bytes.len() / BYTES_PER_STEP,
            Self::List(list) => list.len() / ITEMS_PER_STEP,
            Self::Map(map) => map.len() / ITEMS_PER_STEP,
            _ => 0,
        };
        steps as u64
    }

    /// The bytes that this value takes itself, without those in it, where nobody else has it:
    /// the function that gave it has made it.
    pub(crate) fn new_bytes(&self) -> usize {
        match self {
            Self::Str(text) if text.is_unshared() => text.len(),
            Self::Bytes(bytes) if Arc::strong_count(bytes) == 1 => bytes.len(),
            Self::List(list) if list.is_unshared() => list.len() * size_of::<Value>(),
            Self::Map(map) if map.is_unshared() => map.len().max(SMALLEST_MAP) * size_of::<(Str, Value)>(),
            Self::Object(object) if Rc::strong_count(object) == 1 => object.bytes(),
            _ => 0,
        }
    }
}
