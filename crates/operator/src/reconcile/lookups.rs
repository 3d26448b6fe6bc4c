//! What a chart looks up in the cluster is an input of its release, as far as others write it.

use serde_json::Value;
use steersman_chart::Operation;
use steersman_cluster::lookup::{Answer, LookupError};
use steersman_model::{DocumentsError, ReleaseStatus, Revision, objects_of_manifest, objects_of_text};
use tokio::time::Instant;

use super::ReconcileSettings;
use super::error::ReconcileError;
use super::new_record::{hook_records, manifest};
use super::randomness::is_same_but_for_noise;
use super::release_cache::{KnownRelease, ReleaseCache};
use super::renderer::Renderer;
use super::secrets::{LookedUp, is_of_secrets, may_be_more};
use super::session::{PreparedRelease, Session};
use super::state::LastRevision;
use crate::release::{HookRecord, Stored};
use crate::status::Redactor;

/// What charts have looked up, and whether the answers are others now.
#[derive(Clone, Copy)]
pub(super) struct Lookups<'a> {
    pub(super) renderer: &'a Renderer,
    pub(super) settings: &'a ReconcileSettings,
}

impl Lookups<'_> {
    /// Looks again at what the chart has looked up, if that is due. Gives whether the deployed
    /// revision would come out differently because of it; inputs that were refused are tried
    /// again when one of their lookups has another answer now.
    ///
    /// The chart is rendered only when an answer has changed: what it makes of the answers may
    /// be the same, as with a status that changes all the time.
    pub(super) async fn have_changed(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
    ) -> Result<bool, ReconcileError> {
        let known = cache.known.clone().unwrap_or_default();
        let refused = cache.refusal().map(|refusal| refusal.lookups.clone());
        let refused = refused.unwrap_or_default();
        if known.lookups.is_empty() && refused.is_empty() {
            return Ok(false);
        }
        // What was seen a moment ago still holds.
        if !cache.is_lookup_due(Instant::now()) {
            return Ok(cache.lookups_differ == Some(prepared.inputs));
        }
        cache.note_lookups(prepared.inputs, false);
        let differ = self.differ(session, prepared, cache, (known, refused)).await?;
        cache.note_lookups(prepared.inputs, differ);
        Ok(differ)
    }

    /// Whether the deployed revision would come out differently by now, because of what the chart looks up, whatever else is
    /// going to change.
    pub(super) async fn bring_more(
        &self,
        session: &Session,
        deployed: &PreparedRelease,
        cache: &mut ReleaseCache,
    ) -> Result<bool, ReconcileError> {
        let known = cache.known.clone().unwrap_or_default();
        let Some(revision) = known.deployed else {
            return Ok(false);
        };
        let is_last = known.last.is_some_and(|last| last.revision == revision);
        let lookups = if is_last {
            known.lookups
        } else {
            let stored = session.history.get(revision).await?;
            stored.map(|stored| stored.snapshot.lookups).unwrap_or_default()
        };
        if lookups.is_empty() {
            return Ok(false);
        }
        match self.look_up_again(session, cache, &lookups).await? {
            Some(answers) if are_as(&answers, &lookups) => Ok(false),
            _ => {
                self.comes_out_differently(session, deployed, revision, None)
                    .await
            }
        }
    }

    async fn differ(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
        (known, refused): (KnownRelease, Vec<Answer>),
    ) -> Result<bool, ReconcileError> {
        let last = known.last.filter(|last| last.inputs == Some(prepared.inputs));
        let is_refused =
            |cache: &ReleaseCache| cache.refused(&session.controls, Instant::now()) == Some(prepared.inputs);
        let is_failed = |last: &LastRevision| last.status == ReleaseStatus::Failed;
        let is_failed = last.as_ref().is_some_and(is_failed);
        if !refused.is_empty() {
            match self.look_up_again(session, cache, &refused).await? {
                Some(again) if are_as(&again, &refused) && is_refused(cache) => return Ok(false),
                Some(again) if are_as(&again, &refused) => {}
                // What is stored is tried again by itself; whether it is another now is looked at first.
                Some(again) if is_failed => cache.note_refused_lookups(again),
                _ => cache.clear_refusal(),
            }
        }
        // What is under way is brought to its end first.
        let may_be_another = |last: &LastRevision| match last.status {
            ReleaseStatus::Deployed => true,
            ReleaseStatus::Failed => !last.is_being_undone,
            _ => false,
        };
        let Some(last) = last.filter(may_be_another) else {
            return Ok(false);
        };
        if is_refused(cache) && !is_failed {
            return Ok(false);
        }
        let Some(answers) = self.look_up_again(session, cache, &known.lookups).await? else {
            return Ok(true);
        };
        if are_as(&answers, &known.lookups) {
            return Ok(false);
        }
        let pairs = answers.iter().zip(&known.lookups);
        for (answer, _) in pairs.filter(|(new, old)| !new.says_the_same(old)) {
            // Its name is the chart's, which may have made it of another answer.
            let object = answer.in_words();
            tracing::info!(release = %session.release, object, "what the chart looks up has changed");
        }
        let changed = self
            .comes_out_differently(session, prepared, last.revision, known.deployed)
            .await?;
        if changed {
            cache.clear_refusal();
        } else if let Some(known) = &mut cache.known {
            known.lookups = answers;
        }
        Ok(changed)
    }

    /// Has what was looked up for these revisions, and what they have from other objects, be masked: the last one is brought
    /// into effect as it is stored, and the objects that the server speaks of are of those before it. Where what is secret in
    /// it can't be known any longer, nothing is shown that may have it.
    ///
    /// # Errors
    /// It may be known later.
    pub(super) async fn learn_secrets(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        revisions: &[Stored],
    ) -> Result<(), ReconcileError> {
        let Some((last, former)) = revisions.split_last() else {
            return Ok(());
        };
        if !self.knows_secrets(session, cache, last).await? {
            session.redactor.learn(Redactor::of_the_unknown());
        }
        self.learn_former_secrets(session, cache, former).await
    }

    /// The same of revisions that another takes the place of: others may speak of what is in them, and nothing that is
    /// rendered has it.
    pub(super) async fn learn_former_secrets(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        revisions: &[Stored],
    ) -> Result<(), ReconcileError> {
        for stored in revisions {
            if !self.knows_secrets(session, cache, stored).await? {
                session.redactor.hide_words_of_others();
            }
        }
        Ok(())
    }

    /// The same of a release that is going, which does not wait for it.
    pub(super) async fn learn_secrets_of_going(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        revisions: &[Stored],
    ) {
        let is_known = |stored: &Stored| {
            cache.secrets.sources.has_those_of(stored)
                && cache.secrets.has_looked_up(&cache.lookups_of(stored))
        };
        if revisions.iter().all(is_known) {
            return;
        }
        let is_due = cache.is_lookup_due(Instant::now());
        if !is_due
            || self
                .learn_former_secrets(session, cache, revisions)
                .await
                .is_err()
        {
            session.redactor.hide_words_of_others();
        }
    }

    /// Whether all is masked that is secret in what a revision was made of besides its values. What its sources had then can't
    /// be asked for again: it is known where it was read, or is what they have now.
    async fn knows_secrets(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        stored: &Stored,
    ) -> Result<bool, ReconcileError> {
        let has_looked_up = self.knows_looked_up(session, cache, stored).await?;
        Ok(has_looked_up && cache.secrets.sources.has_those_of(stored))
    }

    /// Whether all is masked that is secret in what was looked up for a revision, which is asked for again where it is not
    /// known.
    async fn knows_looked_up(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        stored: &Stored,
    ) -> Result<bool, ReconcileError> {
        let lookups = cache.lookups_of(stored);
        if cache.secrets.has_looked_up(&lookups) {
            return Ok(true);
        }
        let is_whole = !may_be_more(&lookups);
        let secrets: Vec<Answer> = lookups.into_iter().filter(is_of_secrets).collect();
        let error = match self.ask_again(session, cache, &secrets).await {
            Ok((again, None)) => {
                let pairs = secrets.iter().zip(&again);
                let is_known = is_whole && pairs.into_iter().all(|(old, new)| old.is_covered_by(new));
                if is_known {
                    cache.secrets.note_as_known(&secrets, &again);
                }
                return Ok(is_known);
            }
            Ok((_, Some(error))) | Err(error) => looked_up_again(error),
        };
        let is_about_memory = error.is_about_memory() && !session.share.is_large();
        if error.is_transient() || is_about_memory {
            return Err(error);
        }
        Ok(false)
    }

    /// Asks again. What is secret in the answers is masked from now on; what can't be answered counts as unchanged. `None`
    /// where an answer takes more memory than there is: a rendering fails with it, and says so.
    ///
    /// # Errors
    /// An answer takes more than the usual share of the memory.
    async fn look_up_again(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        answers: &[Answer],
    ) -> Result<Option<Vec<Answer>>, ReconcileError> {
        match self.ask_again(session, cache, answers).await {
            Ok((again, _)) => Ok(Some(again)),
            Err(_) if session.share.is_large() => Ok(None),
            Err(error) => Err(looked_up_again(error)),
        }
    }

    /// Asks again. What is secret in the answers is masked from now on, and remembered where none is missing. Gives the
    /// first that can't be given, too, which counts as unchanged.
    ///
    /// # Errors
    /// An answer takes more memory than there is.
    async fn ask_again(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        answers: &[Answer],
    ) -> Result<(Vec<Answer>, Option<LookupError>), LookupError> {
        let allowance = session.share.take().await;
        let found = LookedUp::default();
        let world = self.renderer.world(&session.owner.release_namespace);
        let world = world
            .allowing(allowance.lookups)
            .showing_secrets_to(found.learner());
        let again = world.ask_again(&session.owner, answers).await;
        let secrets = found.take();
        let failure = world.take_failure();
        if let (Ok(again), None) = (&again, &failure)
            && !may_be_more(again)
        {
            cache.secrets.note_looked_up(again, &secrets);
        }
        session.redactor.learn(secrets);
        Ok((again?, failure))
    }

    /// Whether the chart gives something else now than what is stored of this revision, apart from what is
    /// random in it. A chart that can't be rendered does.
    async fn comes_out_differently(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        deployed: Option<Revision>,
    ) -> Result<bool, ReconcileError> {
        let Some(stored) = session.history.get(revision).await?.filter(Stored::is_signed) else {
            return Ok(true);
        };
        let base = match deployed.filter(|deployed| *deployed != revision) {
            Some(deployed) => session.history.get(deployed).await?,
            None => None,
        };
        let base = base.as_ref().unwrap_or(&stored);
        let prepared = &prepared.with_reused_values(session, self.settings, std::slice::from_ref(base));
        let operation = if stored.snapshot.first.unwrap_or(revision == Revision::FIRST) {
            Operation::Install
        } else {
            Operation::Upgrade
        };
        let (rendered, again) = match self
            .renderer
            .render_twice(session, prepared, revision, operation)
            .await
        {
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Ok(true),
            Ok(rendered) => rendered,
        };
        let again = again.as_ref().unwrap_or(&rendered);
        let hooks = stored.hooks().to_vec();
        let parts = [
            values_of(&stored.record.manifest, &hooks),
            values_of(&manifest(&rendered), &hook_records(&rendered)),
            values_of(&manifest(again), &hook_records(again)),
        ];
        let [Ok(stored), Ok(one), Ok(other)] = parts else {
            return Ok(true);
        };
        Ok(!is_same_but_for_noise(&stored, &one, &other))
    }
}

/// Whether a chart finds the same in these answers.
fn are_as(answers: &[Answer], others: &[Answer]) -> bool {
    let pairs = answers.iter().zip(others);
    answers.len() == others.len()
        && pairs
            .into_iter()
            .all(|(answer, other)| answer.says_the_same(other))
}

fn looked_up_again(source: LookupError) -> ReconcileError {
    ReconcileError::Lookup {
        place: "what the chart has looked up is looked up again".to_owned(),
        source,
    }
}

/// The objects of a manifest and of hooks.
fn values_of(manifest: &str, hooks: &[HookRecord]) -> Result<Vec<Value>, DocumentsError> {
    let mut objects = objects_of_manifest(manifest)?;
    for hook in hooks {
        objects.extend(objects_of_text(&hook.path, &hook.manifest)?);
    }
    Ok(objects.into_iter().map(|object| object.value).collect())
}
