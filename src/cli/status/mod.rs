//! `status`: a release as a tree, with the health of its objects.

mod tree;

use std::io;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::ValueEnum;
use steersman_model::Environment;
use steersman_tree::{ReleaseView, Resources, Verdict, checks_of};
use steersman_watches::Watches;

use super::Failure;
use super::cluster::{Cluster, ClusterFlags, Named, block_on, failed};
use super::report::print_line;
use super::style::Style;

const EXAMPLES: &str = "\
Examples:
  # The release of a resource, its conditions and its objects
  steersman status visitorssite/museum

  # The same, with the plural or a short name of the kind
  steersman status visitorssites museum

  # The objects that are not ready, for a script
  steersman status visitorssite museum -o json | jq '.objects[] | select(.health != \"ready\")'

  # By the health checks of a project
  steersman status visitorssite/museum --watches-file=./watches.yaml

Exit codes:
  0  everything is ready
  1  something is not: the operator has more to do, or an object of the release
  2  that could not be found out";

/// What `status` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Custom resources: KIND/NAME, or KIND NAME
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    /// The form of the answer
    #[arg(short, long, value_name = "FORMAT", default_value = "tree")]
    output: Output,
    /// The watches.yaml with the health checks (`healthChecks`) to judge objects by
    #[arg(long, value_name = "FILE")]
    watches_file: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Tree,
    Json,
    Yaml,
}

/// Prints the releases.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    // The exit code 1 says that something is not ready, so it can't say that something failed.
    let views = observe_all(&arguments, environment).map_err(Failure::into_trouble)?;
    let style = Style::of(&io::stdout(), environment);
    for view in &views {
        print_line(describe(view, arguments.output, style)?.trim_end())?;
    }
    if !views.iter().all(|view| view.ready) {
        return Err(Failure::Silent);
    }
    let mut objects = views.iter().flat_map(|view| &view.objects);
    if objects.any(|object| object.health == Verdict::Unknown) {
        let unknown = anyhow!("not all objects may be read: whether they are ready is not known");
        return Err(Failure::from(unknown).into_trouble());
    }
    Ok(())
}

fn observe_all(arguments: &Args, environment: &Environment) -> Result<Vec<ReleaseView>, Failure> {
    let named = Named::read(&arguments.resources)?;
    let watches = arguments.watches_file.as_deref();
    let watches = watches.map(|file| Watches::load(file, environment)).transpose()?;
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let mut views = Vec::new();
        for named in &named {
            views.push(observe(&cluster, named, watches.as_ref()).await?);
        }
        Ok(views)
    })
}

async fn observe(
    cluster: &Cluster,
    named: &Named,
    watches: Option<&Watches>,
) -> Result<ReleaseView, Failure> {
    let served = cluster.discovery.served().await.map_err(failed)?;
    let (api, resource) = Cluster::kind(&served, &named.kind, |_| false)?;
    let object = cluster.get(&api, &resource, &named.name).await?;
    let resources = Resources {
        client: &cluster.client,
        served: &served,
    };
    let observed = resources.observe(&api, &object, checks_of(watches, &api)).await;
    observed.map_err(failed)
}

fn describe(view: &ReleaseView, output: Output, style: Style) -> Result<String, Failure> {
    if output == Output::Tree {
        return Ok(tree::describe(view, style));
    }
    let value = serde_json::to_value(view).map_err(|error| anyhow!(error))?;
    Ok(match output {
        Output::Json => format!("{value:#}"),
        _ => format!("---\n{}", steersman_yaml::to_string(&value)),
    })
}
