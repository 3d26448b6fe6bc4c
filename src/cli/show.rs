//! `show`: what a chart has inside, with the flags and the output of `helm show`.

use anyhow::anyhow;
use steersman_chart::json_path::select;
use steersman_chart::show::{Part, show};
use steersman_model::Environment;

use super::Failure;
use super::helm::{self, ChartFlags, GlobalFlags, Settings, print};

const EXAMPLES: &str = "\
Examples:
  # The values that a chart can be given
  steersman show values helm-charts/visitors

  # Chart.yaml of a chart in a registry
  steersman show chart oci://registry.example.com/charts/web --version 1.2.3";

/// What `show` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    part: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show everything
    All(Common),
    /// Show Chart.yaml
    Chart(Common),
    /// Show the files of crds/
    Crds(Common),
    /// Show README.md, README.txt or README
    Readme(Common),
    /// Show values.yaml
    Values(Values),
}

/// What all parts take.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct Common {
    /// The chart: a directory, a `.tgz` file, a URL, `oci://…` or REPOSITORY/CHART
    #[arg(value_name = "CHART", num_args = 0..)]
    chart: Vec<String>,
    #[command(flatten)]
    source: ChartFlags,
    #[command(flatten)]
    global: GlobalFlags,
}

#[derive(Debug, clap::Args)]
struct Values {
    /// Show only what this JSONPath expression selects
    #[arg(long, value_name = "EXPRESSION")]
    jsonpath: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Prints the part of the chart.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let (name, part, common) = match &arguments.part {
        Command::All(common) => ("all", Part::All, common),
        Command::Chart(common) => ("chart", Part::Definition, common),
        Command::Crds(common) => ("crds", Part::Crds, common),
        Command::Readme(common) => ("readme", Part::Readme, common),
        Command::Values(values) => ("values", Part::Values, &values.common),
    };
    let [reference] = common.chart.as_slice() else {
        let command = format!("show {name}");
        return helm::check_count(false, &command, "requires 1 argument", "[CHART]");
    };
    let settings = Settings::new(&common.global, environment)?;
    let chart = helm::locate(reference, &common.source, &settings)?
        .load_any()
        .map_err(Failure::helm)?;
    chart.notices().iter().for_each(helm::log);
    if let Command::Values(Values {
        jsonpath: Some(expression),
        ..
    }) = &arguments.part
        && !expression.is_empty()
    {
        let selected = select(chart.values(), expression);
        return print(&selected.map_err(|message| Failure::helm(anyhow!(message)))?);
    }
    print(&show(&chart, part))
}
