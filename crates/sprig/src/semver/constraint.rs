//! Constraints on versions, such as `>=1.19-0 <2 || ^3.1`.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use steersman_gotemplate::format::quote;

use super::version::{Version, compare_prereleases};

/// What a version must satisfy: one of several alternatives, each a list of comparisons.
///
/// ```
/// use steersman_sprig::semver::{Constraint, Version};
///
/// let supported = Constraint::parse(">=1.28-0 <2")?;
/// assert!(supported.check(&Version::parse("v1.33.4-gke.1245000")?));
/// assert!(!supported.check(&Version::new(1, 27, 9)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    alternatives: Vec<Vec<Comparison>>,
}

/// Why a text is not a constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// It is not written like one; this is the alternative at fault.
    #[error("improper constraint: {}", quote(.0))]
    Improper(String),
    /// A version in it cannot be one.
    #[error("constraint parser error")]
    Version,
    /// It is longer than 512 bytes.
    #[error("constraint string is too long (max 512 bytes)")]
    TooLong,
    /// It has more than 32 alternatives.
    #[error("too many constraint groups (max 32)")]
    TooManyAlternatives,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// None or `=`: equal, or like `~` where parts are left open.
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The operators as they are written, those first that others start with.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    version: Version,
    /// The operator and the version as they were written.
    written: (String, String),
    open: Open,
}

/// From which part on the version is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Major,
    Minor,
    Patch,
}

impl Constraint {
    /// The constraint that `text` is.
    ///
    /// # Errors
    /// `text` is too long or not written like a constraint.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        const GREATEST_LENGTH: usize = 512;
        const MOST_ALTERNATIVES: usize = 32;
        if text.len() > GREATEST_LENGTH {
            return Err(ConstraintError::TooLong);
        }
        let text = without_ranges(text);
        let alternatives: Vec<&str> = text.split("||").collect();
        if alternatives.len() > MOST_ALTERNATIVES {
            return Err(ConstraintError::TooManyAlternatives);
        }
        let alternatives: Result<_, _> = alternatives.into_iter().map(comparisons).collect();
        Ok(Self {
            alternatives: alternatives?,
        })
    }

    /// Whether `version` satisfies this. A prerelease satisfies only an alternative that names a
    /// prerelease itself.
    #[must_use]
    pub fn check(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|comparisons| {
            let with_prereleases = comparisons
                .iter()
                .any(|comparison| !comparison.version.prerelease.is_empty());
            (version.prerelease.is_empty() || with_prereleases)
                && comparisons.iter().all(|comparison| comparison.holds(version))
        })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, comparisons) in self.alternatives.iter().enumerate() {
            if place > 0 {
                f.write_str(" || ")?;
            }
            for (place, comparison) in comparisons.iter().enumerate() {
                if place > 0 {
                    f.write_char(' ')?;
                }
                write!(f, "{}{}", comparison.written.0, comparison.written.1)?;
            }
        }
        Ok(())
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal if self.open == Open::Nothing => order.is_eq(),
            Operator::Equal | Operator::Tilde => self.is_close(version),
            Operator::NotEqual => self.differs(version),
            Operator::Greater => self.is_exceeded(version),
            Operator::Less => order.is_lt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::LessOrEqual => self.is_not_exceeded(version),
            Operator::Caret => self.is_compatible(version),
        }
    }

    /// `~`: the same minor version, or the same major one if the minor is left open.
    fn is_close(&self, version: &Version) -> bool {
        if version.compare(&self.version).is_lt() {
            return false;
        }
        let wanted = &self.version;
        let is_any = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0);
        if is_any && !matches!(self.open, Open::Minor | Open::Patch) {
            return true;
        }
        version.major == wanted.major && (version.minor == wanted.minor || self.open == Open::Minor)
    }

    fn differs(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if self.open == Open::Nothing {
            return version.compare(wanted).is_ne();
        }
        if wanted.major != version.major {
            return true;
        }
        match self.open {
            Open::Minor => false,
            _ if wanted.minor != version.minor => true,
            Open::Patch => compare_prereleases(&version.prerelease, &wanted.prerelease).is_ne(),
            _ => version.compare(wanted).is_ne(),
        }
    }

    /// `>`: what is left open counts as all versions of it.
    fn is_exceeded(&self, version: &Version) -> bool {
        let wanted = &self.version;
        match (self.open, version.major.cmp(&wanted.major)) {
            (Open::Nothing, _) => version.compare(wanted).is_gt(),
            (_, Ordering::Greater) => true,
            (_, Ordering::Less) | (Open::Minor, _) => false,
            (Open::Patch, _) => version.minor > wanted.minor,
            _ => version.compare(wanted).is_gt(),
        }
    }

    /// `<=`: what is left open counts as all versions of it.
    fn is_not_exceeded(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if self.open == Open::Nothing {
            return version.compare(wanted).is_le();
        }
        let is_later_minor =
            version.major == wanted.major && version.minor > wanted.minor && self.open != Open::Minor;
        version.major <= wanted.major && !is_later_minor
    }

    /// `^`: nothing changes before the first part that is not zero, nor in it.
    fn is_compatible(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if version.compare(wanted).is_lt() {
            return false;
        }
        if wanted.major > 0 || self.open == Open::Minor {
            return version.major == wanted.major;
        }
        if version.major > 0 {
            return false;
        }
        if wanted.minor > 0 || self.open == Open::Patch {
            return version.minor == wanted.minor;
        }
        version.minor == 0 && version.patch == wanted.patch
    }
}

