//! What is remembered of a resource between reconciles.

use std::time::Duration;

use tokio::time::Instant;

use super::record::RunRecord;
use super::report::RunReport;
use super::state::Cause;
use crate::schedule::{backoff, jitter};

/// So many runs in a row are made at once because others have changed something.
const FREE_DRIFT_RUNS: u32 = 3;
/// They are counted anew when nothing has drifted for so long.
const QUIET_PERIOD: Duration = Duration::from_mins(10);

/// What is remembered of a resource between reconciles. Losing it costs a run where the status has no record.
#[derive(Debug, Default)]
pub struct RunCache {
    /// Failures in a row.
    pub failures: u32,
    /// The last run: what the status says, where that is the operator's word.
    pub(super) record: Option<RunRecord>,
    /// The UID of the resource that all of this is about; `None` until its status was read.
    pub(super) uid: Option<String>,
    /// Whether the status says that a run is under way that no process makes: the record does not tell what it has left.
    pub(super) was_cut_off: bool,
    /// Whether what runs have left is to outlive the resource: the garbage collector was seen to take care of that.
    pub(super) is_orphaning: bool,
    /// Whether what the entry says for a deletion has been done, and only the finalizer has to go.
    pub(super) is_finalized: bool,
    /// What the status does not say yet, as it could not be written, and of which generation of the resource it is true.
    pub(super) unsaid: Option<(RunReport, Option<i64>)>,
    /// Until when nothing is tried again, and whether that is about the end of the resource.
    pub(super) resting: Option<(Instant, bool)>,
    /// How many runs in a row were made because of drift, and when the last one ended.
    drift_runs: Option<(u32, Instant)>,
}

impl RunCache {
    /// Forgets what is about another resource of the name. Gives whether this one is met for the first time.
    pub(super) fn begin(&mut self, uid: &str) -> bool {
        if self.uid.as_deref() == Some(uid) {
            return false;
        }
        let is_other = self.uid.is_some();
        let failures = if is_other { 0 } else { self.failures };
        *self = Self {
            failures,
            uid: Some(uid.to_owned()),
            ..Self::default()
        };
        true
    }

    /// Leaves alone for a while what has failed; `is_end` where that is the end of the resource.
    pub(super) fn rest(&mut self, is_end: bool, pause: Duration) {
        self.resting = Some((Instant::now() + pause, is_end));
    }

    /// Whether runs, or the end of the resource, are left alone now.
    pub(super) fn rests(&self, is_end: bool, now: Instant) -> bool {
        self.resting
            .is_some_and(|(until, of_end)| of_end == is_end && now < until)
    }

    /// One more run has failed, or what follows it.
    pub(super) fn note_failure(&mut self, is_end: bool) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let pause = backoff(self.failures, jitter());
        self.rest(is_end, pause);
        pause
    }

    /// That a run has succeeded could not be said, and now it is.
    pub(super) fn note_said(&mut self) {
        self.failures = 0;
        self.resting = None;
    }

    /// A run has succeeded that was made for this reason.
    pub(super) fn note_success(&mut self, cause: Cause, now: Instant) {
        self.failures = 0;
        self.resting = None;
        if cause != Cause::Drift {
            self.drift_runs = None;
            return;
        }
        let before = self
            .drift_runs
            .filter(|(_, ended)| now.duration_since(*ended) < QUIET_PERIOD);
        let runs = before.map_or(1, |(runs, _)| runs.saturating_add(1));
        self.drift_runs = Some((runs, now));
        if let Some(more) = runs.checked_sub(FREE_DRIFT_RUNS) {
            // A run takes seconds, so pauses of less would be none.
            self.rest(false, backoff(more.saturating_add(5), jitter()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_drifts_again_and_again_rests_ever_longer() {
        let mut cache = RunCache::default();
        let mut rested = Vec::new();
        for _ in 0..5 {
            cache.note_success(Cause::Drift, Instant::now());
            rested.push(cache.rests(false, Instant::now()));
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        assert_eq!(rested, [false, false, true, true, true]);
        tokio::time::sleep(QUIET_PERIOD).await;
        cache.note_success(Cause::Drift, Instant::now());
        assert!(!cache.rests(false, Instant::now()));
    }

    #[test]
    fn another_resource_of_the_name_has_nothing_of_the_first() {
        let mut cache = RunCache {
            failures: 1,
            ..RunCache::default()
        };
        assert!(cache.begin("one") && cache.failures == 1);
        cache.is_finalized = true;
        assert!(!cache.begin("one") && cache.is_finalized);
        assert!(cache.begin("other") && !cache.is_finalized && cache.failures == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_run_does_not_keep_the_end_waiting() {
        let mut cache = RunCache::default();
        cache.note_failure(false);
        let now = Instant::now();
        assert!(cache.rests(false, now) && !cache.rests(true, now));
        cache.note_success(Cause::Failed, now);
        assert!(!cache.rests(false, now) && cache.failures == 0);
    }
}
