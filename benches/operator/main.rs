//! What an operator costs: Steersman and the Go helm-operator on one control plane, with the same chart and resources.
//! `make bench-operator` builds and starts it; `benches/README.md` says what the figures are.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the tables and the progress are what this program is for"
)]

mod candidate;
mod cluster;
mod foreign;
mod phases;
mod process;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;

use candidate::Candidate;
use cluster::Rig;
use phases::Figures;

/// Measures operators on a control plane of its own.
#[derive(Parser)]
struct Arguments {
    /// Steersman's optimised binary
    #[arg(long, value_name = "FILE")]
    steersman: PathBuf,
    /// The Go helm-operator's binary; without it only Steersman is measured
    #[arg(long, value_name = "FILE")]
    helm_operator: Option<PathBuf>,
    /// How many custom resources there are
    #[arg(long, default_value_t = 500)]
    resources: usize,
    /// How many Secrets, how many config maps and how many Deployments of others there are, of 10 kB each
    #[arg(long, default_value_t = 10_000)]
    foreign: usize,
    /// For how many seconds settled operators are watched
    #[arg(long, default_value_t = 120)]
    settled: u64,
    /// Write the tables to this file, too
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let rig = Rig::start().await?;
    let ours = measure_alone(&rig, "steersman", &arguments.steersman, &arguments).await?;
    let theirs = match &arguments.helm_operator {
        Some(binary) => Some(measure_alone(&rig, "helm-operator", binary, &arguments).await?),
        None => None,
    };
    let mut all: Vec<(Candidate, Figures)> = std::iter::once(ours).chain(theirs).collect();
    foreign::measure(&rig, &mut all, arguments.foreign).await?;

    let figures: Vec<(&Candidate, &Figures)> = all
        .iter()
        .map(|(candidate, figures)| (candidate, figures))
        .collect();
    let kubernetes = rig.client.apiserver_version().await?.git_version;
    let text = report::tables(&figures, &kubernetes, (arguments.resources, arguments.foreign));
    println!("{text}");
    if let Some(path) = &arguments.output {
        std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// Everything that one operator is measured at while no other runs.
async fn measure_alone(
    rig: &Rig,
    name: &'static str,
    binary: &std::path::Path,
    arguments: &Arguments,
) -> Result<(Candidate, Figures)> {
    let candidate = Candidate::prepare(rig, name, binary)
        .await
        .with_context(|| format!("failed to prepare {name}"))?;
    let mut figures = Figures::default();
    phases::install(rig, &candidate, arguments.resources, &mut figures).await?;
    let settled = Duration::from_secs(arguments.settled);
    phases::restart(rig, &candidate, arguments.resources, settled, &mut figures).await?;
    Ok((candidate, figures))
}
