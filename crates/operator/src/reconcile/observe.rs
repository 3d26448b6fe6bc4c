//! Observing: from the cache where it knows, from the cluster where it does not.

use std::sync::Arc;

use serde_json::Value;
use steersman_chart::Values;
use steersman_cluster::Owner;
use steersman_cluster::client::weight_of_cut;
use steersman_model::{Digest, Inputs, ObjectId, OwnedFields, ReleaseStatus, digest_of_json};
use steersman_watches::controls::{DeletionPolicy, Mode};
use steersman_watches::procedure::Overlay;
use tokio::time::Instant;

use super::ReconcileSettings;
use super::decide::begins_revision;
use super::dependencies::{Dependencies, Waiting, own_id};
use super::error::ReconcileError;
use super::executor::Executor;
use super::gate::{GateState, unready};
use super::gate_report::GateView;
use super::lookups::Lookups;
use super::plan::in_effect;
use super::release_cache::{KnownRelease, ReleaseCache};
use super::secrets::secrets_of;
use super::session::{PreparedRelease, Session, identity};
use super::sources::{Sources, Unusable};
use super::state::{Observed, Others};
use super::tests_due::TestState;
use super::unfinished::{HookState, UnfinishedRevision, unfinished_of};
use crate::apply::PruneError;
use crate::coordination::{Coordination, HeldValues};
use crate::dependents::Dependents;
use crate::references::{NeededBy, Purpose};
use crate::release::{ReleaseIndex, Stored, Written};
use crate::status::Redactor;

/// Finds out what is true of a resource and its release.
#[derive(Clone, Copy)]
pub(super) struct Observer<'a> {
    pub(super) settings: &'a ReconcileSettings,
    pub(super) release_index: &'a Arc<ReleaseIndex>,
    pub(super) dependents: &'a Arc<Dependents>,
    pub(super) dependencies: Dependencies<'a>,
    pub(super) sources: Sources<'a>,
    pub(super) executor: &'a Executor,
    pub(super) lookups: Lookups<'a>,
    /// With runs of procedures; `None` where nothing carries them out.
    pub(super) coordination: Option<&'a Coordination>,
}

impl PreparedRelease {
    /// The values of the resource, and what follows from them. What is secret in them is masked from now on.
    pub(super) fn new(
        session: &Session,
        settings: &ReconcileSettings,
        held: HeldValues,
    ) -> Result<Self, ReconcileError> {
        let values = held.of(own_values(session, settings)?, Values::new());
        let secrets = Redactor::new([], &Value::Object(values.clone()));
        session.redactor.learn(secrets);
        let inputs = inputs(settings, &session.owner, (&values, held.overlay()));
        let from = &settings.values_from;
        Ok(Self {
            inputs,
            own_inputs: inputs,
            own_values: values.clone(),
            values,
            held,
            is_whole: from.sources.is_empty() && !from.from_resources,
            sources: Vec::new(),
            first: true,
            unproven: None,
        })
    }

    /// What a revision that has waited for a hook is made of, as far as its end needs it.
    fn of_unfinished(unfinished: &UnfinishedRevision) -> Self {
        Self {
            values: Values::new(),
            own_values: Values::new(),
            held: HeldValues::default(),
            is_whole: false,
            sources: Vec::new(),
            inputs: unfinished.current.inputs,
            own_inputs: unfinished.current.inputs,
            first: unfinished.current.first,
            unproven: None,
        }
    }
}

/// The values that a resource and its entry give.
///
/// # Errors
/// They are too many, or can't be read.
pub(super) fn own_values(session: &Session, settings: &ReconcileSettings) -> Result<Values, ReconcileError> {
    match weight_of_cut(&session.object().data) {
        Some(weight) => Err(ReconcileError::TooLarge { weight }),
        None => Ok(settings.values.of(&session.object().data)?),
    }
}

