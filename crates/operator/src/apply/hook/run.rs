//! One hook from its start to its end.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_chart::HookEvent;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{HOOK_RUN, Owner, Ownership, RequestError};
use steersman_model::{ObjectId, RenderedObject};
use steersman_watches::ConflictPolicy;

use super::error::HookError;
use super::event::event_name;
use super::order::{BEFORE_CREATION, FAILED, SUCCEEDED, has_policy};
use super::progress::{Progress, last_words, progress, said};
use super::secrets::UNSHOWN;
use super::wait::{HookWait, Term};
use crate::apply::applier::Applier;
use crate::apply::ownership::{Deletion, PruneError, with_finalizers};
use crate::apply::repair::schema::mend;
use crate::apply::request::{Existing, apply_new};
use crate::dependents::{DELETED, Until};
use crate::job_pods::JobPods;
use crate::release::{HistoryError, HookRecord, Journal, has_come_to, is_of_undone};
use crate::status::LearningRedactor;

/// For what the object of a hook was made, as it says itself.
fn mark_of(metadata: &ObjectMeta) -> Option<&String> {
    metadata.annotations.as_ref()?.get(HOOK_RUN)
}

/// Whether an object is the release's, and was made for what `mark` says.
pub(super) fn is_marked(owner: &Owner, metadata: &ObjectMeta, mark: &str) -> bool {
    mark_of(metadata).is_some_and(|found| found == mark) && owner.ownership(metadata) == Ownership::Ours
}

/// One hook about to run.
pub(in crate::apply) struct Run<'a> {
    pub(in crate::apply) event: &'static str,
    pub(in crate::apply) hook: &'a HookRecord,
    pub(in crate::apply) id: ObjectId,
    pub(in crate::apply) object: RenderedObject,
    pub(in crate::apply) resource: Resource,
}

/// How a hook is run, as far as that is not the hook's own.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// What its object carries: one that does, and has not failed, was made before.
    pub(super) mark: &'a str,
    pub(super) timeout: Option<Duration>,
    /// That the hook was waited for when the release was left.
    pub(super) resumed: Option<&'a HookWait>,
    /// Whether it has failed before, so that its time begins anew.
    pub(super) is_retry: bool,
    /// Whether a former process may have started it.
    pub(super) is_recovery: bool,
    /// When the revision was written.
    pub(super) written: Option<Timestamp>,
    /// Whether it comes before the hook that was waited for.
    pub(super) is_before_awaited: bool,
    pub(super) journal: &'a Journal<'a>,
    /// Learns what is secret in what the hook says.
    pub(super) redactor: &'a LearningRedactor,
}

/// What an object is to a run of the hook that makes it.
enum Before {
    /// It was started by this run, and has not failed.
    UnderWay(Box<ObjectMeta>),
    /// It has no end, and was made by this run, or by a hook that makes it later.
    Made { is_by_this: bool },
    /// It is to go before this run: it is going, what it was started for was undone, or it has ended and is still there although
    /// its policy says otherwise, as nobody ran then, or its deletion was refused.
    Left,
    /// It is another one.
    Other,
    /// No object has its name.
    Absent,
}

impl Applier {
    /// Runs one hook, up to where there is something to wait for. Whether its object is this run's is the answer: a hook that
    /// makes the same one later may have come to it already.
    pub(super) async fn run_one(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        terms: Terms<'_>,
    ) -> Result<bool, HookError> {
        match self.try_once(owner, run, terms).await {
            // A request of a process before this one has come in between.
            Err(HookError::Request { source, .. }) if source.is_conflict() || source.is_other_uid() => {
                self.try_once(owner, run, terms).await
            }
            outcome => outcome,
        }
    }

