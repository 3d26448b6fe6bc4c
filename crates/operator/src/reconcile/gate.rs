//! What a revision waits for before its next stage, and whether that has come. Pure.

use jiff::Timestamp;
use steersman_model::{ObjectId, Revision};
use steersman_watches::controls::{StageControls, StageName};

use crate::dependents::{End, LiveObject, StatusAge};
use crate::release::{Position, StageRecord};
use crate::status::Health;

/// Whether a revision that is brought into effect in stages goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// It waits for nothing.
    None,
    /// Objects are not ready yet.
    Shut,
    /// Somebody has to say that the next stage may begin.
    Unapproved,
    /// What it has waited for has come, or somebody has it go on.
    Open,
    /// The time of the stage is over, or one of its objects has failed.
    Failed,
}

/// Where a revision stands, and what it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    pub(super) revision: Revision,
    pub(super) stages: &'a [StageRecord],
    /// What the resource's annotations say of stages.
    pub(super) asked: &'a StageControls,
}

/// What is waited for at a gate: objects that are not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unready {
    pub(super) id: ObjectId,
    /// What its status says; none where nothing is known of it since it was applied.
    pub(super) health: Option<Health>,
}

impl Gate<'_> {
    /// Whether the revision goes on. `unready` is what is not ready of what was applied of it.
    pub(super) fn state(&self, unready: &[Unready], now: Timestamp) -> GateState {
        match Position::of(self.stages) {
            Position::Before(place) if self.stages.get(place).is_some_and(|stage| !self.may_begin(stage)) => {
                GateState::Unapproved
            }
            Position::Past | Position::Before(_) => GateState::None,
            Position::At(place) => match self.stages.get(place) {
                Some(stage) => self.state_at(stage, unready, now),
                None => GateState::None,
            },
        }
    }

    fn state_at(&self, stage: &StageRecord, unready: &[Unready], now: Timestamp) -> GateState {
        let has_failed = |object: &Unready| matches!(object.health, Some(Health::Failed(_)));
        if unready.is_empty() || self.is_skipped(stage) || self.is_retried(stage) {
            GateState::Open
        } else if unready.iter().any(has_failed) || stage.deadline().is_some_and(|deadline| now >= deadline) {
            GateState::Failed
        } else {
            GateState::Shut
        }
    }

    /// Whether a stage may begin, as far as somebody has to say so.
    pub(super) fn may_begin(&self, stage: &StageRecord) -> bool {
        !stage.approve || stage.approved || self.names(&self.asked.approve, stage)
    }

    /// Whether the next stage begins though this one is not ready.
    pub(super) fn is_skipped(&self, stage: &StageRecord) -> bool {
        self.names(&self.asked.skip, stage)
    }

    fn names(&self, asked: &[StageName], stage: &StageRecord) -> bool {
        asked.iter().any(|name| name.is(self.revision.0, &stage.name))
    }

    /// Whether a stage is to be applied once more, which was not done for this request.
    pub(super) fn is_retried(&self, stage: &StageRecord) -> bool {
        let retried = self.asked.retry.as_ref();
        retried.is_some_and(|retried| {
            retried.is(self.revision.0, &stage.name) && stage.retried.as_ref() != Some(&retried.request)
        })
    }

    /// The stages as they are when a request to apply one once more is followed.
    pub(super) fn with_retry(&self) -> Vec<StageRecord> {
        let stages = self.stages.iter().map(|stage| {
            if stage.ready.is_some() || stage.applied.is_none() || !self.is_retried(stage) {
                return stage.clone();
            }
            StageRecord {
                applied: None,
                // As it has begun.
                approved: stage.approve,
                retried: self.asked.retry.as_ref().map(|retried| retried.request.clone()),
                ..stage.clone()
            }
        });
        stages.collect()
    }
}

