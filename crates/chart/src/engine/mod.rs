//! The template languages, each behind the same three steps: parse once, execute with a dot, name
//! the place of a failure. The name of a file says which language it is in.

mod go;
mod handlebars;

use steersman_gotemplate::{Execution, MissingKey, Options, Str, TemplateSet, Value, parsed_bytes};

use crate::error::{RenderError, RenderErrorKind};
use crate::functions::without_missing;
use crate::input::RenderInput;

/// About how many bytes the parsed templates of a chart may take.
const MAX_PARSED_BYTES: usize = 64 << 20;

/// Whether the file of this name is in Handlebars.
pub(crate) fn is_handlebars(name: &str) -> bool {
    handlebars::is_template(name)
}

/// All templates of a chart and its subcharts, parsed. Immutable, shared by threads.
#[derive(Debug)]
pub(crate) struct Templates {
    go: TemplateSet,
    handlebars: handlebars::Templates,
}

impl Templates {
    /// Parses the files, each with its path such as `web/templates/service.yaml`.
    pub(crate) fn parse(files: &[(String, &[u8])]) -> Result<Self, RenderError> {
        check_size(files)?;
        let (handlebars, go): (Vec<_>, Vec<_>) = files
            .iter()
            .map(|(name, text)| (name.as_str(), *text))
            .partition(|(name, _)| handlebars::is_template(name));
        let handlebars: Vec<_> = handlebars
            .into_iter()
            .map(|(name, text)| (name, String::from_utf8_lossy(text)))
            .collect();
        Ok(Self {
            go: go::parse(&go)?,
            handlebars: handlebars::Templates::parse(&handlebars)?,
        })
    }

    /// All templates of the chart that are in Go's language, and its partials.
    pub(crate) fn go(&self) -> &TemplateSet {
        &self.go
    }

    /// The parsed file of this name, if it is in Handlebars.
    pub(crate) fn handlebars(&self, name: &str) -> Option<&::handlebars::Template> {
        self.handlebars.parsed(name)
    }

    /// Starts a rendering: executions that share one budget.
    pub(crate) fn rendering<'a>(&'a self, input: &RenderInput<'a>) -> Rendering<'a> {
        let options = Options {
            missing_key: MissingKey::Zero,
            limits: input.limits,
            expired: input.expired,
        };
        Rendering {
            templates: self,
            go: Execution::new(&self.go, input.world, &options),
            handlebars: handlebars::Budget::new(input.limits),
        }
    }
}

/// Refuses templates that take more than [`MAX_PARSED_BYTES`] when they are parsed.
fn check_size(files: &[(String, &[u8])]) -> Result<(), RenderError> {
    let mut left = MAX_PARSED_BYTES;
    for (name, text) in files {
        left = left.checked_sub(parsed_bytes(text)).ok_or_else(|| {
            let message =
                format!("{name}: the templates of the chart need more than {MAX_PARSED_BYTES} bytes");
            RenderError::new(RenderErrorKind::Parse, message)
        })?;
    }
    Ok(())
}

/// One rendering of a chart.
pub(crate) struct Rendering<'a> {
    templates: &'a Templates,
    go: Execution<'a>,
    handlebars: handlebars::Budget,
}

/// A map that contains itself would stay for ever.
impl Drop for Rendering<'_> {
    fn drop(&mut self) {
        self.go.dismantle();
    }
}

impl Rendering<'_> {
    /// The output of a file.
    pub(crate) fn execute(&mut self, name: &str, dot: &Value) -> Result<Str, RenderError> {
        if handlebars::is_template(name) {
            let templates = &self.templates.handlebars;
            let output = templates.execute(name, dot, &mut self.go, &mut self.handlebars)?;
            return Ok(Str::from(output));
        }
        let output = self.go.execute(name, dot).map_err(|error| go::failed(&error))?;
        Ok(without_missing(output))
    }
}

/// The names of the file that is no object but a text for people.
pub(crate) const NOTES: [&str; 3] = ["NOTES.txt", "NOTES.hbs", "NOTES.txt.hbs"];

/// Whether a file is notes; as in Helm, the end of its name decides.
pub(crate) fn is_notes(name: &str) -> bool {
    NOTES.iter().any(|notes| name.ends_with(notes))
}
