//! What the kernel says of a process and all that it has started.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::process::{Stat, first_thread, proportional};

/// How often a sampler looks. Adding up the pages of a dozen processes takes milliseconds.
const PAUSE: Duration = Duration::from_millis(200);

/// Memory and processor time of a process and its descendants, as of one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    /// Resident memory of all, in MB; what they share is counted once.
    pub(crate) resident: f64,
    /// User and system time of all since their start, in seconds, with those that have ended and were waited for.
    pub(crate) processor: f64,
    /// How many they are.
    pub(crate) processes: usize,
}

impl Tree {
    /// # Errors
    ///
    /// This is not Linux.
    pub(crate) fn of(root: u32) -> Result<Self> {
        let all = descendants(root)?;
        Ok(Self {
            resident: all.keys().copied().map(proportional).sum(),
            processor: all
                .values()
                .map(|stat| stat.processor + stat.processor_of_ended)
                .sum(),
            processes: all.len(),
        })
    }
}

/// The most that a tree has come to.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    /// In MB.
    pub(crate) resident: f64,
    pub(crate) processes: usize,
    /// Processor time of the processes of the root's own program but the root, by number and start, as last seen: they end
    /// themselves, and are of one thread.
    helpers: BTreeMap<(u32, u64), f64>,
}

impl Peak {
    /// Processor time of further processes of the operator's own program, in seconds.
    pub(crate) fn processor_of_helpers(&self) -> f64 {
        self.helpers.values().sum()
    }

    fn look(&mut self, root: u32) -> Result<()> {
        let tree = Tree::of(root)?;
        self.resident = self.resident.max(tree.resident);
        self.processes = self.processes.max(tree.processes);
        let own = program(root);
        for (process, stat) in descendants(root)? {
            if process != root && own.is_some() && program(process) == own {
                let known = self.helpers.entry((process, stat.started)).or_default();
                *known = known.max(first_thread(process));
            }
        }
        Ok(())
    }
}

/// Looks at a tree again and again.
pub(crate) struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<Peak>>,
}

impl Sampler {
    pub(crate) fn start(root: u32) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut peak = Peak::default();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PAUSE) {
                peak.look(root)?;
            }
            Ok(peak)
        });
        Self { stop, thread }
    }

    pub(crate) fn stop(self) -> Result<Peak> {
        drop(self.stop);
        self.thread
            .join()
            .map_err(|_| anyhow!("the thread that looks at processes has ended"))?
    }
}

/// The program that a process executes.
fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// A process and all that it has started, by their numbers. Those whose parents have ended count where the process is their
/// reaper, as then it is their parent.
fn descendants(root: u32) -> Result<BTreeMap<u32, Stat>> {
    let mut rest: BTreeMap<u32, Stat> = fs::read_dir("/proc")?
        .filter_map(|entry| {
            let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
            // It may have ended meanwhile.
            Some((process, Stat::of(process).ok()?))
        })
        .collect();
    let mut found: BTreeMap<u32, Stat> = rest.remove_entry(&root).into_iter().collect();
    loop {
        let (next, others): (BTreeMap<_, _>, _) = rest
            .into_iter()
            .partition(|(_, stat)| found.contains_key(&stat.parent));
        if next.is_empty() {
            return Ok(found);
        }
        found.extend(next);
        rest = others;
    }
}
