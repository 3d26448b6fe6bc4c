//! `undeploy`: take the operator of a project out of a cluster.

use std::io;
use std::time::Duration;

use anyhow::anyhow;
use steersman_model::{Environment, parse_duration};

use super::Failure;
use super::cluster::{ClusterFlags, block_on};
use super::deploy::{StepPrinter, failure, plan};
use super::manifests::ManifestFlags;
use super::style::Style;
use crate::deploy::{Deployer, Removal, Step, UndeployError};

const EXAMPLES: &str = "\
Examples:
  # Take the operator out; resources of its kinds keep it from going
  steersman undeploy

  # Delete these first, and let the operator uninstall their releases
  steersman undeploy --cascade --timeout 10m

Exit codes:
  0  nothing of the operator is left
  1  resources are there, or something is not gone in time
  2  the manifests are wrong";

/// What `undeploy` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    manifests: ManifestFlags,
    /// Delete the resources of the operator's kinds, and with them their releases, before the operator goes
    #[arg(long)]
    cascade: bool,
    /// How long all of it may take
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Takes the operator out.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let plan = plan(&arguments.manifests, environment)?;
    let steps = StepPrinter::new(Style::of(&io::stderr(), environment));
    let on_step = |step: Step<'_>| steps.print(step);
    let removal = Removal {
        cascade: arguments.cascade,
        limit: arguments.timeout,
    };
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let deployer = Deployer::new(cluster.client, &cluster.namespace, &on_step);
        deployer
            .undeploy(&plan, removal)
            .await
            .map_err(|error| match error {
                UndeployError::Deploy(error) => failure(error),
                error @ UndeployError::InUse { .. } => Failure::failed(
                    anyhow!(error),
                    Some(
                        "without the operator they could not be deleted any more; delete them first, or let --cascade do it"
                            .to_owned(),
                    ),
                ),
                error @ UndeployError::Kept { .. } => Failure::failed(
                    anyhow!(error),
                    Some("take the annotation off those that are to go, or keep the operator".to_owned()),
                ),
                error @ UndeployError::NotGone { .. } => Failure::failed(
                    anyhow!(error),
                    Some("the same command goes on where this one has ended".to_owned()),
                ),
            })
    })
}
