//! The spans of a reconcile's steps, for traces.

use std::fmt::Display;

use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};
use steersman_cluster::TRACE;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span};

/// The word of OpenTelemetry's conventions for an error of no kind that a reader could name.
const OTHER: &str = "_OTHER";

/// A step of a reconcile, as a trace shows it.
#[derive(Debug)]
pub(crate) struct Step(Span);

/// Begins a span of this name; `of` and `around` do the work in it.
pub(crate) fn step(name: &'static str) -> Step {
    Step(tracing::info_span!(
        target: TRACE,
        "step",
        otel.name = name,
        otel.status_code = Empty,
        error.type = Empty,
        steersman.hook.event = Empty,
        steersman.object.kind = Empty,
        steersman.object = Empty,
        steersman.object.count = Empty,
    ))
}

impl Step {
    /// The hook event for which the step runs hooks, such as `pre-install`.
    pub(crate) fn event(self, event: &str) -> Self {
        self.0.record("steersman.hook.event", event);
        self
    }

    /// The kind of its objects.
    pub(crate) fn kind(self, kind: &impl Display) -> Self {
        self.0.record("steersman.object.kind", display(kind));
        self
    }

    /// The one that a step for a single object works on, such as `Deployment default/web`.
    pub(crate) fn object(self, object: &impl Display) -> Self {
        self.0.record("steersman.object", display(object));
        self
    }

    /// How many a step for several works on; the span has their number alone.
    pub(crate) fn objects(self, count: usize) -> Self {
        self.0.record("steersman.object.count", count);
        self
    }

    /// Does the work of a step that can't fail.
    pub(crate) fn around<'a, T>(self, work: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, T> {
        work.instrument(self.0).boxed()
    }

    /// Does the work of the step. Its span has only whether that failed; the reason is in the log, with secrets masked.
    pub(crate) fn of<'a, T: 'a, E: 'a>(
        self,
        work: impl Future<Output = Result<T, E>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, E>> {
        let span = self.0.clone();
        let failing = work.inspect_err(move |_| {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", OTHER);
        });
        self.around(failing)
    }
}
