//! `lint`: looks for what is wrong with charts, with the flags and the output of `helm lint`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use steersman_chart::Limits;
use steersman_chart::lint::{LintInput, Report, Severity, lint};
use steersman_model::Environment;
use steersman_watches::world::SystemWorld;

use super::Failure;
use super::helm::{self, GlobalFlags, Settings, ValueFlags, print};

const EXAMPLES: &str = "\
Examples:
  # What is wrong with a chart
  steersman lint helm-charts/visitors

  # Several charts with the charts in them; a warning is a failure, too
  steersman lint --strict --with-subcharts helm-charts/*";

/// How deep charts are looked for in charts.
const MAX_DEPTH: usize = 64;

/// What `lint` takes: the flags of `helm lint`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "steersman lint <PATH>... [OPTIONS]", after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// Charts: directories or `.tgz` files
    #[arg(value_name = "PATH", num_args = 0..)]
    paths: Vec<String>,
    /// Fail on warnings, too
    #[arg(long)]
    strict: bool,
    /// Lint the charts in charts/, too
    #[arg(long)]
    with_subcharts: bool,
    /// Print only warnings and errors
    #[arg(long)]
    quiet: bool,
    /// Version of Kubernetes for capabilities and deprecations
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// Do not check values against values.schema.json
    #[arg(long)]
    skip_schema_validation: bool,
    #[command(flatten)]
    values: ValueFlags,
    #[command(flatten)]
    global: GlobalFlags,
}

/// Lints the charts and prints what there is to say.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let has_path = !arguments.paths.is_empty();
    helm::check_count(has_path, "lint", "requires at least 1 argument", "PATH")?;
    let settings = Settings::new(&arguments.global, environment)?;
    let kube_version = helm::kube_version(arguments.kube_version.as_ref())?;
    let mut paths = arguments.paths.clone();
    if arguments.with_subcharts {
        for path in &arguments.paths {
            find_charts(&Path::new(path).join("charts"), 0, &mut paths);
        }
    }
    let values = arguments
        .values
        .sources()
        .merge(&helm::read_file_or_url)
        .map_err(|message| Failure::helm(anyhow!(message)))?;
    let input = LintInput {
        values: &values,
        namespace: &settings.namespace(environment),
        kube_version: kube_version.as_ref(),
        skip_schema_validation: arguments.skip_schema_validation,
        world: &SystemWorld,
        limits: Limits::default(),
    };
    let mut summary = Summary::new(&arguments);
    for path in &paths {
        summary.add(path, lint(Path::new(path), &input));
    }
    summary.print(paths.len())
}

/// What is printed, and what was counted meanwhile.
struct Summary {
    /// From which severity on a finding is a failure.
    tolerance: Severity,
    quiet: bool,
    text: String,
    failed: usize,
    /// Charts with warnings or errors.
    noteworthy: usize,
}

impl Summary {
    fn new(arguments: &Args) -> Self {
        Self {
            tolerance: if arguments.strict {
                Severity::Warning
            } else {
                Severity::Error
            },
            quiet: arguments.quiet,
            text: String::new(),
            failed: 0,
            noteworthy: 0,
        }
    }

    fn add(&mut self, path: &str, result: Result<Report, String>) {
        let (findings, error) = match result {
            Ok(report) => {
                report.notices.iter().for_each(helm::log);
                (report.findings, None)
            }
            Err(error) => (Vec::new(), Some(error)),
        };
        let worst = findings.iter().map(|finding| finding.severity).max();
        let is_noteworthy = error.is_some() || worst > Some(Severity::Info);
        self.noteworthy += usize::from(is_noteworthy);
        self.failed += usize::from(error.is_some() || worst >= Some(self.tolerance));
        if self.quiet && !is_noteworthy {
            return;
        }
        let _ = writeln!(self.text, "==> Linting {path}");
        if let Some(error) = error {
            let _ = writeln!(self.text, "Error {error}");
        }
        for finding in findings {
            if !self.quiet || finding.severity > Severity::Info {
                let _ = writeln!(self.text, "{finding}");
            }
        }
        self.text.push('\n');
    }

    fn print(mut self, count: usize) -> Result<(), Failure> {
        let summary = format!("{count} chart(s) linted, {} chart(s) failed", self.failed);
        if self.failed > 0 {
            print(&self.text)?;
            return Err(Failure::helm(anyhow!(summary)));
        }
        if !self.quiet || self.noteworthy > 0 {
            let _ = writeln!(self.text, "{summary}");
        }
        print(&self.text)
    }
}

/// Adds the charts below a folder to `found`: folders with a `Chart.yaml`, and archives. Links are not followed.
fn find_charts(folder: &Path, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.to_string_lossy();
        if path.file_name().is_some_and(|name| name == "Chart.yaml") {
            found.push(folder.to_string_lossy().into_owned());
        } else if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            found.push(name.into_owned());
        }
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_dir());
        if is_folder && depth < MAX_DEPTH {
            find_charts(&path, depth + 1, found);
        }
    }
}
