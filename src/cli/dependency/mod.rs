//! `dependency`: what is in charts/, with the flags and the output of `helm dependency`.

mod list;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use steersman_model::Environment;
use steersman_registry::dependency::{Manager, Options};

use super::Failure;
use super::helm::{self, ConnectionFlags, GlobalFlags, Settings, print};

const EXAMPLES: &str = "\
Examples:
  # What a chart depends on, and what of that is in charts/
  steersman dependency list helm-charts/visitors

  # Fill charts/ with what Chart.lock says
  steersman dependency build my-chart

  # Look for newer versions, and write Chart.lock
  steersman dependency update my-chart";

/// What `dependency` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Fill charts/ with what Chart.lock says
    Build(Fill),
    /// List what Chart.yaml declares, and what of that is in charts/
    #[command(alias = "ls")]
    List(List),
    /// Fill charts/ with the newest versions that Chart.yaml allows, and write Chart.lock
    #[command(alias = "up")]
    Update(Fill),
}

/// What `build` and `update` take.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct Fill {
    /// The chart's directory [default: .]
    #[arg(value_name = "CHART", num_args = 0..)]
    chart: Vec<String>,
    /// Use the indexes of repositories as they were kept
    #[arg(long)]
    skip_refresh: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// Refused: there is no PGP here to check a signature with
    #[arg(long, hide = true)]
    verify: bool,
    /// Accepted without effect
    #[arg(long, value_name = "FILE", hide = true)]
    keyring: Option<PathBuf>,
    #[command(flatten)]
    global: GlobalFlags,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct List {
    /// The chart: a directory or a `.tgz` file [default: .]
    #[arg(value_name = "CHART", num_args = 0..)]
    chart: Vec<String>,
    /// The widest that a column may be
    #[arg(long, value_name = "NUMBER", default_value = "80", value_parser = helm::values::unsigned)]
    max_col_width: usize,
    #[command(flatten)]
    global: GlobalFlags,
}

/// Lists or fills charts/.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    match arguments.action {
        Command::List(arguments) => {
            Settings::new(&arguments.global, environment)?;
            let chart = chart(&arguments.chart, "list")?;
            list::list(&chart, arguments.max_col_width)
        }
        Command::Build(arguments) => fill(&arguments, "build", environment),
        Command::Update(arguments) => fill(&arguments, "update", environment),
    }
}

fn fill(arguments: &Fill, action: &str, environment: &Environment) -> Result<(), Failure> {
    let settings = Settings::new(&arguments.global, environment)?;
    let chart = chart(&arguments.chart, action)?;
    helm::refuse_verification(arguments.verify)?;
    let options = Options {
        access: arguments.connection.access(),
        skip_refresh: arguments.skip_refresh,
        ..options(&settings, environment)?
    };
    let manager = Manager::new(&chart, &settings.repository, options);
    let manager = manager.map_err(|error| Failure::helm(anyhow!("missing registry client: {error}")))?;
    let result = helm::block_on(async {
        if action == "build" {
            manager.build().await
        } else {
            manager.update().await
        }
    });
    result?.map_err(|message| Failure::helm(anyhow!(message)))
}

/// The options that follow from settings and environment.
pub(super) fn options(settings: &Settings, environment: &Environment) -> Result<Options<'static>, Failure> {
    let now = jiff::Timestamp::now();
    Ok(Options {
        access: steersman_registry::Access::default(),
        skip_refresh: false,
        debug: settings.debug,
        now,
        modified: source_date_epoch(environment)?.unwrap_or_else(|| now.as_second().unsigned_abs()),
        // A reader that has gone away does not leave charts/ half filled.
        say: &|text| {
            let _ = print(text);
        },
        notice: &helm::log,
    })
}

/// The time of files in archives, where the environment sets one so that they can be made again.
fn source_date_epoch(environment: &Environment) -> Result<Option<u64>, Failure> {
    let Some(text) = environment
        .get("SOURCE_DATE_EPOCH")
        .filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    match text.parse::<i64>() {
        Ok(seconds) => u64::try_from(seconds)
            .map(Some)
            .map_err(|_| Failure::helm(anyhow!("invalid SOURCE_DATE_EPOCH: must not be negative"))),
        Err(_) => Err(Failure::helm(anyhow!(
            "invalid SOURCE_DATE_EPOCH: strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))),
    }
}

/// The chart that is named, or the one in this directory, without `.` and `..` in its path.
fn chart(given: &[String], action: &str) -> Result<PathBuf, Failure> {
    let command = format!("dependency {action}");
    helm::check_count(given.len() <= 1, &command, "accepts at most 1 argument", "CHART")?;
    let path = Path::new(given.first().map_or(".", String::as_str));
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if cleaned.file_name().is_some() => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    if cleaned.as_os_str().is_empty() {
        cleaned.push(".");
    }
    Ok(cleaned)
}
