//! Objects that somebody else changes again after each correction. Pure: time comes in as an
//! argument.

use std::collections::BTreeMap;
use std::time::Duration;

use steersman_model::ObjectId;
use tokio::time::Instant;

/// So many corrections of an object are made without a pause.
const FREE: u32 = 5;
/// Corrections are counted anew when an object has not drifted for so long after its pause.
const QUIET_PERIOD: Duration = Duration::from_mins(1);
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// How often each object was corrected, until a quiet period is over.
#[derive(Debug, Default)]
pub(super) struct DriftBackoff {
    corrected: BTreeMap<ObjectId, Corrected>,
}

#[derive(Clone, Copy, Debug)]
struct Corrected {
    times: u32,
    last: Instant,
    /// Whether it was said that the next correction waits.
    warned: bool,
}

/// Which of some drifted objects are to be corrected now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) due: Vec<ObjectId>,
    /// Those whose next correction waits.
    pub(super) waiting: Vec<ObjectId>,
    /// Until when at least one of them waits.
    pub(super) pause: Duration,
}

impl Corrected {
    /// How long after the last correction another one may follow.
    fn pause(self) -> Duration {
        match self.times.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(more) => FIRST_PAUSE.saturating_mul(1 << more.min(16)).min(LONGEST_PAUSE),
        }
    }
}

impl DriftBackoff {
    /// Objects were corrected.
    pub(super) fn note<'a>(&mut self, objects: impl IntoIterator<Item = &'a ObjectId>, now: Instant) {
        self.corrected
            .retain(|_, known| now.duration_since(known.last) < known.pause() + QUIET_PERIOD);
        for id in objects {
            let known = self.corrected.entry(id.clone()).or_insert(Corrected {
                times: 0,
                last: now,
                warned: false,
            });
            known.times = known.times.saturating_add(1);
            known.last = now;
            known.warned = false;
        }
    }

    /// Those of `waiting` that nobody was warned of since their last correction; from now on they count as warned of.
    pub(super) fn not_warned_of(&mut self, waiting: &[ObjectId]) -> Vec<ObjectId> {
        let mut found = Vec::new();
        for id in waiting {
            if let Some(known) = self.corrected.get_mut(id).filter(|known| !known.warned) {
                known.warned = true;
                found.push(id.clone());
            }
        }
        found
    }

    /// Divides drifted objects into those that are due for a correction and those whose next correction has to wait.
    pub(super) fn turn(&self, drifted: Vec<ObjectId>, now: Instant) -> Turn {
        let remaining = |id: &ObjectId| {
            self.corrected.get(id).map_or(Duration::ZERO, |known| {
                known.pause().saturating_sub(now.duration_since(known.last))
            })
        };
        let (due, waiting): (Vec<_>, Vec<_>) = drifted.into_iter().partition(|id| remaining(id).is_zero());
        let pause = waiting.iter().map(remaining).min().unwrap_or_default();
        Turn { due, waiting, pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    #[test]
    fn the_sixth_correction_waits_and_each_one_after_it_longer() {
        let mut backoff = DriftBackoff::default();
        let mut now = Instant::now();
        for seconds in [0, 0, 0, 0, 0, 10, 20, 40, 80, 160, 300, 300] {
            let wait = Duration::from_secs(seconds);
            let turn = backoff.turn(vec![object("a")], now);
            assert_eq!(turn.pause, wait);
            assert_eq!(turn.due.is_empty(), !wait.is_zero());
            now += wait;
            assert_eq!(backoff.turn(vec![object("a")], now).due, [object("a")]);
            backoff.note([&object("a")], now);
        }
    }

    #[test]
    fn others_do_not_wait_for_it_and_a_quiet_period_ends_it() {
        let mut backoff = DriftBackoff::default();
        let start = Instant::now();
        for _ in 0..FREE {
            backoff.note([&object("a")], start);
        }
        let turn = backoff.turn(vec![object("a"), object("b")], start);
        assert_eq!((turn.due, turn.waiting), (vec![object("b")], vec![object("a")]));
        assert_eq!(backoff.not_warned_of(&[object("a")]), [object("a")]);
        assert_eq!(backoff.not_warned_of(&[object("a")]), []);
        let later = start + FIRST_PAUSE + QUIET_PERIOD;
        backoff.note([&object("a")], later);
        assert_eq!(backoff.turn(vec![object("a")], later).due, [object("a")]);
    }
}
