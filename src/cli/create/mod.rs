//! `create api`: another kind in a project, of a chart or of a role, or a newer chart for one. `create procedure`: what is done
//! with the releases of a kind besides.

mod merge;
mod procedure;
mod project;
mod update;

use std::path::{Path, PathBuf};

use project::Opened;
use steersman_model::Environment;
use steersman_project::layout::{self, Plugin};

use super::Failure;
use super::scaffold::{self, AnsibleFlags, ApiFlags, Changes, Fetched, Named, NewKind, SourceFlags, wrong};

const EXAMPLES: &str = "\
Examples:
  # A kind for a chart
  steersman create api --group cache --version v1alpha1 --kind Memcached \\
    --helm-chart ../charts/memcached

  # A kind with a small chart to begin with
  steersman create api --group cache --kind Shop

  # A kind that a role makes, and one that a playbook makes with its role
  steersman create api --group cache --kind Memcached --generate-role
  steersman create api --group cache --kind Redis --generate-role --generate-playbook

  # A newer chart for a kind: what would change, and then the change
  steersman create api --update --helm-chart oci://registry.example.com/charts/shop --dry-run
  steersman create api --update --helm-chart oci://registry.example.com/charts/shop";

const BOTH: &str = "\
Examples:
  # A kind for a chart
  steersman create api --group cache --version v1alpha1 --kind Memcached \\
    --helm-chart ../charts/memcached

  # A procedure for a kind that is there
  steersman create procedure backup --kind Memcached --schedule \"0 3 * * *\"";

/// What `create` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = BOTH)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a kind to the project, of a chart or of a role, or take a newer chart into one
    Api(Box<ApiArgs>),
    /// Add a procedure to a kind of a chart, such as a backup: its Job to begin with, and the kind of its runs
    Procedure(procedure::Args),
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
    ansible: AnsibleFlags,
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

/// Adds to the project in the current folder, or updates what is there.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    match arguments.what {
        Command::Api(arguments) => api(&arguments, environment),
        Command::Procedure(arguments) => procedure::exec(&arguments, environment),
    }
}

/// Adds or updates a kind.
fn api(arguments: &ApiArgs, environment: &Environment) -> Result<(), Failure> {
    if arguments.update.update {
        if arguments.ansible.is_given() {
            return Err(wrong(
                "--update takes a newer chart, and no role",
                "leave --generate-role and --generate-playbook out",
            ));
        }
        return update::exec(arguments, environment);
    }
    let folder = Path::new(".");
    let mut opened = project::read(folder)?;
    let before = opened.shared.clone();
    let mut changes = Changes::default();
    let is_chart = arguments.source.helm_chart.is_some();
    let by_ansible = arguments.ansible.is_given() || (opened.plugin == Plugin::Ansible && !is_chart);
    let mut overwritten = if by_ansible {
        role(&mut opened, arguments, environment, &mut changes)?
    } else {
        chart(&mut opened, arguments, environment, &mut changes)?
    };
    overwritten.extend(layout::SHARED);
    for (path, text) in opened.shared {
        if before.get(&path) != Some(&text) {
            changes.write(path, text);
        }
    }
    if !arguments.force {
        changes.refuse_existing(folder, &overwritten)?;
    }
    changes.apply(folder)?;
    scaffold::say(if by_ansible {
        scaffold::NEXT_FOR_ROLES
    } else {
        scaffold::NEXT_FOR_CHARTS
    });
    Ok(())
}

/// Adds a kind of a chart. Returns the files that it may overwrite.
fn chart(
    opened: &mut Opened,
    arguments: &ApiArgs,
    environment: &Environment,
    changes: &mut Changes,
) -> Result<Vec<&'static str>, Failure> {
    let folder = Path::new(".");
    let fetched = arguments.source.fetch(folder, environment)?;
    let named = Named::ByChart(fetched.as_ref().map(|fetched| fetched.chart.name()));
    let (resource, kind) = arguments.api.resource(&opened.project.domain, named)?;
    let fetched = match fetched {
        Some(fetched) => fetched,
        None => Fetched::of(layout::starter_chart(&kind.kind))?,
    };
    let Opened {
        project,
        plugin,
        shared,
    } = opened;
    scaffold::plan(shared, project, &resource, &kind, &fetched, changes)?;
    Ok(match plugin {
        Plugin::Helm => Vec::new(),
        Plugin::Ansible => scaffold::plan_other(folder, project, *plugin, changes),
    })
}

/// Adds a kind that Ansible makes. Returns the files that it may overwrite.
fn role(
    opened: &mut Opened,
    arguments: &ApiArgs,
    environment: &Environment,
    changes: &mut Changes,
) -> Result<Vec<&'static str>, Failure> {
    let folder = Path::new(".");
    let (resource, kind) = arguments.api.resource(&opened.project.domain, Named::ForRole)?;
    let Opened {
        project,
        plugin,
        shared,
    } = opened;
    let new = NewKind {
        project,
        resource: &resource,
        kind: &kind,
    };
    scaffold::plan_ansible(folder, shared, new, &arguments.ansible, environment, changes)?;
    Ok(match plugin {
        Plugin::Helm => scaffold::plan_other(folder, project, *plugin, changes),
        Plugin::Ansible => Vec::new(),
    })
}
