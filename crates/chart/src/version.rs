//! Semantic versions and constraints on them, as Helm reads them.

use steersman_sprig::semver::{Constraint, Version};

/// Whether it can be read at all: `1.2` and `v1.2.3` can.
pub(crate) fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

/// Whether `version` is in the range `constraint`; not if either cannot be read.
pub(crate) fn satisfies(constraint: &str, version: &str) -> bool {
    match (Constraint::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.check(&version),
        _ => false,
    }
}
