//! The report on a revision that waits for one of its stages, or has waited in vain.

use std::collections::BTreeMap;

use jiff::Timestamp;
use steersman_model::{ObjectId, ReleaseStatus, Revision};

use super::ReconcileSettings;
use super::deployed::mask_words;
use super::gate::{Gate, GateState, Unready, unready};
use super::release_cache::{KnownRelease, ReleaseCache};
use super::session::Session;
use super::staged::approval_due;
use super::state::LastRevision;
use crate::dependents::Dependents;
use crate::release::{Position, StageRecord, passed_over};
use crate::status::{
    AtGate, Awaits, Failure, FailureStage, Health, HealthSummary, Prospect, ReleaseReport, StageState,
    StageStatus,
};

/// The gate at which the newest revision of a release stands, as what is remembered and what its objects' controllers say tell
/// of it. Nothing is asked for that.
pub(super) struct GateView<'a> {
    session: &'a Session,
    known: &'a KnownRelease,
    last: &'a LastRevision,
    settings: &'a ReconcileSettings,
    /// What is not ready of what the revision has applied, where that is waited for.
    unready: Vec<Unready>,
}

impl<'a> GateView<'a> {
    /// The gate of the newest revision; `None` where that has none, or is through.
    pub(super) fn new(
        session: &'a Session,
        cache: &'a ReleaseCache,
        (dependents, settings): (&Dependents, &'a ReconcileSettings),
    ) -> Option<Self> {
        let known = cache.known.as_ref()?;
        let last = known.last.as_ref()?;
        let is_through = last.status == ReleaseStatus::Deployed || last.is_being_undone;
        if is_through || known.stages.is_empty() {
            return None;
        }
        let mut view = Self {
            session,
            known,
            last,
            settings,
            unready: Vec::new(),
        };
        if let Position::At(place) = Position::of(&known.stages) {
            let owner = &session.owner.uid;
            let judged = |id: &ObjectId| dependents.judged(owner, id);
            let jobs = known.stages.get(place).is_some_and(|stage| stage.jobs);
            view.unready = unready(view.judged(), judged, jobs);
        }
        Some(view)
    }

    /// Whether the revision goes on.
    pub(super) fn state(&self, now: Timestamp) -> GateState {
        self.gate().state(&self.unready, now)
    }

    /// When its time is over; `None` where it has for ever.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.current().and_then(StageRecord::deadline)
    }

    /// What the status says of it.
    pub(super) fn report(&self, cache: &ReleaseCache, now: Timestamp) -> ReleaseReport {
        let state = self.state(now);
        let message = self.message(cache, state);
        if self.has_failed() && state == GateState::Failed {
            return ReleaseReport::Failed(Failure {
                stage: self.failure_stage(cache.is_first()),
                stages: Some(self.stages(&message, state)),
                message,
                prospect: Prospect::Stalled,
            });
        }
        ReleaseReport::AtGate(AtGate {
            awaits: match state {
                GateState::Unapproved => Awaits::Approval,
                _ if self.is_whole() => Awaits::Objects,
                _ => Awaits::Stage,
            },
            stages: self.stages(&message, state),
            message,
        })
    }

    /// Where a revision has failed that is not ready in time.
    pub(super) fn failure_stage(&self, first: bool) -> FailureStage {
        FailureStage::Unready {
            first,
            of_stage: !self.is_whole(),
        }
    }

    /// For what the revision waits, or has waited, for people; secrets masked.
    pub(super) fn message(&self, cache: &ReleaseCache, at: GateState) -> String {
        let revision = self.last.revision;
        let what = match self.current() {
            Some(stage) if at == GateState::Unapproved => {
                return approval_due(&self.session.redactor.mask_own(&stage.name), revision);
            }
            Some(stage) if !stage.name.is_empty() => {
                let name = self.session.redactor.mask_own(&stage.name);
                format!("stage {name} of revision {revision}")
            }
            _ => format!("revision {revision}"),
        };
        let health = self.health(cache);
        let how = if health.not_ready().iter().any(|object| object.failed) {
            "has failed".to_owned()
        } else if at == GateState::Failed {
            let timeout = self.current().map(|stage| stage.timeout).unwrap_or_default();
            format!("was not ready within {timeout}s")
        } else {
            "is not ready yet".to_owned()
        };
        if health.is_ready() {
            return format!("{what} goes on");
        }
        format!("{what} {how}: {}", health.message())
    }