/// RE2's white space.
fn without_space(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

/// The comparisons of one alternative, with spaces or commas between.
fn comparisons(text: &str) -> Result<Vec<Comparison>, ConstraintError> {
    let improper = || ConstraintError::Improper(text.to_owned());
    let mut comparisons = Vec::new();
    let mut rest = without_space(text);
    loop {
        let (comparison, after) = comparison(rest).ok_or_else(improper)?;
        comparisons.push(comparison);
        let next = without_space(after);
        if next.is_empty() {
            return comparisons.into_iter().collect();
        }
        rest = match next.strip_prefix(',') {
            Some(after_comma) => without_space(after_comma),
            None if next.len() < after.len() => next,
            None => return Err(improper()),
        };
    }
}

/// The comparison at the start of `text`, and what comes after it.
fn comparison(text: &str) -> Option<(Result<Comparison, ConstraintError>, &str)> {
    let named = OPERATORS.iter().find(|(name, _)| text.starts_with(name));
    let (name, operator) = named.copied().unwrap_or(("", Operator::Equal));
    let pattern = without_space(text.get(name.len()..)?);
    let (parts, after) = PatternParts::split(pattern)?;
    let written = pattern.get(..pattern.len() - after.len())?;
    Some((parts.comparison(operator, name, written), after))
}

/// A version whose parts may be left open, as it is written.
struct PatternParts<'a> {
    major: &'a str,
    minor: Option<&'a str>,
    patch: Option<&'a str>,
    prerelease: Option<&'a str>,
}

impl<'a> PatternParts<'a> {
    /// The longest pattern at the start of `text`, and what comes after it.
    fn split(text: &'a str) -> Option<(Self, &'a str)> {
        let (major, rest) = number_or_wildcard(text.strip_prefix('v').unwrap_or(text))?;
        let (minor, rest) = dotted(rest);
        let (patch, rest) = if minor.is_some() {
            dotted(rest)
        } else {
            (None, rest)
        };
        let (prerelease, rest) = marked(rest, '-');
        let (_, rest) = marked(rest, '+');
        let parts = Self {
            major,
            minor,
            patch,
            prerelease,
        };
        Some((parts, rest))
    }

    fn comparison(
        &self,
        operator: Operator,
        name: &str,
        written: &str,
    ) -> Result<Comparison, ConstraintError> {
        let is_open = |part: Option<&str>| matches!(part, None | Some("x" | "X" | "*"));
        let minor = self.minor.unwrap_or_default();
        let prerelease = self
            .prerelease
            .map(|prerelease| format!("-{prerelease}"))
            .unwrap_or_default();
        let (open, text) = if is_open(Some(self.major)) {
            (Open::Major, format!("0.0.0{prerelease}"))
        } else if is_open(self.minor) {
            (Open::Minor, format!("{}.0.0{prerelease}", self.major))
        } else if is_open(self.patch) {
            (Open::Patch, format!("{}.{minor}.0{prerelease}", self.major))
        } else {
            (Open::Nothing, written.to_owned())
        };
        Ok(Comparison {
            operator,
            version: Version::parse(&text).map_err(|_| ConstraintError::Version)?,
            written: (name.to_owned(), written.to_owned()),
            open,
        })
    }
}

/// The digits or wildcards at the start of `text`, and what comes after them.
fn number_or_wildcard(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_digit() && !matches!(character, 'x' | 'X' | '*' | '|'))
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn dotted(text: &str) -> (Option<&str>, &str) {
    match text.strip_prefix('.').and_then(number_or_wildcard) {
        Some((part, rest)) => (Some(part), rest),
        None => (None, text),
    }
}

