//! Starting a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::net::unix::pipe;

use super::arguments::arguments;
use super::output::Tail;
use super::supervised::{Forking, Supervised};
use super::wait::Parts;
use super::{Content, Run, RunError, RunSpec, Runner};
use crate::events::{Counters, Detail, Event, Events, Receiver, channel};
use crate::folder::{self, Inputs, Inventory, RunFolder};
use crate::outcome::Summary;
use crate::preload::{Preload, SOCKET, words};
use crate::scratch::{self, Scratch};
use crate::supervisor::orphans;

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
        self.run_prepared(prepared).await
    }

    /// Ends and removes what operators that were killed have left of runs in the root; artifacts stay, and so does what an operator
    /// has that is alive, or another user. From then on this process is the parent of what a supervisor leaves that is killed. To
    /// be called once, before the first run of this process.
    ///
    /// # Errors
    /// Something of it can't be removed.
    pub fn tidy(&self) -> std::io::Result<()> {
        orphans::adopt();
        // As runs name it in their environment.
        scratch::tidy(&std::path::absolute(&self.root)?)
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
        let preloaded = self.preload_for(&spec).and_then(Preload::interpreter);
        let environment = environment(&spec, scratch.path(), preloaded.is_some());
        if let Inventory::Localhost { interpreter } = &mut spec.inventory
            && preloaded.is_some()
        {
            *interpreter = preloaded;
        }
        folder::make(&scratch.path().join(TEMPORARY))?;
        for file in &spec.files {
            folder::write_file(&scratch.path().join(file.name), file.text.as_bytes())?;
        }
        let inputs = Inputs {
            extra_vars: &spec.extra_vars,
            environment: &environment,
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
            environment,
            scratch,
        })
    }

    async fn run_prepared(&self, prepared: Prepared) -> Result<(Run, Events), RunError> {
        let Prepared {
            folder,
            spec,
            environment,
            scratch,
        } = prepared;
        let (summary, counters) = (Arc::default(), Arc::default());
        let (receiver, events) = listen(socket(&scratch), spec.detail, &summary, &counters)?;
        let arguments = arguments(folder.path(), &spec);
        let words = self.supervisor.command(self.grace, &self.program, &arguments);
        let forking = self.preload_for(&spec).map(|preload| Forking {
            preload,
            socket: modules(scratch.path()).into_os_string(),
            environment: words_of(&environment),
        });
        let failed = |source| RunError::Start {
            program: self.supervisor.program().to_path_buf(),
            source,
        };
        let (supervised, output) = Supervised::start(words, scratch.path(), forking)
            .await
            .map_err(failed)?;
        let tail = Tail::default();
        let mut readers = Vec::new();
        for output in output {
            readers.push(tail.read(pipe::Receiver::from_owned_fd(output.into()).map_err(failed)?));
        }
        let run = Run::new(Parts {
            supervised,
            preload: self.preload.clone(),
            tail,
            readers,
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

    /// What runs modules on this machine; others have interpreters of their own.
    fn preload_for(&self, spec: &RunSpec) -> Option<&Preload> {
        let preload = self.preload.as_ref();
        preload.filter(|_| matches!(spec.inventory, Inventory::Localhost { .. }))
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
    /// That of its playbook.
    environment: Map<String, Value>,
    scratch: Scratch,
}

fn socket(scratch: &Scratch) -> PathBuf {
    scratch.path().join("events")
}

/// Where modules are asked for.
fn modules(scratch: &Path) -> PathBuf {
    scratch.join("modules")
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
fn environment(spec: &RunSpec, scratch: &Path, is_preloaded: bool) -> Map<String, Value> {
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
    if is_preloaded {
        insert(SOCKET, &modules(scratch));
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

fn words_of(environment: &Map<String, Value>) -> Vec<OsString> {
    words(
        environment
            .iter()
            .map(|(name, value)| (name, value.as_str().unwrap_or_default())),
    )
}
