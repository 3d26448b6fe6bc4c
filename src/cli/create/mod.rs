//! `create api`: another kind in a project, or a newer chart for one.

mod project;
mod update;

use std::path::{Path, PathBuf};

use steersman_model::Environment;
use steersman_project::layout;

use super::Failure;
use super::scaffold::{self, ApiFlags, Changes, Fetched, SourceFlags};

const EXAMPLES: &str = "\
Examples:
  # A kind for a chart
  steersman create api --group cache --version v1alpha1 --kind Memcached \\
    --helm-chart ../charts/memcached

  # A kind with a small chart to begin with
  steersman create api --group cache --kind Shop

  # A newer chart for a kind: what would change, and then the change
  steersman create api --update --helm-chart oci://registry.example.com/charts/shop --dry-run
  steersman create api --update --helm-chart oci://registry.example.com/charts/shop";

/// What `create` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a kind to the project, or take a newer chart into one
    Api(Box<ApiArgs>),
}

/// What `create api` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", scaffold::EXIT_CODES))]
struct ApiArgs {
    /// Overwrite files that exist
    #[arg(long, conflicts_with = "update")]
    force: bool,
    #[command(flatten)]
    update: UpdateFlags,
    #[command(flatten)]
    api: ApiFlags,
    #[command(flatten)]
    source: SourceFlags,
}

/// What `--update` takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Update")]
struct UpdateFlags {
    /// Take a newer chart into a kind that is there: its files, definition, sample and rules change where nobody has
    /// edited them, and edits are merged
    #[arg(long)]
    update: bool,
    /// Only show what would change
    #[arg(long, requires = "update")]
    dry_run: bool,
    /// The chart that helm-charts/ was made of, where files in it were edited: a directory or a `.tgz` file
    /// [default: its version from where the newer one comes from]
    #[arg(long, value_name = "CHART", requires = "update")]
    base_chart: Option<PathBuf>,
    /// Write both sides of a conflict into the file, instead of the new one beside it as FILE.new
    #[arg(long, requires = "update")]
    conflict_markers: bool,
}

/// Adds or updates a kind of the project in the current folder.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let Command::Api(arguments) = arguments.what;
    if arguments.update.update {
        return update::exec(&arguments, environment);
    }
    let folder = Path::new(".");
    let (project, mut shared) = project::read(folder)?;
    let fetched = arguments.source.fetch(folder, environment)?;
    let chart = fetched.as_ref().map(|fetched| fetched.chart.name());
    let (resource, kind) = arguments.api.resource(&project.domain, chart)?;
    let fetched = match fetched {
        Some(fetched) => fetched,
        None => Fetched::of(layout::starter_chart(&kind.kind))?,
    };
    let before = shared.clone();
    let mut changes = Changes::default();
    scaffold::plan(&mut shared, &project, &resource, &kind, &fetched, &mut changes)?;
    for (path, text) in shared {
        if before.get(&path) != Some(&text) {
            changes.write(path, text);
        }
    }
    if !arguments.force {
        changes.refuse_existing(folder, layout::SHARED)?;
    }
    changes.apply(folder)?;
    scaffold::say(
        "next: look at config/samples and config/rbac/role.yaml, then `make install run`, or `make deploy IMG=…`",
    );
    Ok(())
}
