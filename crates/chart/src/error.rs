//! Why a chart could not be loaded or rendered.

use std::path::PathBuf;

/// Why a chart could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file or directory could not be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// What was being opened, or read.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The chart breaks a rule of its format or a limit; the text is Helm's.
    #[error("{0}")]
    Invalid(String),
}

impl LoadError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

/// Why values do not fit a chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValuesError(pub(crate) String);

/// Why a chart could not be rendered: Helm's text, which for a template names template, line
/// and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    kind: RenderErrorKind,
    message: String,
    without_values: Option<String>,
}

/// The stage at which a rendering failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenderErrorKind {
    /// The chart does not support this version of Kubernetes.
    KubeVersion,
    /// The values do not fit the charts.
    Values,
    /// The values break a `values.schema.json`.
    Schema,
    /// A template does not parse.
    Parse,
    /// A template failed, or called `fail` or `required`.
    Template,
    /// A template's output is not YAML or not an object.
    Manifest,
    /// The rendering took more steps, memory, output or nesting than its [`Limits`](crate::Limits).
    Budget,
}

impl RenderError {
    pub(crate) fn new(kind: RenderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            without_values: None,
        }
    }

    /// The values break a schema.
    pub(crate) fn schema(message: String, without_values: String) -> Self {
        Self {
            without_values: Some(without_values),
            ..Self::new(RenderErrorKind::Schema, message)
        }
    }

    /// The same failure without the values that a schema found fault with: it says what was wanted, and where.
    /// What templates say themselves stays as it is.
    #[must_use]
    pub fn without_values(self) -> Self {
        let Self {
            kind,
            message,
            without_values,
        } = self;
        Self::new(kind, without_values.unwrap_or(message))
    }

    /// The same failure in the words that `reword` makes of its own.
    #[must_use]
    pub fn reworded(self, reword: impl FnOnce(&str) -> String) -> Self {
        Self::new(self.kind, reword(&self.message))
    }

    /// The stage that failed.
    pub fn kind(&self) -> RenderErrorKind {
        self.kind
    }
}
