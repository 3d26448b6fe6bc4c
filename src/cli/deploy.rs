//! `deploy`: bring the operator of a project into a cluster.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use steersman_model::{Environment, RESOURCE_POLICY, parse_duration};

use super::Failure;
use super::cluster::{ClusterFlags, block_on};
use super::manifests::ManifestFlags;
use super::progress::{self, Ongoing};
use super::style::{Style, Tone, harmless};
use crate::deploy::{DeployError, Deployer, Plan, RolloutError, Step};

const EXAMPLES: &str = "\
Examples:
  # The operator of this project, with its kinds and its roles
  steersman deploy --image registry.example.com/shop-operator:1.2.0

  # Manifests that are made elsewhere
  kubectl kustomize config/default | steersman deploy -f -

Exit codes:
  0  the operator runs
  1  the cluster refused something, or the operator is not available in time
  2  the manifests are wrong";

/// What `deploy` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    manifests: ManifestFlags,
    /// Whether to wait until the operator's Deployment is available
    #[arg(long, value_name = "BOOL", default_value = "true", default_missing_value = "true", num_args = 0..=1,
        require_equals = true, action = clap::ArgAction::Set, value_parser = super::arguments::parse_bool)]
    wait: bool,
    /// How long the operator may take to be available
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Deploys the operator.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let plan = plan(&arguments.manifests, environment)?;
    let steps = StepPrinter::new(Style::of(&io::stderr(), environment));
    let on_step = |step: Step<'_>| steps.print(step);
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let deployer = Deployer::new(cluster.client, &cluster.namespace, &on_step);
        deployer.deploy(&plan).await.map_err(failure)?;
        if arguments.wait {
            deployer
                .wait(&plan, arguments.timeout)
                .await
                .map_err(|error| match error {
                    RolloutError::Deploy(error) => failure(error),
                    error @ RolloutError::NotAvailable { .. } => Failure::failed(
                        error,
                        Some(
                            "`kubectl describe` of the pod says more; --wait=false does not wait".to_owned(),
                        ),
                    ),
                })?;
        }
        Ok(())
    })
}

/// The objects in the order in which they are applied.
pub(super) fn plan(manifests: &ManifestFlags, environment: &Environment) -> Result<Plan, Failure> {
    let (origin, objects) = manifests.read(environment)?;
    Plan::new(&origin, &objects).map_err(|error| Failure::usage(error, None))
}

/// An error of the cluster, with what to do about it.
pub(super) fn failure(error: DeployError) -> Failure {
    let hint = match &error {
        DeployError::NotServed(_) => Some(
            "install what defines them first, or take them out of the kustomization; nothing was written"
                .to_owned(),
        ),
        DeployError::Request { source, .. } if source.code == 403 => {
            Some("deploying an operator needs the rights of a cluster administrator".to_owned())
        }
        _ => None,
    };
    Failure::failed(anyhow!(error), hint)
}

/// Prints a line for each step.
pub(super) struct StepPrinter {
    style: Style,
    /// What the last step waits for.
    ongoing: Mutex<Option<Ongoing>>,
}

impl StepPrinter {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            ongoing: Mutex::default(),
        }
    }

    pub(super) fn print(&self, step: Step<'_>) {
        let line = line(step, self.style);
        let mut ongoing = self.ongoing.lock().unwrap_or_else(PoisonError::into_inner);
        ongoing.take();
        if matches!(step, Step::WaitingFor(..) | Step::Deleting(_)) {
            *ongoing = Some(progress::begin(line));
        } else {
            progress::say(&line);
        }
    }
}

fn line(step: Step<'_>, style: Style) -> String {
    let (tone, word, object, detail) = match step {
        Step::Created(object) => (Tone::Good, "created", object, String::new()),
        Step::Configured(object) => (Tone::Doubtful, "configured", object, String::new()),
        Step::Unchanged(object) => (Tone::Faint, "unchanged", object, String::new()),
        Step::WaitingFor(object, reason) => (Tone::Faint, "waiting for", object, format!(": {reason}")),
        Step::Ready(object) => (Tone::Good, "ready", object, String::new()),
        Step::Deleting(object) => (Tone::Doubtful, "deleting", object, String::new()),
        Step::Gone(object) => (Tone::Bad, "deleted", object, String::new()),
        Step::Kept(object, found) => (
            Tone::Doubtful,
            "kept",
            object,
            format!(": it has {}", found.join(", ")),
        ),
        Step::Uncollected(object) => (
            Tone::Doubtful,
            "left",
            object,
            ": its owner is gone, and the garbage collector can't ask for all owners that it names"
                .to_owned(),
        ),
        Step::KeptByAnnotation(object) => (
            Tone::Doubtful,
            "kept",
            object,
            format!(": its annotation {RESOURCE_POLICY} says so"),
        ),
    };
    // Padded before it is painted: colours have no width.
    let word = style.paint(tone, &format!("{word:<11}"));
    format!("{word} {}", harmless(&format!("{object}{detail}")))
}
