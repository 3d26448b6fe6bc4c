//! `ui`: the page, over the kubeconfig of who looks.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use steersman_model::Environment;
use steersman_ui::{Config, Ui};
use steersman_watches::Watches;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::cluster::{ClusterFlags, block_on, failed};

const EXAMPLES: &str = "\
Examples:
  # The releases of the kinds of ./watches.yaml, in all namespaces
  steersman ui

  # Those of one namespace, of another project
  steersman ui -n shops --watches-file=../shop-operator/watches.yaml

  # At a port that stays the same
  steersman ui --address 127.0.0.1:8910";

/// What `ui` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where the page is: an address of this machine, and a port, 0 for a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    address: SocketAddr,
    /// The watches.yaml with the kinds to show, and the health checks (`healthChecks`) to judge objects by
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Serves the page until it is interrupted.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    if !arguments.address.ip().is_loopback() {
        let error = anyhow::anyhow!("{} is no address of this machine alone", arguments.address);
        let hint = "the page has the rights of your kubeconfig: nobody else may reach it";
        return Err(Failure::usage(error, Some(hint.to_owned())));
    }
    let watches = Watches::load(&arguments.watches_file, environment)?;
    block_on(async {
        let cluster = arguments.cluster.connect(environment).await?;
        let config = Config {
            address: arguments.address,
            hosts: Vec::new(),
            namespaces: arguments.cluster.named_namespace().into_iter().collect(),
            home: cluster.namespace.clone(),
            cluster: arguments.cluster.title(environment),
        };
        let ui = Ui::start(config, cluster.client, watches).await.map_err(failed)?;
        say(&ui.url().map_err(failed)?);
        let stop = CancellationToken::new();
        let interrupted = stop.clone();
        tokio::spawn(async move {
            let _ = tokio::signal::ctrl_c().await;
            interrupted.cancel();
        });
        ui.serve(stop).await.map_err(failed)
    })
}

/// The address is all that a script needs.
fn say(url: &str) {
    let mut output = std::io::stdout();
    let is_terminal = output.is_terminal();
    let _ = if is_terminal {
        writeln!(
            output,
            "The page is at {url}\nThe address counts once. Ctrl+C ends the page."
        )
    } else {
        writeln!(output, "{url}")
    };
    let _ = output.flush();
}
