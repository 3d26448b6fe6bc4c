//! `procedure run`: makes a run, and waits for its end where that is wanted.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::Request;
use serde_json::{Map, Value, json};
use steersman_cluster::RequestError;
use steersman_model::{Environment, FIELD_MANAGER, parse_duration};
use steersman_watches::procedure::names::{CONFIRM, PROCEDURE_LABEL, TRIGGER};

use super::follow::{self, Watched};
use super::kinds::{RunKind, Subject};
use super::parameters::{self, RESOURCE};
use super::view::RunView;
use crate::cli::Failure;
use crate::cli::cluster::{Cluster, ClusterFlags, block_on};
use crate::cli::report::print_line;
use crate::cli::style::{Style, harmless};

const EXAMPLES: &str = "\
Examples:
  # A backup, now
  steersman procedure run backup etcdcluster/west

  # A restore, which wants to be confirmed, of a snapshot that looks like a number
  steersman procedure run restore etcdcluster/west --set-string snapshot=20260102 --confirm

  # A backup for a script: its steps, its result, and the exit code
  steersman procedure run backup etcdcluster/west --set retention=7 --wait --timeout 30m

Exit codes:
  0  the run is made; with --wait, it has succeeded
  1  with --wait: it has failed, was cancelled, or has not ended in time
  2  it is not made, or what has become of it could not be found out";

/// What `procedure run` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The procedure, as watches.yaml names it
    #[arg(value_name = "PROCEDURE_LABEL")]
    procedure: String,
    /// The custom resource: KIND/NAME
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// A parameter: what looks like a number, true or false is one, and everything else a text
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A parameter that is a text, whatever it looks like
    #[arg(long, value_name = "NAME=VALUE")]
    set_string: Vec<String>,
    /// Confirm it, where the procedure wants that
    #[arg(long)]
    confirm: bool,
    /// Wait for the end, and tell of the steps; the run goes on without the command
    #[arg(long)]
    wait: bool,
    /// How long to wait for the end
    #[arg(long, value_name = "DURATION", default_value = "1h", requires = "wait", value_parser = parse_timeout)]
    timeout: Duration,
    /// The name of the run [default: made of the names of the resource and the procedure]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// Makes it, and says what has become of it.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    // The exit code 1 says that the run has failed, so it can't say that something else did.
    let style = Style::of(&std::io::stdout(), environment);
    let seen = run(arguments, environment, style).map_err(Failure::into_trouble)?;
    let Some(run) = seen else { return Ok(()) };
    if let Some(result) = &run.result {
        print_line(&super::news::result(result))?;
    }
    if run.phase == "Succeeded" {
        return print_line(&described(&run, "has succeeded"));
    }
    let (text, hint) = match run.phase.as_str() {
        "Failed" => (described(&run, "has failed"), "logs"),
        "Cancelled" => (described(&run, "was cancelled"), "logs"),
        "" => {
            let text = format!("no operator has acted on {} in time", run.words());
            return Err(Failure::failed(anyhow!(harmless(&text)), None));
        }
        phase => {
            let text = format!("{} has not ended in time: it is {phase}", run.words());
            (with_message(text, &run.message), "list")
        }
    };
    let of_what = if hint == "logs" {
        run.words()
    } else {
        arguments.resource.clone()
    };
    let hint = harmless(&format!("`steersman procedure {hint} {of_what}` shows more"));
    Err(Failure::failed(anyhow!(text), Some(hint)))
}

/// `EtcdClusterBackup/west-backup-x7f2p has failed after 3m: …`
fn described(run: &RunView, what: &str) -> String {
    let mut text = format!("{} {what}", run.words());
    if let Some(took) = run.ended_at.and_then(|at| run.took(at)) {
        let _ = write!(text, " after {took}");
    }
    let message = if run.phase == "Succeeded" {
        ""
    } else {
        &run.message
    };
    with_message(text, message)
}

fn with_message(text: String, message: &str) -> String {
    let message = harmless(message);
    if message.is_empty() {
        return harmless(&text);
    }
    format!("{}: {message}", harmless(&text))
}

/// What has become of the run that is made, where that is waited for.
fn run(arguments: &Args, environment: &Environment, style: Style) -> Result<Option<RunView>, Failure> {
    let parameters = parameters::read(&arguments.set, &arguments.set_string)?;
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let subject = Subject::find(&cluster, &arguments.resource).await?;
        let kind = subject.procedure(&arguments.procedure)?;
        let object = subject.read(&cluster).await?;
        if object.metadata.deletion_timestamp.is_some() {
            let (kind, name) = (&subject.api.kind, &subject.name);
            let error = anyhow!("{kind} {name} is being deleted: nothing is done with it any more");
            return Err(Failure::failed(error, None));
        }
        let api = cluster.api(&kind.resource, None);
        let wanted = object_of(arguments, kind, &subject.name, parameters);
        let made = create(&cluster, &api, kind, &wanted).await?;
        let view = RunView::of(&kind.api.kind, &kind.procedure, &made);
        print_line(&harmless(&format!("{} created", view.words())))?;
        if !arguments.wait {
            return Ok(None);
        }
        let watched = Watched {
            api: &api,
            kind,
            uid: made.metadata.uid.as_deref(),
            name: &view.name,
        };
        follow::wait(&watched, arguments.timeout, style).await.map(Some)
    })
}

/// The run as it is sent.
fn object_of(arguments: &Args, kind: &RunKind, resource: &str, parameters: Map<String, Value>) -> Value {
    let mut spec = parameters;
    spec.insert(RESOURCE.to_owned(), resource.into());
    let mut metadata = json!({
        "labels": {PROCEDURE_LABEL: kind.procedure},
        "annotations": {TRIGGER: "command"},
    });
    match &arguments.name {
        Some(name) => metadata["name"] = name.as_str().into(),
        None => metadata["generateName"] = parameters::prefix(resource, &kind.procedure).into(),
    }
    if arguments.confirm {
        metadata["annotations"][CONFIRM] = "true".into();
    }
    json!({
        "apiVersion": kind.api.api_version(),
        "kind": kind.api.kind,
        "metadata": metadata,
        "spec": spec,
    })
}

/// Sends it once: where no answer comes, a second one might be a second backup. What the definition does not know is refused, and not
/// left out.
async fn create(
    cluster: &Cluster,
    api: &Api<DynamicObject>,
    kind: &RunKind,
    wanted: &Value,
) -> Result<DynamicObject, Failure> {
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let attempt = || format!("failed to make a run of {}", kind.procedure);
    let request = Request::new(api.resource_url()).create(&parameters, wanted.to_string().into_bytes());
    let mut request = request.with_context(attempt)?;
    let strict = format!("{}&fieldValidation=Strict", request.uri());
    *request.uri_mut() = strict.parse().with_context(attempt)?;
    let made = cluster.client.request(request).await.map_err(RequestError::from);
    made.map_err(|error| {
        let hint = hint(&error, &wanted["spec"]);
        Failure::failed(anyhow!(error).context(attempt()), hint)
    })
}

/// What helps against a refusal.
fn hint(error: &RequestError, spec: &Value) -> Option<String> {
    if error.is_unanswered() {
        return Some("it may be made nevertheless: `steersman procedure list` shows it".to_owned());
    }
    let mut sent = spec.as_object().into_iter().flat_map(Map::values);
    let is_of_type = error.is_invalid() && error.message.contains("must be of type string");
    (is_of_type && sent.any(|value| !value.is_string()))
        .then(|| "--set-string gives a text, whatever it looks like".to_owned())
}
