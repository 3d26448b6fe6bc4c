//! An operator as a process of its own, the way its users run it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::command::tied_to_this_thread;
use super::error::{ControlPlaneError, io_failed};
use crate::environment;
use crate::ports::free_port;
use crate::skip::not_judged;

/// How long an operator may take to end after it was asked to.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

/// The Go helm-operator, the program that `HELM_OPERATOR` names. `None` where it names none, which has been said on
/// one line, with the name of the test.
#[must_use]
pub fn helm_operator_or_say(test: &str) -> Option<PathBuf> {
    let binary = environment::path_variable("HELM_OPERATOR");
    if binary.is_none() {
        not_judged(test, "HELM_OPERATOR names no binary of the Go helm-operator");
    }
    binary
}

/// The Go ansible-operator, the program that `ANSIBLE_OPERATOR` names. `None` as for [`helm_operator_or_say`].
#[must_use]
pub fn ansible_operator_or_say(test: &str) -> Option<PathBuf> {
    let binary = environment::path_variable("ANSIBLE_OPERATOR");
    if binary.is_none() {
        not_judged(
            test,
            "ANSIBLE_OPERATOR names no binary of the Go ansible-operator",
        );
    }
    binary
}

/// What to run, and where.
#[derive(Debug, Clone, Copy)]
pub struct OperatorCommand<'a> {
    /// The program.
    pub binary: &'a Path,
    /// The working directory, with `watches.yaml` in it.
    pub folder: &'a Path,
    /// The credentials of its user.
    pub kubeconfig: &'a Path,
    /// More arguments, after `run`, the watches file and the ports.
    pub arguments: &'a [&'a str],
    /// Variables on top of the environment of this process.
    pub environment: &'a [(&'a str, &'a str)],
    /// The file that gets what it prints.
    pub log: &'a Path,
}

/// A running `PROGRAM run --watches-file=./watches.yaml`, on free loopback ports.
///
/// It is killed when this value is dropped and when the process ends, in whatever way: on Linux the kernel sees
/// to that when the thread ends that called [`OperatorProcess::start`], so that must be one that stays.
#[derive(Debug)]
pub struct OperatorProcess {
    child: Mutex<Child>,
    probes: u16,
    metrics: u16,
    log: PathBuf,
}

impl OperatorProcess {
    /// Starts the operator; it must be called in an async runtime.
    ///
    /// # Errors
    ///
    /// The program can't be run, or the log can't be written.
    pub fn start(command: &OperatorCommand<'_>) -> Result<Self, ControlPlaneError> {
        let output = File::create(command.log).map_err(io_failed("write", command.log))?;
        let errors = output.try_clone().map_err(io_failed("write", command.log))?;
        let port = || free_port().map_err(io_failed("listen on", Path::new("127.0.0.1")));
        let (probes, metrics) = (port()?, port()?);
        let child = Command::from(tied_to_this_thread(command.binary))
            .args(["run", "--watches-file=./watches.yaml"])
            .arg(format!("--health-probe-bind-address=127.0.0.1:{probes}"))
            .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
            .args(command.arguments)
            .envs(command.environment.iter().copied())
            .env("KUBECONFIG", command.kubeconfig)
            .current_dir(command.folder)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(io_failed("run", command.binary))?;
        Ok(Self {
            child: Mutex::new(child),
            probes,
            metrics,
            log: command.log.to_path_buf(),
        })
    }

    /// The file that holds what it prints.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// What it has printed so far.
    #[must_use]
    pub fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The number of its process, while it runs.
    pub async fn id(&self) -> Option<u32> {
        self.child.lock().await.id()
    }

    /// Waits until `/readyz` says ok.
    ///
    /// # Errors
    ///
    /// It ends, or is not ready in time: the error quotes its log, or what `/readyz` says.
    pub async fn wait_until_ready(&self, within: Duration) -> Result<(), ControlPlaneError> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.ended().await? {
                return Err(failed(format!("ended with {status}"), &self.log_text()));
            }
            let answer = get(self.probes, "/readyz").await.unwrap_or_default();
            if answer.starts_with("HTTP/1.1 200") {
                return Ok(());
            }
            if begun.elapsed() > within {
                let what = format!("is not ready after {within:?}: {answer}");
                return Err(failed(what, &self.log_text()));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The answer to a GET on its probe port, with status line and headers.
    ///
    /// # Errors
    ///
    /// Nothing answers there.
    pub async fn probe(&self, path: &str) -> Result<String, ControlPlaneError> {
        get(self.probes, path)
            .await
            .map_err(io_failed("get", Path::new(path)))
    }

    /// The loopback port of `/metrics`.
    #[must_use]
    pub fn metrics_port(&self) -> u16 {
        self.metrics
    }

    /// The answer to a GET of `/metrics`, with status line and headers.
    ///
    /// # Errors
    ///
    /// Nothing answers there.
    pub async fn metrics(&self) -> Result<String, ControlPlaneError> {
        get(self.metrics, "/metrics")
            .await
            .map_err(io_failed("get", Path::new("/metrics")))
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    ///
    /// The system does not tell.
    pub async fn ended(&self) -> Result<Option<ExitStatus>, ControlPlaneError> {
        self.child
            .lock()
            .await
            .try_wait()
            .map_err(io_failed("watch the process of", &self.log))
    }

    /// Asks it to end, as Kubernetes does, and waits until it has.
    ///
    /// # Errors
    ///
    /// It does not end in time, or not with status 0.
    pub async fn stop(&self) -> Result<(), ControlPlaneError> {
        let mut child = self.child.lock().await;
        if let Some(id) = child.id() {
            // The standard library can only kill; asking is what the command is for.
            let asked = Command::new("kill")
                .args(["-TERM", &id.to_string()])
                .status()
                .await;
            asked.map_err(io_failed("run", Path::new("kill")))?;
        }
        match tokio::time::timeout(STOPS_WITHIN, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(failed(
                format!("ended with {status} when it was stopped"),
                &self.log_text(),
            )),
            Ok(Err(source)) => Err(io_failed("watch the process of", &self.log)(source)),
            Err(_) => Err(failed(
                format!("did not stop within {STOPS_WITHIN:?}"),
                &self.log_text(),
            )),
        }
    }

    /// Ends it at once, as a crash would, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub async fn kill(&self) -> Result<(), ControlPlaneError> {
        self.child
            .lock()
            .await
            .kill()
            .await
            .map_err(io_failed("kill the process of", &self.log))
    }
}

fn failed(what: String, log: &str) -> ControlPlaneError {
    let lines: Vec<&str> = log.lines().collect();
    let last: Vec<&str> = lines
        .iter()
        .skip(lines.len().saturating_sub(40))
        .copied()
        .collect();
    ControlPlaneError::Operator {
        what,
        log: last.join("\n"),
    }
}

async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
