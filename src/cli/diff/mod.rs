//! `diff`: what the operator would do with resources as they are, or as a file has them.

mod subject;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use steersman_model::Environment;
use steersman_operator::reconcile::{DryRun, ReconcileError};
use steersman_watches::Watches;
pub(super) use subject::{Subject, read_files};

use super::Failure;
use super::cluster::{Cluster, ClusterFlags, Named, block_on, failed};
use super::style::Style;

const EXAMPLES: &str = "\
Examples:
  # What would become of the release if this file were applied?
  steersman diff -f museum.yaml

  # The chart on disk has changed: what would that change in the cluster?
  steersman diff visitorssite/museum

Exit codes:
  0  nothing would change
  1  something would change
  2  the question could not be answered, or the operator could not do it";

/// What `diff` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Resources of the cluster: KIND/NAME, or KIND NAME
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// Files with resources as they are to be; `-` is standard input
    #[arg(short, long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The watches.yaml to use
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Prints what would change.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    // The exit code 1 says that something would change, so it can't say that something failed.
    let differs = diff_all(arguments, environment).map_err(Failure::into_trouble)?;
    if differs { Err(Failure::Silent) } else { Ok(()) }
}

fn diff_all(arguments: Args, environment: &Environment) -> Result<bool, Failure> {
    let named = Named::read(&arguments.resources)?;
    if named.is_empty() && arguments.files.is_empty() {
        let hint = "name resources of the cluster, or files with -f; `steersman diff --help` has examples";
        return Err(Failure::usage(
            anyhow!("there is nothing to compare"),
            Some(hint.to_owned()),
        ));
    }
    let watches = Watches::load(&arguments.watches_file, environment)?;
    let documents = read_files(&arguments.files)?;
    let style = Style::of(&io::stdout(), environment);
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let mut subjects = Vec::new();
        for document in documents {
            subjects.push(Subject::of_document(&cluster, &watches, document).await?);
        }
        for named in &named {
            subjects.push(Subject::of_cluster(&cluster, &watches, named).await?);
        }
        let (mut differs, mut refused) = (false, 0);
        for subject in subjects {
            let title = subject.title();
            let shown = if subject.is_selected() {
                let dry_run = dry_run(&cluster, subject).await.map_err(failed)?;
                differs |= dry_run.differs();
                refused += text::refused(&dry_run);
                text::describe(&title, &dry_run, style)
            } else {
                format!("{title}: is not selected by its watch, so the operator leaves it alone\n\n")
            };
            // Nobody may read any more (a closed pipe); the exit code still says it.
            let _ = io::stdout().lock().write_all(shown.as_bytes());
        }
        match refused {
            0 => Ok(differs),
            1 => Err(Failure::failed(anyhow!("an object would be refused"), None)),
            many => Err(Failure::failed(anyhow!("{many} objects would be refused"), None)),
        }
    })
}

/// What the operator would do with a resource.
pub(super) async fn dry_run(cluster: &Cluster, subject: Subject<'_>) -> Result<DryRun, ReconcileError> {
    let Subject {
        object,
        resource,
        watch,
    } = subject;
    steersman_tree::dry_run(&cluster.client, watch, resource, object, Arc::default()).await
}
