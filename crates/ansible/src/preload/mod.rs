//! Libraries of modules, loaded once for many runs.
//!
//! Each module of a playbook is a new process of Python, and most of its time goes into loading libraries, that of Kubernetes
//! before all others, and into compiling what Ansible sends with it. So a process does that once, and a module is a fork of it.
//! A fork belongs to its run like any other process, has the run's environment, and nothing that a module does is seen by
//! another one:
//!
//! ```text
//! operator
//! ├── python preloaded.py          loads libraries, runs nothing; ends after a minute without runs
//! │   └── supervise-run            its fork: the supervisor of a run, which ends all that is below
//! │       ├── python preloaded.py  the fork's fork, with the environment of the run
//! │       │   └── a module         its fork
//! │       └── ansible-runner
//! │           └── ansible-playbook
//! │               └── run-module   asks for the module, and has its status
//! ```
//!
//! Ansible is told by `ansible_python_interpreter` to run modules by a script, which calls [`run_module`]. What asks for
//! anything but a script, or with other variables for the interpreter, gets a new interpreter; so does everything where nothing
//! can be preloaded.
//!
//! The first process adopts orphans: what a supervisor leaves that is killed becomes its child, and it kills each child that it
//! has not forked. It goes on until the last run has ended, without the operator, too.

mod forker;
mod message;
mod module;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::process::Command;

use crate::scratch::Scratch;
use crate::supervisor::orphans;
use forker::Forker;

pub(crate) use message::words;
pub use module::{ModuleError, run_module};

/// Names the socket of a run that modules are asked for by.
pub(crate) const SOCKET: &str = "STEERSMAN_MODULES";

/// The program of the preloaded process, which begins with the first file.
const PROGRAM: [(&str, &str); 2] = [
    ("preloaded.py", include_str!("preloaded.py")),
    ("compiled.py", include_str!("compiled.py")),
];
/// How long libraries are kept without a run.
const IDLE: Duration = Duration::from_mins(1);

/// Why nothing can be preloaded. Runs go on without.
#[derive(Debug, thiserror::Error)]
pub enum PreloadError {
    /// The script that runs modules can't be written.
    #[error("failed to write the script that runs modules")]
    Script(#[source] io::Error),
    /// The script does not run: folders for temporary files may be closed for programs.
    #[error("failed to run `{}`", script.display())]
    Run {
        /// What Ansible would have been given as its interpreter.
        script: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

/// Libraries that are loaded for runs. Clones share them; nothing is loaded before the first run.
#[derive(Clone, Debug)]
pub struct Preload(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    python: PathBuf,
    environment: BTreeMap<String, String>,
    run_module: Vec<OsString>,
    folder: PathBuf,
    scratch: Mutex<Scratch>,
    forker: Mutex<Option<Arc<Forker>>>,
    /// Those that have been given up go on as long as runs are below them.
    forkers: Mutex<Vec<Weak<Forker>>>,
}

/// A use of the preloaded process, which goes on at least until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Forker>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.used();
    }
}

impl Preload {
    /// Prepares to load libraries by an interpreter, with variables on top of those of this process, and scripts in a folder. The
    /// words are a program and arguments after which it calls [`run_module`] with the rest.
    ///
    /// # Errors
    /// The folder can't be written, or nothing can be executed there.
    pub fn new(
        folder: Scratch,
        python: &Path,
        environment: &BTreeMap<String, String>,
        run_module: &[OsString],
    ) -> Result<Self, PreloadError> {
        write(folder.path(), python, run_module).map_err(PreloadError::Script)?;
        let this = Self(Arc::new(Shared {
            python: python.to_path_buf(),
            environment: environment.clone(),
            run_module: run_module.to_vec(),
            folder: folder.path().to_path_buf(),
            scratch: Mutex::new(folder),
            forker: Mutex::default(),
            forkers: Mutex::default(),
        }));
        this.try_script(&script(&this.0.folder))?;
        Ok(this)
    }

    /// What modules are to be run by, written again where it was removed: folders for temporary files are cleaned by others. None
    /// where that can't be done.
    pub fn interpreter(&self) -> Option<PathBuf> {
        let Shared {
            folder,
            python,
            run_module,
            ..
        } = &*self.0;
        // One at a time.
        let mut scratch = self.0.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.restore().ok()?;
        write(folder, python, run_module).ok()?;
        Some(script(folder))
    }

    fn try_script(&self, script: &Path) -> Result<(), PreloadError> {
        let failed = |source| PreloadError::Run {
            script: script.to_path_buf(),
            source,
        };
        let output = std::process::Command::new(script)
            .args(["-c", "pass"])
            .envs(&self.0.environment)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(failed(io::Error::other(said)))
    }

