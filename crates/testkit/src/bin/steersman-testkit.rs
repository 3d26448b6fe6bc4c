//! Runs a control plane for a person or a script; see `steersman-testkit --help`.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use steersman_testkit::cluster::{Assets, ControlPlane};
use tokio::signal::unix::{SignalKind, signal};

/// A real Kubernetes API on loopback ports, without nodes
#[derive(Parser)]
enum Arguments {
    /// Starts a control plane and stops it on Ctrl-C; the programs are built first where they are missing
    Up {
        /// An existing cluster to use instead
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
    },
    /// Runs a command with KUBECONFIG set to a new control plane, and stops that when the command ends
    Run {
        /// An existing cluster to use instead
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
        /// A program and what it is given, such as `kubectl api-resources`
        #[arg(required = true, trailing_var_arg = true)]
        command: Vec<String>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let result = match Arguments::parse() {
        Arguments::Up { kubeconfig } => up(kubeconfig).await,
        Arguments::Run { kubeconfig, command } => run(kubeconfig, &command).await,
    };
    result.unwrap_or_else(|error| {
        say(&format!("error: {error}"));
        let mut cause = error.source();
        while let Some(source) = cause {
            say(&format!("  because: {source}"));
            cause = source.source();
        }
        ExitCode::FAILURE
    })
}

async fn up(kubeconfig: Option<PathBuf>) -> Result<ExitCode, Box<dyn Error>> {
    let control_plane = start(kubeconfig)?;
    let mut stdout = io::stdout();
    writeln!(
        stdout,
        "export KUBECONFIG={}",
        control_plane.admin().kubeconfig().display()
    )?;
    stdout.flush()?;
    say("ready; no node runs, so no pod does; stop with Ctrl-C");
    interrupted().await?;
    stop(control_plane)
}

async fn run(kubeconfig: Option<PathBuf>, command: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let (program, arguments) = command.split_first().ok_or("a command is required")?;
    let control_plane = start(kubeconfig)?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", control_plane.admin().kubeconfig())
        .stdin(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    // Ctrl-C on a terminal reaches the command too: it decides when it ends, and the API is there until then.
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            interrupt = interrupted() => interrupt?,
        }
    };
    stop(control_plane)?;
    Ok(ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    ))
}

fn start(kubeconfig: Option<PathBuf>) -> Result<ControlPlane, Box<dyn Error>> {
    if let Some(path) = kubeconfig {
        return Ok(ControlPlane::existing(&path)?);
    }
    let assets = Assets::find_or_build()?;
    say("starting etcd, kube-apiserver and kube-controller-manager");
    let begun = Instant::now();
    let control_plane = ControlPlane::start(&assets)?;
    say(&format!("serving after {:.1} s", begun.elapsed().as_secs_f32()));
    Ok(control_plane)
}

fn stop(control_plane: ControlPlane) -> Result<ExitCode, Box<dyn Error>> {
    say("stopping");
    control_plane.stop()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns when the process is asked to end.
async fn interrupted() -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn say(message: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr(), "control plane: {message}");
}