/// Those of `objects` that are not ready, as `judged` tells of them: it is known of each how it is. `jobs` is whether a Job has
/// to be complete.
pub(super) fn unready<'a>(
    objects: impl IntoIterator<Item = &'a ObjectId>,
    judged: impl Fn(&ObjectId) -> Option<LiveObject>,
    jobs: bool,
) -> Vec<Unready> {
    let unready = objects.into_iter().filter_map(|id| {
        let live = judged(id);
        let health = match live {
            Some(live) if live.deleting => Some(Health::Progressing("it is being deleted".to_owned())),
            Some(LiveObject {
                health: Some(Health::Ready),
                end,
                ..
            }) => {
                let is_job = (id.group.as_str(), id.kind.as_str()) == ("batch", "Job");
                if !jobs || !is_job || end != End::Open {
                    return None;
                }
                Some(Health::Progressing("it has not completed".to_owned()))
            }
            Some(LiveObject {
                health: Some(Health::Unsaid),
                ..
            }) => Some(Health::Progressing("it has no status yet".to_owned())),
            // What it has failed with may be what this revision mends.
            Some(LiveObject {
                health: Some(Health::Failed(message)),
                age: StatusAge::Former,
                ..
            }) => Some(Health::Progressing(format!(
                "as before it was changed: {message}"
            ))),
            Some(live) => live.health,
            None => None,
        };
        Some(Unready {
            id: id.clone(),
            health,
        })
    });
    unready.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, name: &str) -> ObjectId {
        ObjectId {
            group: if kind == "Job" { "batch" } else { "apps" }.to_owned(),
            kind: kind.to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    fn live(health: Option<Health>, has_ended: bool, deleting: bool) -> LiveObject {
        let end = if has_ended { End::Ended } else { End::Open };
        LiveObject::of_test(health, end, deleting)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn stage(name: &str, applied: Option<i64>, ready: Option<i64>) -> StageRecord {
        StageRecord {
            name: name.to_owned(),
            timeout: 60,
            applied: applied.map(at),
            ready: ready.map(at),
            ..StageRecord::default()
        }
    }

    fn named(text: &str) -> Vec<StageName> {
        text.split(' ').filter_map(StageName::parse).collect()
    }

    fn not_ready(health: Option<Health>) -> Vec<Unready> {
        let id = id("Deployment", "web");
        vec![Unready { id, health }]
    }

    fn state(stages: &[StageRecord], asked: &StageControls, unready: &[Unready], now: i64) -> GateState {
        let revision = Revision(7);
        let gate = Gate {
            revision,
            stages,
            asked,
        };
        gate.state(unready, at(now))
    }

    #[test]
    fn a_gate_is_shut_until_its_objects_are_ready_or_its_time_is_over() {
        let stages = [stage("a", Some(100), None), stage("b", None, None)];
        let nobody = StageControls::default();
        let waiting = not_ready(Some(Health::Progressing("0 of 1".to_owned())));
        for (unready, now, expect) in [
            (vec![], 100, GateState::Open),
            (vec![], 1000, GateState::Open),
            (waiting.clone(), 159, GateState::Shut),
            (waiting.clone(), 160, GateState::Failed),
            (not_ready(None), 101, GateState::Shut),
            (
                not_ready(Some(Health::Failed(String::new()))),
                101,
                GateState::Failed,
            ),
        ] {
            assert_eq!(
                state(&stages, &nobody, &unready, now),
                expect,
                "{unready:?} {now}"
            );
        }
        let next = [stage("a", Some(100), Some(101)), stage("b", None, None)];
        assert_eq!(state(&next, &nobody, &waiting, 102), GateState::None);
        let past = [stage("a", Some(100), Some(101))];
        assert_eq!(state(&past, &nobody, &waiting, 102), GateState::None);
        assert_eq!(state(&[], &nobody, &waiting, 102), GateState::None);
    }

    #[test]
    fn what_somebody_says_of_a_stage_counts_for_one_revision() {
        let stages = [stage("a", Some(100), None)];
        let waiting = not_ready(None);
        let skip = |text| StageControls {
            skip: named(text),
            ..StageControls::default()
        };
        assert_eq!(state(&stages, &skip("7/a"), &waiting, 101), GateState::Open);
        assert_eq!(state(&stages, &skip("6/a"), &waiting, 101), GateState::Shut);
        assert_eq!(state(&stages, &skip("7/b"), &waiting, 101), GateState::Shut);
        let before = [StageRecord {
            approve: true,
            ..stage("a", None, None)
        }];
        let approve = |text| StageControls {
            approve: named(text),
            ..StageControls::default()
        };
        assert_eq!(state(&before, &approve("6/a"), &[], 1), GateState::Unapproved);
        assert_eq!(state(&before, &approve("7/a"), &[], 1), GateState::None);
        assert_eq!(state(&before, &approve("7/a 7/b"), &[], 1), GateState::None);
    }

    #[test]
    fn a_stage_is_applied_once_more_for_each_request() {
        let approved = StageRecord {
            approve: true,
            ..stage("a", Some(100), None)
        };
        let stages = [approved];
        let retry = |text| StageControls {
            retry: StageName::parse(text),
            ..StageControls::default()
        };
        let waiting = not_ready(None);
        assert_eq!(state(&stages, &retry("7/a/1"), &waiting, 900), GateState::Open);
        let asked = retry("7/a/1");
        let gate = |stages| {
            Gate {
                revision: Revision(7),
                stages,
                asked: &asked,
            }
            .with_retry()
        };
        let mut again = gate(&stages);
        assert_eq!(Position::of(&again), Position::Before(0));
        assert_eq!(state(&again, &asked, &waiting, 900), GateState::None);
        let undone = [again[0].clone().into_unbegun()];
        assert_eq!(state(&undone, &asked, &[], 900), GateState::Unapproved);
        again[0].applied = Some(at(900));
        assert_eq!(gate(&again), again, "once");
        let unbegun = [StageRecord {
            approve: true,
            ..stage("a", None, None)
        }];
        assert_eq!(
            gate(&unbegun),
            unbegun,
            "nothing was applied that could be once more"
        );
        assert_eq!(state(&again, &asked, &waiting, 901), GateState::Shut);
        assert_eq!(state(&again, &retry("7/a/2"), &waiting, 901), GateState::Open);
    }

    #[test]
    fn what_is_not_known_to_be_ready_is_not() {
        let unready_with = |kind: &str, said: Option<LiveObject>, jobs| {
            let id = id(kind, "web");
            let objects = [&id];
            unready(objects, |_| said.clone(), jobs).len()
        };
        let ready = Some(Health::Ready);
        for (kind, said, jobs, expect) in [
            ("Deployment", None, false, 1),
            ("Deployment", Some(live(None, false, false)), false, 1),
            ("Deployment", Some(live(ready.clone(), false, false)), true, 0),
            ("Deployment", Some(live(ready.clone(), false, true)), false, 1),
            (
                "Deployment",
                Some(live(Some(Health::Unseen), false, false)),
                false,
                1,
            ),
            ("Job", Some(live(ready.clone(), false, false)), false, 0),
            ("Job", Some(live(ready.clone(), false, false)), true, 1),
            ("Job", Some(live(ready, true, false)), true, 0),
            ("Widget", Some(live(Some(Health::Unsaid), false, false)), false, 1),
        ] {
            let found = unready_with(kind, said.clone(), jobs);
            assert_eq!(found, expect, "{kind} {said:?} {jobs}");
        }
    }

    #[test]
    fn what_was_said_of_a_failure_before_a_change_is_no_failure_of_it() {
        let id = id("Widget", "web");
        for (age, expect) in [
            (StatusAge::Current, GateState::Failed),
            (StatusAge::Former, GateState::Shut),
        ] {
            let mut failed = live(Some(Health::Failed("no room".to_owned())), false, false);
            failed.age = age;
            let unready = unready([&id], |_| Some(failed.clone()), false);
            let stages = [stage("a", Some(100), None)];
            let state = state(&stages, &StageControls::default(), &unready, 101);
            assert_eq!(state, expect, "{unready:?}");
        }
    }
}
