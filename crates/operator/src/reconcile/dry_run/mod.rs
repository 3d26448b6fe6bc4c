//! What a reconcile would do, without doing it: its plan, and what the server says to it.

mod object;
mod report;
mod server;

use std::sync::Arc;

use kube::api::DynamicObject;
pub use object::{ObjectDryRun, ObjectResult};
use server::DryRunner;
use steersman_model::{ObjectId, Revision, weight_of};
use steersman_watches::controls::{DeletionPolicy, Mode};
use steersman_watches::drift::DriftMode;

use super::awaited_runs::would_wait;
use super::error::ReconcileError;
use super::plan::{Decision, Plan, PlannedUpgrade, in_effect, told_stages};
use super::release_cache::{KnownRelease, ReleaseCache, was_ever_deployed};
use super::secrets::secrets_of;
use super::session::{PreparedRelease, Session};
use super::state::{Action, Observed, Others};
use super::{GateState, HookState, Reconciler, TestState, next_action, release_state};
use crate::coordination::Directions;
use crate::release::Stored;
use crate::status::Redactor;

/// What a reconcile of a custom resource would do.
#[derive(Debug)]
pub struct DryRun {
    /// The release's name, which is the resource's.
    pub release: String,
    /// The release's namespace.
    pub namespace: String,
    /// What the plan is to the release.
    pub decision: Decision,
    /// Whether the operator does any of it.
    pub mode: Mode,
    /// What the resource waits for before that is begun, such as `waits for ConfigMap red/settings: it is not there`.
    pub waits: Option<String>,
    /// The hooks that would run, in order, such as `pre-upgrade Job web-migrate`.
    pub hooks: Vec<String>,
    /// The stages in which objects would be applied, in order, such as `database: 2 objects, 300s to become ready`.
    pub stages: Vec<String>,
    /// The objects that the release has or would have.
    pub objects: Vec<ObjectDryRun>,
    /// Objects that carry the marks of the release's resource and that no revision names.
    pub unrecorded: Vec<ObjectId>,
    /// Masks the secrets of the release as it is and as it would be.
    pub redactor: Redactor,
    /// Whether objects as they are may have secrets that are not known: what was in a Secret before.
    pub has_unknown_secrets: bool,
}

impl DryRun {
    /// Why nothing of it is done now, in words; `None` where it is.
    pub fn unless_applied(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Apply => None,
            Mode::Pause => Some("paused by an annotation, so nothing of this is done yet"),
            Mode::DryRun => Some("it is a dry run, so nothing of this is done"),
        }
    }

    /// Whether anything would be done: an object becomes another one, a hook runs, or a revision is made or goes.
    pub fn differs(&self) -> bool {
        let is_kept = matches!(self.decision, Decision::Keep(_) | Decision::TakeOver(_));
        !is_kept
            || self.waits.is_some()
            || !self.hooks.is_empty()
            || self.objects.iter().any(ObjectDryRun::differs)
    }
}

impl Reconciler {
    /// What a reconcile of `object` would do. The object need not be in the cluster, but it has a UID.
    ///
    /// # Guarantees
    /// Nothing is written: the server only tries.
    ///
    /// # Errors
    /// The chart can't be rendered with the values of the object, or the cluster does not answer.
    pub async fn dry_run(&self, object: DynamicObject) -> Result<DryRun, ReconcileError> {
        let share = Arc::new(self.shared.budget.share(weight_of(&object.data)));
        let session = Session::new(&self.shared, &self.settings, &self.resource, object, share);
        let session = session.map_err(|(_, error)| error)?;
        let acting = self.acting_for(&session);
        let acting = acting.as_deref().unwrap_or(self);
        match Box::pin(acting.dry_run_of(&session)).await {
            Err(error) if error.is_about_memory() && session.share.enlarge() => {
                Box::pin(acting.dry_run_of(&session)).await
            }
            shown => shown,
        }
    }

    /// What a reconcile of the session's resource would do. Its redactor knows what may not be shown of an error.
    async fn dry_run_of(&self, session: &Session) -> Result<DryRun, ReconcileError> {
        let revisions = session.history.load().await?;
        session.redactor.learn(secrets_of(in_effect(&revisions), &[]));
        let known = KnownRelease::with_values(
            &revisions,
            self.settings.kept_paths.as_deref().unwrap_or_default(),
        );
        let held = self
            .settings
            .held(session, Some(&known), &Directions::default())?;
        let prepared = PreparedRelease::new(session, &self.settings, held.values.clone())?;
        let mut prepared = prepared.with_reused_values(session, &self.settings, &revisions);
        prepared.first = !was_ever_deployed(&revisions);
        let mut cache = ReleaseCache::of(known.clone());
        if !session.deleting() {
            let sources = self.sources();
            let laid = sources.lay(session, &mut prepared, &mut cache, true).await;
            laid.map_err(|unusable| ReconcileError::Unusable(unusable.message))?;
        }
        let action = self
            .next_action_of(session, &prepared, &known, &mut cache)
            .await?;
        let former = in_effect(&revisions);
        self.lookups()
            .learn_former_secrets(session, &mut cache, former)
            .await?;
        let (decision, plan) = self.plan(session, &prepared, &known, &revisions, action).await?;
        if let Some(plan) = &plan {
            self.executor.admit(session, plan).await?;
        }
        let waits = match decision {
            Decision::Install | Decision::Upgrade(..) => {
                self.dependencies().would_wait(session, &prepared, &cache).await?
            }
            _ => None,
        };
        let begins = matches!(decision, Decision::Upgrade(..));
        let changes = (held.changes.as_slice(), begins);
        let waits = match waits {
            None if begins || matches!(decision, Decision::Keep(_)) => {
                would_wait(session, &self.settings, (&prepared, &known), changes)?
            }
            waits => waits,
        };
        let has_unknown_secrets = session.redactor.hides_words_of_others();
        if has_unknown_secrets && matches!(decision, Decision::Recover(_) | Decision::Keep(_)) {
            // What would be applied is stored, and has them, too.
            session.redactor.learn(Redactor::of_the_unknown());
        }
        let planned = plan.as_ref().map(|plan| plan.objects.as_slice());
        let mut secrets = secrets_of([], planned.unwrap_or_default());
        for hook in plan.iter().flat_map(|plan| &plan.hooks.records) {
            secrets.add_manifest(&hook.manifest);
        }
        session.redactor.learn(secrets);
        let runner = DryRunner {
            applier: &self.executor.applier,
            discovery: &self.shared.discovery,
            settings: &self.settings,
        };
        let mut objects = match &plan {
            Some(plan) => runner.objects(session, plan).await?,
            None => Vec::new(),
        };
        mask_refusals(session, &mut objects);
        let unrecorded = runner.unrecorded(session, &objects).await?;
        Ok(DryRun {
            release: session.release.to_string(),
            namespace: session.owner.release_namespace.clone(),
            decision,
            mode: self.observer().mode(session),
            waits,
            stages: session.redactor.mask_all_own(&stages_of(plan.as_ref())),
            hooks: plan.map(|plan| plan.hooks.names()).unwrap_or_default(),
            objects,
            unrecorded,
            redactor: session.redactor.snapshot(),
            has_unknown_secrets,
        })
    }