    async fn try_once(&self, owner: &Owner, run: &Run<'_>, terms: Terms<'_>) -> Result<bool, HookError> {
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let resumed = terms.resumed;
        let mut term = Term::new(terms.timeout);
        if let Some(wait) = resumed {
            term.since = wait.term.since;
            if wait.has_started {
                let started = ObjectMeta {
                    uid: wait.uid.clone(),
                    ..ObjectMeta::default()
                };
                self.wait_done(owner, &api, run, (terms, term), started).await?;
                return Ok(true);
            }
        }
        let found = match api.get_opt(&run.id.name).await.map_err(RequestError::from) {
            Ok(found) => found,
            // It may not be looked at any longer.
            Err(error) if terms.is_before_awaited && !run.has_an_end() && !error.is_transient() => {
                return Ok(true);
            }
            Err(error) => return Err(run.unread(terms, error)),
        };
        let before = made_before(owner, run, terms, found);
        if let Before::Made { is_by_this } = before {
            return Ok(is_by_this);
        }
        if let Before::UnderWay(started) = before {
            tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.event, "Hook was started before");
            if !terms.is_retry && resumed.is_none() {
                term = term.of(&started);
            }
            self.wait_done(owner, &api, run, (terms, term), *started).await?;
            return Ok(true);
        }
        self.make(owner, &api, run, (terms, term), &before).await?;
        Ok(true)
    }

    /// Makes the object of a hook in the place of what was there `before`, and goes on when it has ended.
    async fn make(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        run: &Run<'_>,
        (terms, term): (Terms<'_>, Term),
        before: &Before,
    ) -> Result<(), HookError> {
        let is_absent = matches!(before, Before::Absent);
        let is_to_go = match before {
            Before::Left => true,
            Before::Absent => false,
            _ => has_policy(run.hook, BEFORE_CREATION),
        };
        let mut is_kept = false;
        if is_to_go && !run.is_definition() {
            let deletion = self.delete_with_pods(owner, &run.id).await;
            is_kept = deletion.map_err(|source| run.delete_failed(source))? == Deletion::Kept;
            if !is_kept {
                self.wait_gone(owner, run, term).await?;
            }
        }
        tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.event, "Running hook");
        let namespace = run.id.namespace.as_deref();
        let mut value = owner.mark_hook(&run.object.value, namespace, run.object.is_kept(), terms.mark);
        self.note_secrets(run, terms, &mut value).await;
        let found = if is_absent {
            None
        } else {
            let found = api.get_opt(&run.id.name).await;
            found.map_err(|error| run.failed("read", error.into()))?
        };
        let judged = found.map(|found| (owner.ownership(&found.metadata), found));
        let written = match judged {
            None => self.write((&owner.uid, api), run, value, None).await?,
            Some((Ownership::Foreign(reason), _)) => {
                return Err(HookError::Foreign {
                    event: run.event,
                    path: run.hook.path.clone(),
                    id: Box::new(run.id.clone()),
                    reason,
                });
            }
            Some(_) if run.has_an_end() && is_kept => return Err(run.kept()),
            Some((_, found)) if run.has_an_end() => {
                return Err(self.in_the_way(run, terms, &found).await);
            }
            Some(_) if run.is_definition() => return Ok(()),
            Some((_, found)) => {
                self.write((&owner.uid, api), run, value, found.metadata.uid)
                    .await?
            }
        };
        self.wait_done(owner, api, run, (terms, term), written).await
    }

    /// Whether the object is there that carries `mark`. What may not be looked at is not known to be.
    pub(in crate::apply) async fn is_left(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        mark: &str,
    ) -> Result<bool, HookError> {
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let found = api.get_metadata_opt(&run.id.name).await;
        let found = match found.map_err(RequestError::from) {
            Err(error) if error.is_transient() => return Err(run.failed("read", error)),
            found => found.ok().flatten(),
        };
        Ok(found.is_some_and(|found| is_marked(owner, &found.metadata, mark)))
    }

    /// Makes the object of a hook of an owner what `value` says: a new one, or the one with this UID.
    async fn write(
        &self,
        (owner, api): (&str, &Api<DynamicObject>),
        run: &Run<'_>,
        mut value: Value,
        uid: Option<String>,
    ) -> Result<ObjectMeta, HookError> {
        let mut is_mended = false;
        loop {
            let (name, uid) = (run.id.name.as_str(), uid.as_deref());
            let answer = match uid {
                Some(uid) => {
                    let existing = Existing { api, name, uid };
                    existing.apply(&value, ConflictPolicy::Overwrite).await
                }
                None => apply_new(api, name, &value).await,
            };
            match answer {
                Ok(written) => {
                    self.dependents.note_made(owner, &run.id, &written);
                    return Ok(written);
                }
                Err(error) if error.is_about_the_schema() && !is_mended => {
                    let mended = mend(api, &value, error).await;
                    let mended = mended.map_err(|source| run.failed("create", source))?;
                    let notes = mended.notes.join("; ");
                    tracing::warn!(object = %run.id, notes, "the chart's hook is mended");
                    value = mended.value;
                    is_mended = true;
                }
                Err(source) => return Err(run.failed("create", source)),
            }
        }
    }

    /// Why a hook can't run that has run before.
    async fn in_the_way(&self, run: &Run<'_>, terms: Terms<'_>, found: &DynamicObject) -> HookError {
        let state = match progress(&run.id.kind, &found.metadata, &found.data) {
            Progress::Failed(reason) => {
                let words = self.in_its_words(run, terms, Some(found), reason);
                format!("and has failed: {}", words.await)
            }
            Progress::Done => "and has run before".to_owned(),
            Progress::Running(state) => format!("and is not done: {state}"),
        };
        HookError::Exists {
            event: run.event,
            path: run.hook.path.clone(),
            id: Box::new(run.id.clone()),
            state,
        }
    }

    /// Goes on when the object that is being deleted is gone; else there is something to wait for.
    async fn wait_gone(&self, owner: &Owner, run: &Run<'_>, term: Term) -> Result<(), HookError> {
        let mut expected: Option<ObjectMeta> = None;
        loop {
            let left = self.left_of(owner, &run.id).await;
            let Some(left) = left.map_err(|source| run.delete_failed(source))? else {
                return Ok(());
            };
            if let Some(timeout) = term.exceeded() {
                let state = format!("waiting for the deletion of {}", with_finalizers(&run.id, &left));
                return Err(run.timed_out(timeout, state));
            }
            if expected.is_some_and(|expected| expected.uid == left.uid) {
                return Err(HookError::Waiting(Box::new(
                    self.wait_for(&owner.uid, run, term, &left, false).await,
                )));
            }
            // What comes after this tells of itself.
            self.dependents.expect(&owner.uid, &run.id, &left, Until::Gone);
            expected = Some(left);
        }
    }

    /// Goes on when the hook has ended; else there is something to wait for. `seen` is its object, as far as it is known: at
    /// least its UID.
    async fn wait_done(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        run: &Run<'_>,
        (terms, term): (Terms<'_>, Term),
        mut seen: ObjectMeta,
    ) -> Result<(), HookError> {
        if !run.has_an_end() {
            return Ok(());
        }
        loop {
            let is_expected = seen.resource_version.is_some();
            if is_expected {
                // What comes after this tells of itself.
                self.dependents.expect(&owner.uid, &run.id, &seen, Until::Ended);
            }
            let found = api.get_opt(&run.id.name).await;
            let found = found.map_err(|error| run.unseen(term, error.into()))?;
            // It may be gone when it is done, and its name another's.
            let Some(object) = found.filter(|found| found.metadata.uid == seen.uid) else {
                return match self.dependents.outcome(&owner.uid) {
                    Some(Err(reason)) => {
                        Err(run.ended_with(self.in_its_words(run, terms, None, reason).await))
                    }
                    None if !run.may_be_gone(terms, term) => Err(run.ended_with(DELETED.to_owned())),
                    _ => Ok(()),
                };
            };
            match progress(&run.id.kind, &object.metadata, &object.data) {
                Progress::Done => return Ok(()),
                Progress::Failed(reason) => {
                    let words = self.in_its_words(run, terms, Some(&object), reason);
                    return Err(run.ended_with(words.await));
                }
                Progress::Running(state) => {
                    if let Some(timeout) = term.exceeded() {
                        return Err(run.timed_out(timeout, state));
                    }
                    if is_expected {
                        return Err(HookError::Waiting(Box::new(
                            self.wait_for(&owner.uid, run, term, &object.metadata, true).await,
                        )));
                    }
                    seen = object.metadata;
                }
            }
        }
    }

    /// That there is something to wait for: an object as the server has it. Kinds that have an end are watched from now on,
    /// where that can be; those of other hooks may be out of the watches' reach.
    pub(super) async fn wait_for(
        &self,
        owner: &str,
        run: &Run<'_>,
        term: Term,
        seen: &ObjectMeta,
        has_started: bool,
    ) -> HookWait {
        let is_watched = run.has_an_end()
            && self.dependents.can_wake(owner)
            && self.dependents.selects(seen)
            && self.dependents.ensure(&run.id, &run.resource).await;
        HookWait {
            event: run.event,
            path: run.hook.path.clone(),
            id: run.id.clone(),
            uid: seen.uid.clone(),
            has_started,
            mark: String::new(),
            turn: 0,
            is_uncertain: false,
            term,
            next_look: (!is_watched).then(|| HookWait::next_look(term)),
        }
    }

    /// Why a hook has failed, with what its pods said, where it is known what is secret in that.
    async fn in_its_words(
        &self,
        run: &Run<'_>,
        terms: Terms<'_>,
        object: Option<&DynamicObject>,
        reason: String,
    ) -> String {
        let words = match object {
            Some(object) => self.known_words(run, terms, object).await,
            // It is gone, and its pods go with it.
            None => None,
        };
        match said([&reason, words.as_deref().unwrap_or_default()], "; ") {
            said if said.is_empty() => "its status does not say why".to_owned(),
            said => said,
        }
    }

    /// What a failed pod, or the pods of a failed job, said at their end, if they are still there, and it is known what is secret in
    /// that; else a sentence instead.
    async fn known_words(&self, run: &Run<'_>, terms: Terms<'_>, object: &DynamicObject) -> Option<String> {
        let (words, pod) = self.words_of_pods(run, object).await?;
        let is_known = self.learn_secrets(terms, object, &pod).await;
        Some(if is_known { words } else { UNSHOWN.to_owned() })
    }

    /// What the pod of a hook, or the last one of its job, said at its end.
    async fn words_of_pods(&self, run: &Run<'_>, object: &DynamicObject) -> Option<(String, Pod)> {
        if run.id.kind == "Pod" {
            // As text, which pods are read from otherwise: what reads all their fields from values as well takes 400 kB.
            let pod: Pod = serde_json::from_str(&serde_json::to_string(object).ok()?).ok()?;
            return Some((last_words(&pod)?, pod));
        }
        let last = JobPods::of(object)?.last(&self.client, last_words).await;
        last.unwrap_or_else(|error| {
            tracing::debug!(object = %run.id, %error, "the pods of a failed hook can't be read");
            None
        })
    }
}

