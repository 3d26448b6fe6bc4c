//! Objects that somebody else changes again after each correction. Pure: time comes in as an
//! argument.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use steersman_model::ObjectId;

/// So many corrections are made at once.
const FREE: u32 = 5;
/// A correction so long after it could have been made is the first of another story.
const PEACE: Duration = Duration::from_mins(1);
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// How often objects were corrected of late.
#[derive(Debug, Default)]
pub(super) struct Fights {
    corrected: BTreeMap<ObjectId, Corrected>,
}

#[derive(Clone, Copy, Debug)]
struct Corrected {
    times: u32,
    last: Instant,
    /// Whether it was said that the next correction waits.
    told: bool,
}

/// Which of some drifted objects are to be corrected now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) due: Vec<ObjectId>,
    /// Those that wait.
    pub(super) fought: Vec<ObjectId>,
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

impl Fights {
    /// Objects were corrected.
    pub(super) fn note<'a>(&mut self, objects: impl IntoIterator<Item = &'a ObjectId>, now: Instant) {
        self.corrected
            .retain(|_, known| now.duration_since(known.last) < known.pause() + PEACE);
        for id in objects {
            let known = self.corrected.entry(id.clone()).or_insert(Corrected {
                times: 0,
                last: now,
                told: false,
            });
            known.times = known.times.saturating_add(1);
            known.last = now;
            known.told = false;
        }
    }

    /// Those of `fought` that nobody was told of since their last correction; from now on they are.
    pub(super) fn news(&mut self, fought: &[ObjectId]) -> Vec<ObjectId> {
        let mut news = Vec::new();
        for id in fought {
            if let Some(known) = self.corrected.get_mut(id).filter(|known| !known.told) {
                known.told = true;
                news.push(id.clone());
            }
        }
        news
    }

    /// Tells the drifted objects that are due from those that somebody fights over.
    pub(super) fn turn(&self, drifted: Vec<ObjectId>, now: Instant) -> Turn {
        let remaining = |id: &ObjectId| {
            self.corrected.get(id).map_or(Duration::ZERO, |known| {
                known.pause().saturating_sub(now.duration_since(known.last))
            })
        };
        let (due, fought): (Vec<_>, Vec<_>) = drifted.into_iter().partition(|id| remaining(id).is_zero());
        let pause = fought.iter().map(remaining).min().unwrap_or_default();
        Turn { due, fought, pause }
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
        let mut fights = Fights::default();
        let mut now = Instant::now();
        for seconds in [0, 0, 0, 0, 0, 10, 20, 40, 80, 160, 300, 300] {
            let wait = Duration::from_secs(seconds);
            let turn = fights.turn(vec![object("a")], now);
            assert_eq!(turn.pause, wait);
            assert_eq!(turn.due.is_empty(), !wait.is_zero());
            now += wait;
            assert_eq!(fights.turn(vec![object("a")], now).due, [object("a")]);
            fights.note([&object("a")], now);
        }
    }

    #[test]
    fn others_do_not_wait_for_it_and_peace_ends_it() {
        let mut fights = Fights::default();
        let start = Instant::now();
        for _ in 0..FREE {
            fights.note([&object("a")], start);
        }
        let turn = fights.turn(vec![object("a"), object("b")], start);
        assert_eq!((turn.due, turn.fought), (vec![object("b")], vec![object("a")]));
        assert_eq!(fights.news(&[object("a")]), [object("a")]);
        assert_eq!(fights.news(&[object("a")]), []);
        let later = start + FIRST_PAUSE + PEACE;
        fights.note([&object("a")], later);
        assert_eq!(fights.turn(vec![object("a")], later).due, [object("a")]);
    }
}
