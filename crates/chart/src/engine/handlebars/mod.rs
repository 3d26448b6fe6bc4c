//! Handlebars, rendered by the crate of that name.
//!
//! The crate parses, scopes and writes. Everything that a template can spend passes through this
//! module: a parsed template is rewritten so that each of its expressions and blocks calls a helper
//! of ours, which accounts for its work in the budget of the rendering ([`session`]). Helpers are
//! the functions of the Go templates ([`function`]).

mod block;
mod compile;
mod context;
mod function;
mod include;
mod names;
mod session;
mod text;
mod value;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use fragile::Fragile;
use handlebars::{Context, Handlebars, RenderErrorReason, Renderable as _};
use steersman_gotemplate::{Failure, Limits, Runtime, Value};

use crate::error::{RenderError, RenderErrorKind};
use crate::execution_error;
use names::Partials;
use session::{Bounded, SESSION, Session, State};

/// Whether the file is in this language.
pub(super) fn is_template(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "hbs")
}

/// The templates of a chart and its subcharts.
#[derive(Debug)]
pub(super) struct Templates {
    registry: Handlebars<'static>,
    partials: Partials,
    /// What templates name of the dot; the rest need not be made.
    mentioned: BTreeSet<&'static str>,
}

/// What is used up over all templates of a rendering, besides what the runtime accounts for.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    written: usize,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, written: 0 }
    }
}

impl Templates {
    /// Parses and checks the files: unknown helpers and partials are errors now and not later.
    pub(super) fn parse(files: &[(&str, Cow<'_, str>)]) -> Result<Self, RenderError> {
        compile::templates(files).map_err(|problem| {
            let compile::Problem { name, place, message } = problem;
            let place = place.map_or(name.clone(), |(line, column)| format!("{name}:{line}:{column}"));
            RenderError::new(
                RenderErrorKind::Parse,
                format!("parse error at ({place}): {message}"),
            )
        })
    }

    /// The parsed file of this name, rewritten as described in [`compile`].
    pub(super) fn parsed(&self, name: &str) -> Option<&handlebars::Template> {
        self.registry.get_template(name)
    }

    /// The output of a template. `runtime` executes what the Go templates of the chart define.
    pub(super) fn execute(
        &self,
        name: &str,
        dot: &Value,
        runtime: &mut dyn Runtime,
        budget: &mut Budget,
    ) -> Result<String, RenderError> {
        let Some(template) = self.registry.get_template(name) else {
            return Err(no_place(name, &Failure::new("there is no such template")));
        };
        let data = context::data(dot, &self.mentioned, runtime, budget.limits.value_bytes)
            .map_err(|failure| no_place(name, &failure))?;
        let context = Context::from(data);
        let state = State::new(name, dot, &self.partials, runtime, budget);
        let state = Fragile::new(RefCell::new(state));
        let mut output = Bounded::new(&state);
        let mut scope = session::scope();
        scope.register_local_helper(SESSION, Box::new(Session(&state)));
        let result = template.render(&self.registry, &context, &mut scope, &mut output);
        let text = output.into_text();
        drop(scope);
        let state = state.into_inner().into_inner();
        result
            .map(|()| text)
            .map_err(|error| failed(name, &error, state.is_exhausted()))
    }
}

fn no_place(name: &str, failure: &Failure) -> RenderError {
    let kind = kind(failure.exhausted);
    RenderError::new(kind, format!("template: {name}: {failure}"))
}

fn kind(is_exhausted: bool) -> RenderErrorKind {
    if is_exhausted {
        RenderErrorKind::Budget
    } else {
        RenderErrorKind::Template
    }
}

/// The crate's error with its place, in the form that errors of Go templates have.
fn failed(name: &str, error: &handlebars::RenderError, is_exhausted: bool) -> RenderError {
    let name = error.template_name.as_deref().unwrap_or(name);
    let (line, column) = (error.line_no.unwrap_or(1), error.column_no.unwrap_or(1));
    let place = format!("{name}:{line}:{column}");
    let cause = cause(error.reason());
    let message = match execution_error::warning(&cause) {
        Some(message) => format!("execution error at ({place}): {message}"),
        None => format!("template: {place}: {cause}"),
    };
    RenderError::new(kind(is_exhausted), message)
}

fn cause(reason: &RenderErrorReason) -> String {
    match reason {
        RenderErrorReason::Other(message) => message.clone(),
        RenderErrorReason::IOError(error) => error.to_string(),
        RenderErrorReason::PartialNotFound(name) => format!("partial {name:?} not found"),
        RenderErrorReason::PartialBlockNotFound => "this partial was given no block".to_owned(),
        RenderErrorReason::InvalidJsonIndex(key) => format!("a list has no {key:?}: its keys are numbers"),
        other => other.to_string(),
    }
}
