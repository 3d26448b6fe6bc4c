//! One run: let in by the proxy, given to ansible-runner, and what has become of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use steersman_ansible::{Content, Outcome, ResourceId, RunError, RunFile, RunSpec, Runner, VarsError};
use steersman_cluster::PrimaryResource;
use steersman_cluster::client::ServiceAccount;
use steersman_model::FIELD_MANAGER;
use steersman_proxy::{
    AdmitError, BindError, Fence, Observer, Port, Proxy, Settings, Upstream, UpstreamError, kubeconfig,
};
use steersman_watches::AnsibleContent;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::collection::RunCollection;
use super::defaults::RunDefaults;
use super::notes::{Met, Notes};
use super::permissions::{PermissionRecorder, PermissionsFileError};
use super::progress::Progress;
use super::spans::{self, TaskSpans};
use super::task_log::{TaskLog, TaskLogOptions};
use super::turns::Turns;
use crate::metrics::Metrics;
use crate::status::LearningRedactor;

/// How long the log may take for what a run has said before its end.
const LAST_LINES: Duration = Duration::from_secs(2);

/// What all runs have in common.
#[derive(Clone)]
pub struct RunTools {
    /// Lets runs in.
    pub proxy: Proxy,
    /// Where that listens.
    pub port: u16,
    /// Starts ansible-runner under a supervisor.
    pub runner: Runner,
    /// What flags and environment say of each run.
    pub defaults: RunDefaults,
    /// How many are made at a time.
    pub turns: Turns,
    /// Where they are counted, if anywhere.
    pub metrics: Option<Metrics>,
    /// The collection that they find besides their own, as long as there are runs.
    pub collection: Option<Arc<RunCollection>>,
    pub(super) notes: Notes,
}

pub(super) struct Due<'a> {
    pub(super) owner: &'a PrimaryResource,
    pub(super) account: Option<ServiceAccount>,
    pub(super) content: &'a AnsibleContent,
    pub(super) extra_vars: Result<Map<String, Value>, VarsError>,
    pub(super) verbosity: u8,
    pub(super) kept_artifacts: u32,
    pub(super) log: TaskLogOptions,
    pub(super) redactor: &'a Arc<LearningRedactor>,
    /// Tells those who wait for its end what it does.
    pub(super) tell: Box<dyn Fn(&str) + Send + Sync + 'a>,
    /// Ends it before its time.
    pub(super) stop: &'a CancellationToken,
}

/// What a run has come to.
pub(super) struct Ended {
    /// That a task has failed is no error.
    pub(super) outcome: Result<Outcome, RunFailure>,
    /// What it has met, whatever has become of it, as far as its own requests have shown it.
    pub(super) met: Met,
}

/// Why no run can be made.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// Nothing can be sent to the API server.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// Nothing can listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// What runs ask for can't be written down.
    #[error(transparent)]
    Permissions(#[from] PermissionsFileError),
    /// What killed runs have left can't be removed.
    #[error("failed to tidy up the folders of runs")]
    Folders(#[source] std::io::Error),
}

/// Why a run has come to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The proxy does not let it in.
    #[error(transparent)]
    Admit(#[from] AdmitError),
    /// Its resource can't be given to it.
    #[error(transparent)]
    Vars(#[from] VarsError),
    /// It could not be started, or has not come to its end.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl RunFailure {
    /// Whether it was ended because nobody needs it any longer.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Run(RunError::Cancelled))
    }

    /// Whether another run has the same end, unless the resource, the role or the operator becomes another.
    pub(super) fn is_past_help(&self) -> bool {
        match self {
            Self::Admit(_) | Self::Vars(_) | Self::Run(RunError::Content { .. }) => true,
            Self::Run(error) => error.is_of_ansible(),
        }
    }
}

impl std::fmt::Debug for RunTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunTools")
            .field("defaults", &self.defaults)
            .finish_non_exhaustive()
    }
}

impl RunTools {
    /// Lets runs in by a proxy that begins to listen at this port, 0 being any, and runs them under this supervisor.
    ///
    /// # Errors
    /// The API server's address can't be used, or the port can't be had.
    pub async fn new(
        config: &kube::Config,
        port: u16,
        fence: Arc<dyn Fence>,
        runner: Runner,
        defaults: RunDefaults,
    ) -> Result<Self, ToolsError> {
        let notes = Notes::default();
        let mut observer: Arc<dyn Observer> = Arc::new(notes.clone());
        if let Some(file) = &defaults.permissions_file {
            observer = Arc::new(PermissionRecorder::start(file, observer)?);
        }
        let settings = Settings {
            field_manager: FIELD_MANAGER.to_owned(),
            fence,
            observer,
        };
        let proxy = Proxy::new(Upstream::new(config)?, settings);
        let port = Port::bind(port).await?;
        let number = port.number();
        tokio::spawn(port.serve(proxy.clone()));
        runner.tidy().map_err(ToolsError::Folders)?;
        Ok(Self {
            proxy,
            port: number,
            runner,
            defaults,
            turns: Turns::default(),
            metrics: None,
            collection: None,
            notes,
        })
    }

