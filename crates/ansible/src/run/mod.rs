//! A run: its inputs written, ansible-runner started, its events received, its end waited for.

mod arguments;
mod error;
mod output;
mod start;
mod supervised;
mod wait;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Detail, Inventory, Preload, ResourceId, Supervisor};

pub use error::RunError;
pub use wait::{Canceller, Run};

/// What all runs of an operator have in common.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use steersman_ansible::{Content, ResourceId, RunSpec, Runner, Supervisor};
///
/// let runner = Runner::new(Supervisor::of_this_process("supervise-run")?);
/// let resource = ResourceId {
///     group: "example.com".to_owned(),
///     version: "v1".to_owned(),
///     kind: "Web".to_owned(),
///     namespace: "shop".to_owned(),
///     name: "site".to_owned(),
/// };
/// let spec = RunSpec::new(resource, "5577006791947779410", Content::Role("/opt/ansible/roles/web".into()));
/// let (run, mut events) = runner.start(&spec).await?;
/// tokio::spawn(async move {
///     while let Some(event) = events.next().await {
///         println!("{}", event.stdout);
///     }
/// });
/// let outcome = run.wait().await?;
/// println!("{} tasks, {} have failed", outcome.result.ok, outcome.failed.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Runner {
    /// ansible-runner, by its path or a name on `PATH`.
    pub program: PathBuf,
    /// Where the folders of all resources are.
    pub root: PathBuf,
    /// How runs are ended whole.
    pub supervisor: Supervisor,
    /// How long ansible-runner has, when a run is to end, to write down what it knows.
    pub grace: Duration,
    /// What modules on this machine are run by, if not by new interpreters.
    pub preload: Option<Preload>,
}

impl Runner {
    /// The ansible-runner of `PATH`, the folders of ansible-operator, two seconds of grace, and nothing preloaded.
    pub fn new(supervisor: Supervisor) -> Self {
        Self {
            program: PathBuf::from("ansible-runner"),
            root: PathBuf::from("/tmp/ansible-operator/runner"),
            supervisor,
            grace: Duration::from_secs(2),
            preload: None,
        }
    }
}

/// A playbook or a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file.
    Playbook(PathBuf),
    /// The folder of a role, which is run on localhost.
    Role(PathBuf),
}

/// What one execution of a playbook or role gets, and may take.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// For whom it is. Two runs of one resource at once would write into one folder; the caller starts only one.
    pub resource: ResourceId,
    /// The name of the run and of the folder of its artifacts, drawn by the caller.
    pub ident: String,
    /// A playbook or a role.
    pub content: Content,
    /// `ANSIBLE_GATHERING` is not `explicit`: whether a role begins with facts about its host.
    pub gathers_facts: bool,
    /// Variables, as [`ExtraVars`](crate::ExtraVars) makes them.
    pub extra_vars: Map<String, Value>,
    /// Variables of the environment, on top of those of this process.
    pub environment: BTreeMap<String, String>,
    /// Files that go with it.
    pub files: Vec<RunFile>,
    /// Where its hosts are.
    pub inventory: Inventory,
    /// `--ansible-args`: further arguments of ansible-playbook, as a shell reads them.
    pub command_line: String,
    /// How many `v` ansible-playbook gets, up to 7.
    pub verbosity: u8,
    /// Of how many runs artifacts are kept, with this one; all where it is 0.
    pub kept_artifacts: u32,
    /// When it is ended.
    pub time_limit: Option<Duration>,
    /// How much of its events is kept.
    pub detail: Detail,
}

/// A file that a run finds by its environment, for this user alone.
#[derive(Clone, PartialEq, Eq)]
pub struct RunFile {
    /// What it is called in its folder.
    pub name: &'static str,
    /// The variables that have its path.
    pub variables: &'static [&'static str],
    /// Shown nowhere, as it may be secret.
    pub text: String,
}

/// Without what is in it, which is secret as a rule.
impl fmt::Debug for RunFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl RunSpec {
    /// A run without variables or a time limit, on localhost, whose 20 last runs keep their artifacts.
    pub fn new(resource: ResourceId, ident: impl Into<String>, content: Content) -> Self {
        Self {
            resource,
            ident: ident.into(),
            content,
            gathers_facts: true,
            extra_vars: Map::new(),
            environment: BTreeMap::new(),
            files: Vec::new(),
            inventory: Inventory::default(),
            command_line: String::new(),
            verbosity: 0,
            kept_artifacts: 20,
            time_limit: None,
            detail: Detail::Tasks,
        }
    }
}
