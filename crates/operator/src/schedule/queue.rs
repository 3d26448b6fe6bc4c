//! Which resources are due. Pure: time comes in as an argument.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

/// A queue in which each key is at most once, at its earliest time, and is not handed out while
/// it is being worked on.
///
/// ```
/// use std::time::Duration;
///
/// use steersman_operator::schedule::Queue;
/// use tokio::time::Instant;
///
/// let now = Instant::now();
/// let mut queue = Queue::default();
/// queue.add("web", now + Duration::from_secs(60));
/// queue.add("web", now);
/// assert_eq!(queue.take(now), Some(("web", now)));
///
/// queue.add("web", now);
/// assert_eq!(queue.take(now), None, "it is being worked on");
/// queue.done(&"web");
/// assert_eq!(queue.take(now), Some(("web", now)));
/// ```
#[derive(Debug)]
pub struct Queue<K> {
    due: BTreeMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
    running: BTreeSet<K>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            due: BTreeMap::new(),
            order: BTreeSet::new(),
            running: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Makes `key` due at `at`, or earlier if it is due earlier already.
    pub fn add(&mut self, key: K, at: Instant) {
        match self.due.get(&key) {
            Some(earlier) if *earlier <= at => {}
            later => {
                if let Some(later) = later {
                    self.order.remove(&(*later, key.clone()));
                }
                self.order.insert((at, key.clone()));
                self.due.insert(key, at);
            }
        }
    }

    /// Takes the key that is longest due at `now` and not being worked on, and says since when it is due.
    pub fn take(&mut self, now: Instant) -> Option<(K, Instant)> {
        self.take_one_of(now, |_| true)
    }

    /// The same among the keys for which `is_wanted` holds.
    pub fn take_one_of(&mut self, now: Instant, is_wanted: impl Fn(&K) -> bool) -> Option<(K, Instant)> {
        let mut ready = self.order.iter().take_while(|(at, _)| *at <= now);
        let (at, key) = ready
            .find(|(_, key)| !self.running.contains(key) && is_wanted(key))?
            .clone();
        self.order.remove(&(at, key.clone()));
        self.due.remove(&key);
        self.running.insert(key.clone());
        Some((key, at))
    }

    /// The work on `key` is done.
    pub fn done(&mut self, key: &K) {
        self.running.remove(key);
    }

    /// Forgets when `key` is due.
    pub fn remove(&mut self, key: &K) {
        if let Some(at) = self.due.remove(key) {
            self.order.remove(&(at, key.clone()));
        }
    }

    /// When the next key is due that is not being worked on.
    pub fn next_due(&self) -> Option<Instant> {
        self.order
            .iter()
            .find(|(_, key)| !self.running.contains(key))
            .map(|(at, _)| *at)
    }

    /// How many keys are being worked on.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// How many keys are due at `now` and wait.
    pub fn waiting(&self, now: Instant) -> usize {
        self.order.iter().take_while(|(at, _)| *at <= now).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_is_handed_out_once_at_its_earliest_time() {
        let start = Instant::now();
        let mut queue = Queue::default();
        queue.add("a", start + Duration::from_mins(1));
        queue.add("a", start);
        queue.add("a", start + Duration::from_secs(5));
        assert_eq!(queue.take(start), Some(("a", start)));
        queue.done(&"a");
        assert_eq!(queue.take(start + Duration::from_secs(100)), None);
    }

    #[test]
    fn a_key_that_is_worked_on_waits() {
        let start = Instant::now();
        let mut queue = Queue::default();
        queue.add("a", start);
        assert_eq!(queue.take(start), Some(("a", start)));
        queue.add("a", start);
        queue.add("b", start + Duration::from_secs(1));
        assert_eq!(queue.next_due(), Some(start + Duration::from_secs(1)));
        assert_eq!(queue.take(start), None);
        queue.done(&"a");
        assert_eq!(queue.take(start), Some(("a", start)));
    }

    #[test]
    fn the_longest_due_of_some_goes_before_others() {
        let start = Instant::now();
        let mut queue = Queue::default();
        for (key, seconds) in [("a", 0), ("b", 1), ("c", 2), ("d", 9)] {
            queue.add(key, start + Duration::from_secs(seconds));
        }
        let now = start + Duration::from_secs(5);
        assert_eq!(queue.take_one_of(now, |key| *key > "c"), None);
        let second = (now - Duration::from_secs(4), "b");
        assert_eq!(
            queue.take_one_of(now, |key| *key > "a"),
            Some((second.1, second.0))
        );
        assert_eq!(queue.take(now), Some(("a", start)));
    }

    #[test]
    fn the_longest_due_goes_first() {
        let start = Instant::now();
        let mut queue = Queue::default();
        queue.add("b", start);
        queue.add("a", start + Duration::from_secs(1));
        assert_eq!(queue.take(start + Duration::from_secs(2)), Some(("b", start)));
        queue.remove(&"a");
        assert_eq!(queue.take(start + Duration::from_secs(2)), None);
    }
}
