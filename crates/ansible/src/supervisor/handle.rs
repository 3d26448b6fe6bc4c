//! A process that is killed by its handle.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
};

/// Means one process, whoever has its number later.
#[derive(Debug)]
pub(crate) struct Handle {
    id: Pid,
    /// Some kernels and sandboxes have none.
    file: Option<OwnedFd>,
}

impl Handle {
    /// That of who has this number now.
    pub(crate) fn of(id: Pid) -> Self {
        let file = pidfd_open(id, PidfdFlags::empty()).ok();
        Self { id, file }
    }

    /// To be called while the number is known to be its own: where there is no file that is what counts.
    pub(crate) fn kill(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => pidfd_send_signal(file, Signal::KILL),
            None => kill_process(self.id, Signal::KILL),
        }
    }

    /// Whether it is a child of this process and has not ended; takes note of it where it has.
    pub(crate) fn is_child_that_goes_on(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let file = self.file.as_ref();
        let waited = file.map(|file| waitid(WaitId::PidFd(file.as_fd()), options));
        matches!(waited, Some(Ok(None)))
    }
}
