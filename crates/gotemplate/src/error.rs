//! Why a template does not parse or execute: Go's message, and its parts.

use std::borrow::Cow;
use std::fmt;

use crate::format;

/// What went wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not a template.
    Parse,
    /// The template cannot be executed with the data it was given.
    Execution,
    /// There is no template of this name.
    NotFound,
    /// A limit was reached; the template may be right.
    Budget,
}

/// A failure to parse or to execute a template. `Display` is Go's text for it.
///
/// ```
/// use std::sync::Arc;
/// use steersman_gotemplate::{ErrorKind, FunctionTable, TemplateSet};
///
/// let mut set = TemplateSet::new(Arc::new(FunctionTable::default()));
/// let error = set.parse("web/templates/service.yaml", "kind: Service\n{{ if }}").unwrap_err();
/// assert_eq!((error.kind(), error.line()), (ErrorKind::Parse, Some(2)));
/// assert_eq!(error.to_string(), "template: web/templates/service.yaml:2: missing value for if");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    kind: ErrorKind,
    template: String,
    place: Option<Place>,
    message: String,
}

/// Where in the text the failure is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    execution: Option<Node>,
}

/// The part of a template that was being executed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    column: usize,
    template: String,
    context: String,
}

impl Error {
    pub(crate) fn parse(template: &str, line: usize, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind: ErrorKind::Parse,
            template: template.to_owned(),
            place: Some(Place {
                line,
                execution: None,
            }),
            message: message.into(),
        }))
    }

    pub(crate) fn not_found(template: &str, set: &str) -> Self {
        let message = format!(
            "no template {} associated with template {}",
            format::quote(template),
            format::quote(set)
        );
        Self(Box::new(Parts {
            kind: ErrorKind::NotFound,
            template: template.to_owned(),
            place: None,
            message,
        }))
    }

    pub(crate) fn execution(kind: ErrorKind, at: At<'_>, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            template: at.source.into_owned(),
            place: Some(Place {
                line: at.line,
                execution: Some(Node {
                    column: at.column,
                    template: at.template.into_owned(),
                    context: at.context,
                }),
            }),
            message: message.into(),
        }))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The name under which the text was parsed, as a rule that of its file; the name that was
    /// looked for where there is no such template.
    #[must_use]
    pub fn source_name(&self) -> &str {
        &self.0.template
    }

    /// The name of the template that was being executed: that of the file, or of a `define` in it.
    #[must_use]
    pub fn template_name(&self) -> Option<&str> {
        self.node().map(|node| node.template.as_str())
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.place.as_ref().map(|place| place.line)
    }

    /// The column in bytes, from 0. Errors of the parser have none.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.node().map(|node| node.column)
    }

    /// The part of the template that was being executed, as Go writes it.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.node().map(|node| node.context.as_str())
    }

    /// The message without the place. Where an included template failed, this contains the
    /// whole text of that failure.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    fn node(&self) -> Option<&Node> {
        self.0.place.as_ref()?.execution.as_ref()
    }
}

/// The place of a failure in an execution.
pub(crate) struct At<'a> {
    pub(crate) source: Cow<'a, str>,
    pub(crate) template: Cow<'a, str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) context: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts {
            template,
            place,
            message,
            ..
        } = &*self.0;
        let Some(place) = place else {
            return write!(f, "template: {message}");
        };
        write!(f, "template: {template}:{}:", place.line)?;
        if let Some(node) = &place.execution {
            let name = format::quote(&node.template);
            write!(f, "{}: executing {name} at <{}>:", node.column, node.context)?;
        }
        write!(f, " {message}")
    }
}

impl std::error::Error for Error {}
