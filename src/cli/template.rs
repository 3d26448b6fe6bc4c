//! `template`: renders a chart on this machine.

use anyhow::anyhow;

use super::Failure;

/// What `template` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The name of the release
    release: String,
    /// The chart's directory or `.tgz` file
    chart: std::path::PathBuf,
}

/// Renders the chart to standard output.
pub(super) fn exec(arguments: Args) -> Result<(), Failure> {
    let Args { release, chart } = arguments;
    Err(Failure::Failed(anyhow!(
        "this build cannot render `{}` as `{release}`",
        chart.display()
    )))
}
