//! Logs: through `tracing`, in the shape of controller-runtime's zap, so that what reads helm-operator's logs
//! reads these.

mod encode;
mod layer;
mod masked;
mod options;
mod steps;
mod terminal;
pub mod traces;

use std::io::{self, Write};

pub(crate) use masked::{Mask, Voice, masked, masked_before};
pub use options::{Encoder, LogOptions, TimeEncoding, UnknownOption, Verbosity};
use steersman_cluster::TRACE;
pub(crate) use steps::step;
use traces::Traces;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

/// Starts logging to standard error, and traces where there are any, for the whole process. A second call changes
/// nothing.
pub fn start(options: LogOptions, traces: Option<&Traces>) {
    let Some(traces) = traces else {
        let _ = tracing::subscriber::set_global_default(subscriber(options, io::stderr()));
        return;
    };
    let log = layer::ZapLayer::new(options, Box::new(io::stderr())).with_traces();
    let spans = tracing_opentelemetry::layer()
        .with_tracer(traces.tracer())
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        // Lines are masked on their way into the log, and belong there alone.
        .with_filter(filter_fn(|metadata| {
            metadata.is_span() && metadata.target() == TRACE
        }));
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log).with(spans));
}

/// What [`start`] installs, with another place to write to.
pub fn subscriber(
    options: LogOptions,
    writer: impl Write + Send + 'static,
) -> impl tracing::Subscriber + Send + Sync {
    tracing_subscriber::registry().with(layer::ZapLayer::new(options, Box::new(writer)))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use expect_test::{Expect, expect};

    use super::{Encoder, LogOptions, TimeEncoding, Verbosity, subscriber};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn check(encoder: Encoder, verbosity: Verbosity, log: impl FnOnce(), expect: &Expect) {
        let buffer = Buffer::default();
        let options = LogOptions {
            encoder,
            verbosity,
            time: TimeEncoding::Rfc3339,
        };
        tracing::subscriber::with_default(subscriber(options, buffer.clone()), log);
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        expect.assert_eq(&without_times(&text).replace('\u{1b}', "\\x1b"));
    }

    fn without_times(text: &str) -> String {
        text.lines()
            .map(|line| match line.find("20") {
                Some(at) => format!(
                    "{}TIME{}\n",
                    &line[..at],
                    &line[at + "2026-01-02T15:04:05Z".len()..]
                ),
                None => format!("{line}\n"),
            })
            .collect()
    }

    fn release_log() {
        let span = tracing::info_span!("reconcile", namespace = "default", name = "web");
        let _entered = span.enter();
        tracing::info!(target: "steersman::reconcile", release = "web", revision = 2, force = false, "Upgraded release");
        tracing::debug!("only at debug");
    }

    #[test]
    fn json_lines_have_the_shape_of_zap() {
        check(
            Encoder::Json,
            Verbosity::Info,
            release_log,
            &expect![[r#"
                {"level":"info","ts":"TIME","logger":"helm.controller","msg":"Upgraded release","namespace":"default","name":"web","release":"web","revision":2,"force":false}
            "#]],
        );
    }

    #[test]
    fn console_lines_have_the_shape_of_zap() {
        check(
            Encoder::Console,
            Verbosity::Info,
            release_log,
            &expect![[r#"
                TIME	INFO	helm.controller	Upgraded release	{"namespace":"default","name":"web","release":"web","revision":2,"force":false}
            "#]],
        );
    }

    #[test]
    fn lines_on_a_terminal_are_for_people() {
        let log = || {
            release_log();
            let span = tracing::info_span!("reconcile", name = "my web", empty = "");
            let _entered = span.enter();
            tracing::error!(target: "steersman::reconcile", error = "web/a.yaml:1\n  \u{1b}[31mwrong", "Release failed");
        };
        check(
            Encoder::Terminal { coloured: false },
            Verbosity::Info,
            log,
            &expect![[r#"
                TIME  INFO   Upgraded release  namespace=default name=web release=web revision=2 force=false
                TIME  ERROR  Release failed  name="my web" empty=""
                    error: web/a.yaml:1
                      \u001b[31mwrong
            "#]],
        );
        check(
            Encoder::Terminal { coloured: true },
            Verbosity::Info,
            || tracing::warn!(target: "steersman::run", name = "web", "odd"),
            &expect![[r"
                \x1b[2mTIME\x1b[0m  \x1b[33mWARN \x1b[0m  odd  \x1b[2mname=\x1b[0mweb
            "]],
        );
    }

    #[test]
    fn fields_of_spans_stay_when_only_errors_are_shown() {
        let log = || {
            let _entered = tracing::info_span!("reconcile", name = "web").entered();
            tracing::error!(target: "steersman::reconcile", "Release failed");
            tracing::info!(target: "steersman::reconcile", "not shown");
        };
        check(
            Encoder::Json,
            Verbosity::Error,
            log,
            &expect![[r#"
                {"level":"error","ts":"TIME","logger":"helm.controller","msg":"Release failed","name":"web"}
            "#]],
        );
    }

    #[test]
    fn an_error_is_shown_with_its_causes() {
        let error = crate::config::ConfigError::new(Vec::new());
        let error = io::Error::other(error);
        check(
            Encoder::Json,
            Verbosity::Info,
            || {
                let error = kube::Error::Service(Box::new(error));
                tracing::error!(target: "steersman::run", error = &error as &dyn std::error::Error, "Release failed");
            },
            &expect![[r#"
                {"level":"error","ts":"TIME","logger":"cmd","msg":"Release failed","error":"ServiceError: "}
            "#]],
        );
    }

    #[test]
    fn a_line_is_one_line_and_carries_no_terminal_codes() {
        let forged = "a\n2026-01-02T15:04:05Z\tINFO\tb\u{1b}[31m\u{9b}31m";
        check(
            Encoder::Console,
            Verbosity::Info,
            || tracing::info!(target: "steersman::run", name = forged, "{forged}"),
            &expect![[r#"
                TIME	INFO	cmd	a\n2026-01-02T15:04:05Z\tINFO\tb\u001b[31m\u009b31m	{"name":"a\n2026-01-02T15:04:05Z\tINFO\tb\u001b[31m\u009b31m"}
            "#]],
        );
    }

    #[test]
    fn other_crates_are_heard_from_warnings_on_unless_they_quote_answers() {
        let log = || {
            tracing::info!(target: "kube_runtime::watcher", "chatter");
            tracing::warn!(target: "kube_runtime::watcher", "trouble");
            tracing::warn!(target: "kube_client::client", "{{\"data\": \"canary\"");
        };
        check(
            Encoder::Json,
            Verbosity::Trace,
            log,
            &expect![[r#"
                {"level":"warn","ts":"TIME","logger":"kube_runtime.watcher","msg":"trouble"}
            "#]],
        );
    }
}
