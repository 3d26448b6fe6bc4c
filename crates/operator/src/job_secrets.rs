//! The Secrets that a Job, or a Pod, has something of: which ones, and what they held when it was made.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::Api;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steersman_cluster::RequestError;
use steersman_model::Digest;
use steersman_watches::procedure::names::SECRETS;

use crate::release::{Signable, SigningKeys, feed_field};
use crate::status::Redactor;

/// Begins the bytes that are signed, so that those of another layout are never the same.
const LAYOUT: &[u8] = b"steersman.dev/procedure-secrets/3";
/// So many Secrets are read that a Job has something of, to mask what is in them.
const MOST: usize = 20;

/// A namespace, and a name in it.
pub(crate) type Place = (String, String);

/// The names of the Secrets that the pods of a Job get something of, or that a Pod does.
pub fn secrets_named(job: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let pod = job.pointer("/spec/template/spec");
    let Some(pod) = pod.or_else(|| job.pointer("/spec")) else {
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
        // Of volumes, and of what a container has in its environment. No container sees those that images are pulled with.
        "secretKeyRef" | "secretRef" | "nodePublishSecretRef" => vec![name(field)],
        // A projected volume names it as others do.
        "secret" => vec![name(field), field.get("secretName").and_then(text)],
        "azureFile" => vec![field.get("secretName").and_then(text)],
        _ => Vec::new(),
    };
    names.into_iter().flatten().collect()
}

/// The Secrets that a Job in this namespace has something of: those that it names, and those that its file `had`. `None` where
/// they are too many to be looked at.
pub(crate) fn places_of(namespace: &str, job: &Value, had: &BTreeSet<Place>) -> Option<BTreeSet<Place>> {
    let named = secrets_named(job).into_iter();
    let named = named.map(|name| (namespace.to_owned(), name));
    let all: BTreeSet<Place> = named.chain(had.iter().cloned()).collect();
    (all.len() <= MOST).then_some(all)
}

/// What a pod of a Job has besides that, as admission has put it there: what is secret in its fields. `None` where it names Secrets
/// that the Job does not: it is not known what they held.
pub(crate) fn redactor_of_pod(namespace: &str, pod: &Pod, places: &BTreeSet<Place>) -> Option<Redactor> {
    let pod = json!({ "spec": pod.spec });
    let named = secrets_named(&pod).into_iter();
    let mut places_of_pod = named.map(|name| (namespace.to_owned(), name));
    places_of_pod.all(|place| places.contains(&place)).then(|| {
        let mut redactor = Redactor::default();
        redactor.add_values(&pod);
        redactor
    })
}

/// What stands on a Job.
#[derive(Serialize, Deserialize)]
struct Note {
    /// `NAMESPACE/NAME` of each.
    secrets: Vec<String>,
    /// HMAC-SHA256 of the Job, the Secrets and what they held, with the key that signs: it tells nothing else of that.
    mac: Digest,
}

/// What some Secrets hold.
#[derive(Debug, Default)]
pub(crate) struct JobSecrets {
    held: BTreeMap<Place, Held>,
}

#[derive(Debug)]
struct Held {
    data: Value,
    /// The UID and the version: what was changed and changed back is not the same.
    version: Value,
}

struct OfJob<'a> {
    secrets: &'a JobSecrets,
    /// The UID of the run or resource for which it is made, and what no other one has that is made for that: the name of the Job of a
    /// step, the mark of a hook.
    job: (&'a str, &'a str),
}

impl Signable for OfJob<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(LAYOUT);
        let (owner, made_for) = self.job;
        feed_field(sink, owner.as_bytes());
        feed_field(sink, made_for.as_bytes());
        for ((namespace, name), held) in &self.secrets.held {
            feed_field(sink, namespace.as_bytes());
            feed_field(sink, name.as_bytes());
            feed_field(sink, json!([held.version, held.data]).to_string().as_bytes());
        }
    }
}

