//! Why a run has no outcome.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::folder::FolderError;

/// Why a run has no outcome. The texts have what ansible-runner printed at its end, as it is: who shows them takes
/// secrets out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its folder can't be written.
    #[error("failed to write the inputs of a run")]
    Inputs(#[from] FolderError),
    /// There is no such playbook or role.
    #[error("failed to find `{}`", path.display())]
    Content {
        /// The playbook or the folder of the role.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Its events have no way.
    #[error("failed to listen for events on `{}`", socket.display())]
    Events {
        /// The socket, whose path may have 107 bytes.
        socket: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The supervisor does not start.
    #[error("failed to start a run with `{}`", program.display())]
    Start {
        /// The executable of the supervisor.
        program: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The supervisor could not start ansible-runner, or not end all that it had started.
    #[error("failed to supervise a run: {said}")]
    Supervise {
        /// What the supervisor has written.
        said: String,
    },
    /// The supervisor was killed, or can't be waited for; of its run something may be left.
    #[error("failed to wait for the supervisor of a run")]
    Supervisor(#[source] io::Error),
    /// ansible-runner has ended, and the playbook has no stats: it could not be read, or was ended by others.
    #[error("ansible-runner ended with {} before the playbook was finished: {output}", ended_with(*status))]
    Unfinished {
        /// Its exit status; 128 and the number of the signal that has ended it.
        status: i32,
        /// The last lines that it has printed.
        output: String,
    },
    /// The same where the folder of the run has no space left, which is why, as a rule.
    #[error("ansible-runner ended with {} before the playbook was finished: no space left in `{}`", ended_with(*status), folder.display())]
    NoSpace {
        /// As that of [`RunError::Unfinished`].
        status: i32,
        /// Where the files of runs are.
        folder: PathBuf,
    },
    /// The time limit of the run.
    #[error("the run took longer than {limit:?} and was ended: {output}")]
    TimedOut {
        /// As the spec of the run has it.
        limit: Duration,
        /// The last lines that ansible-runner has printed.
        output: String,
    },
    /// A [`Canceller`](super::Canceller) has ended it.
    #[error("the run was cancelled")]
    Cancelled,
}

fn ended_with(status: i32) -> String {
    if status > 128 {
        format!("signal {}", status - 128)
    } else {
        format!("status {status}")
    }
}
