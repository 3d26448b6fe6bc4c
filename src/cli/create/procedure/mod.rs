//! `create procedure`: a procedure for a kind of the project, with its Job to begin with and what its runs need.

mod plan;

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow};
use steersman_chart::{Chart, files_of_chart};
use steersman_model::Environment;
use steersman_project::layout::{
    self, FoundEntry, LayoutError, NewProcedure, NewSchedule, Project, WantedEntry, check_procedure_name,
};
use steersman_watches::procedure::value_at;
use steersman_watches::{Watch, Watches};

use super::super::Failure;
use super::super::scaffold::{self, own_definitions, say, wrong, wrong_project};
use super::project;
use plan::Plan;

const WATCHES: &str = "watches.yaml";

const EXAMPLES: &str = "\
Examples:
  # A backup each night, and before each upgrade
  steersman create procedure backup --kind EtcdCluster --schedule \"0 3 * * *\" --before-upgrade

  # One at the times that each resource says, whose runs are called EtcdBackup
  steersman create procedure backup --kind EtcdCluster --run-kind EtcdBackup \\
    --schedule-value backup.schedule

  # A restore, which has to be confirmed, and says of what
  steersman create procedure restore --kind EtcdCluster --parameter snapshot --confirm --exclusive";

/// What `create procedure` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", scaffold::EXIT_CODES))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct Args {
    /// The procedure, such as backup: small letters, digits and `-`
    #[arg(value_name = "NAME")]
    name: String,
    /// The kind that it is for, which watches.yaml has with a chart
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// The group of that kind, with or without the domain, where watches.yaml has it in several
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The version of that kind, where watches.yaml has several
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The kind of its runs [default: the kind and the name]
    #[arg(long, value_name = "KIND")]
    run_kind: Option<String>,
    /// When it begins by itself: five fields of cron
    #[arg(long, value_name = "CRON", conflicts_with = "schedule_value")]
    schedule: Option<String>,
    /// Where in the spec of a resource these fields are, with dots between
    #[arg(long, value_name = "PATH")]
    schedule_value: Option<String>,
    /// Let no revision begin before a run has succeeded
    #[arg(long)]
    before_upgrade: bool,
    /// Let no run begin that nobody has confirmed
    #[arg(long)]
    confirm: bool,
    /// Let nothing else be done with the release meanwhile
    #[arg(long)]
    exclusive: bool,
    /// A text that a run says; it may leave it out where it begins by itself
    #[arg(long, value_name = "NAME")]
    parameter: Vec<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

impl Args {
    fn procedure(&self) -> NewProcedure {
        let fixed = self.schedule.clone().map(NewSchedule::Cron);
        NewProcedure {
            name: self.name.clone(),
            run_kind: self.run_kind.clone(),
            schedule: fixed.or_else(|| self.schedule_value.clone().map(NewSchedule::Value)),
            before_upgrade: self.before_upgrade,
            exclusive: self.exclusive,
            confirm: self.confirm,
            parameters: self.parameter.clone(),
        }
    }

    fn wanted(&self, project: &Project) -> WantedEntry {
        let groups = self.group.iter();
        let groups = groups.flat_map(|group| [group.clone(), format!("{group}.{}", project.domain)]);
        WantedEntry {
            kind: self.kind.clone(),
            groups: groups.collect(),
            version: self.version.clone(),
        }
    }
}