impl Run<'_> {
    /// Whether the object goes with its release.
    pub(in crate::apply) fn is_to_go(&self) -> bool {
        !self.object.is_kept() && !self.is_definition()
    }

    /// Whether it may be gone by itself, as it is some time after its end, which nobody need have seen. When it was started is not
    /// known where it is waited for once more.
    fn may_be_gone(&self, terms: Terms<'_>, term: Term) -> bool {
        let time_to_live = self.object.value.pointer("/spec/ttlSecondsAfterFinished");
        let time_to_live = time_to_live.and_then(Value::as_u64).map(Duration::from_secs);
        time_to_live.is_some_and(|time_to_live| terms.is_retry || term.since.elapsed() >= time_to_live)
    }

    /// Whether it defines a kind, whose objects would go with it.
    pub(in crate::apply) fn is_definition(&self) -> bool {
        is_definition(&self.id.kind)
    }

    fn kept(&self) -> HookError {
        HookError::Kept {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
        }
    }

    /// It can't be read before it is started; a former process may have started it, and it may still be running.
    fn unread(&self, terms: Terms<'_>, source: RequestError) -> HookError {
        let begun = terms.written.filter(|_| terms.is_recovery && self.has_an_end());
        let term = begun.map(|begun| Term::new(terms.timeout).begun(begun));
        match term.filter(|term| term.exceeded().is_none()) {
            Some(term) => self.unseen(term, source),
            None => self.failed("read", source),
        }
    }

    /// It was started, and nobody knows whether it has ended.
    fn unseen(&self, term: Term, source: RequestError) -> HookError {
        match term.exceeded() {
            Some(timeout) => self.timed_out(timeout, format!("it can't be looked at: {source}")),
            None => HookError::Unseen {
                event: self.event,
                path: self.hook.path.clone(),
                id: Box::new(self.id.clone()),
                source,
            },
        }
    }

    pub(super) fn failed(&self, attempt: &'static str, source: RequestError) -> HookError {
        HookError::Request {
            event: self.event,
            path: self.hook.path.clone(),
            attempt,
            id: Box::new(self.id.clone()),
            source,
        }
    }

    /// Whether its kind is waited for: a Job or a Pod.
    pub(in crate::apply) fn has_an_end(&self) -> bool {
        has_an_end(&self.id)
    }

    pub(in crate::apply) fn not_noted(&self, source: HistoryError) -> HookError {
        HookError::Journal {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
            source: Box::new(source),
        }
    }

    pub(in crate::apply) fn delete_failed(&self, source: PruneError) -> HookError {
        HookError::Delete {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
            source: Box::new(source),
        }
    }

    /// It ran and failed, with these words.
    fn ended_with(&self, reason: String) -> HookError {
        HookError::Failed {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
            reason,
        }
    }

    fn timed_out(&self, timeout: Duration, state: String) -> HookError {
        HookError::Timeout {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
            timeout,
            state,
        }
    }
}

