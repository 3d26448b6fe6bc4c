//! The Job of a step: its name and marks, how far it is, and what it has said.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use steersman_cluster::{Owner, RequestError};
use steersman_model::{Digest, RenderedObject};
use steersman_watches::procedure::names::RUN_FINALIZER;

use super::record::Outcome;
use super::state::Seen;
use crate::apply::{end_of_job, last_words, message_of};
use crate::release::{Signable, SigningKeys, feed_field};
use crate::status::Redactor;

/// Begins the bytes that are signed, so that those of another layout are never the same.
const LAYOUT: &[u8] = b"steersman.dev/procedure-secrets/2";

/// How many pods of a Job are asked for what they said.
const PODS: u32 = 20;
/// So many Secrets are read that a Job names, to mask what is in them.
const MOST_SECRETS: usize = 20;
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

/// The finalizers that a Job has besides ours; `None` where it was let go.
pub(super) fn finalizers_but_ours(job: &ObjectMeta) -> Option<Vec<String>> {
    let mut finalizers = job.finalizers.clone().unwrap_or_default();
    let before = finalizers.len();
    finalizers.retain(|name| name != RUN_FINALIZER);
    (finalizers.len() < before).then_some(finalizers)
}

/// How far a Job is.
pub(super) fn seen(job: &DynamicObject) -> Seen {
    match end_of_job(&job.data) {
        Some(Ok(())) => return Seen::Ended(Outcome::Succeeded),
        Some(Err(reason)) => return Seen::Ended(Outcome::Failed(reason)),
        None => {}
    }
    let finalizers = job.metadata.finalizers.iter().flatten();
    let is_in_foreground = finalizers.clone().any(|name| name == "foregroundDeletion");
    let active = job.data.pointer("/status/active").and_then(Value::as_i64);
    match (&job.metadata.deletion_timestamp, active.unwrap_or_default()) {
        (Some(_), _) if is_in_foreground => Seen::Stopping,
        (Some(_), 0) => Seen::Gone { idempotent: false },
        (_, 1) => Seen::Running("1 pod active".to_owned()),
        (_, active) => Seen::Running(format!("{active} pods active")),
    }
}

