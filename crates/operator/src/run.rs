//! From a checked configuration to a running operator, and back to nothing when it is asked to stop.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use steersman_ansible::{AnsibleEnvironment, Inventory, Preload, Runner, Supervisor};
use steersman_cluster::client::{self, ClientOptions, ConnectError, OnAnswer, Tenure};
use steersman_cluster::permissions::Permissions;
use steersman_model::{Environment, chain};
use steersman_proxy::Fence;
use steersman_watches::{Selectors, Watches};

use crate::runs::{RunCollection, RunCollectionError, RunDefaults, RunTools, ToolsError, Turns};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Shares, memory_limit, runs_at_a_time};
use crate::config::{Config, LeaderElection, MetricsAccess, Place, RoleMetricsPort, RunLimit};
use crate::context::Context;
use crate::leader::{Elector, new_identity};
use crate::metrics::Metrics;
use crate::release::{Signer, SignerError};
use crate::server::{ApiReviews, BindError, Guard, Port, ROLE_METRICS, Readiness, Tls, TlsError};

/// How soon the keys that sign releases are asked for again.
const KEYS_PAUSE: Duration = Duration::from_secs(2);

/// The subcommand by which this program ends runs.
pub const SUPERVISE_RUN: &str = "supervise-run";

/// The subcommand that this program runs modules of Ansible by.
pub const RUN_MODULE: &str = "run-module";

