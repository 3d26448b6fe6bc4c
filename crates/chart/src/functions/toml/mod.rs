//! `toToml`, `fromToml` and the variants of them that fail.

mod read;
mod write;

use steersman_gotemplate::{Failure, Runtime, Value};

use super::{Outcome, argument, bytes, error_map};
use write::WriteError;

pub(in crate::functions) fn to_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    match write::toml(argument(arguments, 0)) {
        Ok(text) => {
            runtime.reserve(text.len())?;
            Ok(Value::from(text))
        }
        // Go's library gives up altogether on a value that is nothing.
        Err(error @ WriteError::Nothing) => Err(Failure::new(error.to_string())),
        Err(error @ WriteError::TooLarge) => Err(Failure::exhausted(error.to_string())),
        Err(error) => Ok(Value::from(error.to_string())),
    }
}

pub(in crate::functions) fn must_to_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let text = write::toml(argument(arguments, 0)).map_err(|error| match error {
        WriteError::TooLarge => Failure::exhausted(error.to_string()),
        _ => Failure::new(error.to_string()),
    })?;
    runtime.reserve(text.len())?;
    Ok(Value::from(text))
}

pub(in crate::functions) fn from_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    // A key of two bytes makes a table.
    runtime.reserve(source.len().saturating_mul(128))?;
    runtime.spend(source.len() as u64 / 8)?;
    Ok(read::toml(source).unwrap_or_else(error_map))
}
