//! Hooks: objects that a chart wants at a moment of a release's life.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use tokio::time::Instant;

use super::applier::{Applier, apply_new, apply_to};
use super::conflicts::ConflictPolicy;
use super::documents::values_of_text;
use super::hook_error::HookError;
use super::hook_progress::{Progress, last_words, progress};
use super::mark::{Owner, Ownership};
use super::mend::mend;
use super::moment::Moment;
use super::object::{ObjectId, RenderedObject};
use super::plan::identify;
use super::prune::{Deletion, PruneError};
use super::request::RequestError;
use crate::discovery::{DiscoveryError, Resource};
use crate::release::{HookRecord, Revision};
use crate::telemetry::step;

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// More than any process lives.
const FOREVER: Duration = Duration::from_hours(24 * 365 * 10);
/// For which revision and moment a hook was started.
const RUN: &str = "steersman.dev/hook-run";
const BEFORE_CREATION: &str = "before-hook-creation";
const SUCCEEDED: &str = "hook-succeeded";
const FAILED: &str = "hook-failed";

/// One hook about to run.
struct Run<'a> {
    moment: &'static str,
    hook: &'a HookRecord,
    id: ObjectId,
    object: RenderedObject,
    resource: Resource,
}

impl Applier {
    /// Runs the hooks of `moment`, one after the other by weight, each to its end.
    ///
    /// A Job or Pod that was started for this revision, and has not failed, is not started again, whatever its policy:
    /// the process may have been stopped meanwhile. Any other one that is there and not to be deleted first is in the
    /// way, as it can't run again. What is no Job or Pod is made what the chart says.
    ///
    /// # Errors
    /// The first hook that fails or takes longer than `timeout`, if there is one. Hooks before it
    /// are deleted as their policies say.
    pub async fn run_hooks(
        &self,
        owner: &Owner,
        hooks: &[HookRecord],
        (revision, moment): (Revision, Moment),
        timeout: Option<Duration>,
    ) -> Result<usize, HookError> {
        let due = in_order(hooks, moment);
        if due.is_empty() {
            return Ok(0);
        }
        let step = step("hooks").event(moment.as_str());
        step.of(self.run_due(owner, &due, (revision, moment), timeout))
            .await
    }

    async fn run_due(
        &self,
        owner: &Owner,
        due: &[&HookRecord],
        (revision, moment): (Revision, Moment),
        timeout: Option<Duration>,
    ) -> Result<usize, HookError> {
        let timeout = timeout.unwrap_or(FOREVER);
        let mut done: Vec<Run<'_>> = Vec::new();
        let mut outcome = Ok(());
        for hook in due {
            for run in self.prepare(owner, hook, moment.as_str()).await? {
                let step = step("hook").object(&run.id);
                outcome = step.of(self.run_one(owner, &run, revision, timeout)).await;
                if let Err(error) = &outcome {
                    if matches!(error, HookError::Failed { .. } | HookError::Timeout { .. }) {
                        self.clean_up(owner, &run, FAILED).await;
                    }
                    break;
                }
                done.push(run);
            }
            if outcome.is_err() {
                break;
            }
        }
        for run in done.iter().rev() {
            self.clean_up(owner, run, SUCCEEDED).await;
        }
        outcome.map(|()| done.len())
    }

    /// Deletes what hooks have left behind, apart from what is to be kept and definitions of kinds.
    ///
    /// Garbage collection does not reach objects in other namespaces or in none. Hooks that only
    /// `helm test` runs were never ours to run, and their kinds may be out of reach.
    ///
    /// # Errors
    /// The first object that can't be read or deleted.
    pub async fn remove_hooks(&self, owner: &Owner, hooks: &[HookRecord]) -> Result<(), HookError> {
        for hook in hooks.iter().filter(|hook| is_ours_to_run(hook)) {
            let left = match self.prepare(owner, hook, Moment::PostDelete.as_str()).await {
                // The objects of a kind went with its definition, which may have been the release's own.
                Err(HookError::UnknownKind { .. }) => continue,
                prepared => prepared?,
            };
            for run in left {
                if !run.is_to_go() {
                    continue;
                }
                if let Deletion::NotOurs(reason) = self
                    .delete(owner, &run.id)
                    .await
                    .map_err(|source| run.delete_failed(source))?
                {
                    tracing::warn!(object = %run.id, %reason, "hook left in place");
                }
            }
        }
        Ok(())
    }

