//! When a run is due by its schedule. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use steersman_watches::procedure::{Schedule, ScheduleError, ScheduleSource, delay};

/// A time of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// As the schedule has it.
    pub(super) tick: Timestamp,
    /// When the run of a resource begins for it.
    pub(super) start: Timestamp,
}

/// The next time for the resource with this UID after `last`: the last one that was missed, unless it is too late for that, else
/// the first one to come. `cron` is what its values say.
///
/// # Errors
/// They say what is no schedule, or never comes.
pub(super) fn due(
    source: &ScheduleSource,
    uid: &str,
    cron: Option<&str>,
    (last, now): (Timestamp, Timestamp),
) -> Result<Option<Due>, DueError> {
    let Some(schedule) = source.of(uid, cron)? else {
        return Ok(None);
    };
    let delay = delay(source.jitter, uid);
    let at = |tick: Timestamp| Due {
        tick,
        start: tick.saturating_add(delay).unwrap_or(tick),
    };
    let Some(first) = schedule.next_after(last) else {
        return Err(DueError::Never);
    };
    if first > now {
        return Ok(Some(at(first)));
    }
    let missed = at(last_before(&schedule, first, now));
    let late = Duration::try_from(now.duration_since(missed.start)).unwrap_or_default();
    if source.deadline.is_some_and(|deadline| late > deadline) {
        return Ok(schedule.next_after(now).map(at));
    }
    Ok(Some(missed))
}

/// For which time of its schedule the resource with this UID needs a run that succeeds, as one has at `last`. `None` without a
/// schedule.
pub(super) fn expected(
    source: &ScheduleSource,
    uid: &str,
    cron: Option<&str>,
    last: Timestamp,
) -> Option<Timestamp> {
    let tick = source.of(uid, cron).ok()??.next_after(last)?;
    Some(tick.saturating_add(delay(source.jitter, uid)).unwrap_or(tick))
}

/// Why there is no next time.
#[derive(Debug, thiserror::Error)]
pub(super) enum DueError {
    #[error("it has no schedule: {0}")]
    Schedule(#[from] ScheduleError),
    #[error("the time of its schedule never comes")]
    Never,
}

/// The last time of a schedule that is not after `now`; `first` is one. It takes as long whatever lies between.
fn last_before(schedule: &Schedule, first: Timestamp, now: Timestamp) -> Timestamp {
    let (mut last, mut end) = (first, now);
    loop {
        let left = end.duration_since(last);
        if left <= SignedDuration::from_secs(1) {
            return last;
        }
        let middle = last.saturating_add(left / 2).unwrap_or(end);
        match schedule.next_after(middle).filter(|next| *next <= now) {
            Some(next) => last = next,
            None => end = middle,
        }
    }
}