/// What the last container of a pod of a Job has said at its end, the one that has succeeded if there is one.
pub(super) async fn words_of(
    client: &Client,
    job: &ObjectMeta,
    has_succeeded: bool,
) -> Result<Option<String>, RequestError> {
    let (Some(uid), Some(namespace)) = (&job.uid, &job.namespace) else {
        return Ok(None);
    };
    let selector = format!("batch.kubernetes.io/controller-uid={uid}");
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let found = pods
        .list(&ListParams::default().labels(&selector).limit(PODS))
        .await?;
    let mut words = found.items.iter().rev().filter_map(|pod| {
        if has_succeeded {
            said_at_end(pod)
        } else {
            last_words(pod)
        }
    });
    Ok(words.next())
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

/// The Secrets that the pods of a Job get something of.
fn secrets_named(job: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Some(pod) = job.pointer("/spec/template/spec") else {
        return found;
    };
    let mut open = vec![pod];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    found.extend(named_at(key, inner));
                    open.push(inner);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// The Secrets that a field of a pod names.
fn named_at(key: &str, field: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = |value: &Value| value.get("name").and_then(text);
    let names = match key {
        // Of volumes, and of what a container has in its environment.
        "secretKeyRef" | "secretRef" | "nodePublishSecretRef" => vec![name(field)],
        "imagePullSecrets" => field.as_array().into_iter().flatten().map(name).collect(),
        // A projected volume names it as others do.
        "secret" => vec![name(field), field.get("secretName").and_then(text)],
        "azureFile" => vec![field.get("secretName").and_then(text)],
        _ => Vec::new(),
    };
    names.into_iter().flatten().collect()
}

/// What is secret in the words of a Job.
pub(super) struct JobSecrets {
    /// Masks what it has in its own manifest, and what is in the Secrets that it names.
    pub(super) redactor: Redactor,
    /// What these hold, by their namespaces and names.
    held: BTreeMap<(String, String), Vec<u8>>,
}

impl Signable for JobSecrets {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(LAYOUT);
        for ((namespace, name), held) in &self.held {
            feed_field(sink, namespace.as_bytes());
            feed_field(sink, name.as_bytes());
            feed_field(sink, held);
        }
    }
}

impl JobSecrets {
    /// What they held, for whoever has the keys; `None` where the Job names none.
    pub(super) fn digest(&self, keys: &SigningKeys) -> Option<Digest> {
        let macs = keys.macs(self).into_iter();
        macs.take(usize::from(!self.held.is_empty())).next()
    }

    /// Whether they hold what they held when that was noted: what was in them is not known otherwise.
    pub(super) fn are_those(&self, noted: Option<&Digest>, keys: &SigningKeys) -> bool {
        self.held.is_empty() || noted.is_some_and(|noted| keys.macs(self).contains(noted))
    }
}

/// What is secret in the words of a Job, which is all of this but its metadata, with what these Secrets have. `None` where that
/// can't be known.
///
/// # Errors
/// They can't be read at the moment.
pub(super) async fn secrets_of(
    client: &Client,
    namespace: &str,
    job: &Value,
    had: &BTreeSet<(String, String)>,
) -> Result<Option<JobSecrets>, RequestError> {
    let named = secrets_named(job).into_iter();
    let named = named.map(|name| (namespace.to_owned(), name));
    let named: BTreeSet<(String, String)> = named.chain(had.iter().cloned()).collect();
    if named.len() > MOST_SECRETS {
        return Ok(None);
    }
    let mut redactor = Redactor::default();
    let mut own = job.clone();
    own["apiVersion"] = "batch/v1".into();
    own["kind"] = "Job".into();
    redactor.add_object(&own);
    redactor.add_values(&own);
    let mut held = BTreeMap::new();
    for place in named {
        let (namespace, name) = &place;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let secret = match secrets.get_opt(name).await.map_err(RequestError::from) {
            Ok(Some(secret)) => secret,
            Err(error) if error.is_transient() => return Err(error),
            // A chart looks up what need not be there. What was in one that is gone is not known.
            Ok(None) if had.contains(&place) => {
                held.insert(place, Vec::new());
                continue;
            }
            Ok(None) | Err(_) => return Ok(None),
        };
        let data = json!(secret.data);
        // What was changed and changed back is not the same.
        let (uid, version) = (&secret.metadata.uid, &secret.metadata.resource_version);
        held.insert(place, json!([uid, version, data]).to_string().into_bytes());
        redactor.add_object(&json!({ "apiVersion": "v1", "kind": "Secret", "data": data }));
    }
    Ok(Some(JobSecrets { redactor, held }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::secrets_named;

    #[test]
    fn secrets_are_found_wherever_a_pod_names_them() {
        let pod = json!({
            "imagePullSecrets": [{"name": "pull"}],
            "containers": [{
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "a"}}}],
                "envFrom": [{"secretRef": {"name": "env"}}, {"configMapRef": {"name": "map"}}],
            }],
            "volumes": [
                {"name": "a", "secret": {"secretName": "volume"}},
                {"name": "b", "projected": {"sources": [{"secret": {"name": "projected"}}]}},
                {"name": "c", "azureFile": {"secretName": "share", "shareName": "a"}},
                {"name": "d", "csi": {"driver": "a", "nodePublishSecretRef": {"name": "csi"}}},
                {"name": "e", "iscsi": {"secretRef": {"name": "chap"}}},
                {"name": "f", "persistentVolumeClaim": {"claimName": "claim"}},
            ],
        });
        let job = json!({"spec": {"template": {"spec": pod}}});
        let expected = [
            "chap",
            "csi",
            "env",
            "key",
            "projected",
            "pull",
            "share",
            "volume",
        ];
        assert_eq!(secrets_named(&job), BTreeSet::from(expected.map(str::to_owned)));
    }
}
