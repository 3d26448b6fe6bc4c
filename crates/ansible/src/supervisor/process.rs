//! The process that supervises.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus, kill_process, set_child_subreaper};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::signal::unix::{self, SignalKind};

use super::SUPERVISOR_FAILED;
use super::children::{self, Children, KILLING};

/// Why a program could not be supervised.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The arguments are not a grace in milliseconds, a program and its arguments.
    #[error("failed to read the arguments of a supervisor: they are MILLISECONDS PROGRAM [ARGUMENT...]")]
    Arguments,
    /// Something of the operating system that a supervisor needs is not to be had.
    #[error("failed to {attempt}")]
    Setup {
        /// What was tried.
        attempt: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// The program does not start.
    #[error("failed to run `{}`", program.display())]
    Start {
        /// As the arguments name it.
        program: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Processes of the run go on.
    #[error("failed to end {left} processes of `{}`", program.display())]
    Left {
        /// The program that had started them.
        program: PathBuf,
        /// How many are known.
        left: usize,
    },
}

/// Runs a program until it ends or is to end, and then ends all that it has started; see [`Supervisor`](super::Supervisor).
///
/// The arguments are the grace in milliseconds, the program and its arguments. Standard input is a socket, whose end is the end
/// of the run. The program gets the standard output and error of this process, and no input.
///
/// To be called before this process starts a thread: it takes over all children, and signals. Children that it has already
/// belong to the run.
///
/// # Errors
/// The program can't be started, or something of it is left after ten seconds of killing. The caller writes the error to
/// standard error and exits with [`SUPERVISOR_FAILED`](super::SUPERVISOR_FAILED).
///
/// # Guarantees
/// The status is the program's, or 128 and the number of the signal that has ended it. When this returns a status no process
/// is left that the program, or any process of it, has started.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, SuperviseError> {
    let mut arguments = arguments.into_iter();
    let grace = arguments.next().as_deref().and_then(milliseconds);
    let (Some(grace), Some(program)) = (grace, arguments.next().map(PathBuf::from)) else {
        return Err(SuperviseError::Arguments);
    };
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null());
    // One thread: the children of this process are those of its only thread.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(setup("start a runtime"))?;
    runtime.block_on(async {
        let mut signs = Signs::watch()?;
        signs
            .say(&rustix::process::getpid().as_raw_nonzero().get().to_be_bytes())
            .await;
        let ended = run(&mut signs, command, &program, grace).await.map(exit_status);
        signs.say(&[*ended.as_ref().unwrap_or(&SUPERVISOR_FAILED)]).await;
        ended.map(ExitCode::from)
    })
}

fn milliseconds(text: &OsStr) -> Option<Duration> {
    text.to_str()?.parse().ok().map(Duration::from_millis)
}

fn setup(attempt: &'static str) -> impl FnOnce(io::Error) -> SuperviseError {
    move |source| SuperviseError::Setup { attempt, source }
}

/// The program's status, once nothing of it is left.
async fn run(
    signs: &mut Signs,
    mut command: Command,
    program: &Path,
    grace: Duration,
) -> Result<Option<WaitStatus>, SuperviseError> {
    set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| setup("become a subreaper")(error.into()))?;
    let child = command.spawn().map_err(|source| SuperviseError::Start {
        program: program.to_path_buf(),
        source,
    })?;
    let mut children = Children::of(Pid::from_child(&child));
    loop {
        match signs.next().await {
            Sign::Ended => {
                let _ = children.reap();
                if children.program_has_ended() {
                    break;
                }
            }
            Sign::Asked => {
                end_softly(signs, &mut children, Pid::from_child(&child), grace).await;
                break;
            }
            Sign::Abandoned => break,
        }
    }
    match children::kill_all(&mut children, KILLING) {
        0 => Ok(children.status_of_program()),
        left => Err(SuperviseError::Left {
            program: program.to_path_buf(),
            left,
        }),
    }
}

/// Asks the program alone to end: ansible-runner kills its playbook then. A module that ended by itself would look like a
/// task that has failed, and what rescues it would begin.
async fn end_softly(signs: &mut Signs, children: &mut Children, program: Pid, grace: Duration) {
    // It may just have ended, and nobody has reaped it: then this does nothing.
    let _ = kill_process(program, Signal::TERM);
    let over = tokio::time::sleep(grace);
    tokio::pin!(over);
    while !children.program_has_ended() {
        tokio::select! {
            () = &mut over => return,
            sign = signs.next() => match sign {
                Sign::Ended => _ = children.reap(),
                Sign::Asked => {}
                Sign::Abandoned => return,
            },
        }
    }
}

fn exit_status(status: Option<WaitStatus>) -> u8 {
    let code = status.and_then(|status| {
        let signal = status.terminating_signal().map(|signal| 128 + signal);
        status.exit_status().or(signal)
    });
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// What a supervisor is told.
enum Sign {
    /// A child has ended, maybe several.
    Ended,
    /// This process got a signal.
    Asked,
    /// Who has started this process is gone.
    Abandoned,
}

struct Signs {
    child: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
    line: UnixStream,
}

impl Signs {
    fn watch() -> Result<Self, SuperviseError> {
        let signal = |kind| unix::signal(kind).map_err(setup("watch for signals"));
        let line = line().map_err(setup("use standard input, which is to be a socket"))?;
        Ok(Self {
            child: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            line,
        })
    }

    /// Says something to who has started this process, if that is still there.
    async fn say(&mut self, bytes: &[u8]) {
        let _ = self.line.write_all(bytes).await;
    }

    async fn next(&mut self) -> Sign {
        let mut asked = [0];
        tokio::select! {
            _ = self.child.recv() => Sign::Ended,
            _ = self.terminate.recv() => Sign::Asked,
            _ = self.interrupt.recv() => Sign::Asked,
            _ = self.hangup.recv() => Sign::Asked,
            read = self.line.read(&mut asked) => if matches!(read, Ok(1..)) { Sign::Asked } else { Sign::Abandoned },
        }
    }
}

/// The socket that is standard input.
fn line() -> io::Result<UnixStream> {
    let line = std::os::unix::net::UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // What is none has no address.
    line.local_addr()?;
    line.set_nonblocking(true)?;
    UnixStream::from_std(line)
}
