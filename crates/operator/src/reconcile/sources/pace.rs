//! How often another content of sources alone makes another revision.

use std::time::Duration;

use steersman_model::Digest;
use tokio::time::Instant;

use super::joined;

/// How long a revision for other values of a source lasts before the next one for such.
const INTERVAL: Duration = Duration::from_secs(30);

/// Which contents of its sources a release is and was to be made of.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// What the newest revision is made of.
    applied: Option<Digest>,
    /// What another one was to be made of last.
    wanted: Option<Digest>,
    /// When another revision was seen first that was begun for them alone.
    upgraded: Option<Instant>,
}

impl Pace {
    /// How long the sources' content `digest` has to wait at `now` where it alone makes another revision: the newest one is made
    /// of the values `last`, and the resource has `own`. `None` where it need not.
    pub(super) fn rest(
        &mut self,
        own: Digest,
        last: Option<Digest>,
        digest: Option<Digest>,
        now: Instant,
    ) -> Option<Duration> {
        let is_made_of = |content: &Digest| last == Some(joined(own, *content));
        // While it was made, the sources may have changed again.
        let known = [digest, self.wanted].into_iter().flatten().find(is_made_of);
        if known.is_some() && known != self.applied {
            if self.applied.is_some() {
                self.upgraded = Some(now);
            }
            self.applied = known;
        }
        let is_other = known.is_some() && digest.is_some() && known != digest;
        let rest = self.upgraded.filter(|_| is_other).and_then(|upgraded| {
            let rest = (upgraded + INTERVAL).checked_duration_since(now)?;
            (!rest.is_zero()).then_some(rest)
        });
        if rest.is_none() {
            self.wanted = digest;
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    #[test]
    fn what_changes_all_the_time_waits_although_each_revision_is_behind_it() {
        let [own, first, second, third] = ["own", "first", "second", "third"].map(digest);
        let begun = Instant::now();
        let mut pace = Pace::default();
        let mut rest = |last, content, seconds| {
            let now = begun + Duration::from_secs(seconds);
            pace.rest(own, Some(joined(own, last)), Some(content), now)
        };
        assert_eq!(rest(first, first, 0), None);
        assert_eq!(rest(first, second, 1), None);
        // The revision of the second is there, and the third content as well.
        assert_eq!(rest(second, third, 5), Some(INTERVAL));
        assert_eq!(rest(second, first, 15), Some(Duration::from_secs(20)));
        assert_eq!(rest(second, second, 20), None);
        assert_eq!(rest(second, third, 35), None);
        assert_eq!(rest(third, first, 40), Some(INTERVAL));
    }

    #[test]
    fn values_of_the_resource_and_a_first_revision_wait_for_nothing() {
        let [own, other, first, second, third] = ["own", "other", "first", "second", "third"].map(digest);
        let now = Instant::now();
        let mut pace = Pace::default();
        assert_eq!(pace.rest(own, None, Some(first), now), None);
        assert_eq!(pace.rest(own, Some(joined(own, first)), Some(second), now), None);
        assert_eq!(
            pace.rest(other, Some(joined(own, second)), Some(third), now),
            None
        );
        assert_eq!(pace.rest(other, Some(joined(other, third)), None, now), None);
    }
}
