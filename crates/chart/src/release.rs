//! What a template knows about the release that it is rendered for.

/// The release: `.Release` in templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseInfo {
    /// At most 53 characters, by the rule of [`check_name`]; most charts begin names of objects with it.
    pub name: String,
    /// The namespace that it is installed into.
    pub namespace: String,
    /// Its number, from 1.
    pub revision: u32,
    /// What is being done.
    pub operation: Operation,
}

/// What is being done with a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// It is new: `.Release.IsInstall`.
    #[default]
    Install,
    /// It replaces an earlier revision: `.Release.IsUpgrade`.
    Upgrade,
    /// Nothing: its chart is linted.
    None,
}

/// The longest name of a release: names of objects have it as a part.
const MAX_NAME: usize = 53;

/// Checks the name of a release by Helm's rule.
///
/// ```
/// use steersman_chart::check_release_name;
///
/// assert!(check_release_name("web-7d4b").is_ok());
/// assert!(check_release_name("Web").is_err());
/// ```
///
/// # Errors
/// The name is empty, too long, or not made of lower-case letters, digits, dots and dashes as
/// Kubernetes wants it. The message is Helm's.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("no name provided");
    }
    let is_label = |label: &str| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inner)
    };
    if name.len() > MAX_NAME || !name.split('.').all(is_label) {
        return Err("invalid release name, must match regex \
             ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than 53");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_kubernetes_allows() {
        for name in ["a", "web-1", "a.b-c"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a..b", "a_b", &"a".repeat(54)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
