//! One thing that is wrong.

use std::fmt;

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It will not work.
    Error,
    /// It may not be what is meant.
    Warning,
}

impl Severity {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file or chart.
    pub file: String,
    /// The line, from 1; 0 where the whole file is meant.
    pub line: u32,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What can be done about it, where that is not plain from the message.
    pub hint: Option<String>,
}

impl Finding {
    pub(super) fn error(file: &str, line: u32, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            severity: Severity::Error,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn warning(file: &str, line: u32, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(file, line, message)
        }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        write!(f, " {}: {}", self.severity.as_str(), self.message)
    }
}