    fn gate(&self) -> Gate<'a> {
        Gate {
            revision: self.last.revision,
            stages: &self.known.stages,
            asked: &self.session.controls.stages,
        }
    }

    fn has_failed(&self) -> bool {
        self.last.status == ReleaseStatus::Failed
    }

    /// The stage that is waited for, or that waits.
    fn current(&self) -> Option<&'a StageRecord> {
        match Position::of(&self.known.stages) {
            Position::At(place) | Position::Before(place) => self.known.stages.get(place),
            Position::Past => None,
        }
    }

    /// Whether the revision has no stages with names, and is waited for as a whole.
    fn is_whole(&self) -> bool {
        self.known.stages.iter().all(|stage| stage.name.is_empty())
    }

    /// What the revision has applied of which it is known how it is, and which was not passed over.
    fn judged(&self) -> impl Iterator<Item = &'a ObjectId> {
        let (settings, passed) = (self.settings, passed_over(&self.known.stages));
        let applied = self.known.applied_by_last();
        applied.filter(move |id| settings.judges(id) && !passed.contains(id))
    }

    /// How the objects are that the revision has applied, as it is shown.
    fn health(&self, cache: &ReleaseCache) -> HealthSummary {
        let unready = self.unready.iter().map(|object| (&object.id, &object.health));
        let unready: BTreeMap<_, _> = unready.collect();
        let verdicts = self.judged().map(|id| {
            let health = unready.get(id).copied().cloned();
            (id, health.unwrap_or(Some(Health::Ready)))
        });
        let mut verdicts: Vec<(&ObjectId, Option<Health>)> = verdicts.collect();
        mask_words(self.session, cache, &mut verdicts);
        let health = HealthSummary::new(verdicts);
        health.with_names(|names| self.session.redactor.mask_all_own(names))
    }

    fn stages(&self, message: &str, at: GateState) -> Vec<StageStatus> {
        let position = Position::of(&self.known.stages);
        let gate = self.gate();
        named_stages(
            self.session,
            self.last.revision,
            &self.known.stages,
            |place, stage| {
                let is_current = [Position::At(place), Position::Before(place)].contains(&position);
                let (state, since) = match stage.ready {
                    Some(ready) => (StageState::Ready, Some(ready)),
                    None if is_current && at == GateState::Failed => (StageState::Failed, None),
                    // Its objects can't be applied.
                    None if is_current && at == GateState::None && self.has_failed() => {
                        (StageState::Failed, None)
                    }
                    None if position == Position::At(place) => (StageState::Progressing, stage.applied),
                    None if is_current && !gate.may_begin(stage) => (StageState::ApprovalRequired, None),
                    None => (StageState::Pending, None),
                };
                (state, since, if is_current { message } else { "" })
            },
        )
    }
}

/// What the status says of those of these stages that have names: how far each is, since when, and for what it waits.
fn named_stages<'a>(
    session: &Session,
    revision: Revision,
    stages: &[StageRecord],
    said: impl Fn(usize, &StageRecord) -> (StageState, Option<Timestamp>, &'a str),
) -> Vec<StageStatus> {
    let named = stages.iter().enumerate();
    let named = named.filter(|(_, stage)| !stage.name.is_empty());
    let stages = named.map(|(place, stage)| {
        let (state, since, message) = said(place, stage);
        StageStatus {
            // The chart may have said it (`order`).
            name: session.redactor.mask_own(&stage.name),
            revision,
            state,
            since,
            message: message.to_owned(),
        }
    });
    stages.collect()
}

/// How far the stages of the newest revision are, beside a report that tells `why` it does not go on; `None` where nothing is
/// known of them.
pub(super) fn stages_beside(
    session: &Session,
    cache: &ReleaseCache,
    sources: (&Dependents, &ReconcileSettings),
    (why, now): (&str, Timestamp),
) -> Option<Vec<StageStatus>> {
    let known = cache.known.as_ref()?;
    let last = known.last.as_ref()?;
    if last.status == ReleaseStatus::Deployed {
        return Some(stages_of_deployed(session, known));
    }
    if last.is_being_undone {
        return Some(Vec::new());
    }
    let Some(view) = GateView::new(session, cache, sources) else {
        return Some(Vec::new());
    };
    let state = view.state(now);
    Some(match state {
        GateState::None | GateState::Open => view.stages(why, state),
        _ => view.stages(&view.message(cache, state), state),
    })
}

/// The stages of a revision that had come this far and is undone: it has failed at the first that was not ready.
pub(super) fn stages_of_undone(
    session: &Session,
    (revision, stages): (Revision, &[StageRecord]),
    why: &str,
) -> Vec<StageStatus> {
    let failed = stages.iter().position(|stage| stage.ready.is_none());
    named_stages(session, revision, stages, |place, stage| match stage.ready {
        Some(ready) => (StageState::Ready, Some(ready), ""),
        None if failed == Some(place) => (StageState::Failed, None, why),
        None => (StageState::Pending, None, ""),
    })
}

/// The stages of a deployed revision: all of them are ready.
pub(super) fn stages_of_deployed(session: &Session, known: &KnownRelease) -> Vec<StageStatus> {
    let Some(revision) = known
        .deployed
        .filter(|_| known.last.as_ref().map(|last| last.revision) == known.deployed)
    else {
        return Vec::new();
    };
    named_stages(session, revision, &known.stages, |_, stage| {
        (StageState::Ready, stage.ready, "")
    })
}
