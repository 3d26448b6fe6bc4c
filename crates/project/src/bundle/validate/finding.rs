//! One thing that is wrong.

use std::fmt;

/// How much weight a finding has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// OLM or a catalog refuses the bundle, or it can't work.
    Error,
    /// It works, and should be better.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong with a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, by its path inside of the bundle; empty for the bundle as a whole.
    pub file: String,
    /// How much weight it has.
    pub severity: Severity,
    /// The field, such as `spec.version`; empty for the file as a whole.
    pub field: String,
    /// For people; `Display` puts file and field before it.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in [&self.file, &self.field] {
            if !place.is_empty() {
                write!(f, "{place}: ")?;
            }
        }
        f.write_str(&self.message)
    }
}

/// What has been found so far.
#[derive(Default)]
pub(in crate::bundle) struct Findings(Vec<Finding>);

impl Findings {
    pub(in crate::bundle) fn error(&mut self, file: &str, field: &str, message: impl Into<String>) {
        self.add(Severity::Error, file, field, message.into());
    }

    pub(in crate::bundle) fn warn(&mut self, file: &str, field: &str, message: impl Into<String>) {
        self.add(Severity::Warning, file, field, message.into());
    }

    pub(in crate::bundle) fn into_sorted(mut self) -> Vec<Finding> {
        self.0.sort();
        self.0.dedup();
        self.0
    }

    fn add(&mut self, severity: Severity, file: &str, field: &str, message: String) {
        self.0.push(Finding {
            file: file.to_owned(),
            severity,
            field: field.to_owned(),
            message,
        });
    }
}