impl JobSecrets {
    /// Reads them. `None` where one is not there, or may not be read.
    ///
    /// # Errors
    /// They can't be read at the moment.
    pub(crate) async fn read(
        client: &Client,
        places: &BTreeSet<Place>,
    ) -> Result<Option<Self>, RequestError> {
        let mut held = BTreeMap::new();
        for place in places {
            let (namespace, name) = place;
            let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let secret = match secrets.get_opt(name).await.map_err(RequestError::from) {
                Ok(Some(secret)) => secret,
                Err(error) if error.is_transient() => return Err(error),
                Ok(None) | Err(_) => return Ok(None),
            };
            let version = json!([secret.metadata.uid, secret.metadata.resource_version]);
            let data = json!(secret.data);
            held.insert(place.clone(), Held { data, version });
        }
        Ok(Some(Self { held }))
    }

    /// Whether those at these places are known, and no others.
    pub(crate) fn are_of(&self, places: &BTreeSet<Place>) -> bool {
        self.held.keys().eq(places)
    }

    /// What stands on the Job that is made when they hold this; `None` where there is no key.
    pub(crate) fn note(&self, job: (&str, &str), keys: &SigningKeys) -> Option<String> {
        let of_job = OfJob { secrets: self, job };
        let names = self.held.keys();
        let note = Note {
            secrets: names
                .map(|(namespace, name)| format!("{namespace}/{name}"))
                .collect(),
            mac: keys.macs(&of_job).into_iter().next()?,
        };
        serde_json::to_string(&note).ok()
    }

    /// What masks what they hold.
    pub(crate) fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        for held in self.held.values() {
            redactor.add_object(&json!({ "apiVersion": "v1", "kind": "Secret", "data": held.data }));
        }
        redactor
    }
}

/// What masks what is secret in a Job, which is all of this but its metadata, in the one of its pods that has said something, and in
/// the Secrets that it has something of. `None` where that can't be known: they hold something else than when it was made, or it,
/// or the pod, names others.
///
/// # Errors
/// They can't be read at the moment.
pub(crate) async fn redactor_of(
    client: &Client,
    (metadata, job): (&ObjectMeta, &Value),
    pod: Option<&Pod>,
    made_for: (&str, &str),
    keys: &SigningKeys,
) -> Result<Option<Redactor>, RequestError> {
    let annotations = metadata.annotations.as_ref();
    let note = annotations.and_then(|annotations| annotations.get(SECRETS));
    let note = note.and_then(|note| serde_json::from_str::<Note>(note).ok());
    let (Some(note), Some(namespace)) = (note, metadata.namespace.as_deref()) else {
        return Ok(None);
    };
    let places = note.secrets.iter().map(|place| place.split_once('/'));
    let places = places.map(|place| place.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())));
    let places = places.collect::<Option<BTreeSet<Place>>>();
    let Some(places) = places.filter(|places| places.len() <= MOST) else {
        return Ok(None);
    };
    if places_of(namespace, job, &places).as_ref() != Some(&places) {
        return Ok(None);
    }
    let of_pod = match pod {
        Some(pod) => redactor_of_pod(namespace, pod, &places),
        None => Some(Redactor::default()),
    };
    let Some(of_pod) = of_pod else {
        return Ok(None);
    };
    let Some(secrets) = JobSecrets::read(client, &places).await? else {
        return Ok(None);
    };
    let of_job = OfJob {
        secrets: &secrets,
        job: made_for,
    };
    if !keys.macs(&of_job).contains(&note.mac) {
        return Ok(None);
    }
    let mut redactor = secrets.redactor();
    redactor.add_values(job);
    redactor.extend(of_pod);
    Ok(Some(redactor))
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
        let expected = ["chap", "csi", "env", "key", "projected", "share", "volume"];
        assert_eq!(secrets_named(&job), BTreeSet::from(expected.map(str::to_owned)));
    }
}
