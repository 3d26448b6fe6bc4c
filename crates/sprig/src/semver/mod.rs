//! Semantic versions and constraints on them, as Masterminds' `semver` reads them.

mod constraint;
mod object;
mod version;

use std::rc::Rc;

use steersman_gotemplate::{Failure, Runtime, Value};

use crate::Outcome;
use crate::arguments::text;

pub use constraint::{Constraint, ConstraintError};
pub use object::VersionObject;
pub use version::{Version, VersionError};

pub(crate) fn semver(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let version = Version::parse(&text(arguments, 0)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Value::Object(Rc::new(VersionObject::pointer(version))))
}

pub(crate) fn semver_compare(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (constraint, version) = (text(arguments, 0), text(arguments, 1));
    // A byte of them takes about as long as a step.
    runtime.spend((constraint.len() + version.len()) as u64)?;
    let constraint = Constraint::parse(&constraint).map_err(|error| Failure::new(error.to_string()))?;
    let version = Version::parse(&version).map_err(|error| Failure::new(error.to_string()))?;
    Ok(constraint.check(&version).into())
}
