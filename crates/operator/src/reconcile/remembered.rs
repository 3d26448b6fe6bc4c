//! How much may be remembered of a release between reconciles.

use steersman_cluster::lookup::Answer;
use steersman_model::{Applied, ObjectId};
use tokio::sync::OwnedSemaphorePermit;

use super::release_cache::{KnownRelease, Refusal, ReleaseCache};
use super::unfinished::Unfinished;
use crate::budget::Budget;

/// What is remembered of a release at no cost, and what of its secrets: most have some objects, a private key with its
/// certificates, and look nothing up.
const SMALL: usize = 16 * 1024;
/// What an entry takes beside its texts.
const ENTRY: usize = 250;

/// Room for what is remembered of a release.
#[derive(Debug, Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl ReleaseCache {
    /// Keeps what is known of the release if `budget` has room for it. Without its secrets no words of others are shown; what
    /// else is not kept is read again from the record, what was refused with much to remember of it is tried again, and what
    /// was applied before a wait is applied once more after it.
    pub fn fit(&mut self, budget: &Budget) {
        self.room = Room::default();
        let known = self.known.as_ref().map_or(0, KnownRelease::weight);
        let known = known + self.refusal().map_or(0, Refusal::weight);
        let unfinished = self.unfinished.as_ref().map_or(0, Unfinished::weight);
        let secrets = self.secrets.weight();
        if self.has_room(budget, known + unfinished, secrets) {
            return;
        }
        tracing::debug!(
            known,
            unfinished,
            secrets,
            "there is no room for what is known of a release"
        );
        if self.has_room(budget, known + unfinished, 0) {
            self.forget_secrets();
            return;
        }
        self.forget_known();
        if self.refusal().is_some_and(|refusal| refusal.weight() > SMALL) {
            self.clear_refusal();
        }
        if self.has_room(budget, unfinished, secrets) {
            return;
        }
        self.forget_secrets();
        if !self.has_room(budget, unfinished, 0)
            && let Some(revision) = self.unfinished.as_mut().and_then(|left| left.revision.as_mut())
        {
            revision.applied = None;
        }
    }

    fn forget_secrets(&mut self) {
        self.secrets.forget();
        self.sources.forget_secrets();
    }

    fn has_room(&mut self, budget: &Budget, weight: usize, secrets: usize) -> bool {
        let weight: usize = [weight, secrets].iter().filter(|part| **part > SMALL).sum();
        if weight > 0 {
            self.room = Room(budget.room_for_release(weight));
        }
        weight == 0 || self.room.0.is_some()
    }
}

impl Unfinished {
    fn weight(&self) -> usize {
        let applied = self
            .revision
            .as_ref()
            .and_then(|revision| revision.applied.as_ref());
        let of_object = |(id, applied): (&ObjectId, &Applied)| {
            let notes = applied.mended.iter().map(String::len).sum::<usize>();
            weight_of_id(id) + applied.uid.len() + applied.version.len() + notes
        };
        applied.into_iter().flatten().map(of_object).sum()
    }
}

impl KnownRelease {
    fn weight(&self) -> usize {
        let objects = self
            .objects
            .keys()
            .chain(self.later.keys())
            .chain(&self.completed);
        let objects = objects.map(weight_of_id).sum::<usize>();
        let stages = self
            .stages
            .iter()
            .map(|stage| ENTRY + stage.name.len() + stage.passed.iter().map(weight_of_id).sum::<usize>());
        objects + stages.sum::<usize>() + weight_of_lookups(&self.lookups) + self.values.weight()
    }
}

