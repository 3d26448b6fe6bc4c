//! Starting a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::process::Child;

use super::arguments::arguments;
use super::output::Tail;
use super::wait::Parts;
use super::{Content, Run, RunError, RunSpec, Runner};
use crate::events::{Counters, Detail, Event, Events, Receiver, channel};
use crate::folder::{self, Inputs, Inventory, RunFolder};
use crate::outcome::Summary;
use crate::scratch::{self, Scratch};

/// `TMPDIR` of a run, in the folder that goes with it.
const TEMPORARY: &str = "tmp";

impl Runner {
    /// Writes the inputs of a run, and starts it. What it gives are the run, and its events for a log; who needs none drops
    /// these.
    ///
    /// # Errors
    /// The inputs can't be written, or the supervisor does not start. That ansible-runner does not start is an error of
    /// [`Run::wait`].
    ///
    /// # Cancellation
    /// A [`Run`] that is dropped is killed. Where this is dropped nothing was started, but inputs may be written for a moment.
    pub async fn start(&self, spec: &RunSpec) -> Result<(Run, Events), RunError> {
        let (this, spec) = (self.clone(), spec.clone());
        let folder = RunFolder::of(&absolute(&self.root)?, &spec.resource)?;
        // Inputs may be large, and disks slow.
        let written = tokio::task::spawn_blocking(move || this.prepare(folder, spec));
        let prepared = written
            .await
            .map_err(|error| RunError::Supervisor(std::io::Error::other(error)))??;
        self.spawn(prepared)
    }

    /// Removes what processes that were killed have left in the root; artifacts of runs stay, and so does what a process has that
    /// is alive, or another user. To be called once, before the first run of this process.
    ///
    /// # Errors
    /// Something of it can't be removed.
    pub fn tidy(&self) -> std::io::Result<()> {
        scratch::tidy(&self.root)
    }

    /// A folder in the root that goes with a run, or with this process.
    ///
    /// # Errors
    /// It can't be made.
    pub fn scratch(&self) -> Result<Scratch, RunError> {
        Ok(Scratch::new(&absolute(&self.root)?)?)
    }

    /// Writes all files of a run.
    fn prepare(&self, folder: RunFolder, mut spec: RunSpec) -> Result<Prepared, RunError> {
        let (Content::Playbook(path) | Content::Role(path)) = &mut spec.content;
        *path = absolute(path)?;
        let found = std::fs::metadata(&path);
        if let Err(source) = found {
            let path = path.clone();
            return Err(RunError::Content { path, source });
        }
        folder.artifacts(&spec.ident)?;
        let scratch = self.scratch()?;
        folder::make(&scratch.path().join(TEMPORARY))?;
        for file in &spec.files {
            folder::write_file(&scratch.path().join(file.name), file.text.as_bytes())?;
        }
        let inputs = Inputs {
            extra_vars: &spec.extra_vars,
            environment: &environment(&spec, scratch.path()),
            settings: &settings(&socket(&scratch)),
            command_line: &spec.command_line,
            inventory: &spec.inventory,
            playbook: match &spec.content {
                Content::Playbook(playbook) => Some(playbook),
                Content::Role(_) => None,
            },
        };
        folder.write(&inputs)?;
        Ok(Prepared {
            folder,
            spec,
            scratch,
        })
    }

    fn spawn(&self, prepared: Prepared) -> Result<(Run, Events), RunError> {
        let Prepared {
            folder,
            spec,
            scratch,
        } = prepared;
        let (summary, counters) = (Arc::default(), Arc::default());
        let (receiver, events) = listen(socket(&scratch), spec.detail, &summary, &counters)?;
        let mut child = self.supervised(&arguments(folder.path(), &spec))?;
        let tail = Tail::default();
        let readers = [
            child.stdout.take().map(|output| tail.read(output)),
            child.stderr.take().map(|output| tail.read(output)),
        ];
        let run = Run::new(Parts {
            lifeline: child.stdin.take(),
            child,
            tail,
            readers: readers.into_iter().flatten().collect(),
            receiver,
            summary,
            counters,
            folder,
            scratch,
            ident: spec.ident,
            time_limit: spec.time_limit,
            grace: self.grace,
        });
        Ok((run, events))
    }

    /// ansible-runner under a new supervisor.
    fn supervised(&self, arguments: &[OsString]) -> Result<Child, RunError> {
        let mut command = self.supervisor.command(self.grace, &self.program, arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // They would win over our settings.
            .env_remove("RUNNER_HTTP_URL")
            .env_remove("RUNNER_HTTP_PATH");
        command.spawn().map_err(|source| RunError::Start {
            program: self.supervisor.program().to_path_buf(),
            source,
        })
    }
}

/// Receives the events of a run: the summary takes note of each, and a log may read them.
fn listen(
    socket: PathBuf,
    detail: Detail,
    summary: &Arc<Mutex<Summary>>,
    counters: &Arc<Counters>,
) -> Result<(Receiver, Events), RunError> {
    let (queue, events) = channel();
    let (summary, counters) = (Arc::clone(summary), Arc::clone(counters));
    let note = move |event: &Event| {
        summary.lock().unwrap_or_else(PoisonError::into_inner).note(event);
    };
    match Receiver::listen(&socket, detail, counters, note, queue) {
        Ok(receiver) => Ok((receiver, events)),
        Err(source) => Err(RunError::Events { socket, source }),
    }
}

struct Prepared {
    folder: RunFolder,
    spec: RunSpec,
    scratch: Scratch,
}

fn socket(scratch: &Scratch) -> PathBuf {
    scratch.path().join("events")
}

fn absolute(path: &Path) -> Result<PathBuf, RunError> {
    std::path::absolute(path).map_err(|source| RunError::Content {
        path: path.to_path_buf(),
        source,
    })
}

fn settings(socket: &Path) -> Map<String, Value> {
    let settings = json!({
        "runner_http_url": socket.display().to_string(),
        "runner_http_path": crate::events::PATH,
        // How often ansible-runner looks whether it is to end, in seconds.
        "pexpect_timeout": 1,
    });
    settings.as_object().cloned().unwrap_or_default()
}

/// The environment of the playbook. What modules leave in folders for temporary files goes with the run, and no daemon of a
/// module is found by another run, as their sockets are there.
fn environment(spec: &RunSpec, scratch: &Path) -> Map<String, Value> {
    let mut environment = Map::new();
    let mut insert = |name: &str, path: &Path| {
        environment.insert(name.to_owned(), Value::String(path.display().to_string()))
    };
    insert("TMPDIR", &scratch.join(TEMPORARY));
    insert("ANSIBLE_LOCAL_TEMP", &scratch.join("local"));
    if matches!(spec.inventory, Inventory::Localhost { .. }) {
        // Other hosts have other folders.
        insert("ANSIBLE_REMOTE_TEMP", &scratch.join("remote"));
        insert("ANSIBLE_ASYNC_DIR", &scratch.join("async"));
    }
    for (name, value) in &spec.environment {
        environment.insert(name.clone(), Value::String(value.clone()));
    }
    for file in &spec.files {
        let path = scratch.join(file.name).display().to_string();
        let named = file
            .variables
            .iter()
            .map(|name| ((*name).to_owned(), path.as_str().into()));
        environment.extend(named);
    }
    environment
}