/// Adds the procedure.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let folder = Path::new(".");
    let opened = project::read(folder)?;
    let text = opened.shared.get(WATCHES);
    let text = text.ok_or_else(|| wrong_project(&LayoutError::Missing(WATCHES.to_owned())))?;
    let procedure = arguments.procedure();
    check_procedure_name(&procedure.name).map_err(|problem| wrong(problem, "such as `backup`"))?;
    let found = layout::find_entry(text, &arguments.wanted(&opened.project)).and_then(|entry| {
        let text = layout::add_procedure(text, &entry, &procedure)?;
        Ok((entry, text))
    });
    let (entry, text) = found.map_err(|error| {
        let message = format!("failed to add procedure {} to {WATCHES}: {error}", procedure.name);
        wrong(message, &error.hint())
    })?;
    let place = chart_folder(&entry)?;
    let own = own_definitions().map_err(|error| Failure::usage(error, None))?;
    let old = Watches::load(Path::new(WATCHES), environment)?;
    let new = planned(&text, &entry, &procedure, environment)?;
    let mut plan = Plan::new(opened, own);
    plan.shared(WATCHES, text);
    let job = format!("{place}/{}", procedure.file());
    plan.changes.write(job.clone(), procedure.job());
    plan.definitions(&old, &new, &entry, &procedure, environment)?;
    plan.rules(of(&old, &entry)?, of(&new, &entry)?)?;
    plan.apply(folder, arguments.force)?;
    let watch = of(&new, &entry)?;
    if let Some(NewSchedule::Value(path)) = &procedure.schedule
        && value_at(watch.chart.values(), path).is_none()
    {
        say(&format!(
            "note: the values.yaml of {place} has no {path}: say there what it is for; `\"\"` is no schedule"
        ));
    }
    say(&format!(
        "next: write the Job in {job}, then `make install`; `steersman procedure run {} {}/NAME --wait` carries it out",
        procedure.name,
        entry.kind.to_lowercase()
    ));
    plan.finish()
}

/// The folder of the chart, which has to be in the project.
fn chart_folder(entry: &FoundEntry) -> Result<String, Failure> {
    let path = Path::new(&entry.chart);
    let kind = &entry.kind;
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let parts: Option<Vec<&str>> = parts
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
        let hint = "take it into helm-charts/, and name it there in watches.yaml: a procedure's Job is a file of the chart";
        return Err(wrong(
            format!("the chart of {kind} is not in this folder: {}", entry.chart),
            hint,
        ));
    };
    if path.is_file() {
        let hint = "unpack it into helm-charts/, and name the folder in watches.yaml: a procedure's Job is a file of the chart";
        return Err(wrong(
            format!("the chart of {kind} is an archive: {}", entry.chart),
            hint,
        ));
    }
    Ok(parts.join("/"))
}

/// What the loader finds in the new text and the chart with the new file.
fn planned(
    text: &str,
    entry: &FoundEntry,
    procedure: &NewProcedure,
    environment: &Environment,
) -> Result<Watches, Failure> {
    let path = PathBuf::from(&entry.chart);
    let chart = with_file(&path, &procedure.file(), &procedure.job());
    let chart = chart.map_err(|error| Failure::failed(error, None))?;
    let watches = Watches::load_planned(Path::new(WATCHES), text.as_bytes(), [(path, chart)], environment);
    watches.map_err(|error| {
        let hint = error.hint();
        let attempt = format!("failed to add procedure {}: nothing was written", procedure.name);
        Failure::usage(anyhow!(error).context(attempt), hint)
    })
}

/// The chart as it is going to be; its `.helmignore` may leave the file out.
fn with_file(path: &Path, file: &str, text: &str) -> anyhow::Result<Chart> {
    let attempt = || format!("failed to copy the chart `{}`", path.display());
    let mut files = files_of_chart(path).with_context(attempt)?;
    files.insert(file.to_owned(), text.as_bytes().to_vec());
    let copy = tempfile::tempdir().with_context(attempt)?;
    for (name, content) in files {
        let target = copy.path().join(name);
        target
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .with_context(attempt)?;
        fs::write(target, content).with_context(attempt)?;
    }
    Chart::load(copy.path()).with_context(attempt)
}

/// What was read of an entry.
fn of<'a>(watches: &'a Watches, entry: &FoundEntry) -> Result<&'a Watch, Failure> {
    let mut all = watches.iter();
    let found = all.find(|watch| {
        let gvk = &watch.gvk;
        (&gvk.group, &gvk.version, &gvk.kind) == (&entry.group, &entry.version, &entry.kind)
    });
    found.ok_or_else(|| {
        wrong(
            format!("the entry for {} is gone", entry.kind),
            "`steersman check` says more",
        )
    })
}
