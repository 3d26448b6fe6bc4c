//! Semantic versions and constraints on them, as Masterminds' `semver` reads them.

mod constraint;
mod object;
mod version;

use std::rc::Rc;

use steersman_gotemplate::Parameter::String as Text;
use steersman_gotemplate::{Failure, Function, Runtime, Value};

use crate::arguments::text;
use crate::table::{Outcome, pure};

pub use constraint::{Constraint, ConstraintError};
pub use object::VersionObject;
pub use version::{Version, VersionError};

pub(crate) const FUNCTIONS: &[Function] = &[
    pure(
        "semver",
        &[Text],
        "The text as a semantic version, with its parts as fields.",
        semver,
    ),
    pure(
        "semverCompare",
        &[Text, Text],
        "Whether the version satisfies the constraint.",
        semver_compare,
    ),
];

fn semver(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let version = Version::parse(&text(arguments, 0)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Value::Object(Rc::new(VersionObject::pointer(version))))
}

fn semver_compare(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let constraint =
        Constraint::parse(&text(arguments, 0)).map_err(|error| Failure::new(error.to_string()))?;
    let version = Version::parse(&text(arguments, 1)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(constraint.check(&version).into())
}
