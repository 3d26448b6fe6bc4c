//! The children of this process: those that it has started, and the orphans among what these have started.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

/// How long killing is tried. What is left then can't be killed: it waits for a device, or belongs to somebody else.
pub(super) const KILLING: Duration = Duration::from_secs(10);
/// How long is waited after children were killed and have not ended.
const PAUSE: Duration = Duration::from_millis(1);

/// The processes that this one reaps.
#[derive(Debug)]
pub(super) struct Children {
    program: Pid,
    status: Option<WaitStatus>,
}

/// Whether a process has children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Some,
    /// Nor any descendants: each has a line of living parents up to this process.
    None,
}

impl Children {
    pub(super) fn of(program: Pid) -> Self {
        Self {
            program,
            status: None,
        }
    }

    pub(super) fn program_has_ended(&self) -> bool {
        self.status.is_some()
    }

    pub(super) fn status_of_program(&self) -> Option<WaitStatus> {
        self.status
    }

    /// Takes note of all that have ended, and says whether any is left.
    pub(super) fn reap(&mut self) -> Rest {
        loop {
            match wait(WaitOptions::NOHANG) {
                // Once it is reaped its number may be somebody else's.
                Ok(Some((process, status))) if process == self.program && self.status.is_none() => {
                    self.status = Some(status);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Rest::Some,
                // ECHILD: there is nobody to wait for.
                Err(_) => return Rest::None,
            }
        }
    }
}

/// Kills all descendants of this process, and gives the number of the children that are left when the time is over.
///
/// Only children are killed, never what the process table says of others: the number of a child is its own until it is
/// reaped here. When a process ends its children become ours, so each round gets one generation further. What forks and
/// ends in a loop is met by asking for the children and killing them with nothing in between.
pub(super) fn kill_all(children: &mut Children, time: Duration) -> usize {
    let begun = Instant::now();
    loop {
        let listed = listed();
        for child in &listed {
            let _ = kill_process(*child, Signal::KILL);
        }
        if children.reap() == Rest::None {
            return 0;
        }
        if begun.elapsed() >= time {
            return listed.len().max(1);
        }
        if nothing_is_new(&listed) {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Whether nothing new came to be killed: what was killed takes a moment to end.
fn nothing_is_new(before: &[Pid]) -> bool {
    listed().iter().all(|child| before.contains(child))
}

/// The children of this thread, which is the only one.
fn listed() -> Vec<Pid> {
    match std::fs::read_to_string("/proc/thread-self/children") {
        Ok(text) => text.split_whitespace().filter_map(pid).collect(),
        // Kernels may be built without it.
        Err(_) => listed_by_parent(),
    }
}

/// The children of all threads of this process.
pub(super) fn listed_by_parent() -> Vec<Pid> {
    let own = rustix::process::getpid();
    let mut children = all();
    children.retain(|process| parent(*process) == Some(own));
    children
}

/// All processes that this one sees.
pub(super) fn all() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| pid(entry.ok()?.file_name().to_str()?))
        .collect()
}

pub(super) fn parent(process: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // `pid (name) state parent ...`, and the name may have anything in it.
    pid(stat.rsplit(')').next()?.split_whitespace().nth(1)?)
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{listed, listed_by_parent};

    #[test]
    fn children_are_found_by_their_parents_where_the_kernel_does_not_list_them() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep runs");
        let (by_list, by_parent) = (listed(), listed_by_parent());
        child.kill().expect("a child of ours");
        child.wait().expect("a child of ours");
        let process = rustix::process::Pid::from_raw(child.id().cast_signed()).expect("a process");
        assert!(by_list.contains(&process), "{by_list:?}");
        assert!(by_parent.contains(&process), "{by_parent:?}");
    }
}
