//! Which names Helm accepts for a release.

use std::fmt;

/// The longest name that Helm accepts: objects append suffixes to it and must stay within 63.
const MAX_LENGTH: usize = 53;

/// A name that Helm accepts for a release: a DNS subdomain of at most 53 characters.
///
/// ```
/// use steersman_model::ReleaseName;
///
/// assert_eq!(ReleaseName::new("shop.blue")?.as_str(), "shop.blue");
/// assert!(ReleaseName::new("Shop").is_err());
/// assert!(ReleaseName::new("s".repeat(54)).is_err());
/// # Ok::<(), steersman_model::InvalidReleaseName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseName(String);

/// A name that can't be a release's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid release name `{0}`: it must consist of lower case letters, digits, `-` and `.`, start and end \
     with a letter or digit, and must not be longer than {MAX_LENGTH} characters"
)]
pub struct InvalidReleaseName(String);

impl ReleaseName {
    /// Checks `name` by Helm's rule.
    ///
    /// # Errors
    /// The name is empty, too long, or not a DNS subdomain.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidReleaseName> {
        let name = name.into();
        if name.len() <= MAX_LENGTH && name.split('.').all(is_label) {
            Ok(Self(name))
        } else {
            Err(InvalidReleaseName(name))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReleaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(part: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().copied().is_some_and(inner)
        && bytes.last().copied().is_some_and(inner)
        && bytes.iter().all(|&c| inner(c) || c == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, valid: bool) {
        assert_eq!(ReleaseName::new(name).is_ok(), valid, "{name:?}");
    }

    #[test]
    fn names_follow_helms_rule() {
        check("web", true);
        check("a.b-c.d0", true);
        check(&"a".repeat(53), true);
        check(&"a".repeat(54), false);
        check("", false);
        check("-a", false);
        check("a-", false);
        check("a..b", false);
        check("Web", false);
        check("a_b", false);
        check("ä", false);
    }
}
