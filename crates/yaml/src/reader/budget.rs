//! How much a document may become in memory, and how much of that by its anchors and aliases.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cursor::Mark;
use crate::{Error, Node};

/// How many bytes of nodes and text one document may become: a list of numbers takes twenty times as much as its
/// text. What is copied for anchors and aliases counts, too: in Go copies share their text.
static MAX_BYTES: AtomicUsize = AtomicUsize::new(64 << 20);

/// A document that has become larger than this waits until no other such one is being read: what one may take, many would take
/// many times.
const LARGE: usize = 1 << 20;

static LARGE_ONE: Mutex<()> = Mutex::new(());

/// Lets documents become no more than so many bytes from now on, in the whole process: memory is the process', too.
pub(crate) fn limit(bytes: usize) {
    MAX_BYTES.store(bytes, Ordering::Relaxed);
}

/// What a node costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    /// Decoding steps, as goyaml counts them.
    pub(super) steps: usize,
    bytes: usize,
    /// How many collections are nested in it, itself included.
    pub(super) depth: usize,
}

impl Size {
    pub(super) fn of_scalar(text: &str) -> Self {
        Self {
            steps: 1,
            bytes: size_of::<Node>() + size_of::<String>() + text.len(),
            depth: 0,
        }
    }

    /// A collection has room for some items as soon as there is one.
    pub(super) fn of_empty_collection() -> Self {
        Self {
            steps: 1,
            bytes: 5 * size_of::<Node>(),
            depth: 1,
        }
    }

    /// The size of an alias to a node of this size.
    pub(super) fn behind_alias(self) -> Self {
        Self {
            steps: self.steps + 1,
            ..self
        }
    }

    pub(super) fn add_item(&mut self, item: Self) {
        self.steps += item.steps;
        self.bytes += item.bytes;
        self.depth = self.depth.max(item.depth + 1);
    }
}

/// What a document has cost. Each method counts something and tells whether it is still affordable.
#[derive(Debug, Default)]
pub(super) struct Budget {
    steps: usize,
    steps_in_aliases: usize,
    bytes: usize,
    /// Held by a large document until it has been read. Whoever reads one reads no other meanwhile.
    turn: Option<MutexGuard<'static, ()>>,
}

impl Budget {
    pub(super) fn count_node(&mut self) -> bool {
        self.steps += 1;
        self.is_within_ratio()
    }

    /// Counts the memory of a node, with what is in it.
    pub(super) fn count_bytes(&mut self, size: Size, place: Mark) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(size.bytes);
        let allowed = MAX_BYTES.load(Ordering::Relaxed);
        if self.bytes > LARGE && self.turn.is_none() {
            self.turn = Some(LARGE_ONE.lock().unwrap_or_else(PoisonError::into_inner));
        }
        if self.bytes <= allowed {
            return Ok(());
        }
        let problem = format!("document needs more than {allowed} bytes");
        Err(Error::content(problem, place.line + 1))
    }

    pub(super) fn count_alias(&mut self, target: Size) -> bool {
        self.steps = self.steps.saturating_add(1 + target.steps);
        self.steps_in_aliases = self.steps_in_aliases.saturating_add(target.steps);
        self.is_within_ratio()
    }

    /// goyaml's rule: few steps of a long document may come from aliases. From 99 % in short ones, which cannot
    /// grow beyond some 400,000 steps by that, the share goes down to 10 %.
    fn is_within_ratio(&self) -> bool {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        if self.steps_in_aliases <= 100 || self.steps <= 1000 {
            return true;
        }
        let position = ((self.steps as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        self.steps_in_aliases as f64 / self.steps as f64 <= 0.99 - 0.89 * position
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn large_documents_are_read_one_after_the_other() {
        let (done, is_done) = channel();
        let turn = LARGE_ONE.lock().unwrap_or_else(PoisonError::into_inner);
        crate::parse("a: 1").unwrap();
        let reader = std::thread::spawn(move || {
            let large = format!("[{}]", "{},".repeat(20_000));
            let is_read = crate::parse(&large).is_ok();
            done.send(is_read).unwrap();
        });
        assert!(is_done.recv_timeout(Duration::from_secs(1)).is_err());
        drop(turn);
        assert!(is_done.recv().unwrap());
        reader.join().unwrap();
    }
}
