//! The end of a run.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::RunError;
use super::output::Tail;
use super::supervised::Supervised;
use crate::events::{Counters, Receiver};
use crate::folder::RunFolder;
use crate::outcome::{Outcome, Summary};
use crate::preload::Preload;
use crate::scratch::Scratch;
use crate::supervisor::{SUPERVISOR_FAILED, orphans};

/// How long is read what ansible-runner has printed when it has ended.
const READING: Duration = Duration::from_secs(1);

/// A run that was started. Dropping it kills all of it, at once.
#[derive(Debug)]
pub struct Run {
    parts: Parts,
    cancel: watch::Sender<bool>,
}

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) supervised: Supervised,
    pub(super) preload: Option<Preload>,
    pub(super) tail: Tail,
    pub(super) readers: Vec<JoinHandle<()>>,
    pub(super) receiver: Receiver,
    pub(super) summary: Arc<Mutex<Summary>>,
    pub(super) counters: Arc<Counters>,
    pub(super) folder: RunFolder,
    pub(super) scratch: Scratch,
    pub(super) ident: String,
    pub(super) time_limit: Option<Duration>,
    pub(super) grace: Duration,
}

/// Ends a run from somewhere else.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

impl Canceller {
    /// Makes the run end; its [`Run::wait`] gives [`RunError::Cancelled`] when nothing of it is left. A run that has ended is
    /// not changed by it.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

/// Why a run ends.
enum End {
    ByItself(io::Result<u8>),
    TimedOut(Duration),
    Cancelled,
}

impl Run {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            cancel: watch::Sender::new(false),
        }
    }

    /// What ends this run while it is waited for.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancel.clone())
    }

    /// Waits until the run has ended, and nothing of it is left.
    ///
    /// A run that is to end, by its time limit or a [`Canceller`], is asked to, and killed after the grace of its
    /// [`Runner`](super::Runner).
    ///
    /// # Errors
    /// The playbook was not finished: see [`RunError`]. That tasks have failed is no error, but part of the outcome.
    ///
    /// # Cancellation
    /// Dropped at any await, all of the run is killed.
    pub async fn wait(mut self) -> Result<Outcome, RunError> {
        let end = self.end().await;
        let status = match &end {
            End::ByItself(Ok(status)) => Ok(*status),
            End::ByItself(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            End::TimedOut(_) | End::Cancelled => self.parts.supervised.stop(self.parts.grace).await,
        };
        self.parts.finish(end, status).await
    }

    async fn end(&mut self) -> End {
        let mut cancelled = self.cancel.subscribe();
        let limit = self.parts.time_limit;
        let time_out = async {
            match limit {
                Some(limit) => {
                    tokio::time::sleep(limit).await;
                    limit
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            status = self.parts.supervised.status() => End::ByItself(status),
            limit = time_out => End::TimedOut(limit),
            _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => End::Cancelled,
        }
    }
}

impl Parts {
    /// The outcome of a run whose supervisor has ended.
    async fn finish(mut self, end: End, status: io::Result<u8>) -> Result<Outcome, RunError> {
        drop(self.supervised);
        for reader in &mut self.readers {
            if tokio::time::timeout(READING, &mut *reader).await.is_err() {
                reader.abort();
            }
        }
        drop(self.receiver);
        let (folder, ident, scratch) = (self.folder, self.ident, self.scratch);
        let (was_killed, preload) = (status.is_err(), self.preload);
        let tidied = tokio::task::spawn_blocking(move || {
            if was_killed {
                let marks = [scratch.path(), folder.path()];
                // The playbook before its modules: nothing is to come after a task that is killed.
                orphans::kill_marked(&marks, &[]);
                if let Some(preload) = preload {
                    preload.kill_orphans(marks);
                }
            }
            let full = folder.without_space();
            // What is left of it is left to the next start.
            let _ = scratch.close();
            // For who looks at what is kept. The run is what it is without it.
            let _ = folder.link_latest(&ident);
            full
        });
        let full = tidied.await.ok().flatten();

        let status = status.map_err(RunError::Supervisor)?;
        let output = self.tail.text();
        if status == SUPERVISOR_FAILED {
            // The supervisor speaks last, on one line.
            let said = output.lines().next_back().unwrap_or_default().to_owned();
            return Err(RunError::Supervise { said });
        }
        match end {
            End::TimedOut(limit) => return Err(RunError::TimedOut { limit, output }),
            End::Cancelled => return Err(RunError::Cancelled),
            End::ByItself(_) => {}
        }
        let status = i32::from(status);
        let summary = std::mem::take(&mut *self.summary.lock().unwrap_or_else(PoisonError::into_inner));
        let lost = self.counters.unreadable.load(Ordering::Relaxed);
        let Some(mut outcome) = summary.finish(Some(status), lost) else {
            let error = self.tail.error();
            return Err(match full {
                Some(folder) => RunError::NoSpace { status, folder },
                None => RunError::Unfinished {
                    status,
                    error,
                    output,
                },
            });
        };
        outcome.without_space = full.filter(|_| !outcome.is_successful());
        outcome.unlogged = self.counters.unlogged.load(Ordering::Relaxed);
        Ok(outcome)
    }
}
