//! An expression in CEL over an object of a stranger: it has a result within its budget, or there is a message.
//!
//! The input is the expression, a zero byte, and the object as JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use steersman_expressions::{Expression, Variables};
use steersman_fuzz::parts;

fuzz_target!(|input: &[u8]| {
    let [source, object] = parts(input);
    let Ok(expression) = Expression::parse(&String::from_utf8_lossy(source)) else {
        return;
    };
    let object: Value = serde_json::from_slice(object).unwrap_or_default();
    let _ = expression.holds(&Variables::of_fields(&object));
});