/// Whether this run of the hook has made the object that is there, or an earlier one has left it.
fn made_before(owner: &Owner, run: &Run<'_>, terms: Terms<'_>, found: Option<DynamicObject>) -> Before {
    let Some(object) = found else {
        return Before::Absent;
    };
    let metadata = object.metadata;
    if owner.ownership(&metadata) != Ownership::Ours {
        return Before::Other;
    }
    let is_going = metadata.deletion_timestamp.is_some();
    let progress = progress(&run.id.kind, &metadata, &object.data);
    let found = mark_of(&metadata);
    let has_run = run.has_an_end() && matches!(progress, Progress::Done);
    // What is written to it now goes with it.
    if is_going && !(has_run && found.is_some_and(|found| found == terms.mark)) {
        return Before::Left;
    }
    let Some(found) = found else {
        return Before::Other;
    };
    if !run.has_an_end() {
        let is_by_this = found == terms.mark;
        return if has_come_to(found, terms.mark) {
            Before::Made { is_by_this }
        } else {
            Before::Other
        };
    }
    if is_of_undone(found, terms.mark) {
        return Before::Left;
    }
    // A test that has failed is not started again: that is what was asked.
    let is_failed = matches!(progress, Progress::Failed(_)) && run.event != event_name(HookEvent::Test);
    if found == terms.mark && !is_failed {
        return Before::UnderWay(Box::new(metadata));
    }
    let is_to_go = match progress {
        Progress::Done => has_policy(run.hook, SUCCEEDED),
        Progress::Failed(_) => has_policy(run.hook, FAILED),
        Progress::Running(_) => {
            let is_over = Term::new(terms.timeout).of(&metadata).exceeded().is_some();
            is_over && has_policy(run.hook, FAILED)
        }
    };
    if is_to_go { Before::Left } else { Before::Other }
}

/// Whether an object of this kind defines a kind.
pub(super) fn is_definition(kind: &str) -> bool {
    kind == "CustomResourceDefinition"
}

/// Whether a hook of this kind has an end.
pub fn has_an_end(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("batch", "Job") | ("", "Pod")
    )
}