/// Why the operator does not run, or runs no more.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A port cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The metrics cannot be served over TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The API server cannot be talked to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The keys that sign releases can't be had.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// No role or playbook can be run.
    #[error(transparent)]
    Runs(#[from] ToolsError),
    /// The collection of the modules that runs talk to the operator with can't be written.
    #[error(transparent)]
    Collection(#[from] RunCollectionError),
    /// The program can't be found that ends runs.
    #[error("failed to find this program, which ends runs of Ansible")]
    Supervisor(#[source] std::io::Error),
    /// The lease's namespace is not known.
    #[error("found no namespace for the leader election's lease")]
    LeaseNamespace,
    /// Another process may hold the lease by now.
    #[error("lost the lease `{lease}`: {reason}")]
    LeaseLost {
        /// By its name, as `--leader-election-id` has it.
        lease: String,
        /// Why.
        reason: String,
    },
    /// A family of metrics cannot be registered.
    #[error("failed to set up the metrics")]
    Metrics(#[source] prometheus::Error),
    /// Nothing is left that could reconcile.
    #[error("all controllers have stopped unexpectedly")]
    NoControllers,
    /// Reconciles were still running at the end of the grace period.
    #[error("reconciles did not end within {} seconds", .0.as_secs())]
    Unfinished(Duration),
}

impl RunError {
    /// What the user can do about it, where that is not plain from the message.
    pub fn hint(&self) -> Option<&'static str> {
        let is_taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
        match self {
            Self::Bind(error) if error.purpose == ROLE_METRICS && is_taken(&error.source) => Some(
                "another process listens there; choose another port with --role-metrics-port, or turn it off with `0`",
            ),
            Self::Runs(ToolsError::Bind(error)) if is_taken(&error.source) => Some(
                "another process listens there; choose another port with --proxy-port, or let it be any with `0`",
            ),
            Self::Bind(error) if is_taken(&error.source) => Some(
                "another process listens there; choose another address with --metrics-bind-address or \
                 --health-probe-bind-address, or turn it off with `0`",
            ),
            Self::Connect(error) => error.hint(),
            Self::LeaseNamespace => {
                Some("outside of a pod, name the namespace with --leader-election-namespace")
            }
            _ => None,
        }
    }
}

/// Runs the operator until `shutdown`, which its caller ties to signals, or until it cannot go on.
///
/// `control` runs the controllers. It is called once, with the lease in hand, and ends when the token in its
/// [`Context`] is cancelled.
///
/// # Errors
/// See [`RunError`]. A shutdown in time is no error.
///
/// # Cancellation
/// Safe to drop: what is in the cluster stays as it is, and the next run goes on from there.
pub async fn run<C, F>(
    config: Config,
    environment: &Environment,
    watches: Watches,
    shutdown: CancellationToken,
    control: C,
) -> Result<(), RunError>
where
    C: FnOnce(Context, Watches) -> F,
    F: Future<Output = ()>,
{
    log_notices(&config, &watches);
    let default_limit = config.max_concurrent_reconciles.get();
    let limits = watches.iter().map(|watch| {
        (
            &watch.gvk,
            watch.max_concurrent_reconciles.unwrap_or(default_limit),
        )
    });
    let metrics = Metrics::new(limits).map_err(RunError::Metrics)?;
    if !watches.ansible().is_empty() {
        let kinds = watches.ansible().iter().map(|watch| &watch.gvk);
        metrics.start_ansible(kinds).map_err(RunError::Metrics)?;
    }
    let readiness = Readiness::default();
    all_wait(&readiness, &watches, "the API server has not answered yet");
    let reviews = ApiReviews::default();
    // Dropped at the end, and with them all connections.
    let mut ports = open_ports(&config, &metrics, &readiness, &reviews).await?;

    let counted = metrics.clone();
    let on_answer: OnAnswer =
        Arc::new(move |code: &str, method: &str, host: &str| counted.answered(code, method, host));
    let tenure = Tenure::default();
    let budget = budget();
    let options = ClientOptions {
        on_answer,
        tenure: tenure.clone(),
        limits: budget.shares().answers,
    };
    let connecting = client::connect(config.kubeconfig.as_deref(), environment, Some(options));
    let Some(client) = shutdown.run_until_cancelled(connecting).await.transpose()? else {
        return Ok(());
    };
    reviews.connected(client.clone());
    let mut elector = match &config.leader_election {
        Some(election) => {
            let elector = elector(election, client.clone(), environment)?;
            Some(elector.remembering(Selectors::of(&watches)).with_tenure(tenure))
        }
        None => None,
    };
    if let (Some(elector), Some(election)) = (&mut elector, &config.leader_election) {
        metrics.leader(&election.id, false);
        for watch in &watches {
            readiness.ready(&watch.gvk);
        }
        if shutdown.run_until_cancelled(elector.acquire()).await.is_none() {
            return Ok(());
        }
        metrics.leader(&election.id, true);
    }

    let signing = signer(&config, &client);
    let Some(signer) = shutdown.run_until_cancelled(signing).await.transpose()? else {
        return Ok(());
    };
    warn_of_releases_beside_keys(&config, &watches, &client, &signer);
    all_wait(&readiness, &watches, "its controller has not started yet");
    let workers_in_all = config
        .max_concurrent_in_all
        .map(|most| Arc::new(Semaphore::new(most.get())));
    let runs = run_tools(&config, environment, &watches, elector.as_ref()).await?;
    let runs = match runs {
        Some(tools) => {
            // Not before the lease is held: on one machine the one that holds it has the port.
            open_role_metrics(&config, &metrics, &mut ports).await?;
            Some(equipped(tools, &config, &metrics))
        }
        None => None,
    };
    let context = Context {
        client,
        runs,
        budget: Arc::new(budget),
        signer: Arc::new(signer),
        permissions: Arc::new(Permissions::new(config.namespaces.names())),
        workers_in_all,
        config: Arc::new(config),
        metrics,
        readiness,
        former_selectors: elector
            .as_ref()
            .map(|elector| elector.former_selectors().clone())
            .unwrap_or_default(),
        shutdown: shutdown.child_token(),
    };
    let result = lead(&context, watches, control, elector.as_mut()).await;
    // After a loss there is nothing to give back, and somebody else's record to leave alone.
    if let (Some(elector), false) = (&mut elector, matches!(result, Err(RunError::LeaseLost { .. }))) {
        elector.release().await;
    }
    result
}

/// The memory that there is, divided.
fn budget() -> Budget {
    let limit = memory_limit();
    let shares = Shares::of(limit);
    steersman_yaml::limit_documents(shares.document);
    tracing::debug!(limit, reconciles = shares.reconciles, "Memory");
    Budget::new(shares)
}

/// The signer of releases, with the keys of the operator's namespace. Where it may not have these, as its role is from before
/// there were any, it has a key of its own until it ends.
async fn signer(config: &Config, client: &Client) -> Result<Signer, SignerError> {
    let namespace = own_namespace(config, client);
    loop {
        let opened = match Signer::open(client.clone(), namespace, !config.dry_run).await {
            Err(error) if error.is_transient() => {
                tracing::warn!(error = %chain(&error), "the keys that sign releases can't be had yet");
                tokio::time::sleep(KEYS_PAUSE).await;
                continue;
            }
            Err(error) if error.is_refused() => {
                tracing::warn!(
                    error = %chain(&error),
                    "releases are signed with a key that ends with this process, so each start compares all of them with what \
                     their charts render; `steersman rbac generate` writes the role that the operator needs"
                );
                Signer::of_process()?
            }
            opened => opened?,
        };
        return Ok(match config.place {
            Place::Pod => opened,
            Place::Outside => opened.leaving_others(),
        });
    }
}

/// The namespace in which the operator keeps what is its own.
fn own_namespace<'a>(config: &'a Config, client: &'a Client) -> &'a str {
    let given = config.own_namespace.as_deref();
    given.unwrap_or_else(|| client.default_namespace())
}

/// Says at the start if the namespace of the keys is one that is watched for itself. Where all are watched, it is said as soon
/// as there is a release.
fn warn_of_releases_beside_keys(config: &Config, watches: &Watches, client: &Client, signer: &Signer) {
    let listed = config.namespaces.names();
    let of_watches = watches
        .iter()
        .filter_map(|watch| watch.release_namespace.as_deref());
    let own = own_namespace(config, client);
    if listed.contains(own) || of_watches.into_iter().any(|namespace| namespace == own) {
        signer.warn_of_releases_in(own);
    }
}

/// Runs the controllers while the lease, if one is needed, is held.
async fn lead<C, F>(
    context: &Context,
    watches: Watches,
    control: C,
    elector: Option<&mut Elector>,
) -> Result<(), RunError>
where
    C: FnOnce(Context, Watches) -> F,
    F: Future<Output = ()>,
{
    let held = async {
        match elector {
            Some(elector) => elector.hold().await,
            None => std::future::pending().await,
        }
    };
    let grace = context.config.shutdown_grace;
    let out_of_time = async {
        context.shutdown.cancelled().await;
        tracing::info!("Stopping; waiting for running reconciles to end");
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        () = control(context.clone(), watches) => {
            if context.shutdown.is_cancelled() { Ok(()) } else { Err(RunError::NoControllers) }
        }
        reason = held => {
            // Nothing may be written any more: what runs is dropped, not waited for.
            context.shutdown.cancel();
            let lease = context.config.leader_election.as_ref().map(|election| election.id.clone());
            Err(RunError::LeaseLost { lease: lease.unwrap_or_default(), reason })
        }
        () = out_of_time => Err(RunError::Unfinished(grace)),
    }
}

async fn open_ports(
    config: &Config,
    metrics: &Metrics,
    readiness: &Readiness,
    reviews: &ApiReviews,
) -> Result<JoinSet<()>, RunError> {
    let mut ports = Vec::new();
    if let Some(address) = config.health_address {
        ports.push(Port::health(address, readiness.clone()).await?);
    }
    if let Some(address) = config.metrics_address {
        let access = config.metrics_access;
        let guard = (access == MetricsAccess::TlsWithRbac).then(|| Guard::new(reviews.clone()));
        let port = Port::metrics(address, metrics.clone(), guard).await?;
        ports.push(match access {
            MetricsAccess::Plain => port,
            MetricsAccess::Tls | MetricsAccess::TlsWithRbac => port.over_tls(Tls::self_signed()?),
        });
    }
    let mut serving = JoinSet::new();
    for port in ports {
        serve(port, &mut serving);
    }
    Ok(serving)
}

fn serve(port: Port, serving: &mut JoinSet<()>) {
    let address = port
        .address()
        .map(|address: SocketAddr| address.to_string())
        .unwrap_or_default();
    tracing::info!(%address, serves = port.purpose(), "Starting server");
    serving.spawn(port.serve());
}

/// Opens the port on which roles leave values for metrics.
async fn open_role_metrics(
    config: &Config,
    metrics: &Metrics,
    serving: &mut JoinSet<()>,
) -> Result<(), RunError> {
    let (number, is_needed) = match config.ansible.metrics_port {
        RoleMetricsPort::Off => return Ok(()),
        RoleMetricsPort::Needed(number) => (number, true),
        RoleMetricsPort::Wanted(number) => (number, false),
    };
    match Port::role_metrics(number, metrics.clone()).await {
        Ok(port) => serve(port, serving),
        Err(error) if is_needed => return Err(error.into()),
        Err(error) => tracing::warn!(
            error = %chain(&error),
            "values of osdk_metric go to whoever listens there, or to nobody; --role-metrics-port chooses another port"
        ),
    }
    Ok(())
}

fn elector(
    election: &LeaderElection,
    client: Client,
    environment: &Environment,
) -> Result<Elector, RunError> {
    let namespace = election
        .namespace
        .clone()
        .or_else(client::pod_namespace)
        .ok_or(RunError::LeaseNamespace)?;
    let host = environment.get("HOSTNAME").map(str::to_owned).or_else(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim().to_owned())
    });
    Ok(Elector::new(
        client,
        &namespace,
        &election.id,
        new_identity(host.as_deref().unwrap_or("steersman")),
    )
    .with_times(election.times))
}

