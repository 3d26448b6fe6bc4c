//! The spans of a run and its tasks, for traces.

use steersman_ansible::{Event, EventKind, Outcome};
use steersman_cluster::TRACE;
use tracing::Span;
use tracing::field::Empty;

use super::run::{Due, RunFailure};
use crate::status::LearningRedactor;

/// Begins that of a run.
pub(super) fn of_run(due: &Due<'_>) -> Span {
    let owner = due.owner;
    tracing::info_span!(
        target: TRACE,
        "run",
        steersman.resource.kind = owner.kind,
        k8s.namespace.name = owner.namespace.as_deref().unwrap_or_default(),
        steersman.resource.name = owner.name,
        steersman.run.content = %due.content.path().display(),
        steersman.run.outcome = Empty,
        steersman.run.tasks = Empty,
        steersman.run.changed = Empty,
        otel.status_code = Empty,
        error.type = Empty,
    )
}

/// Says in the span of a run what it has come to; why, is in the log, with secrets masked.
pub(super) fn note_outcome(span: &Span, outcome: &Result<Outcome, RunFailure>) {
    let said = match outcome {
        Ok(outcome) => {
            span.record("steersman.run.tasks", outcome.result.ok);
            span.record("steersman.run.changed", outcome.result.changed);
            if outcome.is_successful() {
                "successful"
            } else {
                "failed"
            }
        }
        Err(failure) if failure.is_cancelled() => "cancelled",
        Err(_) => "unfinished",
    };
    span.record("steersman.run.outcome", said);
    if matches!(said, "failed" | "unfinished") {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", said);
    }
}

/// Those of the tasks of a run: each lasts until the next one begins.
pub(super) struct TaskSpans {
    run: Span,
    task: Option<Span>,
}

impl TaskSpans {
    /// In the span that is entered now.
    pub(super) fn of_current_run() -> Self {
        Self {
            run: Span::current(),
            task: None,
        }
    }

    pub(super) fn note(&mut self, event: &Event, redactor: &LearningRedactor) {
        match event.kind {
            EventKind::TaskStart => {
                // The one before ends first.
                self.task = None;
                let name = redactor.mask(event.task.as_deref().unwrap_or_default());
                let role = event.role.as_deref().unwrap_or_default();
                self.task = Some(tracing::info_span!(
                    target: TRACE,
                    parent: &self.run,
                    "task",
                    steersman.task.name = name,
                    steersman.task.role = role,
                    otel.status_code = Empty
                ));
            }
            EventKind::Failed | EventKind::Unreachable if !event.ignores_errors => {
                if let Some(task) = &self.task {
                    task.record("otel.status_code", "ERROR");
                }
            }
            EventKind::Stats => self.task = None,
            _ => {}
        }
    }
}
