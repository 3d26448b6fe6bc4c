//! TOML.

mod read;
mod write;

use steersman_gotemplate::Parameter::{Any, String as Text};
use steersman_gotemplate::{Failure, Function, Runtime, Value};

use super::{Outcome, argument, bytes, error_map, pure, text};
use write::WriteError;

pub(super) const FUNCTIONS: &[Function] = &[
    pure(
        "toToml",
        &[Any],
        "The value as TOML, or what keeps it from being.",
        to_toml,
    ),
    pure(
        "mustToToml",
        &[Any],
        "The value as TOML; fails if it cannot be.",
        must_to_toml,
    ),
    pure(
        "fromToml",
        &[Text],
        "The map that the TOML stands for.",
        from_toml,
    ),
];

fn to_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    match write::toml(argument(arguments, 0)) {
        Ok(text) => {
            runtime.reserve(text.len())?;
            Ok(Value::from(text))
        }
        // Go's library gives up altogether on a value that is nothing.
        Err(error @ WriteError::Nothing) => Err(Failure::new(error.to_string())),
        Err(error) => Ok(Value::from(error.to_string())),
    }
}

fn must_to_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let text = write::toml(argument(arguments, 0)).map_err(|error| Failure::new(error.to_string()))?;
    runtime.reserve(text.len())?;
    Ok(Value::from(text))
}

fn from_toml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    runtime.reserve(bytes(arguments, 0).len().saturating_mul(8))?;
    Ok(read::toml(&text(arguments, 0)).unwrap_or_else(error_map))
}
