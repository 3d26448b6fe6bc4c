//! The end of a resource: what the entry says for it, and what goes with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Preconditions, PropagationPolicy};
use steersman_cluster::{OWNER_UID_LABEL, PrimaryResource, RequestError, is_kept};
use steersman_model::{ObjectId, chain};
use steersman_proxy::{Marks, names_in_annotations};
use steersman_watches::AnsibleFinalizer;
use steersman_watches::controls::{DeletionPolicy, Mode};
use tokio_util::sync::CancellationToken;

use super::cache::RunCache;
use super::error::Failure;
use super::reconciler::{RunReconciler, words_of_failure};
use super::report::RunReport;
use super::subject::{Finalizers, Subject};
use crate::apply::{Applier, delete, find};
use crate::reconcile::{Next, ReconcileOutcome, UNINSTALL_POLL};
use crate::status::EventReason;

/// Holds a resource until what is to go with it is gone; for objects that the garbage collector does not take.
pub const DEPENDENTS_FINALIZER: &str = "steersman.dev/delete-dependents";

/// How often a resource is read that no watch tells of.
const UNSELECTED_POLL: Duration = Duration::from_mins(1);

/// So many objects are named that a deletion waits for.
const MOST_NAMED: usize = 3;

/// How often a finalizer is taken off at once where others write the resource at the same moment.
const REMOVALS: u32 = 5;

impl RunReconciler {
    /// The finalizers that a resource gets.
    pub(super) fn finalizers(&self) -> Vec<String> {
        let own = self
            .watch
            .delete_dependents
            .then(|| DEPENDENTS_FINALIZER.to_owned());
        let of_entry = self
            .watch
            .finalizer
            .as_ref()
            .map(|finalizer| finalizer.name.clone());
        of_entry.into_iter().chain(own).collect()
    }

    /// Those that it may have, as the entry said something else once.
    pub(super) fn known_finalizers(&self) -> Vec<String> {
        let of_entry = self
            .watch
            .finalizer
            .as_ref()
            .map(|finalizer| finalizer.name.clone());
        of_entry
            .into_iter()
            .chain([DEPENDENTS_FINALIZER.to_owned()])
            .collect()
    }

    pub(super) async fn add_finalizers(&self, subject: &mut Subject) -> Result<(), Failure> {
        let wanted = Finalizers {
            added: &self.finalizers(),
            removed: &[],
            selector: self.watch.selector.to_string(),
        };
        let written = subject.write_finalizers(&wanted).await;
        written.map_err(|source| Failure::request("add the finalizer to", source))
    }

    /// Takes a finalizer off the resource as it is by then: what was done for it may have taken long, and have written to it.
    async fn remove_finalizer(&self, subject: &mut Subject, name: &str) -> Result<(), Failure> {
        let wanted = Finalizers {
            added: &[],
            removed: &[name.to_owned()],
            selector: String::new(),
        };
        let mut written = subject.write_finalizers(&wanted).await;
        for _ in 1..REMOVALS {
            if !written.as_ref().is_err_and(RequestError::is_conflict) {
                break;
            }
            let found = subject.refresh().await;
            if !found.map_err(|source| Failure::request("read", source))? || !subject.holds(name) {
                return Ok(());
            }
            written = subject.write_finalizers(&wanted).await;
        }
        written.map_err(|source| Failure::request("take the finalizer off", source))
    }

    /// Runs what the entry says for a deletion, deletes what is to go with the resource, and takes the finalizers off when that
    /// has succeeded.
    pub(super) async fn finalize(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        stop: &CancellationToken,
    ) -> Result<Next, Failure> {
        if let Some(finalizer) = &self.watch.finalizer
            && subject.holds(&finalizer.name)
        {
            if !cache.is_finalized {
                if let Some(pause) = self.run_finalizer(subject, cache, finalizer, stop).await? {
                    cache.rest(true, pause);
                    return Ok(Next::After(pause));
                }
                cache.is_finalized = true;
            }
            self.remove_finalizer(subject, &finalizer.name).await?;
        }
        if subject.holds(DEPENDENTS_FINALIZER) {
            let ended = self.end_dependents(subject, cache).await;
            if let Err(failure) = &ended {
                let words = subject.redactor.mask(&chain(failure));
                self.say_blocked(subject, cache, words).await?;
            }
            let going = ended?;
            if !going.is_empty() {
                let words = subject.redactor.mask(&waits_for(&going));
                self.say_blocked(subject, cache, words).await?;
                return Ok(Next::After(UNINSTALL_POLL));
            }
            self.remove_finalizer(subject, DEPENDENTS_FINALIZER).await?;
        }
        self.say_held(subject, cache).await?;
        Ok(Next::Never)
    }

