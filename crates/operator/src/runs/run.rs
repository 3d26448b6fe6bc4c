//! One run: let in by the proxy, given to ansible-runner, and what has become of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use steersman_ansible::{Content, Events, Inventory, Outcome, ResourceId, RunSpec, Runner};
use steersman_cluster::PrimaryResource;
use steersman_cluster::client::ServiceAccount;
use steersman_model::{FIELD_MANAGER, ObjectId};
use steersman_proxy::{
    AdmitError, BindError, Fence, Port, Proxy, Settings, Upstream, UpstreamError, kubeconfig,
};
use steersman_watches::AnsibleContent;

use super::notes::Notes;
use super::record::LeftObject;
use crate::status::LearningRedactor;

/// What all runs have in common.
#[derive(Clone)]
pub struct RunTools {
    /// Lets runs in.
    pub proxy: Proxy,
    /// Where that listens.
    pub port: u16,
    /// Runs them.
    pub runner: Runner,
    /// What flags and environment say of each run.
    pub defaults: RunDefaults,
    pub(super) notes: Notes,
}

/// What flags and environment say of each run.
#[derive(Clone, Debug)]
pub struct RunDefaults {
    /// How much Ansible says, where neither the environment nor an annotation says so for the kind.
    pub verbosity: u8,
    /// Further arguments of ansible-playbook.
    pub command_line: String,
    /// After so long a run is ended.
    pub time_limit: Option<Duration>,
    /// Whether a role begins with facts about its host.
    pub gathers_facts: bool,
    /// A file or folder of hosts.
    pub inventory: Option<PathBuf>,
}

impl Default for RunDefaults {
    /// Those of ansible-operator, and an hour for each run.
    fn default() -> Self {
        Self {
            verbosity: 2,
            command_line: String::new(),
            time_limit: Some(Duration::from_hours(1)),
            gathers_facts: true,
            inventory: None,
        }
    }
}

/// A run that is to be made.
pub(super) struct Due<'a> {
    pub(super) owner: &'a PrimaryResource,
    pub(super) account: Option<ServiceAccount>,
    pub(super) content: &'a AnsibleContent,
    pub(super) extra_vars: Map<String, Value>,
    pub(super) verbosity: u8,
    pub(super) kept_artifacts: u32,
    pub(super) redactor: &'a Arc<LearningRedactor>,
}

/// What a run has come to.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    /// What it has left, as far as its own requests have shown it.
    pub(super) objects: BTreeMap<ObjectId, LeftObject>,
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
    /// Its kubeconfig can't be written.
    #[error("failed to write the kubeconfig of a run")]
    Kubeconfig(#[source] std::io::Error),
    /// It could not be started, or has not come to its end.
    #[error(transparent)]
    Run(#[from] steersman_ansible::RunError),
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
        let settings = Settings {
            field_manager: FIELD_MANAGER.to_owned(),
            fence,
            observer: Arc::new(notes.clone()),
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
            notes,
        })
    }

    /// Runs a role or playbook to its end.
    ///
    /// # Errors
    /// It can't be started, or has not come to an end by itself. That a task has failed is no error.
    ///
    /// # Cancellation
    /// All of the run is killed, and its credential ends.
    pub(super) async fn run(&self, due: Due<'_>) -> Result<Ended, RunFailure> {
        let admission = self
            .proxy
            .admit(steersman_proxy::Run::new(due.owner.clone(), due.account.clone()))?;
        let id = admission.id();
        self.notes.begin(id, Arc::clone(due.redactor));
        let ended = self.run_admitted(&due, &admission).await;
        // What lacks the label gets it, and the last answers are noted.
        let labelled = admission.finish().await;
        tracing::debug!(labelled, "The run has ended");
        let objects = self.notes.take(id);
        Ok(Ended {
            outcome: ended?,
            objects,
        })
    }

    async fn run_admitted(
        &self,
        due: &Due<'_>,
        admission: &steersman_proxy::Admission,
    ) -> Result<Outcome, RunFailure> {
        // It goes with the run.
        let file = tempfile::NamedTempFile::new().map_err(RunFailure::Kubeconfig)?;
        let text = kubeconfig(self.port, admission.credential());
        std::fs::write(file.path(), text).map_err(RunFailure::Kubeconfig)?;
        let spec = self.spec(due, file.path().display().to_string());
        let (run, events) = self.runner.start(&spec).await?;
        let log = tokio::spawn(log_tasks(events, Arc::clone(due.redactor)));
        let outcome = run.wait().await;
        log.abort();
        Ok(outcome?)
    }

    fn spec(&self, due: &Due<'_>, kubeconfig: String) -> RunSpec {
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
        let inventory = match &self.defaults.inventory {
            Some(path) => Inventory::At(path.clone()),
            None => Inventory::default(),
        };
        let environment = [
            ("K8S_AUTH_KUBECONFIG", kubeconfig.clone()),
            ("KUBECONFIG", kubeconfig),
            // kubectl takes no address with a user for these.
            ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false".to_owned()),
            ("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false".to_owned()),
        ];
        RunSpec {
            gathers_facts: self.defaults.gathers_facts,
            extra_vars: due.extra_vars.clone(),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            inventory,
            command_line: self.defaults.command_line.clone(),
            verbosity: due.verbosity,
            kept_artifacts: due.kept_artifacts,
            time_limit: self.defaults.time_limit,
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

/// Says in the log what tasks do.
async fn log_tasks(mut events: Events, redactor: Arc<LearningRedactor>) {
    while let Some(event) = events.next().await {
        let Some(task) = &event.task else { continue };
        let words = redactor.mask(event.stdout.trim());
        tracing::info!(task = %redactor.mask(task), event = %event.name, "{words}");
    }
}
