//! One hook from its start to its end.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{Owner, Ownership, RequestError};
use steersman_model::{ObjectId, RenderedObject};
use steersman_watches::ConflictPolicy;
use tokio::time::Instant;

use super::error::HookError;
use super::order::{BEFORE_CREATION, has_policy};
use super::progress::{Progress, last_words, progress};
use crate::apply::applier::Applier;
use crate::apply::ownership::{Deletion, PruneError};
use crate::apply::repair::schema::mend;
use crate::apply::request::{Existing, apply_new};
use crate::release::{HistoryError, HookRecord};

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How many pods of a failed job are asked for what they said: others may have given many its label.
const PODS: u32 = 50;
/// The annotation of a hook's object that says for what it was started.
const RUN: &str = "steersman.dev/hook-run";

/// One hook about to run.
pub(in crate::apply) struct Run<'a> {
    pub(in crate::apply) event: &'static str,
    pub(in crate::apply) hook: &'a HookRecord,
    pub(in crate::apply) id: ObjectId,
    pub(in crate::apply) object: RenderedObject,
    pub(in crate::apply) resource: Resource,
}

impl Applier {
    /// Runs one hook to its end. Its object carries `mark`: one that does, and has not failed, was started before.
    pub(in crate::apply) async fn run_one(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        mark: &str,
        timeout: Duration,
    ) -> Result<(), HookError> {
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let deadline = Instant::now() + timeout;
        if is_waited_for(&run.id) && self.is_under_way(owner, &api, run, mark).await? {
            tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.event, "Hook was started before");
            return self.wait_done(&api, run, deadline, timeout).await;
        }
        let mut is_kept = false;
        if has_policy(run.hook, BEFORE_CREATION) && !run.is_definition() {
            let deletion = self.delete(owner, &run.id).await;
            is_kept = deletion.map_err(|source| run.delete_failed(source))? == Deletion::Kept;
            if !is_kept {
                self.wait_gone(owner, run, deadline, timeout).await?;
            }
        }
        tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.event, "Running hook");
        let namespace = run.id.namespace.as_deref();
        let mut value = owner.mark(&run.object.value, namespace, run.object.is_kept());
        if is_waited_for(&run.id)
            && let Some(annotations) = value.pointer_mut("/metadata/annotations")
        {
            annotations[RUN] = mark.into();
        }
        let found = api.get_opt(&run.id.name).await;
        let found = found.map_err(|error| run.failed("read", error.into()))?;
        let judged = found.map(|found| (owner.ownership(&found.metadata), found));
        match judged {
            None => self.write(&api, run, value, None).await?,
            Some((Ownership::Foreign(reason), _)) => {
                return Err(HookError::Foreign {
                    event: run.event,
                    path: run.hook.path.clone(),
                    id: Box::new(run.id.clone()),
                    reason,
                });
            }
            Some(_) if is_waited_for(&run.id) && is_kept => return Err(run.kept()),
            Some((_, found)) if is_waited_for(&run.id) => return Err(self.in_the_way(run, &found).await),
            Some(_) if run.is_definition() => {}
            Some((_, found)) => self.write(&api, run, value, found.metadata.uid).await?,
        }
        self.wait_done(&api, run, deadline, timeout).await
    }

    /// Whether the object is there that carries `mark`.
    pub(in crate::apply) async fn is_left(&self, run: &Run<'_>, mark: &str) -> Result<bool, HookError> {
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let found = api.get_metadata_opt(&run.id.name).await;
        let found = found.map_err(|error| run.failed("read", error.into()))?;
        let annotations = found.and_then(|object| object.metadata.annotations);
        let marked = annotations.as_ref().and_then(|all| all.get(RUN));
        Ok(marked.is_some_and(|found| found == mark))
    }

    /// Makes the object of a hook what `value` says: a new one, or the one with this UID.
    async fn write(
        &self,
        api: &Api<DynamicObject>,
        run: &Run<'_>,
        mut value: Value,
        uid: Option<String>,
    ) -> Result<(), HookError> {
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
                Ok(_) => return Ok(()),
                Err(error) if error.is_about_the_schema() && !is_mended => {
                    let mended = mend(api, &value, error).await;
                    let mended = mended.map_err(|source| run.failed("create", source))?;
                    tracing::warn!(object = %run.id, "the chart's hook is mended: {}", mended.notes.join("; "));
                    value = mended.value;
                    is_mended = true;
                }
                Err(source) => return Err(run.failed("create", source)),
            }
        }
    }

    /// Why a hook can't run that has run before.
    async fn in_the_way(&self, run: &Run<'_>, found: &DynamicObject) -> HookError {
        let state = match progress(&run.id.kind, &found.metadata, &found.data) {
            Progress::Failed(reason) => format!("and has failed: {}", self.in_its_words(run, reason).await),
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

    /// Whether this hook was started with this mark and has not failed.
    async fn is_under_way(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        run: &Run<'_>,
        mark: &str,
    ) -> Result<bool, HookError> {
        let found = api.get_opt(&run.id.name).await;
        let found = found.map_err(|error| run.failed("read", error.into()))?;
        Ok(found.is_some_and(|object| {
            let metadata = &object.metadata;
            let marked = metadata.annotations.as_ref().and_then(|all| all.get(RUN));
            marked.is_some_and(|found| found == mark)
                && metadata.deletion_timestamp.is_none()
                && owner.ownership(metadata) == Ownership::Ours
                && !matches!(
                    progress(&run.id.kind, metadata, &object.data),
                    Progress::Failed(_)
                )
        }))
    }

    async fn wait_gone(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<(), HookError> {
        while let Some(state) = self
            .remains(owner, &run.id)
            .await
            .map_err(|source| run.delete_failed(source))?
        {
            if self.dependents.is_stopping() {
                return Err(run.interrupted());
            }
            if Instant::now() >= deadline {
                return Err(run.timed_out(timeout, format!("waiting for the deletion of {state}")));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn wait_done(
        &self,
        api: &Api<DynamicObject>,
        run: &Run<'_>,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<(), HookError> {
        if !is_waited_for(&run.id) {
            return Ok(());
        }
        loop {
            let found = api.get_opt(&run.id.name).await;
            // A job with a time to live may be gone when it is done.
            let state = match found.map_err(|error| run.failed("read", error.into()))? {
                None => return Ok(()),
                Some(object) => progress(&run.id.kind, &object.metadata, &object.data),
            };
            match state {
                Progress::Done => return Ok(()),
                Progress::Failed(reason) => {
                    return Err(HookError::Failed {
                        event: run.event,
                        path: run.hook.path.clone(),
                        id: Box::new(run.id.clone()),
                        reason: self.in_its_words(run, reason).await,
                    });
                }
                Progress::Running(state) if Instant::now() >= deadline => {
                    return Err(run.timed_out(timeout, state));
                }
                Progress::Running(_) if self.dependents.is_stopping() => return Err(run.interrupted()),
                Progress::Running(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Why a hook has failed, with what its pods said.
    async fn in_its_words(&self, run: &Run<'_>, reason: String) -> String {
        match self.last_words(run).await {
            Some(words) => format!("{reason}; {words}"),
            None => reason,
        }
    }

    /// What the pods of a failed job said at their end, if they are still there.
    async fn last_words(&self, run: &Run<'_>) -> Option<String> {
        if run.id.kind != "Job" {
            return None;
        }
        let namespace = run.id.namespace.as_deref()?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let selector = format!("batch.kubernetes.io/job-name={}", run.id.name);
        let selected = ListParams::default().labels(&selector).limit(PODS);
        match pods.list(&selected).await {
            Ok(pods) => pods.items.iter().rev().find_map(last_words),
            Err(error) => {
                let error = RequestError::from(error);
                tracing::debug!(object = %run.id, %error, "the pods of a failed hook can't be read");
                None
            }
        }
    }
}

impl Run<'_> {
    /// Whether the object goes with its release.
    pub(in crate::apply) fn is_to_go(&self) -> bool {
        !self.object.is_kept() && !self.is_definition()
    }

    /// Whether it defines a kind, whose objects would go with it.
    pub(in crate::apply) fn is_definition(&self) -> bool {
        self.id.kind == "CustomResourceDefinition"
    }

    fn kept(&self) -> HookError {
        HookError::Kept {
            event: self.event,
            path: self.hook.path.clone(),
            id: Box::new(self.id.clone()),
        }
    }

    fn failed(&self, attempt: &'static str, source: RequestError) -> HookError {
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
        is_waited_for(&self.id)
    }

    pub(in crate::apply) fn not_noted(&self, source: HistoryError) -> HookError {
        HookError::Journal {
            event: self.event,
            path: self.hook.path.clone(),
            source: Box::new(source),
        }
    }

    fn interrupted(&self) -> HookError {
        HookError::Interrupted {
            event: self.event,
            path: self.hook.path.clone(),
        }
    }

    pub(in crate::apply) fn delete_failed(&self, source: PruneError) -> HookError {
        HookError::Delete {
            event: self.event,
            path: self.hook.path.clone(),
            source,
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

/// Whether a hook of this kind has an end.
fn is_waited_for(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("batch", "Job") | ("", "Pod")
    )
}