    /// Says what keeps a resource whose deletion is none of the operator's affairs any longer.
    pub(super) async fn say_held(&self, subject: &mut Subject, cache: &RunCache) -> Result<(), Failure> {
        let Some(words) = subject.held_by_others() else {
            return Ok(());
        };
        match self.say_blocked(subject, cache, words).await {
            // It has gone meanwhile.
            Err(Failure::Request { source, .. }) if source.is_not_found() => Ok(()),
            said => said,
        }
    }

    /// Runs what the entry says for a deletion. Gives after which pause it has asked for another run, if it has.
    async fn run_finalizer(
        &self,
        subject: &mut Subject,
        cache: &RunCache,
        finalizer: &AnsibleFinalizer,
        stop: &CancellationToken,
    ) -> Result<Option<Duration>, Failure> {
        let words = format!("finalizer {} waits for its turn to run", finalizer.name);
        let waiting = Some(RunReport::Finalizing { words });
        let _turn = self.turn(subject, waiting, stop).await?;
        // It was read anew, and may ask for something else by now.
        if subject.controls.mode != Mode::Apply || !subject.holds(&finalizer.name) {
            return Ok(Some(Duration::ZERO));
        }
        let content = finalizer.content.as_ref().unwrap_or(&self.watch.content);
        let words = format!("finalizer {} runs `{}`", finalizer.name, content.path().display());
        self.say_blocked(subject, cache, words).await?;
        let vars = self.extra_vars(subject, Some(&finalizer.vars));
        let ended = self.tools.run(self.due(subject, content, vars, stop)).await;
        let outcome = ended.outcome?;
        if let Some(words) = words_of_failure(subject, &outcome) {
            self.event(subject, EventReason::RunFailed, &words);
            let words = format!("finalizer {}: {words}", finalizer.name);
            self.say_blocked(subject, cache, words.clone()).await?;
            return Err(Failure::Tasks { words });
        }
        let Some(Ok(pause)) = outcome.requeue_after else {
            return Ok(None);
        };
        let words = format!("finalizer {} has asked for another run", finalizer.name);
        self.say_blocked(subject, cache, words).await?;
        Ok(Some(pause))
    }

    /// Does what is due for a resource that has a finalizer of ours and that the selector no longer matches. What the entry says
    /// for a deletion is done at the deletion; nothing tells of that, so the resource is read from time to time.
    pub(crate) async fn finalize_unselected(
        &self,
        object: DynamicObject,
        stop: &CancellationToken,
        cache: &mut RunCache,
    ) -> ReconcileOutcome {
        let metadata = &object.metadata;
        let api: Api<DynamicObject> = self.resource.objects(&self.client, metadata.namespace.as_deref());
        let name = metadata.name.as_deref().unwrap_or_default();
        let found = match api.get_opt(name).await {
            Ok(found) => found.filter(|found| found.metadata.uid == metadata.uid),
            Err(error) => {
                cache.failures = cache.failures.saturating_add(1);
                let error = RequestError::from(error);
                tracing::warn!(name, %error, "failed to read a resource that no longer matches the selector, trying again");
                return ReconcileOutcome::of(Next::Retry(error.retry_after()));
            }
        };
        let ours = self.known_finalizers();
        let is_ours = |object: &DynamicObject| {
            let mut held = object.metadata.finalizers.iter().flatten();
            held.any(|held| ours.contains(held))
        };
        match found.filter(is_ours) {
            None => ReconcileOutcome::of(Next::Never),
            Some(object) if object.metadata.deletion_timestamp.is_some() => {
                self.reconcile(object, stop, cache).await
            }
            Some(_) => ReconcileOutcome::of(Next::After(UNSELECTED_POLL)),
        }
    }

