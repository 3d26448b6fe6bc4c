//! From tracing's events to lines.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use steersman_cluster::TRACE;
use steersman_model::chain;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

use super::LogOptions;
use super::encode::Line;
use super::masked::mask_event;

/// The target of warnings that quote answers that can't be read, whole. What is wrong with them is an error, too, so that
/// it is ours to tell.
const QUOTES_ANSWERS: &str = "kube_client::client";

/// Writes each event as a line, with the fields of the spans around it.
pub(super) struct ZapLayer {
    options: LogOptions,
    writer: Mutex<Box<dyn Write + Send>>,
    /// Whether another layer wants the spans of traces, which are nothing to this one.
    traces: bool,
}

impl ZapLayer {
    pub(super) fn new(options: LogOptions, writer: Box<dyn Write + Send>) -> Self {
        Self {
            options,
            writer: Mutex::new(writer),
            traces: false,
        }
    }

    /// The same beside a layer for traces.
    pub(super) fn with_traces(self) -> Self {
        Self { traces: true, ..self }
    }

    /// Our own events by the chosen level. Others' from warnings on: at finer levels some of the crates below us
    /// write requests and answers, and with them the contents of Secrets. One does so in warnings.
    fn shows(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.target().starts_with(QUOTES_ANSWERS) {
            return false;
        }
        let limit = self.options.verbosity.level_filter();
        *metadata.level()
            <= if is_ours(metadata) {
                limit
            } else {
                limit.min(LevelFilter::WARN)
            }
    }
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("steersman")
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ZapLayer {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        // Spans carry the fields of the events inside, whatever their own level.
        if metadata.is_span() {
            return is_ours(metadata) || self.traces && metadata.target() == TRACE;
        }
        self.shows(metadata)
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() == TRACE {
            return;
        }
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(outer) = span.extensions().get::<Fields>() {
                outer
                    .values
                    .iter()
                    .for_each(|(name, value)| fields.set(name, value.clone()));
            }
        }
        event.record(&mut fields);
        mask_event(&mut fields.message, &mut fields.values);
        let line = Line {
            level: event.metadata().level(),
            time: Timestamp::now(),
            logger: &logger_name(event.metadata().target()),
            message: &fields.message,
            fields: &fields.values,
        };
        let line = line.encode(self.options.encoder, self.options.time);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody may read any more (a closed pipe); releases matter more than lines.
        let _ = writer.write_all(line.as_bytes());
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Not below `INFO`, or spans at that level would be gone and their fields with them.
        Some(self.options.verbosity.level_filter().max(LevelFilter::INFO))
    }
}

/// The names that helm-operator and ansible-operator give their loggers, for what has a counterpart there.
fn logger_name(target: &str) -> String {
    if !target.starts_with("steersman") {
        return target.replace("::", ".");
    }
    let mut modules = target.split("::").skip(1);
    let name = match (modules.next(), modules.next()) {
        (Some("controller" | "reconcile" | "apply" | "release" | "status"), _) => "helm.controller",
        (Some("runs"), Some("task_log")) => "logging_event_handler",
        (Some("runs"), _) => "reconciler",
        (Some("leader"), _) => "leaderelection",
        _ => "cmd",
    };
    name.to_owned()
}

/// The fields of an event or a span, in the order of the code.
#[derive(Default)]
struct Fields {
    message: String,
    values: Vec<(String, Value)>,
}

impl Fields {
    fn set(&mut self, name: &str, value: Value) {
        match self.values.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name.to_owned(), value)),
        }
    }

    fn record(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.set(name, value),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, Value::from(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record(field, Value::from(chain(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, Value::from(format!("{value:?}")));
    }
}
