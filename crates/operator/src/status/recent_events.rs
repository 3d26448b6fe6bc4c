//! Which events were written a moment ago. Pure, but for the type of its clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use steersman_model::Digest;
use tokio::time::Instant;

/// The same event about the same resource is not repeated within this time.
const QUIET: Duration = Duration::from_mins(10);
/// So many events of a resource are written within [`QUIET`].
const MOST_OF_ONE: u32 = 60;
/// So many events are remembered. Where there are more within [`QUIET`], the first of them may be repeated.
const MOST: usize = 10_000;

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is written.
    News,
    /// It was written a moment ago.
    Known,
    /// Its resource has had too many, and this is the first one that is left out.
    FirstTooMany,
    /// Its resource has had too many, so many more than are written.
    TooMany(u32),
}

/// The events of the last minutes, by their digests: their words may be long.
#[derive(Debug, Default)]
pub(super) struct RecentEvents {
    /// Until when each counts as known.
    known: BTreeMap<Digest, Instant>,
    in_order: VecDeque<Digest>,
    /// How many different events each resource has had since then, by its UID. Each has one in `known` at least, or had.
    counts: BTreeMap<Digest, (Instant, u32)>,
}

impl RecentEvents {
    /// Whether an event of the resource with this UID is written.
    pub(super) fn judge(&mut self, uid: &str, reason: &str, message: &str, now: Instant) -> Verdict {
        self.forget_old(now);
        let event = Digest::of(format!("{uid} {reason} {message}").as_bytes());
        if self.known.contains_key(&event) {
            return Verdict::Known;
        }
        let (_, count) = self
            .counts
            .entry(Digest::of(uid.as_bytes()))
            .or_insert((now + QUIET, 0));
        *count = count.saturating_add(1);
        if *count > MOST_OF_ONE {
            return match *count - MOST_OF_ONE {
                1 => Verdict::FirstTooMany,
                more => Verdict::TooMany(more),
            };
        }
        self.known.insert(event, now + QUIET);
        self.in_order.push_back(event);
        Verdict::News
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some(first) = self.in_order.front() {
            let is_old = self.known.get(first).is_none_or(|until| *until <= now);
            if !is_old && self.in_order.len() < MOST {
                break;
            }
            self.known.remove(first);
            self.in_order.pop_front();
        }
        // No resource counts without an event of it, so there are no more of them.
        let is_over = |until: &Instant| *until <= now;
        if self.counts.len() >= MOST || self.counts.values().any(|(until, _)| is_over(until)) {
            self.counts.retain(|_, (until, _)| !is_over(until));
        }
        while self.counts.len() >= MOST {
            self.counts.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_again_after_a_while() {
        let mut events = RecentEvents::default();
        let now = Instant::now();
        assert_eq!(events.judge("u", "Failed", "why", now), Verdict::News);
        assert_eq!(
            events.judge("u", "Failed", "why", now + QUIET / 2),
            Verdict::Known
        );
        assert_eq!(events.judge("u", "Other", "why", now), Verdict::News);
        assert_eq!(events.judge("u", "Failed", "why", now + QUIET), Verdict::News);
    }

    #[test]
    fn a_resource_has_so_many_and_its_neighbour_its_own() {
        let mut events = RecentEvents::default();
        let now = Instant::now();
        let mut judge = |uid: &str, number: u32, at| events.judge(uid, "Failed", &number.to_string(), at);
        for number in 0..MOST_OF_ONE {
            assert_eq!(judge("u", number, now), Verdict::News);
        }
        assert_eq!(judge("u", 1000, now), Verdict::FirstTooMany);
        assert_eq!(judge("u", 1001, now), Verdict::TooMany(2));
        assert_eq!(judge("other", 0, now), Verdict::News);
        assert_eq!(judge("u", 1000, now + QUIET), Verdict::News);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut events = RecentEvents::default();
        let now = Instant::now();
        for number in 0..MOST + 500 {
            events.judge(&number.to_string(), "Failed", "", now);
        }
        assert!(events.known.len() <= MOST && events.in_order.len() <= MOST && events.counts.len() <= MOST);
    }
}
