//! `run`: the operator.

mod ansible;
mod config;
mod defaults;
mod flags;
mod python;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
pub(super) use flags::Args;
use python::check_ansible;
use steersman_model::Environment;
use steersman_operator::config::Config;
use steersman_operator::follow::{Updates, follow};
use steersman_operator::telemetry::traces::{Traces, are_wanted};
use steersman_operator::{supervisor, telemetry};
use steersman_watches::Watches;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::arguments::normalize;
use super::program::Program;
use super::{Cli, Command, Failure};

/// Threads that wait for the API server. They have little to do, and each takes memory of its own for what it allocates.
const WORKERS: usize = 2;

/// Threads that render.
const RENDERERS: usize = 16;

/// Runs the operator until a signal, or until it cannot go on.
pub(super) fn exec(arguments: Args, environment: &Environment, program: Program) -> Result<(), Failure> {
    let is_terminal = std::io::stderr().is_terminal();
    let environment = &arguments.ansible.merged(environment);
    let config = arguments.into_config(environment, is_terminal, program);
    let config = config.map_err(|error| {
        let hint = format!("`{} run --help` explains the flags", program.name());
        Failure::usage(error, Some(hint))
    })?;
    let watches = Watches::load(&config.watches_file, environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(RENDERERS)
        .enable_all()
        .build()
        .context("failed to start the threads of the operator")?;
    let traces = are_wanted(environment).then(|| Traces::start(environment, runtime.handle().clone()));
    let traces = traces
        .transpose()
        .context("the variables OTEL_… can't be obeyed")?;
    telemetry::start(config.log, traces.as_ref());
    for missing in check_ansible(&watches, &config, environment)? {
        tracing::warn!("{missing}");
    }
    let result = runtime.block_on(async {
        let shutdown = CancellationToken::new();
        stop_on_signals(shutdown.clone()).context("failed to listen for signals")?;
        let updates = updates(&config, environment, &watches);
        let control = |context, watches| supervisor::run(context, watches, updates);
        let running = steersman_operator::run::run(config, environment, watches, shutdown, control);
        running.await.map_err(|error| {
            let hint = error.hint().map(str::to_owned);
            Failure::failed(error, hint)
        })
    });
    if let Some(traces) = traces {
        traces.finish();
    }
    // Work that blocks, such as a look-up of a template, is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

/// What `run` has to say about these arguments: notices, or why it would not start.
pub(super) fn check_flags(flags: &[String], environment: &Environment) -> Result<Vec<String>, String> {
    let words = ["steersman", "run"]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    let words = normalize(words.map(Into::into).collect());
    let parsed = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        line.trim_start_matches("error: ").to_owned()
    })?;
    let Command::Run(arguments) = parsed.command else {
        return Err("they are not those of `run`".to_owned());
    };
    let environment = &arguments.ansible.merged(environment);
    let config = arguments.into_config(environment, false, Program::HelmOperator);
    config
        .map(|config| config.notices)
        .map_err(|error| error.to_string())
}

/// The changes of the files, where they are to be followed and can be.
fn updates(config: &Config, environment: &Environment, watches: &Watches) -> Option<Updates> {
    if !config.follow_files {
        return None;
    }
    match follow(&config.watches_file, environment, watches) {
        Ok(updates) => Some(updates),
        Err(error) => {
            tracing::warn!(%error, "changes of watches.yaml and charts are not followed");
            None
        }
    }
}

/// Cancels the token at the first SIGTERM or SIGINT, and ends the process at the second.
fn stop_on_signals(shutdown: CancellationToken) -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        for count in 1.. {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if count > 1 {
                std::process::exit(1);
            }
            shutdown.cancel();
        }
    });
    Ok(())
}
