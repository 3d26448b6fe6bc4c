//! Complex numbers, which exist as constants only.

use std::any::Any;

use super::float::float;
use crate::value::{Object, Str};

/// Go's `complex128`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Complex {
    pub(crate) real: f64,
    pub(crate) imaginary: f64,
}

impl Object for Complex {
    fn type_name(&self) -> &'static str {
        "complex128"
    }

    fn kind_name(&self) -> &'static str {
        "complex128"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        let real = float(self.real, b'g', None);
        let mut imaginary = float(self.imaginary, b'g', None);
        if !imaginary.starts_with(['-', '+']) {
            imaginary.insert(0, '+');
        }
        Some(Str::from(format!("({real}{imaginary}i)")))
    }

    fn is_true(&self) -> bool {
        self.real != 0.0 || self.imaginary != 0.0
    }
}