    /// Says what a deletion waits for.
    async fn say_blocked(
        &self,
        subject: &mut Subject,
        cache: &RunCache,
        words: String,
    ) -> Result<(), Failure> {
        self.write_report(subject, &RunReport::Finalizing { words }, cache.record.as_ref())
            .await
    }

    /// Deletes what is to go with the resource, if anything is. What is still there then is the answer.
    async fn end_dependents(&self, subject: &Subject, cache: &RunCache) -> Result<Vec<ObjectId>, Failure> {
        if self.watch.delete_dependents
            && self.deletion_policy(subject, cache).await? == DeletionPolicy::Delete
        {
            self.delete_dependents(subject, cache).await
        } else {
            Ok(Vec::new())
        }
    }

    /// Deletes what runs have left that the garbage collector leaves: what is in other namespaces, or in none. Finalizers may hold
    /// some of it: that is the answer.
    async fn delete_dependents(&self, subject: &Subject, cache: &RunCache) -> Result<Vec<ObjectId>, Failure> {
        let recorded = cache.record.iter().flat_map(|record| &record.objects);
        let seen = self.owned(subject, cache).await?;
        let mut left: BTreeMap<ObjectId, Option<String>> = seen.into_iter().map(|id| (id, None)).collect();
        left.extend(recorded.map(|left| (left.id.clone(), Some(left.uid.clone()))));
        left.retain(|id, _| !subject.owner.may_own(id.namespace.as_deref()));
        let client = match self.account(subject) {
            Some(account) => account.client(&self.client),
            None => self.client.clone(),
        };
        let mut going = Vec::new();
        for (id, uid) in left {
            if self
                .delete_dependent(subject, &client, &id, uid.as_deref())
                .await?
            {
                going.push(id);
            }
        }
        Ok(going)
    }

    /// What carries the UID of the resource. Where no record tells of all runs each kind is looked at, else those that are watched.
    async fn owned(&self, subject: &Subject, cache: &RunCache) -> Result<Vec<ObjectId>, Failure> {
        let owner = &subject.owner;
        let is_whole = cache.record.as_ref().is_some_and(|record| !record.is_partial);
        let found = if is_whole && !cache.was_cut_off {
            self.dependents.owned(&owner.uid)
        } else {
            let dependents = Arc::clone(&self.dependents);
            let applier = Applier::new(self.client.clone(), Arc::clone(&self.discovery), dependents);
            let namespace = owner.namespace.as_deref();
            let namespace = namespace.unwrap_or_else(|| self.client.default_namespace());
            let marked = applier.all_marked(&owner.uid, namespace).await;
            marked.map_err(|error| Failure::Look(Box::new(error)))?
        };
        Ok(found.into_iter().map(|(id, _)| id).collect())
    }

    /// What the deletion of the resource does to what its runs have left.
    ///
    /// # Errors
    /// Its annotation has another word.
    async fn deletion_policy(&self, subject: &Subject, cache: &RunCache) -> Result<DeletionPolicy, Failure> {
        match subject.controls.deletion {
            DeletionPolicy::Delete if cache.is_orphaning || self.was_orphaned(subject, cache).await? => {
                Ok(DeletionPolicy::Orphan)
            }
            DeletionPolicy::Unclear => Err(Failure::DeletionPolicy),
            policy => Ok(policy),
        }
    }

    /// Whether the garbage collector has taken the resource off the objects that it has left: that is what `--cascade=orphan`
    /// does, and nothing else tells of it afterwards. Off one of several somebody else has.
    async fn was_orphaned(&self, subject: &Subject, cache: &RunCache) -> Result<bool, Failure> {
        // Otherwise nothing has it as its owner.
        if self.tools.defaults.marks != Marks::Full {
            return Ok(false);
        }
        let owner = &subject.owner;
        let recorded = cache.record.iter().flat_map(|record| &record.objects);
        let mut is_off = false;
        for left in recorded.filter(|left| owner.may_own(left.id.namespace.as_deref())) {
            let Some((_, metadata)) = self.live_metadata(&self.client, &left.id).await? else {
                continue;
            };
            if metadata.uid.as_ref() == Some(&left.uid) {
                let mut references = metadata.owner_references.iter().flatten();
                if references.any(|reference| reference.uid == owner.uid) {
                    return Ok(false);
                }
                is_off = true;
            }
        }
        Ok(is_off)
    }

