//! A release that was left where there is something to wait for, and how it is gone on with.

use steersman_cluster::Owner;
use steersman_model::{ChangeSet, Digest, Inputs, Revision, digest_of_json};
use steersman_watches::controls::Controls;

use super::error::ReconcileError;
use super::plan::Decision;
use super::release_cache::{ReleaseCache, is_first};
use super::session::Session;
use crate::apply::HookWait;
use crate::dependents::Dependents;
use crate::release::Stored;
use crate::status::ReleaseReport;

/// What is kept of a release that waits for a hook or a test. Its plan, its values and its revisions are not: the stored revision has
/// them, and is signed. What is lost with this at a restart is made up for as after any end of the process.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) wait: HookWait,
    /// What is brought into effect; `None` where the release goes, or is tested.
    pub(super) revision: Option<UnfinishedRevision>,
    /// Whether it is a test of the deployed revision. It holds up no deletion.
    pub(super) is_test: bool,
    /// What the status says of what is being done; `None` where it says nothing of it.
    pub(super) said: Option<ReleaseReport>,
}

/// Which revision is brought into effect, and what that is to the release.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentRevision {
    pub(super) revision: Revision,
    pub(super) decision: Decision,
    pub(super) inputs: Inputs,
    /// Whether no revision was ever deployed before it.
    pub(super) first: bool,
}

/// A revision on its way into effect, or out of it.
#[derive(Debug)]
pub(super) struct UnfinishedRevision {
    pub(super) current: CurrentRevision,
    /// What was applied of it: the hook comes after that.
    pub(super) applied: Option<ChangeSet>,
    /// Why it is being undone, where that is what the hook belongs to.
    pub(super) failure: Option<Box<ReconcileError>>,
    /// The generation that its reconcile is about, and the digest of the spec of that.
    pub(super) generation: Option<i64>,
    pub(super) spec: Digest,
}

/// Whether a release waits for a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookState {
    /// It does not.
    None,
    /// There is no sign that the wait is over.
    Awaited,
    /// The hook has ended, its time is over, or it is due to be looked at.
    Come,
}

/// How far a plan is carried out, beyond what the revision says of it.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// With it the release was left; `None` where it was not.
    pub(super) wait: Option<HookWait>,
    /// What was applied already.
    pub(super) applied: Option<ChangeSet>,
    /// The digest of the spec that the revision is of; `None` where it is the resource's.
    pub(super) spec: Option<Digest>,
    /// Whether the revision was tried before, and has failed.
    pub(super) is_retry: bool,
    /// Whether a former process, or an attempt that has failed, may have come some way with it.
    pub(super) is_recovery: bool,
}

impl Stage {
    /// What the annotations ask for, but that no hooks are left out any more where one is waited for: it counts as it ends.
    pub(super) fn controls(&self, session: &Session) -> Controls {
        let mut controls = session.controls.clone();
        if self.wait.is_some() {
            controls.install.hooks_disabled = false;
            controls.upgrade.hooks_disabled = false;
        }
        controls
    }

    /// With what the release is left once more, as a request had no answer. Another spec may be what helps, but where the hook
    /// may still be running that comes after its end.
    pub(super) fn wait_again(&self, session: &Session, error: &ReconcileError) -> Option<HookWait> {
        let wait = self.wait.clone().filter(|_| error.is_transient())?;
        if matches!(error, ReconcileError::Hook(error) if error.is_of(&wait)) {
            return Some(wait);
        }
        self.is_of_spec(session).then(|| wait.with_uncertain_progress())
    }

    /// Whether the revision is of the spec that the resource has.
    fn is_of_spec(&self, session: &Session) -> bool {
        self.spec.is_none_or(|spec| spec == spec_of(session))
    }
}

impl Unfinished {
    /// Whether there is a sign that the wait is over.
    pub(super) fn hook_state(&self, dependents: &Dependents, owner: &Owner) -> HookState {
        if self.wait.goes_on(dependents, &owner.uid) {
            HookState::Awaited
        } else {
            HookState::Come
        }
    }
}

impl Session {
    /// Why the revision has failed, where the process ended while it was being undone: what has begun is brought to its end, even
    /// where failures are not undone any longer, as hooks of it may be under way. Where the resource shows it or a later one as
    /// deployed, that was before: somebody has put an earlier state back.
    pub(super) fn failure_of(&self, stored: &Stored) -> Option<ReconcileError> {
        let was_deployed = self.shown_revision() >= Some(stored.record.version);
        let failure = stored.snapshot.undoing.clone().filter(|_| !was_deployed);
        failure.map(ReconcileError::undone)
    }

    /// How far the deletion of the release has come. What was being done before it is not gone on with.
    pub(super) fn stage_of_deletion(&self, cache: &mut ReleaseCache) -> Stage {
        let unfinished = cache.unfinished.take().filter(|left| left.revision.is_none());
        if let Some(said) = unfinished.as_ref().and_then(|left| left.said.clone()) {
            self.progress.note_said(said);
        }
        Stage {
            wait: unfinished.map(|left| left.wait),
            // How a hook of it has ended is nowhere but in the failures.
            is_retry: cache.failures > 0,
            // A process before this one, or a request without an answer, may have started some.
            is_recovery: true,
            ..Stage::default()
        }
    }
}

/// What is being done, for people.
pub(super) fn undoing(session: &Session, revision: Revision) -> String {
    format!(
        "revision {revision} of release {} is being undone",
        session.release
    )
}

/// The last revision, of which a former process has left a hook running: it comes to its end first, as if that had waited for
/// it. `wanted` is what the resource is made of now.
pub(super) fn unfinished_of(
    session: &Session,
    revisions: &[Stored],
    wait: HookWait,
    wanted: Inputs,
) -> Option<Unfinished> {
    let (stored, earlier) = revisions.split_last()?;
    let inputs = stored.snapshot.inputs?;
    let revision = stored.record.version;
    let failure = session.failure_of(stored);
    let decision = Decision::Recover(revision);
    let doing = match &failure {
        Some(_) => Some(undoing(session, revision)),
        None => decision.underway(session.release.as_str()),
    };
    let doing = format!("{}; {wait}", doing.unwrap_or_default());
    let is_of_spec = inputs.values == wanted.values;
    Some(Unfinished {
        wait,
        revision: Some(UnfinishedRevision {
            current: CurrentRevision {
                revision,
                decision,
                inputs,
                first: is_first(stored, earlier),
            },
            applied: None,
            failure: failure.map(Box::new),
            generation: if is_of_spec {
                session.generation
            } else {
                session.observed_generation()
            },
            spec: if is_of_spec {
                spec_of(session)
            } else {
                inputs.values
            },
        }),
        is_test: false,
        said: Some(ReleaseReport::Progressing(session.redactor.mask_own(&doing))),
    })
}

/// The digest of what a resource wants.
pub(super) fn spec_of(session: &Session) -> Digest {
    session
        .object()
        .data
        .get("spec")
        .map_or_else(|| digest_of_json(&serde_json::Value::Null), digest_of_json)
}
