//! What an operator costs: Steersman and the Go operator of the same contract on one control plane, with the same content and
//! resources; and what its page costs, beside kubectl. `make bench-operator`, `make bench-ansible` and `make bench-page` build
//! and start it; `benches/README.md` says what the figures are.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the tables and the progress are what this program is for"
)]

mod candidate;
mod charts;
mod cluster;
mod healing;
mod others;
mod page;
mod process;
mod report;
mod roles;
mod tree;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

use cluster::Rig;

/// Measures operators on a control plane of its own.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    content: Content,
}

/// What the operators make of resources.
#[derive(Subcommand)]
enum Content {
    /// Releases of charts, beside the Go helm-operator
    Charts(charts::Arguments),
    /// Runs of roles, beside the Go ansible-operator
    Roles(roles::Arguments),
    /// The page over many resources, beside `kubectl get`
    Page(page::Arguments),
}

/// What all measurements need.
#[derive(Args)]
struct Common {
    /// Steersman's optimised binary
    #[arg(long, value_name = "FILE")]
    steersman: PathBuf,
    /// The Go operator's binary; without it only Steersman is measured
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
    /// How many custom resources there are when an operator is at rest
    #[arg(long, default_value_t = 500)]
    resources: usize,
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
    let (text, output) = match &arguments.content {
        Content::Charts(arguments) => (charts::measure(&rig, arguments).await?, &arguments.common.output),
        Content::Roles(arguments) => (roles::measure(&rig, arguments).await?, &arguments.common.output),
        Content::Page(arguments) => (page::measure(&rig, arguments).await?, &arguments.output),
    };
    println!("{text}");
    if let Some(path) = output {
        std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}