    /// Has a process with the libraries forked that executes a command, with these files as input, output and error. Whether
    /// it does is not waited for.
    ///
    /// The first list of words is the socket for modules, the others are the command, its environment, and the variables that
    /// runs have on top of that.
    ///
    /// # Errors
    /// There is no such process.
    pub(crate) fn fork(&self, lists: &[Vec<OsString>; 4], files: [BorrowedFd<'_>; 3]) -> io::Result<Lease> {
        let forker = self.running()?;
        let sent = forker.fork(lists, files);
        if sent.is_err() {
            self.forget(&forker);
        }
        sent.map(|()| Lease(forker))
    }

    /// Gives up the process of a lease: it does not do what it was told. The next use starts another one.
    pub(crate) fn give_up(&self, lease: &Lease) {
        self.forget(&lease.0);
    }

    /// Kills what a supervisor that was killed has left of processes with the libraries, and of those that have one of these
    /// paths. It blocks for up to ten seconds.
    pub(crate) fn kill_orphans(&self, [scratch, folder]: [&Path; 2]) {
        // Held until the end: the number of one that has ended may be somebody else's.
        let forkers = self.living();
        let own: Vec<u32> = forkers.iter().filter_map(|forker| forker.id()).collect();
        orphans::kill_marked(&[&self.0.folder, scratch, folder], &own);
    }

    fn living(&self) -> Vec<Arc<Forker>> {
        let forkers = self.0.forkers.lock().unwrap_or_else(PoisonError::into_inner);
        forkers.iter().filter_map(Weak::upgrade).collect()
    }

    fn forget(&self, forker: &Arc<Forker>) {
        let mut held = self.0.forker.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, forker)) {
            *held = None;
        }
    }

    fn running(&self) -> io::Result<Arc<Forker>> {
        let mut held = self.0.forker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(forker) = held.as_ref() {
            return Ok(Arc::clone(forker));
        }
        let mut command = Command::new(&self.0.python);
        command
            .arg(self.0.folder.join(PROGRAM[0].0))
            .envs(&self.0.environment);
        let forker = Arc::new(Forker::start(command)?);
        *held = Some(Arc::clone(&forker));
        let mut forkers = self.0.forkers.lock().unwrap_or_else(PoisonError::into_inner);
        forkers.retain(|other| other.strong_count() > 0);
        forkers.push(Arc::downgrade(&forker));
        tokio::spawn(end_when_idle(Arc::downgrade(&self.0), Arc::downgrade(&forker)));
        Ok(forker)
    }
}

/// Ends a preloaded process that nobody has used for a while.
async fn end_when_idle(shared: Weak<Shared>, forker: Weak<Forker>) {
    let mut pause = IDLE;
    loop {
        tokio::time::sleep(pause).await;
        let (Some(shared), Some(forker)) = (shared.upgrade(), forker.upgrade()) else {
            return;
        };
        let mut held = shared.forker.lock().unwrap_or_else(PoisonError::into_inner);
        // Ours, and that of the others; a lease has one, too.
        let is_used = Arc::strong_count(&forker) > 2;
        let unused = forker.last_use().elapsed();
        if !is_used && unused >= IDLE {
            held.take_if(|held| Arc::ptr_eq(held, &forker));
            return;
        }
        pause = if is_used {
            IDLE
        } else {
            IDLE.saturating_sub(unused)
        };
    }
}

/// What modules are run by.
fn script(folder: &Path) -> PathBuf {
    folder.join("python3")
}

/// Writes what is executed, where it is missing.
fn write(folder: &Path, python: &Path, run_module: &[OsString]) -> io::Result<()> {
    for (name, text) in PROGRAM {
        write_missing(&folder.join(name), text)?;
    }
    write_missing(&script(folder), &script_text(python, run_module)?)
}

/// Nobody finds a part of it.
fn write_missing(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o700))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.into_temp_path().persist(path).map_err(|failed| failed.error)
}

/// Where this program can't be executed the interpreter itself runs.
fn script_text(python: &Path, run_module: &[OsString]) -> io::Result<String> {
    let quoted = |word: &std::ffi::OsStr| {
        let text = word.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        Ok::<_, io::Error>(format!("'{}'", text.replace('\'', r"'\''")))
    };
    let python = quoted(python.as_os_str())?;
    let words: Vec<String> = run_module
        .iter()
        .map(|word| quoted(word))
        .collect::<Result<_, _>>()?;
    let program = words.first().map_or("", String::as_str);
    let command = words.join(" ");
    Ok(format!(
        "#!/bin/sh\n[ ! -x {program} ] || exec {command} {python} \"$@\"\nexec {python} \"$@\"\n"
    ))
}