/// What makes runs, where an entry names a role or playbook.
async fn run_tools(
    config: &Config,
    environment: &Environment,
    watches: &Watches,
    elector: Option<&Elector>,
) -> Result<Option<RunTools>, RunError> {
    if watches.ansible().is_empty() {
        return Ok(None);
    }
    let kube_config = client::configuration(config.kubeconfig.as_deref(), environment).await?;
    let supervisor = Supervisor::of_this_process(SUPERVISE_RUN).map_err(RunError::Supervisor)?;
    let fence: Arc<dyn Fence> = match elector {
        Some(elector) => Arc::new(elector.tenure()),
        None => Arc::new(()),
    };
    let mut runner = Runner::new(supervisor);
    let collection = RunCollection::write(&runner)?;
    let mut defaults = config.runs.clone();
    let python_path = collection.python_path(environment.get("PYTHONPATH"));
    defaults.environment.insert("PYTHONPATH".to_owned(), python_path);
    runner.preload = preload(&runner, &defaults, environment);
    let port = config.ansible.proxy_port;
    let mut tools = RunTools::new(&kube_config, port, fence, runner, defaults).await?;
    tools.collection = Some(Arc::new(collection));
    Ok(Some(tools))
}

/// What loads the libraries of modules once, where that can be done.
fn preload(runner: &Runner, defaults: &RunDefaults, environment: &Environment) -> Option<Preload> {
    let python = match &defaults.inventory {
        Inventory::Localhost { interpreter } => interpreter.clone(),
        Inventory::At(_) => return None,
    };
    let python = python
        .or_else(|| AnsibleEnvironment::module_interpreter(environment.get("PATH").unwrap_or_default()))?;
    let words = [
        runner.supervisor.program().as_os_str().to_owned(),
        RUN_MODULE.into(),
    ];
    let folder = runner.scratch().map_err(|error| chain(&error));
    let preload = folder.and_then(|folder| {
        Preload::new(folder, &python, &defaults.environment, &words).map_err(|error| chain(&error))
    });
    let warn = |error: &String| {
        tracing::warn!(
            error,
            "each module of a run loads its libraries anew, which takes longer"
        );
    };
    preload.inspect_err(warn).ok()
}

/// The same with what counts and limits runs.
fn equipped(mut tools: RunTools, config: &Config, metrics: &Metrics) -> RunTools {
    let memory = memory_limit();
    let limit = match config.ansible.max_runs {
        RunLimit::OfMemory => runs_at_a_time(memory),
        RunLimit::Of(number) => Some(number),
        RunLimit::OfKinds => None,
    };
    let most = limit.map(NonZeroUsize::get);
    tracing::info!(
        most,
        memory,
        proxyPort = tools.port,
        "Runs of Ansible at a time, in all, and one more for a deletion; of several kinds each leaves one to others"
    );
    tools.turns = Turns::of(limit);
    tools.metrics = Some(metrics.clone());
    tools
}

fn all_wait(readiness: &Readiness, watches: &Watches, reason: &str) {
    for watch in watches {
        readiness.waiting(&watch.gvk, reason);
    }
}

fn log_notices(config: &Config, watches: &Watches) {
    for notice in &config.notices {
        tracing::warn!("{notice}");
    }
    let file = config.watches_file.display();
    for notice in watches.notices() {
        tracing::warn!(%file, line = notice.line, key = %notice.key, "{}", notice.message);
    }
}