    /// The objects of `hooks` that no garbage collector reaches when the owner goes.
    ///
    /// # Errors
    /// The server does not say what it serves.
    pub async fn left_by_hooks(
        &self,
        owner: &Owner,
        hooks: &[HookRecord],
    ) -> Result<Vec<ObjectId>, DiscoveryError> {
        let Some(namespace) = &owner.namespace else {
            return Ok(Vec::new());
        };
        let mut left = Vec::new();
        for hook in hooks.iter().filter(|hook| is_ours_to_run(hook)) {
            match self.prepare(owner, hook, Moment::PostDelete.as_str()).await {
                Ok(runs) => left.extend(runs.into_iter().filter(Run::is_to_go).map(|run| run.id)),
                Err(HookError::Discovery(error)) => return Err(error),
                Err(error) => {
                    tracing::debug!(hook = %hook.path, error = %super::chain(&error), "a stored hook can't be read");
                }
            }
        }
        left.retain(|id| id.namespace.as_ref() != Some(namespace));
        Ok(left)
    }

    async fn prepare<'a>(
        &self,
        owner: &Owner,
        hook: &'a HookRecord,
        moment: &'static str,
    ) -> Result<Vec<Run<'a>>, HookError> {
        let objects = values_of_text(&hook.path, &hook.manifest)
            .map_err(|source| HookError::Document { moment, source })?;
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let prepared = objects.into_iter().map(|object| {
            let resource = served
                .resource(&object.api)
                .cloned()
                .ok_or_else(|| HookError::UnknownKind {
                    moment,
                    path: hook.path.clone(),
                    kind: object.api.to_string(),
                })?;
            let id = identify(&object, &resource, &owner.release_namespace);
            Ok(Run {
                moment,
                hook,
                id,
                object,
                resource,
            })
        });
        prepared.collect()
    }

    async fn run_one(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        revision: Revision,
        timeout: Duration,
    ) -> Result<(), HookError> {
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let deadline = Instant::now() + timeout;
        let mark = format!("{revision}/{}", run.moment);
        if is_waited_for(&run.id) && self.is_under_way(owner, &api, run, &mark).await? {
            tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.moment, "Hook was started before");
            return self.wait_done(&api, run, deadline, timeout).await;
        }
        if has_policy(run.hook, BEFORE_CREATION) && run.id.kind != "CustomResourceDefinition" {
            self.delete(owner, &run.id)
                .await
                .map_err(|source| run.delete_failed(source))?;
            self.wait_gone(owner, run, deadline, timeout).await?;
        }
        tracing::info!(hook = %run.hook.path, object = %run.id, moment = run.moment, "Running hook");
        let mut value = owner.mark(&run.object.value, run.id.namespace.as_deref(), false);
        if is_waited_for(&run.id)
            && let Some(annotations) = value.pointer_mut("/metadata/annotations")
        {
            annotations[RUN] = mark.into();
        }
        let found = api.get_opt(&run.id.name).await;
        let found = found.map_err(|error| run.failed("read", error.into()))?;
        let judged = found.map(|found| (owner.judge(&found.metadata), found));
        match judged {
            None => self.write(&api, run, value, None).await?,
            Some((Ownership::Foreign(reason), _)) => {
                return Err(HookError::Foreign {
                    moment: run.moment,
                    path: run.hook.path.clone(),
                    id: Box::new(run.id.clone()),
                    reason,
                });
            }
            Some((_, found)) if is_waited_for(&run.id) => return Err(self.in_the_way(run, &found).await),
            Some(_) if run.id.kind == "CustomResourceDefinition" => {}
            Some((_, found)) => self.write(&api, run, value, found.metadata.uid).await?,
        }
        self.wait_done(&api, run, deadline, timeout).await
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
            let (name, uid) = (&run.id.name, uid.as_deref());
            let answer = match uid {
                Some(uid) => apply_to(api, name, &value, uid, ConflictPolicy::Overwrite).await,
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
            moment: run.moment,
            path: run.hook.path.clone(),
            id: Box::new(run.id.clone()),
            state,
        }
    }

    /// Whether this hook was started for this revision and has not failed.
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
                && owner.judge(metadata) == Ownership::Ours
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
                        moment: run.moment,
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
        match pods.list(&ListParams::default().labels(&selector)).await {
            Ok(pods) => pods.items.iter().rev().find_map(last_words),
            Err(error) => {
                let error = RequestError::from(error);
                tracing::debug!(object = %run.id, %error, "the pods of a failed hook can't be read");
                None
            }
        }
    }

    /// What a policy leaves behind when it can't be carried out is no failure of the release.
    async fn clean_up(&self, owner: &Owner, run: &Run<'_>, policy: &str) {
        if !has_policy(run.hook, policy) || run.id.kind == "CustomResourceDefinition" {
            return;
        }
        match self.delete(owner, &run.id).await {
            Ok(Deletion::NotOurs(reason)) => {
                tracing::warn!(object = %run.id, %reason, "hook left in place");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(object = %run.id, error = %super::chain(&error), "failed to delete hook");
            }
        }
    }
}