    /// The action that the decision table has for the resource, if nothing keeps it from being taken. Drift is not looked
    /// for here: the server's answers show it.
    async fn next_action_of(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        known: &KnownRelease,
        cache: &mut ReleaseCache,
    ) -> Result<Option<Action>, ReconcileError> {
        let lookups_changed = self.lookups().have_changed(session, prepared, cache).await?;
        Ok(next_action(release_state(Observed {
            deleting: session.deleting(),
            has_finalizer: true,
            mode: Mode::Apply,
            hook: HookState::None,
            tests: TestState::Settled,
            last: known.last.clone(),
            gate: GateState::None,
            inputs: prepared.inputs,
            lookups_changed,
            refused: None,
            drifted: Vec::new(),
            completed: Vec::new(),
            drift_mode: self.settings.drift.mode,
            // It shows what is done once nothing is waited for.
            others: Others::Free,
        })))
    }

    /// The plan of an action, as the action itself would make it; `None` where no revision is brought into effect.
    async fn plan(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        known: &KnownRelease,
        revisions: &[Stored],
        action: Option<Action>,
    ) -> Result<(Decision, Option<Plan>), ReconcileError> {
        let planner = self.planner();
        let last = known.last.as_ref().map_or(Revision::FIRST, |last| last.revision);
        let stored = |revision| revisions.iter().find(|stored| stored.record.version == revision);
        let plan = match action {
            Some(Action::Uninstall) => match self.executor.deletion_policy(session, revisions).await? {
                DeletionPolicy::Delete => Plan::uninstall(&self.settings, &session.controls, revisions),
                DeletionPolicy::Orphan => return Ok((Decision::Uninstall, None)),
                DeletionPolicy::Unclear => return Err(ReconcileError::DeletionPolicy),
            },
            Some(Action::Install) => {
                let new = planner.new_revision(session, prepared, revisions, None).await?;
                following(new.plan, revisions)
            }
            Some(Action::Upgrade(cause)) => {
                match planner.upgrade(session, prepared, revisions, cause).await? {
                    PlannedUpgrade::NewRevision(new) => following(new.plan, revisions),
                    PlannedUpgrade::TakeOver(adoption) => adoption.plan,
                }
            }
            Some(Action::Recover) => match revisions.split_last() {
                Some((stored, earlier)) => {
                    let controls = &session.controls;
                    Plan::recover(
                        &self.settings,
                        controls,
                        !was_ever_deployed(earlier),
                        stored,
                        earlier,
                    )?
                }
                None => return Ok((Decision::Recover(last), None)),
            },
            _ => {
                let deployed = known.deployed.unwrap_or(last);
                match stored(deployed) {
                    Some(stored) if self.settings.drift.mode == DriftMode::Enabled => {
                        Plan::keep(&self.settings, stored)?
                    }
                    // What has drifted stays so.
                    _ => return Ok((Decision::Keep(deployed), None)),
                }
            }
        };
        Ok((plan.decision, Some(plan)))
    }
}

/// The stages that a plan goes through, for people. What is only put right waits for none.
fn stages_of(plan: Option<&Plan>) -> Vec<String> {
    let waits = |decision: &Decision| !matches!(decision, Decision::Keep(_) | Decision::Uninstall);
    let plan = plan.filter(|plan| waits(&plan.decision));
    plan.map(|plan| told_stages(&plan.stages)).unwrap_or_default()
}

/// Masks the words in which the server refuses objects.
fn mask_refusals(session: &Session, objects: &mut [ObjectDryRun]) {
    let refusals = objects.iter_mut().filter_map(|object| match &mut object.result {
        ObjectResult::Refused(words) => Some(words),
        _ => None,
    });
    let mut refusals: Vec<&mut String> = refusals.collect();
    let masked = session.redactor.mask_all(&refusals);
    for (words, masked) in refusals.iter_mut().zip(masked) {
        **words = masked;
    }
}

/// The plan of a new revision after all that there are.
fn following(mut plan: Plan, revisions: &[Stored]) -> Plan {
    plan.follow(revisions, &[]);
    plan
}