    /// An object as it is now, and where such ones are.
    async fn live_metadata(
        &self,
        client: &kube::Client,
        id: &ObjectId,
    ) -> Result<Option<(Api<DynamicObject>, ObjectMeta)>, Failure> {
        let found = self.discovery.find(&id.group, &id.kind).await;
        let Some(resource) = found.map_err(Failure::Discovery)? else {
            return Ok(None);
        };
        let api: Api<DynamicObject> = resource.objects(client, id.namespace.as_deref());
        match find(&api, &id.name).await {
            Ok(found) => Ok(found.map(|metadata| (api, metadata))),
            Err(source) => Err(Failure::dependent(id, source)),
        }
    }

    /// Deletes an object, if it still says that it is the resource's. Gives whether it is still there then.
    async fn delete_dependent(
        &self,
        subject: &Subject,
        client: &kube::Client,
        id: &ObjectId,
        uid: Option<&str>,
    ) -> Result<bool, Failure> {
        let Some((api, metadata)) = self.live_metadata(client, id).await? else {
            return Ok(false);
        };
        if !is_proven(&metadata, &subject.owner, uid) || is_kept(&metadata) {
            return Ok(false);
        }
        if metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        // The server adds one of its own to some.
        let is_held = metadata.finalizers.is_some_and(|held| !held.is_empty()) || id.kind == "Namespace";
        let preconditions = Preconditions {
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        };
        match delete(&api, &id.name, preconditions, PropagationPolicy::Background).await {
            Ok(()) => Ok(is_held),
            Err(error) if error.is_not_found() => Ok(false),
            Err(source) => Err(Failure::dependent(id, source)),
        }
    }
}

/// What a deletion waits for, in a sentence.
fn waits_for(going: &[ObjectId]) -> String {
    let named: Vec<String> = going.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = match going.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the deletion waits until {}{more} is gone", named.join(", "))
}

/// Whether an object may go with the resource. Its annotations name that, and it is the one that the record names, by its UID, or
/// carries the UID of the resource: a label alone is copied by many a controller.
fn is_proven(metadata: &ObjectMeta, owner: &PrimaryResource, recorded: Option<&str>) -> bool {
    let labels = metadata.labels.as_ref();
    let has_label = labels.and_then(|labels| labels.get(OWNER_UID_LABEL)) == Some(&owner.uid);
    let is_recorded = recorded.is_some() && metadata.uid.as_deref() == recorded;
    names_in_annotations(metadata, owner) && (has_label || is_recorded)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_goes_with_a_resource_names_it_and_has_its_uid_or_is_recorded() {
        let owner = PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: Some("team-a".to_owned()),
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let proven = |metadata: Value, recorded: Option<&str>| {
            let metadata = serde_json::from_value(metadata).unwrap();
            is_proven(&metadata, &owner, recorded)
        };
        let named = |name: &str| json!({"operator-sdk/primary-resource": name, "operator-sdk/primary-resource-type": "Shop.example.com"});
        let label = json!({OWNER_UID_LABEL: "u-1"});
        let ours = json!({"uid": "o-1", "annotations": named("team-a/toys"), "labels": label});
        assert!(proven(ours.clone(), None) && proven(ours.clone(), Some("o-1")) && proven(ours, Some("o-0")));
        // Somebody has taken the label off.
        let bare = json!({"uid": "o-1", "annotations": named("team-a/toys")});
        assert!(
            proven(bare.clone(), Some("o-1")) && !proven(bare.clone(), Some("o-0")) && !proven(bare, None)
        );
        // A label is copied by many a controller, and what a run has read is recorded with it.
        let copied = json!({"uid": "o-2", "labels": label});
        assert!(!proven(copied.clone(), None) && !proven(copied, Some("o-2")));
        let of_another = json!({"uid": "o-3", "annotations": named("team-b/toys"), "labels": label});
        assert!(!proven(of_another.clone(), None) && !proven(of_another, Some("o-3")));
    }
}
