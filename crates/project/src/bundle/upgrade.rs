//! Which version comes after which.

use semver::Version;
use serde_json::Value;

use super::BundleError;
use super::value::{name, text};

/// What a version replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Replaces {
    /// What the base says, else the version that the bundle before had, if that was an older one.
    #[default]
    Automatic,
    /// The bundle is the first of its channel, or leaves upgrades to `skipRange`.
    Nothing,
    /// A version, such as `0.0.1`, or the full name, such as `memcached-operator.v0.0.1`.
    Named(String),
}

/// Reads a version as OLM does: strictly, without a `v` in front.
///
/// # Errors
///
/// The text is no semantic version.
pub fn check_version(text: &str) -> Result<Version, BundleError> {
    Version::parse(text).map_err(|error| BundleError::Version {
        text: text.to_owned(),
        reason: error.to_string(),
    })
}

/// The name of a version's `ClusterServiceVersion`.
pub(super) fn versioned_name(package: &str, version: &str) -> String {
    format!("{package}.v{version}")
}

/// The name of what a new version replaces.
///
/// # Errors
///
/// The new version would replace itself.
pub(super) fn replaced(
    replaces: &Replaces,
    package: &str,
    version: &Version,
    base: &Value,
    previous: Option<&Value>,
) -> Result<Option<String>, BundleError> {
    let named = match replaces {
        Replaces::Nothing => None,
        Replaces::Named(text) if Version::parse(text).is_ok() => Some(versioned_name(package, text)),
        Replaces::Named(name) => Some(name.clone()),
        Replaces::Automatic => match text(base, "/spec/replaces") {
            "" => previous.and_then(|previous| followed(previous, package, version)),
            name => Some(name.to_owned()),
        },
    };
    match named {
        Some(name) if name == versioned_name(package, &version.to_string()) => {
            Err(BundleError::ReplacesItself { name })
        }
        other => Ok(other),
    }
}

/// What a version follows that is written over another one: that one if it is older, and what that one follows if it is
/// the same version.
fn followed(previous: &Value, package: &str, version: &Version) -> Option<String> {
    if !name(previous).starts_with(&format!("{package}.")) {
        return None;
    }
    let before = Version::parse(text(previous, "/spec/version")).ok()?;
    match before.cmp_precedence(version) {
        std::cmp::Ordering::Less => Some(name(previous).to_owned()),
        std::cmp::Ordering::Equal => {
            Some(text(previous, "/spec/replaces").to_owned()).filter(|name| !name.is_empty())
        }
        std::cmp::Ordering::Greater => None,
    }
}