impl Observer<'_> {
    /// What is true of the resource and its release. What the release is made of is prepared where it may be needed.
    pub(super) async fn observe(
        &self,
        session: &Session,
        prepared: &mut Option<PreparedRelease>,
        cache: &mut ReleaseCache,
    ) -> Result<Observed, ReconcileError> {
        let mode = self.mode(session);
        cache.kept_paths.clone_from(&self.settings.kept_paths);
        let before = cache.waiting.take();
        let hook = self.hook_state(session, cache);
        // What is done for a deletion, a pause or a dry run does not depend on the revisions.
        if session.deleting() || mode != Mode::Apply {
            self.expect_nothing(session);
            return Ok(Observed {
                hook,
                others: self.others(session),
                ..self.observed(session, mode, session.has_finalizer())
            });
        }
        if hook != HookState::None {
            return Ok(self.observed_in_wait(session, prepared, cache, hook));
        }
        let tests = self.test_in_hand(session, cache);
        if tests != TestState::Settled {
            return Ok(self.observed_in_test(session, prepared, cache, tests));
        }
        self.forget_overtaken(session, cache);
        let directions = self.directions(session);
        let mut held = self.settings.held(session, cache.known.as_ref(), &directions)?;
        let current = match prepared.take() {
            Some(prepared) if prepared.held == held.values => prepared,
            _ => PreparedRelease::new(session, self.settings, held.values.clone())?,
        };
        let current = prepared.insert(current);
        let is_rendered = self.settings.chart.uses_lookup();
        let mut usable = self.sources.lay(session, current, cache, is_rendered).await;
        let is_unread = cache.known.is_none();
        if is_unread {
            self.read_revisions(session, cache, current.inputs).await?;
            let hook = self.hook_state(session, cache);
            if hook != HookState::None {
                return Ok(self.observed_in_wait(session, prepared, cache, hook));
            }
            let tests = self.test_in_hand(session, cache);
            if tests != TestState::Settled {
                return Ok(self.observed_in_test(session, prepared, cache, tests));
            }
            held = self.settings.held(session, cache.known.as_ref(), &directions)?;
        }
        if held.values != current.held {
            *current = PreparedRelease::new(session, self.settings, held.values.clone())?;
            usable = self.sources.lay(session, current, cache, is_rendered).await;
        } else if is_unread && self.sources.are_named(session) {
            // What was read a moment ago is compared with what the newest revision is made of.
            usable = self.sources.lay(session, current, cache, false).await;
        }
        if let Some(known) = &cache.known {
            current.inputs = current.reused_inputs(self.settings, known);
        }
        current.first = cache.is_first();
        let lookups_changed = usable.is_ok() && self.lookups.have_changed(session, current, cache).await?;
        let drifted = self.drifted(session, cache).await?;
        let completed = self.completed(session, cache);
        let last = cache.known.as_ref().and_then(|known| known.last.clone());
        let gate = GateView::new(session, cache, (self.dependents.as_ref(), self.settings));
        let gate = gate.map_or(GateState::None, |gate| gate.state((self.executor.recorder.now)()));
        let refused = cache.refused(&session.controls, Instant::now());
        let has_finalizer = has_finalizer_of_watch(session, cache);
        let mut observed = Observed {
            tests: self.tests(session, cache),
            last,
            gate,
            inputs: current.inputs,
            lookups_changed,
            refused,
            drifted,
            completed,
            ..self.observed(session, mode, has_finalizer)
        };
        // The steps of a run wait for nothing.
        let is_asked = directions.asked.is_some();
        if begins_revision(&observed) && !is_asked && !self.settings.depends_on.is_empty() {
            let waiting = self.dependencies.waiting(session, current, cache, before).await;
            cache.waiting = match waiting {
                Err(error) if error.is_stalled() => Some(Waiting::for_values(Unusable::of(session, &error))),
                waiting => waiting?,
            };
        } else {
            self.expect_nothing(session);
        }
        if cache.waiting.is_none() && begins_revision(&observed) {
            if usable.is_ok() && !current.is_whole {
                usable = self.sources.lay(session, current, cache, true).await;
                observed.inputs = current.inputs;
            }
            cache.waiting = usable.err().map(Waiting::for_values);
        }
        if is_asked && cache.waiting.is_none() && begins_revision(&observed) {
            observed.lookups_changed = self.lookups_bring_more(session, cache).await?;
        }
        self.agree(session, (current, cache), &mut observed, (&held, &directions))?;
        if cache.waiting.is_some() {
            observed.others = Others::NotReady;
        }
        Ok(observed)
    }

    /// Whether the values of a step would bring the release what its chart finds by now, where a run may have to come before
    /// that.
    async fn lookups_bring_more(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
    ) -> Result<bool, ReconcileError> {
        let mut procedures = self.settings.procedures.iter();
        if !self.settings.chart.uses_lookup() || procedures.all(|procedure| procedure.before.is_none()) {
            return Ok(false);
        }
        let last = cache.known.as_ref().and_then(KnownRelease::last_values);
        let held = HeldValues::in_effect(last.map(Arc::as_ref));
        let mut deployed = PreparedRelease::new(session, self.settings, held)?;
        if self
            .sources
            .lay(session, &mut deployed, cache, true)
            .await
            .is_err()
        {
            return Ok(true);
        }
        self.lookups.bring_more(session, &deployed, cache).await
    }

    /// Nothing is waited for that the release depends on.
    fn expect_nothing(&self, session: &Session) {
        if !self.settings.depends_on.is_empty() {
            let references = self.dependencies.references;
            references.expect_nothing(&session.owner.uid, Purpose::Dependency);
        }
    }

    /// Whether others that depend on the resource have to be deleted before it, or its runs to end. What leaves its objects leaves
    /// others what they need.
    fn others(&self, session: &Session) -> Others {
        if !session.deleting() {
            return Others::Free;
        }
        match session.deletion_policy() {
            // Nothing is deleted, and that is said at once.
            DeletionPolicy::Unclear => return Others::Free,
            DeletionPolicy::Orphan if self.runs(session).is_none() => return Others::Free,
            DeletionPolicy::Orphan => return Others::GoFirst,
            DeletionPolicy::Delete => {}
        }
        let references = self.dependencies.references;
        match references.needed_by(&session.owner.uid, &own_id(session)) {
            NeededBy::Known(others) if others.is_empty() && self.runs(session).is_none() => Others::Free,
            NeededBy::Known(_) | NeededBy::Unknown => Others::GoFirst,
        }
    }

    /// The run that the deletion of the resource waits for.
    fn runs(&self, session: &Session) -> Option<String> {
        self.coordination?
            .before_deletion(&session.key(), &session.owner.uid)
    }

    /// Whether the release waits for a hook. Where it does not, its objects may wake it.
    fn hook_state(&self, session: &Session, cache: &ReleaseCache) -> HookState {
        let (dependents, owner) = (self.dependents, &session.owner);
        match &cache.unfinished {
            Some(unfinished) if unfinished.is_test => {}
            Some(unfinished) => return unfinished.hook_state(dependents, owner),
            None => dependents.expect_nothing(&owner.uid),
        }
        HookState::None
    }

    /// Where a test is that was started, by this process or a former one; settled where there is none.
    fn test_in_hand(&self, session: &Session, cache: &ReleaseCache) -> TestState {
        let test = cache.unfinished.as_ref().filter(|left| left.is_test);
        let state = test.map(|test| test.hook_state(self.dependents, &session.owner));
        let is_started = cache.known.as_ref().is_some_and(|known| known.tests.is_started);
        match state {
            Some(HookState::Awaited) => TestState::Awaited,
            Some(HookState::Come) => TestState::Started,
            _ if is_started => TestState::Started,
            _ => TestState::Settled,
        }
    }

    /// Whether tests of the deployed revision are to be begun, or gone on with.
    fn tests(&self, session: &Session, cache: &ReleaseCache) -> TestState {
        let Some(known) = &cache.known else {
            return TestState::Settled;
        };
        let is_ready = || {
            let objects = known.objects.keys().filter(|id| self.settings.judges(id));
            let judged = |id: &ObjectId| self.dependents.judged(&session.owner.uid, id);
            unready(objects, judged, false).is_empty()
        };
        let is_deployed = known.deployed.is_some();
        if is_deployed
            && known
                .tests
                .are_due(session.test_request(), self.settings.tests, is_ready)
        {
            TestState::Due
        } else {
            TestState::Settled
        }
    }

    /// What is true of a release that waits for a hook, or has waited: nothing else matters then. What was left is prepared.
    fn observed_in_wait(
        &self,
        session: &Session,
        prepared: &mut Option<PreparedRelease>,
        cache: &mut ReleaseCache,
        hook: HookState,
    ) -> Observed {
        let unfinished = cache.unfinished.as_ref();
        let revision = unfinished.and_then(|unfinished| unfinished.revision.as_ref());
        *prepared = revision.map(PreparedRelease::of_unfinished);
        Observed {
            hook,
            ..self.observed(session, Mode::Apply, has_finalizer_of_watch(session, cache))
        }
    }

    /// What is true of a release one of whose tests was started: nothing but a deletion comes before the end of that.
    fn observed_in_test(
        &self,
        session: &Session,
        prepared: &mut Option<PreparedRelease>,
        cache: &mut ReleaseCache,
        tests: TestState,
    ) -> Observed {
        *prepared = None;
        Observed {
            tests,
            ..self.observed(session, Mode::Apply, has_finalizer_of_watch(session, cache))
        }
    }

    /// What the resource alone says.
    fn observed(&self, session: &Session, mode: Mode, has_finalizer: bool) -> Observed {
        Observed {
            deleting: session.deleting(),
            has_finalizer,
            mode,
            hook: HookState::None,
            tests: TestState::Settled,
            last: None,
            gate: GateState::None,
            inputs: inputs(
                self.settings,
                &session.owner,
                (&Values::new(), &Overlay::default()),
            ),
            lookups_changed: false,
            refused: None,
            drifted: Vec::new(),
            completed: Vec::new(),
            drift_mode: self.settings.drift.mode,
            others: Others::Free,
        }
    }

    /// What is known is out of date where somebody else has written a revision: Helm, as a rule, which need not have changed an object.
    fn forget_overtaken(&self, session: &Session, cache: &mut ReleaseCache) {
        let written = self.written(session);
        if written.is_some_and(|written| cache.is_overtaken_by(written)) {
            cache.forget_known();
        }
    }

    /// What a watch has told of the release.
    fn written(&self, session: &Session) -> Option<Written> {
        let namespace = &session.owner.release_namespace;
        self.release_index.written(namespace, &session.release)
    }

    /// Reads the revisions, unless the resource is new and no Secret of its release was seen.
    async fn read_revisions(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        wanted: Inputs,
    ) -> Result<(), ReconcileError> {
        // A new resource has no revisions as a rule. Should some have been written this very moment, creating the
        // first one fails, as its Secret is there.
        let (namespace, release) = (&session.owner.release_namespace, &session.release);
        cache.note_read(self.written(session));
        let revisions = if !session.is_new() || self.release_index.may_have(namespace, release).await {
            session.progress.note_read();
            session.history.load().await?
        } else {
            Vec::new()
        };
        if !revisions.iter().any(Stored::is_signed) {
            session.check_namespace().await?;
        }
        let under_way = self.executor.hook_under_way(session, &revisions).await?;
        let is_test_started = self.executor.has_started_test(session, &revisions).await?;
        let mut known = KnownRelease {
            may_be_lost: revisions.is_empty() && !session.is_new(),
            ..cache.told_by(&revisions)
        };
        known.tests.is_started = is_test_started;
        self.dependents
            .note_expired(&session.owner.uid, known.completed.iter());
        cache.known = Some(known);
        let secrets = secrets_of(&revisions, &[]);
        cache.secrets.note_revisions(&revisions, &secrets);
        session.redactor.learn(secrets);
        if let Some(wait) = under_way {
            // Its object's name is the chart's, and may have what was looked up.
            let learnt = self.lookups.learn_secrets(session, cache, in_effect(&revisions));
            if let Err(error) = learnt.await {
                cache.forget_known();
                return Err(error);
            }
            cache.unfinished = unfinished_of(session, &revisions, wait, wanted);
        }
        note_unreported(session, cache, &revisions);
        drop(revisions);
        session.share.keep(0);
        Ok(())
    }

    pub(super) fn mode(&self, session: &Session) -> Mode {
        match session.controls.mode {
            Mode::Apply if self.settings.dry_run => Mode::DryRun,
            mode => mode,
        }
    }

    /// The objects of the deployed revision that are not as we left them. Objects of a kind
    /// that can't be watched count as unchanged.
    async fn drifted(
        &self,
        session: &Session,
        cache: &ReleaseCache,
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let Some(known) = &cache.known else {
            return Ok(Vec::new());
        };
        if known.objects.is_empty() {
            return Ok(Vec::new());
        }
        let served = self.lookups.renderer.discovery.served().await?;
        let dependents = self.dependents;
        let unseen = dependents.find_unseen(&session.owner.uid);
        unseen.await.map_err(PruneError::from)?;
        // A rollback deletes what a failed revision has made under the name of one that had done its work.
        dependents.note_expired(&session.owner.uid, known.completed.iter());
        let mut drifted = Vec::new();
        for (id, expected) in &known.objects {
            let Some(resource) = served.any_version(&id.group, &id.kind) else {
                drifted.push(id.clone());
                continue;
            };
            if !dependents.ensure(id, resource).await {
                continue;
            }
            let owner = &session.owner.uid;
            let as_left = dependents
                .live(owner, id)
                .map_or(dependents.has_expired(owner, id), |live| {
                    // What is being deleted is applied again when it is gone.
                    let is_as_left =
                        |left: &OwnedFields| live.fields.is_some_and(|live| left.are_those_of(live));
                    live.deleting || expected.as_ref().is_none_or(is_as_left)
                });
            if !as_left {
                drifted.push(id.clone());
            }
        }
        Ok(drifted)
    }

    /// The Jobs that have done their work and go by themselves, of which that is not noted.
    fn completed(&self, session: &Session, cache: &ReleaseCache) -> Vec<ObjectId> {
        let Some(known) = &cache.known else {
            return Vec::new();
        };
        let owner = &session.owner.uid;
        let jobs = known.objects.keys().filter(|id| is_job(id));
        let completed = jobs
            .filter(|id| !known.completed.contains(id))
            .filter(|id| self.dependents.expires(owner, id));
        completed.cloned().collect()
    }
}

