//! The Job of a step: its name and marks, how far it is, and what it has said.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use steersman_cluster::{Owner, RequestError};
use steersman_model::{Digest, RenderedObject};
use steersman_watches::procedure::names::RUN_FINALIZER;

use super::record::Outcome;
use super::state::Seen;
use crate::apply::{end_of_job, last_words, message_of};
use crate::job_pods::{JobPods, PodsLeft};

/// A name has at most so many letters, as pods are called by it.
const MAX_NAME: usize = 52;

/// The name of the Job of a try. It is the same whenever it is asked for, and another one for each try.
pub(super) fn job_name(run: &str, run_uid: &str, step: &str, attempt: u32) -> String {
    let digest = Digest::of(format!("{run_uid}/{step}/{attempt}").as_bytes()).to_string();
    let digest = digest.get(..8).unwrap_or_default();
    let whole = format!("{run}-{step}");
    let start: String = whole.chars().take(MAX_NAME).collect();
    format!("{}-{digest}", start.trim_end_matches(['-', '.']))
}

/// A Job as it is made: by its own name, with the marks of its run, and a finalizer, so that it does not go before its end is
/// read.
pub(super) fn marked(object: &RenderedObject, owner: &Owner, name: &str) -> Value {
    let mut value = object.value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("name".to_owned(), name.into());
        metadata.remove("generateName");
        metadata.insert("finalizers".to_owned(), json!([RUN_FINALIZER]));
    }
    // Its pods would go before their words are read. It goes with its run.
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("ttlSecondsAfterFinished");
    }
    owner.mark(&value, Some(&owner.release_namespace), false)
}

/// Says something on an object that is about to be made.
pub(super) fn annotate(value: &mut Value, annotation: &str, text: String) {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(annotation.to_owned(), text.into());
        }
    }
}

/// The finalizers that a Job has besides ours; `None` where it was let go.
pub(super) fn finalizers_but_ours(job: &ObjectMeta) -> Option<Vec<String>> {
    let mut finalizers = job.finalizers.clone().unwrap_or_default();
    let before = finalizers.len();
    finalizers.retain(|name| name != RUN_FINALIZER);
    (finalizers.len() < before).then_some(finalizers)
}

/// How far a Job is. One that somebody has deleted is gone when its pods are: its own numbers leave out those that were told to end,
/// which may take any time for that, and do not tell yet of those that have succeeded.
///
/// # Errors
/// Its pods can't be listed now. Where they never can be, its numbers count.
pub(super) async fn seen_with_pods(client: &Client, job: &DynamicObject) -> Result<Seen, RequestError> {
    let seen = seen(job);
    let (Seen::Deleted, Some(pods)) = (&seen, JobPods::of(job)) else {
        return Ok(seen);
    };
    let left = match pods.left(client).await {
        Err(error) if error.is_transient() => return Err(error),
        left => left.unwrap_or_else(|_| left_by_numbers(&job.data["status"])),
    };
    Ok(match left {
        PodsLeft::None => Seen::Gone { idempotent: false },
        // Nothing but their end is to be waited for.
        PodsLeft::Ending => Seen::Stopping,
        PodsLeft::Some => Seen::Deleted,
    })
}

fn left_by_numbers(status: &Value) -> PodsLeft {
    let is_any = |key: &str| status[key].as_i64().unwrap_or_default() > 0;
    match (is_any("active"), is_any("terminating")) {
        (true, _) => PodsLeft::Some,
        (false, true) => PodsLeft::Ending,
        (false, false) => PodsLeft::None,
    }
}

/// How far a Job is by what it says itself.
pub(super) fn seen(job: &DynamicObject) -> Seen {
    match end_of_job(&job.data) {
        Some(Ok(())) => return Seen::Ended(Outcome::Succeeded),
        Some(Err(reason)) if !has_failed_by_deletion(job) => return Seen::Ended(Outcome::Failed(reason)),
        _ => {}
    }
    let finalizers = job.metadata.finalizers.iter().flatten();
    let is_in_foreground = finalizers.clone().any(|name| name == "foregroundDeletion");
    let active = job.data.pointer("/status/active").and_then(Value::as_i64);
    match (&job.metadata.deletion_timestamp, active.unwrap_or_default()) {
        (Some(_), _) if is_in_foreground => Seen::Stopping,
        (Some(_), _) => Seen::Deleted,
        _ if job.data.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true) => {
            Seen::Running("it is suspended".to_owned())
        }
        (_, 0) => Seen::Running("no pod of it is there yet: its events may say why".to_owned()),
        (_, 1) => Seen::Running("1 pod active".to_owned()),
        (_, active) => Seen::Running(format!("{active} pods active")),
    }
}

/// Whether a Job has failed when somebody had deleted it: its pods go then, which counts as their failure. One of which it is known
/// that it fails has its pods told to end before it has failed.
fn has_failed_by_deletion(job: &DynamicObject) -> bool {
    let conditions = job.data.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = conditions.into_iter().flatten();
    let failing = conditions.filter(|one| one["type"] == "Failed" || one["type"] == "FailureTarget");
    let times = failing.filter_map(|one| one["lastTransitionTime"].as_str()?.parse().ok());
    let time = times.min();
    let deleted = job.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    time.zip(deleted)
        .is_some_and(|(failed, deleted): (Timestamp, _)| failed >= deleted)
}

/// What the last container of a pod of a Job has said at its end, the one that has succeeded if there is one, and which pod that is.
pub(super) async fn words_of(
    client: &Client,
    job: &DynamicObject,
    has_succeeded: bool,
) -> Result<Option<(String, Pod)>, RequestError> {
    let Some(pods) = JobPods::of(job) else {
        return Ok(None);
    };
    let said = if has_succeeded { said_at_end } else { last_words };
    pods.last(client, said).await
}

/// The message of the last container that has one, of a pod that has succeeded.
fn said_at_end(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    if status.phase.as_deref() != Some("Succeeded") {
        return None;
    }
    let containers = status.container_statuses.iter().flatten().rev();
    let mut messages =
        containers.filter_map(|container| message_of(pod, container.state.as_ref()?.terminated.as_ref()?));
    messages.find(|message| !message.trim().is_empty())
}
