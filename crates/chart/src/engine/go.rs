//! Go's `text/template`, as Helm uses it.

use steersman_gotemplate::{Error, ErrorKind, TemplateSet};

use crate::error::{RenderError, RenderErrorKind};
use crate::{execution_error, functions};

/// Parses the files into one set, in which later definitions replace earlier ones.
pub(super) fn parse(files: &[(&str, &[u8])]) -> Result<TemplateSet, RenderError> {
    let mut templates = TemplateSet::new(functions::table());
    for (name, text) in files {
        templates.parse_bytes(name, text).map_err(|error| {
            let message = execution_error::of_parser(name, &error.to_string());
            RenderError::new(RenderErrorKind::Parse, message)
        })?;
    }
    Ok(templates)
}

/// The failure of an execution, in Helm's words.
pub(super) fn failed(error: &Error) -> RenderError {
    let kind = match error.kind() {
        ErrorKind::Budget => RenderErrorKind::Budget,
        _ => RenderErrorKind::Template,
    };
    RenderError::new(kind, execution_error::of_execution(error))
}
