//! The process of Python that has the libraries loaded.

use std::ffi::OsString;
use std::io;
use std::net::Shutdown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::message;

/// How long a message may wait while libraries are loaded.
const SENDING: Duration = Duration::from_secs(10);

/// A process that forks. It ends with this value, and what it has forked goes on.
#[derive(Debug)]
pub(super) struct Forker {
    control: UnixStream,
    /// One message at a time.
    turn: Mutex<()>,
    last_use: Mutex<Instant>,
    /// It is killed when this is dropped.
    process: Child,
}

impl Forker {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        control.set_write_timeout(Some(SENDING))?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            // Ctrl-C on a terminal is for the operator.
            .process_group(0);
        Ok(Self {
            control,
            turn: Mutex::default(),
            last_use: Mutex::new(Instant::now()),
            process: command.spawn()?,
        })
    }

    /// Has it fork a process that executes a program with these files as input, output and error. That it does so is not
    /// waited for.
    pub(super) fn fork(&self, lists: &[Vec<OsString>], files: [BorrowedFd<'_>; 3]) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        message::send(&self.control, lists, files).inspect_err(|_| {
            // What comes after a part of a message is none.
            let _ = self.control.shutdown(Shutdown::Both);
        })
    }

    /// Its process number.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    pub(super) fn used(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn last_use(&self) -> Instant {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
