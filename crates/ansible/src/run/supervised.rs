//! The supervisor of a run, from its start to its status.

use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use crate::preload::{Lease, Preload, words};
use crate::supervisor::handle::Handle;

/// How long a supervisor has to kill a run, on top of its grace; it gives up by itself before.
const KILLING: Duration = Duration::from_secs(15);
/// How long a preloaded process has to become a supervisor: it may be loading, on a machine that has more to do.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long a supervisor that has said its status may take to be gone.
const GOING: Duration = Duration::from_secs(1);
/// How often is looked whether it is gone.
const LOOK: Duration = Duration::from_millis(5);

/// The bytes of a process number.
const ID: usize = 4;

/// Names the folder that goes with a run, in the environment of all that is below its supervisor: what is left of a run is told
/// by it.
const RUN: &str = "STEERSMAN_RUN";

/// Variables of ansible-runner that would win over our settings.
const REMOVED: [&str; 2] = ["RUNNER_HTTP_URL", "RUNNER_HTTP_PATH"];

/// A supervisor that was started.
#[derive(Debug)]
pub(super) struct Supervised {
    /// Its standard input, whose end is the end of the run. A preloaded process holds it, too, until nothing of the run is left.
    line: UnixStream,
    /// What it has said on it: its number, and its status at the end.
    said: Vec<u8>,
    /// Its number is its own while the line is open.
    process: Option<Handle>,
    /// Where this process has started it.
    child: Option<Child>,
    /// Its process reaps the supervisor.
    lease: Option<Lease>,
}

/// What is needed besides its words to start one with a process for its modules.
pub(super) struct Forking<'a> {
    pub(super) preload: &'a Preload,
    /// Where modules are asked for.
    pub(super) socket: OsString,
    /// What the run has besides the environment of this process.
    pub(super) environment: Vec<OsString>,
}

/// What a supervisor and its program print.
pub(super) type Output = [PipeReader; 2];

impl Supervised {
    /// Starts a supervisor of what goes with a folder, with a process for its modules if that can be done.
    pub(super) async fn start(
        words: Vec<OsString>,
        folder: &Path,
        forking: Option<Forking<'_>>,
    ) -> io::Result<(Self, Output)> {
        if let Some(forking) = forking
            && let Some(forked) = Self::fork(&words, folder, forking).await
        {
            return Ok(forked);
        }
        Self::spawn(&words, folder)
    }

    /// As a child of this process.
    fn spawn(words: &[OsString], folder: &Path) -> io::Result<(Self, Output)> {
        let ends = Ends::new()?;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env(RUN, folder)
            .stdin(Stdio::from(ends.line))
            .stdout(Stdio::from(ends.output))
            .stderr(Stdio::from(ends.error))
            // Ctrl-C on a terminal is for the operator, which decides what becomes of its runs.
            .process_group(0);
        for name in REMOVED {
            command.env_remove(name);
        }
        let child = command.spawn()?;
        let this = Self {
            line: stream(ends.own_line)?,
            said: Vec::new(),
            process: child.id().and_then(|id| process(id.cast_signed())),
            child: Some(child),
            lease: None,
        };
        Ok((this, ends.own_output))
    }

    /// As a child of the preloaded process.
    async fn fork(words: &[OsString], folder: &Path, forking: Forking<'_>) -> Option<(Self, Output)> {
        let ends = Ends::new().ok()?;
        let (preload, words) = (forking.preload.clone(), words.to_vec());
        let lists = [
            vec![forking.socket],
            words,
            environment(folder),
            forking.environment,
        ];
        let files = (ends.line, ends.output, ends.error);
        // It may have to be started, and to load.
        let forked = tokio::task::spawn_blocking(move || {
            let (line, output, error) = &files;
            preload.fork(&lists, [line.as_fd(), output.as_fd(), error.as_fd()])
        });
        let lease = forked.await.ok()?.ok()?;
        let mut this = Self {
            line: stream(ends.own_line).ok()?,
            said: Vec::new(),
            process: None,
            child: None,
            lease: None,
        };
        if !matches!(tokio::time::timeout(BEGINNING, this.hear(ID)).await, Ok(Ok(()))) {
            forking.preload.give_up(&lease);
            return None;
        }
        let id = this.said.first_chunk().copied().map(i32::from_be_bytes);
        this.process = id.and_then(process);
        this.lease = Some(lease);
        Some((this, ends.own_output))
    }

    /// The status that it says when nothing of the run is left.
    ///
    /// # Cancellation
    /// Safe to drop, and to call again.
    pub(super) async fn status(&mut self) -> io::Result<u8> {
        let heard = self.hear(ID + 1).await;
        let ended = tokio::time::timeout(GOING, self.gone()).await;
        match (heard, ended) {
            (Ok(()), _) => Ok(self.said[ID]),
            (Err(_), Ok(Some(ended))) => Err(io::Error::other(ended)),
            (Err(error), _) => Err(error),
        }
    }

    /// Waits for the end of its process, and says how it has ended where this process is to know.
    async fn gone(&mut self) -> Option<String> {
        // The end of the line is that of the process.
        let _ = self.line.read(&mut [0]).await;
        if let Some(child) = &mut self.child {
            return child.wait().await.ok().map(|status| status.to_string());
        }
        // Where the preloaded process has ended, its children are ours.
        while self.process.as_ref().is_some_and(Handle::is_child_that_goes_on) {
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// Makes it end the run, and gives its status.
    pub(super) async fn stop(&mut self, grace: Duration) -> io::Result<u8> {
        // Where it is gone the status tells.
        let _ = self.line.write_all(b"t").await;
        if let Ok(status) = tokio::time::timeout(grace + KILLING, self.status()).await {
            return status;
        }
        // It was stopped, or waits for a device. Its line has not ended.
        if let Some(process) = &self.process {
            let _ = process.kill();
        }
        let _ = tokio::time::timeout(KILLING, self.gone()).await;
        Err(io::Error::other("it did not end, and was killed"))
    }

    /// Waits until it has said so many bytes in all.
    async fn hear(&mut self, count: usize) -> io::Result<()> {
        while self.said.len() < count {
            let mut byte = [0];
            if self.line.read(&mut byte).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was killed"));
            }
            self.said.extend(byte);
        }
        Ok(())
    }
}

fn process(id: i32) -> Option<Handle> {
    Pid::from_raw(id).map(Handle::of)
}

/// The ends of what connects a supervisor with this process.
struct Ends {
    line: OwnedFd,
    output: OwnedFd,
    error: OwnedFd,
    own_line: StdStream,
    own_output: Output,
}

impl Ends {
    fn new() -> io::Result<Self> {
        let (own_line, line) = StdStream::pair()?;
        let (own_output, output) = io::pipe()?;
        let (own_error, error) = io::pipe()?;
        Ok(Self {
            line: line.into(),
            output: output.into(),
            error: error.into(),
            own_line,
            own_output: [own_output, own_error],
        })
    }
}

fn stream(line: StdStream) -> io::Result<UnixStream> {
    line.set_nonblocking(true)?;
    UnixStream::from_std(line)
}

/// What this process has, without what is kept from runs, and with the mark of a run.
fn environment(folder: &Path) -> Vec<OsString> {
    let is_kept = |name: &OsString| name != RUN && REMOVED.iter().all(|removed| name != removed);
    let variables = std::env::vars_os().filter(|(name, _)| is_kept(name));
    words(variables.chain([(RUN.into(), folder.into())]))
}