impl Run<'_> {
    /// Whether the object goes with its release.
    fn is_to_go(&self) -> bool {
        !self.object.is_kept() && self.id.kind != "CustomResourceDefinition"
    }

    fn failed(&self, attempt: &'static str, source: RequestError) -> HookError {
        HookError::Request {
            moment: self.moment,
            path: self.hook.path.clone(),
            attempt,
            id: Box::new(self.id.clone()),
            source,
        }
    }

    fn interrupted(&self) -> HookError {
        HookError::Interrupted {
            moment: self.moment,
            path: self.hook.path.clone(),
        }
    }

    fn delete_failed(&self, source: PruneError) -> HookError {
        HookError::Delete {
            moment: self.moment,
            path: self.hook.path.clone(),
            source,
        }
    }

    fn timed_out(&self, timeout: Duration, state: String) -> HookError {
        HookError::Timeout {
            moment: self.moment,
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

/// Whether the operator runs the hook at any time.
fn is_ours_to_run(hook: &HookRecord) -> bool {
    Moment::ALL
        .iter()
        .any(|moment| hook.events.iter().any(|event| event == moment.as_str()))
}

/// Helm's order: by weight, then by name; the stored order is by kind.
fn in_order(hooks: &[HookRecord], moment: Moment) -> Vec<&HookRecord> {
    let mut chosen: Vec<_> = hooks
        .iter()
        .filter(|hook| hook.events.iter().any(|event| event == moment.as_str()))
        .collect();
    chosen.sort_by(|a, b| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
    chosen
}

/// A hook without a policy is deleted before it is created again.
fn has_policy(hook: &HookRecord, policy: &str) -> bool {
    if hook.delete_policies.is_empty() {
        return policy == BEFORE_CREATION;
    }
    hook.delete_policies.iter().any(|given| given == policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook(name: &str, weight: i64, events: &[&str], policies: &[&str]) -> HookRecord {
        HookRecord {
            name: name.to_owned(),
            kind: "Job".to_owned(),
            path: format!("web/templates/{name}.yaml"),
            manifest: String::new(),
            events: events.iter().map(|&event| event.to_owned()).collect(),
            weight,
            delete_policies: policies.iter().map(|&policy| policy.to_owned()).collect(),
            last_run: json!({}),
        }
    }

    #[test]
    fn hooks_of_a_moment_run_by_weight_and_name() {
        let hooks = [
            hook("c", 0, &["pre-install"], &[]),
            hook("b", 5, &["pre-install", "pre-upgrade"], &[]),
            hook("a", 0, &["pre-install"], &[]),
            hook("d", -1, &["post-install"], &[]),
        ];
        let names = |moment| {
            in_order(&hooks, moment)
                .iter()
                .map(|hook| hook.name.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(Moment::PreInstall), ["a", "c", "b"]);
        assert_eq!(names(Moment::PreUpgrade), ["b"]);
        assert_eq!(names(Moment::PostDelete), [""; 0]);
    }

    #[test]
    fn a_hook_without_a_policy_is_deleted_before_it_is_created() {
        assert!(has_policy(&hook("a", 0, &[], &[]), BEFORE_CREATION));
        assert!(!has_policy(&hook("a", 0, &[], &[SUCCEEDED]), BEFORE_CREATION));
    }
}
