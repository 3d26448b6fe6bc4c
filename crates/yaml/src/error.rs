//! The error of a text that cannot be read.

use std::fmt;

/// Why a YAML text could not be read, in the words that goyaml v2 uses.
///
/// `Display` gives goyaml's whole message, `yaml: line 3: mapping values are not allowed in this context`.
/// Its line is sometimes missing and sometimes one too small; [`Error::line`] gives the true one.
///
/// ```
/// let error = steersman_yaml::parse("name: web\nports: 80: 81\n").unwrap_err();
/// assert_eq!(error.line(), 2);
/// assert_eq!(error.to_string(), "yaml: line 2: mapping values are not allowed in this context");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    shown_line: u32,
    line: u32,
    from_yaml: bool,
}

impl Error {
    /// A violation of the grammar. goyaml counts lines from zero, adds one for the errors of its scanner
    /// alone and shows no line where it counted zero.
    pub(crate) fn syntax(problem: impl Into<String>, zero_based_line: u32, by_scanner: bool) -> Self {
        let shown_line = match zero_based_line {
            0 => 0,
            line if by_scanner => line + 1,
            line => line,
        };
        Self {
            message: problem.into(),
            shown_line,
            line: zero_based_line + 1,
            from_yaml: true,
        }
    }

    /// A text that is valid YAML but has no meaning, or one that cannot be decoded at all; shown without a
    /// line.
    pub(crate) fn content(problem: impl Into<String>, line: u32) -> Self {
        Self {
            message: problem.into(),
            shown_line: 0,
            line,
            from_yaml: true,
        }
    }

    /// A value that YAML knows and JSON does not.
    pub(crate) fn conversion(problem: impl Into<String>, line: u32) -> Self {
        Self {
            message: problem.into(),
            shown_line: 0,
            line,
            from_yaml: false,
        }
    }

    /// What is wrong, without place or prefix.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line, counted from 1, at which the reader noticed; 0 where an error has no place.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The message of sigs.k8s.io/yaml's `Unmarshal`, which is what Helm shows: `error converting YAML to
    /// JSON: ` and this error.
    #[must_use]
    pub fn converting(&self) -> String {
        format!("error converting YAML to JSON: {self}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from_yaml {
            f.write_str("yaml: ")?;
        }
        if self.shown_line > 0 {
            write!(f, "line {}: ", self.shown_line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
