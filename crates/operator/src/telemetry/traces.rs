//! Traces by OpenTelemetry, where an endpoint is set.
//!
//! Spans have the target `TRACE`. Without an endpoint nobody is interested in them, and `tracing` makes none.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use steersman_model::{Environment, chain};
use tokio::runtime::Handle;

/// How long the receiver may take to answer, and the last spans to be sent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The way of spans to their receiver. Spans that are finished are sent until [`Traces::finish`].
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

/// Traces can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The variables of the environment can't be obeyed.
    #[error("failed to set up the export of traces")]
    Exporter(#[from] ExporterBuildError),
    /// There is no client for HTTP.
    #[error("failed to set up the client for the export of traces")]
    Client(#[from] reqwest::Error),
}

/// Whether the environment names a receiver of traces, and does not forbid them.
pub fn are_wanted(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    let is_off = environment
        .get("OTEL_SDK_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let is_other = environment
        .get("OTEL_TRACES_EXPORTER")
        .is_some_and(|name| !name.is_empty() && name != "otlp");
    (is_set("OTEL_EXPORTER_OTLP_ENDPOINT") || is_set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
        && !is_off
        && !is_other
}

/// What the user should know about the variables although they can be obeyed.
pub fn notice(environment: &Environment) -> Option<String> {
    let protocol = environment
        .get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        .or(environment.get("OTEL_EXPORTER_OTLP_PROTOCOL"))
        .filter(|protocol| !protocol.is_empty() && *protocol != "http/protobuf")?;
    Some(format!(
        "traces are sent by `http/protobuf`; the protocol `{}` of the environment is ignored",
        protocol.escape_debug()
    ))
}

/// The client of the receiver. Without TLS it needs nobody's certificates, and an image may have none: the system's are
/// not looked for, as it would be an error that there are none.
fn client(environment: &Environment) -> Result<reqwest::Client, reqwest::Error> {
    let endpoint = environment
        .get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        .filter(|endpoint| !endpoint.is_empty())
        .or(environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let builder = reqwest::Client::builder().timeout(PATIENCE);
    if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder.tls_certs_only([]).build()
    } else {
        builder.build()
    }
}

impl Traces {
    /// Sends spans as the variables `OTEL_…` say, by OTLP over HTTP with protobuf.
    ///
    /// # Errors
    /// See [`TracesError`].
    pub fn start(environment: &Environment, runtime: Handle) -> Result<Self, TracesError> {
        let client = Sender {
            client: client(environment)?,
            runtime,
            warned: Arc::default(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let mut resource = Resource::builder();
        if environment.get("OTEL_SERVICE_NAME").is_none_or(str::is_empty) {
            resource = resource.with_service_name("steersman");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Ok(Self { provider })
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("steersman")
    }

    /// Sends what is left, and sends no more. It blocks for a few seconds at most.
    pub fn finish(self) {
        // The process ends: what could not be sent is lost.
        let _ = self.provider.shutdown_with_timeout(PATIENCE);
    }
}

/// Sends from a thread of the exporter's by a client that needs tokio's.
#[derive(Debug)]
struct Sender {
    client: reqwest::Client,
    runtime: Handle,
    /// Whether the log says already that spans get lost, until one arrives again.
    warned: Arc<AtomicBool>,
}

impl HttpClient for Sender {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let client = self.client.clone();
        let sending = self.runtime.spawn(async move { send(&client, request).await });
        let warned = Arc::clone(&self.warned);
        Box::pin(async move {
            let answer = sending.await?;
            match &answer {
                Ok(answer) if answer.status().is_success() => warned.store(false, Ordering::Relaxed),
                Ok(answer) => warn(&warned, answer.status().as_str()),
                Err(error) => warn(&warned, &chain(error)),
            }
            Ok(answer?)
        })
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, reqwest::Error> {
    let answer = client.execute(request.try_into()?).await?;
    let status = answer.status();
    let mut response = Response::new(answer.bytes().await?);
    *response.status_mut() = status;
    Ok(response)
}

/// Warns that spans get lost, once until one arrives again.
fn warn(warned: &AtomicBool, reason: &str) {
    if !warned.swap(true, Ordering::Relaxed) {
        tracing::warn!(reason, "Traces can't be sent");
    }
}

#[cfg(test)]
mod tests {
    use super::{are_wanted, notice};

    #[test]
    fn another_protocol_is_noticed() {
        let of = |value: &str| {
            let variable = ("OTEL_EXPORTER_OTLP_PROTOCOL".to_owned(), value.to_owned());
            notice(&std::iter::once(variable).collect())
        };
        assert_eq!((of(""), of("http/protobuf")), (None, None));
        assert!(of("grpc").is_some_and(|notice| notice.contains("`grpc`")));
    }

    #[test]
    fn traces_need_an_endpoint() {
        let check = |variables: &[(&str, &str)], expect: bool| {
            let variables = variables.iter();
            let environment = variables
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(are_wanted(&environment), expect);
        };
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        check(&[], false);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], false);
        check(&[endpoint], true);
        check(
            &[(
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "http://127.0.0.1:4318/v1/traces",
            )],
            true,
        );
        check(&[endpoint, ("OTEL_SDK_DISABLED", "true")], false);
        check(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")], false);
    }
}