impl Refusal {
    fn weight(&self) -> usize {
        let stages = self.failure.stages.iter().flatten();
        let stages = stages.map(|stage| ENTRY + stage.name.len() + stage.message.len());
        self.failure.message.len() + stages.sum::<usize>() + weight_of_lookups(&self.lookups)
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
    use serde_json::json;
    use steersman_model::{Change, ChangeSet, Digest, Inputs, Revision};
    use steersman_watches::controls::Controls;
    use tokio::time::Instant;

    use super::*;
    use crate::apply::HookWait;
    use crate::budget::Shares;
    use crate::reconcile::plan::Decision;
    use crate::reconcile::unfinished::{CurrentRevision, UnfinishedRevision};
    use crate::release::StageRecord;
    use crate::status::{Failure, FailureStage, Prospect, Redactor, StageState, StageStatus};

    fn inputs() -> Inputs {
        let digest = Digest::of(b"");
        Inputs {
            chart: digest,
            values: digest,
            identity: digest,
            post_render: None,
        }
    }

    /// One that waits after so many objects were applied.
    fn waiting_after(count: usize) -> ReleaseCache {
        let applied: ChangeSet = (0..count)
            .map(|number| {
                let id = ObjectId {
                    group: String::new(),
                    kind: "ConfigMap".to_owned(),
                    namespace: Some("a".to_owned()),
                    name: number.to_string(),
                };
                let applied = Applied {
                    uid: "u".repeat(36),
                    version: "v1".to_owned(),
                    fields: None,
                    change: Change::Created,
                    kept: false,
                    mended: Vec::new(),
                };
                (id, applied)
            })
            .collect();
        let digest = Digest::of(b"");
        let revision = UnfinishedRevision {
            current: CurrentRevision {
                revision: Revision(1),
                decision: Decision::Recover(Revision(1)),
                inputs: inputs(),
                first: true,
            },
            applied: Some(applied),
            failure: None,
            generation: Some(1),
            spec: digest,
        };
        let mut cache = looking_up(1000);
        cache.unfinished = Some(Unfinished {
            wait: HookWait::of_test(),
            revision: Some(revision),
            is_test: false,
            said: None,
        });
        cache
    }

    #[test]
    fn what_was_applied_before_a_wait_has_room_too_or_is_applied_again() {
        let budget = Budget::new(Shares::of(Some(128 << 20)));
        let mut caches: Vec<ReleaseCache> = (0..40).map(|_| waiting_after(300)).collect();
        for cache in &mut caches {
            cache.fit(&budget);
        }
        let is_kept = |cache: &&ReleaseCache| {
            let revision = cache.unfinished.as_ref().and_then(|left| left.revision.as_ref());
            revision.is_some_and(|revision| revision.applied.is_some())
        };
        let kept = caches.iter().filter(is_kept).count();
        let known = caches.iter().filter(|cache| cache.known.is_some()).count();
        assert!((3..20).contains(&kept) && known < kept, "{kept}, {known}");
        assert!(caches.iter().all(|cache| cache.unfinished.is_some()));
    }

    fn looking_up(count: usize) -> ReleaseCache {
        let answer = Answer {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: "a".to_owned(),
            name: "x".repeat(250),
            digest: Digest::of(b""),
            secrets: None,
        };
        ReleaseCache::of(KnownRelease {
            lookups: vec![answer; count],
            ..KnownRelease::default()
        })
    }

    #[test]
    fn what_was_refused_rests_although_nothing_else_of_the_release_has_room() {
        let budget = Budget::new(Shares::of(Some(128 << 20)));
        let mut full: Vec<ReleaseCache> = (0..20).map(|_| looking_up(1000)).collect();
        for cache in &mut full {
            cache.fit(&budget);
        }
        let mut cache = looking_up(1000);
        let inputs = inputs();
        let failure = Failure {
            stage: FailureStage::Install,
            message: "it is bad".to_owned(),
            prospect: Prospect::Stalled,
            stages: None,
        };
        let controls = Controls::read(None).0;
        let weight_with = |cache: &mut ReleaseCache, stages| {
            let failure = Failure {
                stages,
                ..failure.clone()
            };
            cache.refuse(inputs, controls.clone(), failure, Vec::new(), Instant::now());
            cache.refusal().unwrap().weight()
        };
        let staged = weight_with(&mut cache, Some(vec![stage(); 100]));
        let plain = weight_with(&mut cache, None);
        assert!(staged >= plain + 100 * ENTRY);
        cache.fit(&budget);
        assert!(cache.known.is_none());
        assert_eq!(cache.refused(&controls, Instant::now()), Some(inputs));
    }

    #[test]
    fn secrets_have_room_too_or_no_words_of_others_are_shown() {
        let budget = Budget::new(Shares::of(Some(128 << 20)));
        let known = || {
            let words: Vec<String> = (0..3000).map(|number| format!("{number:04}")).collect();
            let secrets = Redactor::new([], &json!({ "passwords": words }));
            let mut cache = looking_up(10);
            cache.secrets.note_revisions(&[], &secrets);
            assert!(cache.secrets.are_complete(&[]));
            cache
        };
        let mut caches: Vec<ReleaseCache> = (0..400).map(|_| known()).collect();
        for cache in &mut caches {
            cache.fit(&budget);
        }
        let kept = caches.iter().filter(|cache| cache.secrets.are_complete(&[]));
        assert!((50..300).contains(&kept.count()));
        assert!(
            caches.iter().all(|cache| cache.known.is_some()),
            "it costs nothing"
        );
        let forgotten = caches.iter().filter(|cache| !cache.secrets.are_complete(&[]));
        assert_eq!(forgotten.map(|cache| cache.secrets.weight()).sum::<usize>(), 0);
    }

    #[test]
    fn what_waits_at_a_gate_counts_with_its_stages_and_what_they_have_applied() {
        let id = |number: usize| ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: format!("map-{number}"),
        };
        let nothing = KnownRelease::default().weight();
        let later = KnownRelease {
            later: (0..100).map(|number| (id(number), Revision(2))).collect(),
            ..KnownRelease::default()
        };
        assert!(later.weight() >= nothing + 100 * ENTRY);
        let staged = KnownRelease {
            stages: vec![StageRecord::default(); 10],
            ..KnownRelease::default()
        };
        assert!(staged.weight() >= nothing + 10 * ENTRY);
        let passed = StageRecord {
            passed: (0..100).map(id).collect(),
            ..StageRecord::default()
        };
        let passed_over = KnownRelease {
            stages: vec![passed],
            ..KnownRelease::default()
        };
        assert!(passed_over.weight() >= nothing + 101 * ENTRY);
    }

    fn stage() -> StageStatus {
        StageStatus {
            name: "database".to_owned(),
            revision: Revision(2),
            state: StageState::Pending,
            since: None,
            message: String::new(),
        }
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
