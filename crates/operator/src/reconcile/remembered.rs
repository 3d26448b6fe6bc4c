//! How much may be remembered of a release between reconciles.

use steersman_cluster::lookup::Answer;
use steersman_model::ObjectId;
use tokio::sync::OwnedSemaphorePermit;

use super::release_cache::{KnownRelease, Refusal, ReleaseCache};
use crate::budget::Budget;

/// What is remembered of a release at no cost: most have some objects, and look nothing up.
const SMALL: usize = 16 * 1024;
/// What an entry takes beside its texts.
const ENTRY: usize = 250;

/// Room for what is remembered of a release.
#[derive(Debug, Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl ReleaseCache {
    /// Keeps what is known of the release if `budget` has room for it. What is not kept is read again from the record, and what
    /// was refused is tried again.
    pub fn fit(&mut self, budget: &Budget) {
        self.room = Room::default();
        let known = self.known.as_ref().map_or(0, KnownRelease::weight);
        let weight = known + self.refusal().map_or(0, Refusal::weight);
        if weight <= SMALL {
            return;
        }
        self.room = Room(budget.room_for_release(weight));
        if self.room.0.is_none() {
            tracing::debug!(weight, "there is no room for what is known of a release");
            self.forget_known();
            self.clear_refusal();
        }
    }
}

impl KnownRelease {
    fn weight(&self) -> usize {
        let objects = self.objects.keys().map(weight_of_id).sum::<usize>();
        objects + weight_of_lookups(&self.lookups)
    }
}

impl Refusal {
    fn weight(&self) -> usize {
        self.failure.message.len() + weight_of_lookups(&self.lookups)
    }
}

fn weight_of_id(id: &ObjectId) -> usize {
    let namespace = id.namespace.as_ref().map_or(0, String::len);
    ENTRY + id.group.len() + id.kind.len() + namespace + id.name.len()
}

fn weight_of_lookups(lookups: &[Answer]) -> usize {
    let texts = |answer: &Answer| {
        answer.api_version.len() + answer.kind.len() + answer.namespace.len() + answer.name.len()
    };
    lookups.iter().map(|answer| ENTRY + texts(answer)).sum()
}

#[cfg(test)]
mod tests {
    use steersman_model::Digest;

    use super::*;
    use crate::budget::Shares;

    fn looking_up(count: usize) -> ReleaseCache {
        let answer = Answer {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: "a".to_owned(),
            name: "x".repeat(250),
            digest: Digest::of(b""),
        };
        ReleaseCache::of(KnownRelease {
            lookups: vec![answer; count],
            ..KnownRelease::default()
        })
    }

    #[test]
    fn what_has_no_room_is_read_again() {
        let budget = Budget::new(Shares::of(Some(128 << 20)));
        let mut caches: Vec<ReleaseCache> = (0..20).map(|_| looking_up(1000)).collect();
        for cache in &mut caches {
            cache.fit(&budget);
        }
        let kept = caches.iter().filter(|cache| cache.known.is_some()).count();
        assert!((3..10).contains(&kept), "{kept}");
        let mut small = looking_up(10);
        small.fit(&budget);
        assert!(small.known.is_some());
        caches.truncate(1);
        let mut late = looking_up(1000);
        late.fit(&budget);
        late.fit(&budget);
        assert!(late.known.is_some(), "there is room again");
    }
}