    /// Runs a role or playbook to its end, or until it is to stop. Nothing of it is left then.
    ///
    /// # Cancellation
    /// All of the run is killed, and its credential ends.
    pub(super) async fn run(&self, due: Due<'_>) -> Ended {
        let (begun, kind) = (Instant::now(), (&due.owner.api_version, &due.owner.kind));
        let span = spans::of_run(&due);
        let ended = self.run_uncounted(&due).instrument(span.clone()).await;
        spans::note_outcome(&span, &ended.outcome);
        if let Some(metrics) = &self.metrics {
            let has_succeeded = ended.outcome.as_ref().is_ok_and(Outcome::is_successful);
            metrics.run_ended(kind.0, kind.1, has_succeeded, begun.elapsed());
        }
        ended
    }

    async fn run_uncounted(&self, due: &Due<'_>) -> Ended {
        let run = steersman_proxy::Run {
            marks: self.defaults.marks,
            ..steersman_proxy::Run::new(due.owner.clone(), due.account.clone())
        };
        let admission = match self.proxy.admit(run) {
            Ok(admission) => admission,
            Err(error) => {
                return Ended {
                    outcome: Err(error.into()),
                    met: Met::default(),
                };
            }
        };
        let noted = self.notes.begin(admission.id(), Arc::clone(due.redactor));
        let outcome = self.run_admitted(due, &admission).await;
        // What lacks the label gets it, and the last answers are noted.
        let labelled = admission.finish().await;
        tracing::debug!(labelled, "The run has ended");
        Ended {
            outcome,
            met: noted.take(),
        }
    }

    async fn run_admitted(
        &self,
        due: &Due<'_>,
        admission: &steersman_proxy::Admission,
    ) -> Result<Outcome, RunFailure> {
        let vars = due.extra_vars.clone()?;
        let spec = self.spec(due, vars, kubeconfig(self.port, admission.credential()));
        let (run, events) = self.runner.start(&spec).await?;
        let progress = Arc::<Progress>::default();
        let mut log = tokio::spawn(
            task_log(due, spec.ident, &progress)
                .write(events, TaskSpans::of_current_run())
                .instrument(span_of(due.owner)),
        );
        let canceller = run.canceller();
        let stopping = async {
            due.stop.cancelled().await;
            canceller.cancel();
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = run.wait() => outcome,
            () = stopping => Err(RunError::Cancelled),
            () = progress.tell(&due.tell) => Err(RunError::Cancelled),
        };
        // What was said last is what a failure is about.
        let _ = tokio::time::timeout(LAST_LINES, &mut log).await;
        log.abort();
        if let Err(error) = &outcome
            && let Some(output) = error.output()
        {
            let stdout = due.redactor.mask(output);
            span_of(due.owner).in_scope(|| tracing::error!(stdout, "Ansible has not come to its end"));
        }
        Ok(outcome?)
    }

    fn spec(&self, due: &Due<'_>, extra_vars: Map<String, Value>, kubeconfig: String) -> RunSpec {
        let owner = due.owner;
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let resource = ResourceId {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: owner.kind.clone(),
            namespace: owner.namespace.clone().unwrap_or_default(),
            name: owner.name.clone(),
        };
        let content = match due.content {
            AnsibleContent::Role(path) => Content::Role(path.clone()),
            AnsibleContent::Playbook(path) => Content::Playbook(path.clone()),
        };
        let mut environment = self.defaults.environment.clone();
        environment.extend(
            [
                // kubectl takes no address with a user for these.
                "KUBECTL_REMOTE_COMMAND_WEBSOCKETS",
                "KUBECTL_PORT_FORWARD_WEBSOCKETS",
            ]
            .map(|name| (name.to_owned(), "false".to_owned())),
        );
        let kubeconfig = RunFile {
            name: "kubeconfig",
            variables: &["K8S_AUTH_KUBECONFIG", "KUBECONFIG"],
            text: kubeconfig,
        };
        RunSpec {
            gathers_facts: self.defaults.gathers_facts,
            extra_vars,
            environment,
            files: vec![kubeconfig],
            inventory: self.defaults.inventory.clone(),
            command_line: self.defaults.command_line.clone(),
            verbosity: due.verbosity,
            kept_artifacts: due.kept_artifacts,
            time_limit: self.defaults.time_limit,
            detail: due.log.detail(),
            ..RunSpec::new(resource, ident(), content)
        }
    }
}

/// The name of a run: random, as that of a former process is not to be met.
fn ident() -> String {
    let mut bytes = [0; 8];
    let _ = getrandom::fill(&mut bytes);
    u64::from_be_bytes(bytes).to_string()
}

/// What the log says of a run.
fn task_log(due: &Due<'_>, job: String, progress: &Arc<Progress>) -> TaskLog {
    TaskLog {
        options: due.log,
        job,
        redactor: Arc::clone(due.redactor),
        progress: Arc::clone(progress),
    }
}

/// Names in each line of a run the resource that it is for; no span of a trace.
fn span_of(owner: &PrimaryResource) -> tracing::Span {
    tracing::info_span!(
        "run",
        name = owner.name,
        namespace = owner.namespace.as_deref().unwrap_or_default(),
        apiVersion = owner.api_version,
        kind = owner.kind
    )
}
