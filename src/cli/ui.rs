//! `ui`: the page, over the kubeconfig of who looks.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use steersman_model::Environment;
use steersman_operator::budget::{Shares, memory_limit};
use steersman_ui::{Config, Login, Ui};
use steersman_watches::Watches;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::cluster::{ClusterFlags, block_on_few, failed};

const EXAMPLES: &str = "\
Examples:
  # The releases of the kinds of ./watches.yaml, in all namespaces
  steersman ui

  # Those of two namespaces, of another project
  steersman ui -n shops,stores --watches-file=../shop-operator/watches.yaml

  # At a port that stays the same
  steersman ui --address 127.0.0.1:8910

  # In a pod: each who looks brings a token of the cluster, and sees what that may see
  steersman ui --address 0.0.0.0:8080 --login token --host releases.example.com";

/// An answer of the API server is no longer than this, however much memory there is: lists go on in shorter pages.
const MOST_BYTES: usize = 16 << 20;

/// What `ui` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where the page is: an address of this machine, and a port, 0 for a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    address: SocketAddr,
    /// Whose rights the page has: those of the kubeconfig, for whoever has the address with its code; or those of a token of the
    /// cluster that each brings
    #[arg(long, value_enum, default_value_t = Door::Code)]
    login: Door,
    /// A name that the page answers to besides those of this machine, as browsers write it, with a port that is not that of its
    /// scheme; more than once for several
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// The watches.yaml with the kinds to show, and the health checks (`healthChecks`) to judge objects by
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// How people come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Door {
    Code,
    Token,
}

/// Serves the page until it is interrupted.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    if arguments.login == Door::Code && !arguments.address.ip().is_loopback() {
        let error = anyhow::anyhow!("{} is no address of this machine alone", arguments.address);
        let hint = "the page has the rights of your kubeconfig: nobody else may reach it; with --login=token each brings their own";
        return Err(Failure::usage(error, Some(hint.to_owned())));
    }
    let watches = Watches::load(&arguments.watches_file, environment)?;
    block_on_few(async {
        let namespaces: Vec<String> = arguments
            .cluster
            .named_namespace()
            .iter()
            .flat_map(|named| named.split(','))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let home = namespaces.first().cloned();
        let config = Config {
            address: arguments.address,
            hosts: arguments.hosts,
            home: home.unwrap_or_else(|| arguments.cluster.namespace(environment)),
            namespaces,
            cluster: arguments.cluster.title(environment),
            shares: shares(),
        };
        let login = match arguments.login {
            Door::Code => {
                let bytes = config.shares.answers.bytes.min(MOST_BYTES);
                Login::Code(arguments.cluster.connect_within(environment, bytes).await?)
            }
            Door::Token => Login::Token(Box::new(arguments.cluster.configuration(environment).await?)),
        };
        let ui = Ui::start(config, login, watches).await.map_err(failed)?;
        say(&ui.url().map_err(failed)?);
        let stop = CancellationToken::new();
        let interrupted = stop.clone();
        tokio::spawn(async move {
            ended().await;
            interrupted.cancel();
        });
        ui.serve(stop).await;
        Ok(())
    })
}

/// Half of the memory that there is: rows, and what is made of what was read, take the rest.
fn shares() -> Shares {
    let shares = Shares::of(memory_limit().map(|limit| limit / 2));
    steersman_yaml::limit_documents(shares.document);
    shares
}

/// Waits until somebody has it end: at a keyboard, or the kubelet.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

/// The address is all that a script needs.
fn say(url: &str) {
    let mut output = std::io::stdout();
    let is_terminal = output.is_terminal();
    let _ = if is_terminal {
        writeln!(
            output,
            "The page is at {url}\nAn address with a code counts once. Ctrl+C ends the page."
        )
    } else {
        writeln!(output, "{url}")
    };
    let _ = output.flush();
}
