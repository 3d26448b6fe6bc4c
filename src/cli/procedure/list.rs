//! `procedure list`: what was done with a resource, and what is being done.

use std::io;

use anyhow::anyhow;
use clap::ValueEnum;
use jiff::Timestamp;
use kube::api::ListParams;
use steersman_cluster::client::list_all;
use steersman_model::Environment;

use super::kinds::Subject;
use super::view::{RunView, span};
use crate::cli::Failure;
use crate::cli::cluster::{Cluster, ClusterFlags, block_on};
use crate::cli::progress::say as say_aside;
use crate::cli::report::print_line;
use crate::cli::style::{Style, harmless, one_line};

const EXAMPLES: &str = "\
Examples:
  # All backups and restores of a resource
  steersman procedure list etcdcluster/west

  # The newest backup that has succeeded, for a script
  steersman procedure list etcdcluster/west -o json \\
    | jq '[.[] | select(.procedure == \"backup\" and .phase == \"Succeeded\")][0].result'";

/// What `procedure list` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The custom resource: KIND/NAME
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// The form of the answer
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Output,
    #[command(flatten)]
    cluster: ClusterFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
    Yaml,
}

/// Prints them.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let (runs, procedures) = block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let subject = Subject::find(&cluster, &arguments.resource).await?;
        let runs = runs_of(&cluster, &subject).await?;
        if runs.is_empty() {
            // A resource that is not there is no one without runs.
            subject.read(&cluster).await?;
        }
        let mut procedures = subject.procedures.into_iter();
        Ok((runs, procedures.next().map(|one| one.procedure)))
    })?;
    if arguments.output != Output::Table {
        let value = serde_json::to_value(&runs).map_err(|error| anyhow!(error))?;
        return print_line(&match arguments.output {
            Output::Yaml => steersman_yaml::to_string(&value).trim_end().to_owned(),
            _ => format!("{value:#}"),
        });
    }
    if runs.is_empty() {
        let procedure = procedures.unwrap_or_default();
        let hint = format!(
            "hint: `steersman procedure run {procedure} {}`",
            arguments.resource
        );
        say_aside(&harmless(&format!("there are no runs\n{hint}")));
        return Ok(());
    }
    print_line(&table(
        &runs,
        Timestamp::now(),
        Style::of(&io::stdout(), environment),
    ))
}

/// All runs of all procedures for a resource, the newest first.
async fn runs_of(cluster: &Cluster, subject: &Subject) -> Result<Vec<RunView>, Failure> {
    let mut runs = Vec::new();
    for kind in &subject.procedures {
        let api = cluster.api(&kind.resource, None);
        let listed = list_all(&api, ListParams::default()).await;
        let listed = listed.map_err(|error| {
            let attempt = format!("failed to list the runs of {}", kind.procedure);
            anyhow!(error).context(attempt)
        })?;
        let views = listed
            .iter()
            .map(|object| RunView::of(&kind.api.kind, &kind.procedure, object));
        runs.extend(views.filter(|run| run.resource == subject.name));
    }
    runs.sort_by(|one, other| (other.created_at, &other.name).cmp(&(one.created_at, &one.name)));
    Ok(runs)
}

const HEAD: [&str; 6] = ["RUN", "PHASE", "STEP", "STARTED", "TOOK", "MESSAGE"];

/// Columns with two spaces between them.
fn table(runs: &[RunView], now: Timestamp, style: Style) -> String {
    let rows: Vec<[String; 6]> = runs.iter().map(|run| row(run, now)).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (cell, width) in row.iter().zip(&mut widths) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: &[String; 6], run: Option<&RunView>| {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count() + 2);
            match run.filter(|_| column == 1) {
                Some(run) => line += &style.paint(run.tone(), cell),
                None => line += cell,
            }
            line += &padding;
        }
        line.trim_end().to_owned()
    };
    let head = line(&HEAD.map(str::to_owned), None);
    let lines = rows.iter().zip(runs).map(|(row, run)| line(row, Some(run)));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

fn row(run: &RunView, now: Timestamp) -> [String; 6] {
    let or_dash = |text: Option<String>| {
        let text = text.filter(|text| !text.is_empty());
        text.map_or_else(|| "-".to_owned(), |text| one_line(&harmless(&text)))
    };
    let message = one_line(&harmless(&run.message));
    [
        or_dash(Some(run.words())),
        or_dash(Some(run.phase().to_owned())),
        or_dash(Some(run.step.clone())),
        or_dash(run.started_at.map(|at| span(at, now))),
        or_dash(run.took(now)),
        message,
    ]
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    use super::*;

    fn run(name: &str, status: Value) -> RunView {
        let object = json!({"metadata": {"name": name}, "spec": {"resource": "shop"}, "status": status});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        RunView::of("WebBackup", "backup", &object)
    }

    #[test]
    fn a_run_is_a_line_of_the_table() {
        let now: Timestamp = "2026-01-02T04:00:00Z".parse().unwrap();
        let runs = [
            run("shop-backup-c", json!(null)),
            run(
                "shop-backup-b",
                json!({"phase": "Running", "step": "dump", "startedAt": "2026-01-02T03:58:30Z"}),
            ),
            run(
                "shop-backup-a",
                json!({"phase": "Failed", "message": "dump has failed:\n\u{1b}[31mno space", "step": "dump",
                    "startedAt": "2026-01-01T03:00:00Z", "endedAt": "2026-01-01T03:10:00Z"}),
            ),
        ];
        expect![[r"
            RUN                      PHASE    STEP  STARTED  TOOK   MESSAGE
            WebBackup/shop-backup-c  Pending  -     -        -
            WebBackup/shop-backup-b  Running  dump  1m30s    1m30s
            WebBackup/shop-backup-a  Failed   dump  1d1h     10m    dump has failed: �[31mno space
        "]]
        .assert_eq(&(table(&runs, now, Style::default()) + "\n"));
    }
}
