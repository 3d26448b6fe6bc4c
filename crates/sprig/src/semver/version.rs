//! Versions: parsing, order, text.

use std::cmp::Ordering;
use std::fmt;

use crate::cast::{IntegerError, parse_uint};

/// A semantic version, read leniently: a `v` in front, and missing parts, which are zero.
///
/// ```
/// use std::cmp::Ordering;
/// use steersman_sprig::semver::Version;
///
/// let version = Version::parse("v1.2")?;
/// assert_eq!(version.to_string(), "1.2.0");
/// assert_eq!(version.original, "v1.2");
/// assert_eq!(version.next_minor().to_string(), "1.3.0");
/// assert_eq!(Version::parse("1.2.0-rc.1")?.compare(&version), Ordering::Less);
/// # Ok::<(), steersman_sprig::semver::VersionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What comes after `-`; empty for a release.
    pub prerelease: String,
    /// What comes after `+`, which does not count in comparisons.
    pub metadata: String,
    /// The text that was read.
    pub original: String,
}

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is not written like one.
    #[error("invalid semantic version")]
    Invalid,
    /// It is longer than [`Version::GREATEST_LENGTH`].
    #[error("version string is too long (max 256 bytes)")]
    TooLong,
    /// A number does not fit into 64 bits.
    #[error("error parsing version segment: strconv.ParseUint: parsing \"{0}\": value out of range")]
    SegmentRange(String),
    /// A number of the prerelease starts with zero.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// The prerelease has other characters than it may.
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// The metadata has other characters than it may.
    #[error("invalid metadata string")]
    InvalidMetadata,
}

impl Version {
    /// The most bytes that a version may have.
    pub const GREATEST_LENGTH: usize = 256;

    /// The version that `text` is.
    ///
    /// # Errors
    /// `text` is too long or not written like a version.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        if text.len() > Self::GREATEST_LENGTH {
            return Err(VersionError::TooLong);
        }
        let unprefixed = text.strip_prefix('v').unwrap_or(text);
        let (unmarked, metadata) = match unprefixed.split_once('+') {
            Some((before, metadata)) => (before, Some(metadata)),
            None => (unprefixed, None),
        };
        let (numbers, prerelease) = match unmarked.split_once('-') {
            Some((before, prerelease)) => (before, Some(prerelease)),
            None => (unmarked, None),
        };
        if ![prerelease, metadata].into_iter().flatten().all(are_identifiers) {
            return Err(VersionError::Invalid);
        }
        let segments: Vec<&str> = numbers.split('.').collect();
        let are_digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if segments.len() > 3 || !segments.iter().all(are_digits) {
            return Err(VersionError::Invalid);
        }
        let number = |place: usize| segments.get(place).map_or(Ok(0), |digits| segment(digits));
        let version = Self {
            major: number(0)?,
            minor: number(1)?,
            patch: number(2)?,
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        };
        check_prerelease(&version.prerelease)?;
        Ok(version)
    }

    /// The version of these numbers, without more.
    #[must_use]
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            prerelease: String::new(),
            metadata: String::new(),
            original: format!("{major}.{minor}.{patch}"),
        }
    }

    /// The order of the versions, which does not see metadata and the original text.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| compare_prereleases(&self.prerelease, &other.prerelease))
    }

    /// This version with another prerelease.
    ///
    /// # Errors
    /// The prerelease is not written like one.
    pub fn with_prerelease(&self, prerelease: &str) -> Result<Self, VersionError> {
        if !prerelease.is_empty() {
            if !are_identifiers(prerelease) {
                return Err(VersionError::InvalidPrerelease);
            }
            check_prerelease(prerelease)?;
        }
        let mut version = self.clone();
        prerelease.clone_into(&mut version.prerelease);
        Ok(version.renamed())
    }

    /// This version with other metadata.
    ///
    /// # Errors
    /// The metadata is not written like it.
    pub fn with_metadata(&self, metadata: &str) -> Result<Self, VersionError> {
        if !metadata.is_empty() && !are_identifiers(metadata) {
            return Err(VersionError::InvalidMetadata);
        }
        let mut version = self.clone();
        metadata.clone_into(&mut version.metadata);
        Ok(version.renamed())
    }

    /// The next release of the same minor version: this one, if it is a prerelease of it.
    #[must_use]
    pub fn next_patch(&self) -> Self {
        let step = u64::from(self.prerelease.is_empty());
        self.released(self.major, self.minor, self.patch.saturating_add(step))
    }

    /// `1.3.0` for `1.2.3`, and for `1.2.3-rc.1`, too.
    #[must_use]
    pub fn next_minor(&self) -> Self {
        self.released(self.major, self.minor.saturating_add(1), 0)
    }

    /// `2.0.0` for `1.2.3`, and for `1.2.3-rc.1`, too.
    #[must_use]
    pub fn next_major(&self) -> Self {
        self.released(self.major.saturating_add(1), 0, 0)
    }

    fn released(&self, major: u64, minor: u64, patch: u64) -> Self {
        let version = Self {
            original: self.original.clone(),
            ..Self::new(major, minor, patch)
        };
        version.renamed()
    }

    /// This version with an original text that says what it is now, and keeps a `v` in front.
    fn renamed(mut self) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn segment(digits: &str) -> Result<u64, VersionError> {
    parse_uint(digits, 10).map_err(|error| match error {
        IntegerError::Range(_) => VersionError::SegmentRange(digits.to_owned()),
        IntegerError::Syntax => VersionError::Invalid,
    })
}

/// Whether the text is words of letters, digits and hyphens with dots between.
pub(super) fn are_identifiers(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn check_prerelease(text: &str) -> Result<(), VersionError> {
    let starts_zero = |part: &str| {
        part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if text.split('.').any(starts_zero) {
        return Err(VersionError::SegmentStartsZero);
    }
    Ok(())
}

/// A release comes after its prereleases; numbers come before words.
pub(super) fn compare_prereleases(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => match (parse_uint(left, 10), parse_uint(right, 10)) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => left.cmp(right),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = match Version::parse(text) {
            Ok(version) => version.to_string(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn lenient_forms_are_read() {
        check("1.2.3", "1.2.3");
        check("v1.2", "1.2.0");
        check("1", "1.0.0");
        check("1.02.3", "1.2.3");
        check("v1.28.3-gke.100+build.5", "1.28.3-gke.100+build.5");
        check("1.2.3+a-b", "1.2.3+a-b");
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "",
            "bad",
            "1.2.3.4",
            "1..2",
            "1.2.",
            "1.2.3-",
            "1.2.3+",
            "1.2.3-a..b",
            " 1",
            "vv1",
            "1.2.3-é",
        ] {
            check(text, "error: invalid semantic version");
        }
        check("1.2.3-01", "error: version segment starts with 0");
        check(
            "99999999999999999999",
            "error: error parsing version segment: strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
        );
        check(
            &"1".repeat(257),
            "error: version string is too long (max 256 bytes)",
        );
    }

    #[test]
    fn versions_are_in_order() {
        let ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.1.0",
            "2.0.0",
        ];
        for pair in ordered.windows(2) {
            let [left, right] = [0, 1].map(|place| Version::parse(pair[place]).unwrap());
            assert_eq!(left.compare(&right), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn increments_drop_what_is_not_released() {
        let version = Version::parse("v1.2.3-rc.1+b").unwrap();
        assert_eq!(version.next_patch().original, "v1.2.3");
        assert_eq!(version.next_minor().original, "v1.3.0");
        assert_eq!(version.next_major().original, "v2.0.0");
    }
}