/// The identifiers after `mark` at the start of `text`, and what comes after them.
fn marked(text: &str, mark: char) -> (Option<&str>, &str) {
    let Some(marked) = text.strip_prefix(mark) else {
        return (None, text);
    };
    let word = |text: &str| {
        text.find(|character: char| !character.is_ascii_alphanumeric() && character != '-')
            .unwrap_or(text.len())
    };
    let mut end = word(marked);
    if end == 0 {
        return (None, text);
    }
    while let Some(next) = marked.get(end..).and_then(|rest| rest.strip_prefix('.')) {
        let length = word(next);
        if length == 0 {
            break;
        }
        end += 1 + length;
    }
    let (identifiers, rest) = marked.split_at(end);
    (Some(identifiers), rest)
}

/// `1.2 - 2.0` written with operators: `>= 1.2, <= 2.0 `.
fn without_ranges(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((low, high, after)) = range(without_space(rest)) {
            // Writing to a String cannot fail.
            let _ = write!(result, ">= {low}, <= {high} ");
            rest = without_space(after);
        } else {
            result.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    result
}

/// The range at the start of `text`, and what comes after it.
fn range(text: &str) -> Option<(&str, &str, &str)> {
    let (_, after_low) = PatternParts::split(text)?;
    let low = text.get(..text.len() - after_low.len())?;
    let hyphen = without_space(after_low);
    let after_hyphen = hyphen.strip_prefix('-')?;
    let high_start = without_space(after_hyphen);
    if hyphen.len() == after_low.len() || high_start.len() == after_hyphen.len() {
        return None;
    }
    let (_, after) = PatternParts::split(high_start)?;
    let high = high_start.get(..high_start.len() - after.len())?;
    Some((low, high, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(constraint: &str, yes: &[&str], no: &[&str]) {
        let parsed = Constraint::parse(constraint).unwrap();
        for (versions, expect) in [(yes, true), (no, false)] {
            for version in versions {
                let checked = parsed.check(&Version::parse(version).unwrap());
                assert_eq!(checked, expect, "{constraint} for {version}");
            }
        }
    }

    #[test]
    fn comparisons_hold() {
        check(">=1.2 <2", &["1.2.0", "1.9.9"], &["1.1.9", "2.0.0"]);
        check(">= 1.2.0, < 2.0.0", &["1.5.0"], &["2.0.0"]);
        check("!=1.2.3", &["1.2.4"], &["1.2.3"]);
        check(">11", &["12.0.0"], &["11.1.0"]);
        check(">11.1", &["11.2.0", "12.0.0"], &["11.1.5"]);
        check("<=1.2", &["1.2.9", "0.1.0"], &["1.3.0"]);
        check("=>1.0", &["1.0.0"], &["0.9.0"]);
    }

    #[test]
    fn wildcards_leave_parts_open() {
        check("*", &["1.2.3", "0.0.1"], &["1.0.0-rc.1"]);
        check("1.x", &["1.2.3"], &["2.0.0"]);
        check("1.2.x", &["1.2.3"], &["1.3.0"]);
        check("1.2", &["1.2.3"], &["1.3.0"]);
        check("!=1.x", &["2.0.0"], &["1.5.0"]);
    }

    #[test]
    fn tildes_and_carets_allow_what_is_compatible() {
        check("~1.2.3", &["1.2.9"], &["1.3.0", "1.2.2"]);
        check("~>1.2", &["1.2.9"], &["1.3.0"]);
        check("~1", &["1.9.0"], &["2.0.0"]);
        check("^1.2.3", &["1.9.0"], &["2.0.0", "1.2.2"]);
        check("^0.2.3", &["0.2.5"], &["0.3.0"]);
        check("^0.0.3", &["0.0.3"], &["0.0.4"]);
        check("^0.0", &["0.0.9"], &["0.1.0"]);
        check("^0", &["0.9.0"], &["1.0.0"]);
    }

    #[test]
    fn ranges_and_alternatives() {
        check("1.2 - 2.0", &["1.2.0", "2.0.5"], &["2.1.0", "1.1.0"]);
        check("<1 || >=3 <4", &["0.5.0", "3.5.0"], &["2.0.0", "4.0.0"]);
    }

    #[test]
    fn prereleases_must_be_asked_for() {
        check(">=1.19-0", &["1.28.3-gke.100", "1.19.0"], &["1.18.0"]);
        check(">=1.19", &["1.19.0"], &["1.28.3-gke.100"]);
    }

    #[test]
    fn improper_constraints_are_quoted() {
        for text in ["", "bad", ">=", "> 1,", ">1<2", "1.2.3.4", "- 1"] {
            assert_eq!(
                Constraint::parse(text),
                Err(ConstraintError::Improper(text.to_owned())),
                "{text}"
            );
        }
        assert_eq!(Constraint::parse("1|2"), Err(ConstraintError::Version));
    }
}
