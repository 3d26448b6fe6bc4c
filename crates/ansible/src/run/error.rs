//! Why a run has no outcome.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::folder::FolderError;

/// Why a run has no outcome. The texts have the error that ansible-runner printed at its end, as it is: who shows them takes
/// secrets out. What else it has printed may be any data of a task, and is for logs: [`RunError::output`].
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
    #[error("ansible-runner ended with {} before the playbook was finished: {error}", ended_with(*status), error = error.as_deref().unwrap_or(IN_LOG))]
    Unfinished {
        /// Its exit status; 128 and the number of the signal that has ended it.
        status: i32,
        /// The error that it has printed as its last words.
        error: Option<String>,
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
    #[error("the run took longer than {limit:?} and was ended: {IN_LOG}")]
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

/// Stands for what is not shown.
const IN_LOG: &str = "the log of the operator has what was printed last";

impl RunError {
    /// The last lines that ansible-runner has printed, where a log needs them to tell what has happened.
    pub fn output(&self) -> Option<&str> {
        match self {
            Self::Unfinished { output, .. } | Self::TimedOut { output, .. } => Some(output),
            _ => None,
        }
    }

    /// Whether it is an error of Ansible itself, which another run meets again. A program that was killed has said none, or its
    /// status is that of a signal; ansible-runner has the status 0 where it is ansible-playbook that was killed.
    pub fn is_of_ansible(&self) -> bool {
        matches!(self, Self::Unfinished { status: 1..=128, .. })
    }
}

fn ended_with(status: i32) -> String {
    if status > 128 {
        format!("signal {}", status - 128)
    } else {
        format!("status {status}")
    }
}

#[cfg(test)]
mod tests {
    use super::RunError;

    #[test]
    fn what_was_killed_is_no_error_of_ansible_and_what_tasks_print_is_not_told() {
        for (status, expected) in [(0, false), (1, true), (4, true), (128 + 9, false), (247, false)] {
            let error = RunError::Unfinished {
                status,
                error: None,
                output: "ok: [localhost] => canary".to_owned(),
            };
            assert_eq!(error.is_of_ansible(), expected, "{status}");
            assert!(!error.to_string().contains("canary"), "{error}");
            assert!(error.output().is_some_and(|output| output.contains("canary")));
        }
    }
}
