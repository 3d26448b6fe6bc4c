//! The process that owns the components, and ends with them when this one ends in whatever way.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::component::Component;
use super::error::{ControlPlaneError, io_failed};

const SCRIPT: &str = include_str!("supervise.sh");

/// Lines of a component's log that an error quotes.
const QUOTED_LINES: usize = 15;

/// A running supervisor, in a process group of its own so that Ctrl-C on a terminal does not reach the
/// components before their turn.
#[derive(Debug)]
pub(super) struct Supervisor {
    folder: PathBuf,
    pipes: Mutex<Option<Pipes>>,
    process: Mutex<Child>,
}

#[derive(Debug)]
struct Pipes {
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    /// Starts a supervisor in `folder`, which it removes at its end.
    pub(super) fn start(folder: &Path) -> Result<Self, ControlPlaneError> {
        let script = folder.join("supervise.sh");
        fs::write(&script, SCRIPT).map_err(io_failed("write", &script))?;
        let mut process = Command::new("sh")
            .args([&script, folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(io_failed("run", Path::new("sh")))?;
        let pipes = match (process.stdin.take(), process.stdout.take()) {
            (Some(commands), Some(answers)) => Some(Pipes {
                commands,
                answers: BufReader::new(answers),
            }),
            _ => None,
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            pipes: Mutex::new(pipes),
            process: Mutex::new(process),
        })
    }

    /// Starts a component by its script.
    pub(super) fn start_component(&self, component: Component) -> Result<(), ControlPlaneError> {
        self.command("start", component)
    }

    /// Stops a component and returns when it has ended: in order, or at once as a crash would.
    pub(super) fn stop_component(
        &self,
        component: Component,
        at_once: bool,
    ) -> Result<(), ControlPlaneError> {
        self.command(if at_once { "kill" } else { "stop" }, component)
    }

    /// Whether a component runs. One that ended and was not waited for yet counts as ended.
    pub(super) fn runs(&self, component: Component) -> bool {
        let Ok(id) = fs::read_to_string(self.folder.join(format!("{component}.pid"))) else {
            return false;
        };
        match fs::read_to_string(format!("/proc/{}/stat", id.trim())) {
            // `pid (name) state ...`, and the name may have spaces.
            Ok(stat) => !stat
                .rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('Z')),
            // Without /proc it is unknown; the time limit of the caller has to do.
            Err(_) => !Path::new("/proc/self").exists(),
        }
    }

    /// The last lines of a component's log.
    pub(super) fn log_tail(&self, component: Component) -> String {
        tail(&self.folder.join(format!("{component}.log")))
    }

    /// Stops everything and returns when it has ended and the folder is gone.
    pub(super) fn finish(&self) -> io::Result<()> {
        // Closing the pipe is the signal.
        drop(self.pipes.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .wait()?;
        // Only a supervisor that was killed leaves its folder.
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)
        } else {
            Ok(())
        }
    }

    fn command(&self, verb: &str, component: Component) -> Result<(), ControlPlaneError> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = String::new();
        let answered = pipes.as_mut().is_some_and(|pipes| {
            writeln!(pipes.commands, "{verb} {component}").is_ok()
                && pipes
                    .answers
                    .read_line(&mut answer)
                    .is_ok_and(|length| length > 0)
        });
        if answered {
            Ok(())
        } else {
            Err(ControlPlaneError::SupervisorGone(tail(
                &self.folder.join("supervisor.log"),
            )))
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The supervisor does its work even if nobody can wait for it.
        let _ = self.finish();
    }
}

fn tail(path: &Path) -> String {
    let Ok(file) = File::open(path) else {
        return format!("(no log at {})", path.display());
    };
    let lines: Vec<_> = BufReader::new(file).lines().map_while(Result::ok).collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}
