//! The end of a run, whole: a process between the operator and ansible-runner that outlives nobody and leaves nobody behind.
//!
//! Killing the process group of ansible-runner does not end a run: it starts ansible-playbook in a session of its own, and
//! `async:` jobs, daemons of modules and what playbooks start detach themselves. So each run has a supervisor: the
//! same executable, started again with a hidden subcommand that calls [`supervise`]. It is the subreaper of all that the run
//! starts, so whatever detaches itself becomes its child, and it kills its children until there is none.
//!
//! | what happens | what the supervisor does |
//! |---|---|
//! | the program ends | kills what is left, and ends with the program's status |
//! | a byte on its standard input, or SIGTERM, SIGINT or SIGHUP | sends SIGTERM to the program, and kills what is left when the grace is over |
//! | its standard input ends: who started it is dead | kills at once |
//!
//! Its standard input is a socket. On it the supervisor says its process number when it begins, in four bytes with the highest
//! first, and the status in one byte when nothing is left: who reads that need not be its parent.
//!
//! A supervisor that is killed itself ends nothing; what it leaves becomes children of the process that has forked it, or of the
//! operator, which kill them. Where these were killed, too, the next operator does.
//!
//! An `async:` job that nobody waits for ends with its run, too: a run that is over does nothing more.

mod children;
pub(crate) mod handle;
pub(crate) mod orphans;
mod process;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use process::{SuperviseError, supervise};

/// The exit status of a supervisor that could not do its work, as `env` and `timeout` have it. What was wrong is to be on its
/// standard error.
pub const SUPERVISOR_FAILED: u8 = 125;

/// How to start a supervisor: an executable, and the arguments with which it calls [`supervise`].
///
/// ```
/// use steersman_ansible::Supervisor;
///
/// let supervisor = Supervisor::of_this_process("supervise-run")?;
/// assert!(supervisor.program().exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Supervisor {
    /// An executable, and the arguments after which [`supervise`] gets the rest.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }
    }

    /// The executable of this process with a hidden subcommand. It is found even when the file has been replaced since.
    ///
    /// # Errors
    /// The executable of this process can't be told.
    pub fn of_this_process(subcommand: &str) -> io::Result<Self> {
        let link = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        // A link to the file itself, whatever its name has become; where /proc lacks it the name has to do.
        if link.exists() {
            return Ok(Self::new(link, [subcommand]));
        }
        Ok(Self::new(std::env::current_exe()?, [subcommand]))
    }

    /// The file that is executed.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The words that run a program under a supervisor, whose standard input must be held for as long as that is to run.
    pub(crate) fn command(&self, grace: Duration, program: &Path, arguments: &[OsString]) -> Vec<OsString> {
        let mut words = vec![self.program.clone().into_os_string()];
        words.extend(self.arguments.iter().cloned());
        words.push(grace.as_millis().to_string().into());
        words.push(program.into());
        words.extend(arguments.iter().cloned());
        words
    }
}