fn is_job(id: &ObjectId) -> bool {
    (id.group.as_str(), id.kind.as_str()) == ("batch", "Job")
}

/// Has the deployed revision reported if the status does not show it: the process may have ended in between.
fn note_unreported(session: &Session, cache: &mut ReleaseCache, revisions: &[Stored]) {
    let is_deployed =
        |stored: &&Stored| stored.is_signed() && stored.record.info.status == ReleaseStatus::Deployed;
    let Some(deployed) = revisions.iter().rev().find(is_deployed) else {
        return;
    };
    if session.shown_revision() == Some(deployed.record.version) {
        return;
    }
    let notes = session.redactor.mask_own(&deployed.record.info.notes);
    cache.note_unreported(notes, deployed.snapshot.values_from.clone());
}

/// Whether the finalizer is there under the watch's selector. It counts as there, too, when the selector of another
/// operator matches the resource as well: each would write its selector over the other's for ever.
fn has_finalizer_of_watch(session: &Session, cache: &mut ReleaseCache) -> bool {
    if session.has_finalizer_of_watch() {
        return true;
    }
    let is_contested = session.has_finalizer() && cache.is_finalizer_contested(Instant::now());
    if is_contested {
        let other = session.finalizer_selector();
        tracing::warn!(release = %session.release, other, "the selector of another operator matches the resource, too");
    }
    is_contested
}

/// What a release would be rendered from. What steps of procedures have put over its values counts, though it changes nothing
/// at the moment: it would be gone with the next change.
pub(super) fn inputs(
    settings: &ReconcileSettings,
    owner: &Owner,
    (values, overlay): (&Values, &Overlay),
) -> Inputs {
    let digest = digest_of_json(&Value::Object(values.clone()));
    let values = if overlay.is_empty() {
        digest
    } else {
        let over = digest_of_json(&Value::Object(overlay.values().clone()));
        Digest::of(format!("{digest} under {over}").as_bytes())
    };
    Inputs {
        chart: Digest::from_bytes(settings.chart.digest().0),
        values,
        identity: identity(owner),
        post_render: settings.post_render.digest(),
    }
}
