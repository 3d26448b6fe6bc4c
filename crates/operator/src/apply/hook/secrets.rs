//! What the Job or Pod of a hook has of Secrets, so that it is shown what it has said, and nothing of them.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::HOOK_RUN;
use steersman_watches::procedure::names::SECRETS;

use super::run::{Run, Terms};
use crate::apply::applier::Applier;
use crate::job_secrets::{JobSecrets, places_of, redactor_of, redactor_of_pod};

/// Stands for the words of a hook of which nobody knows what is secret in them.
pub(super) const UNSHOWN: &str = "what it has said is not shown: a Secret that it names can't be read, was not there when it was \
                                  made, or was changed since, or its pod was given others";

impl Applier {
    /// Notes on the Job or Pod that is about to be made which Secrets it has something of, and what they hold. Without the note, or
    /// where they can't be read, its words are not shown.
    pub(super) async fn note_secrets(&self, run: &Run<'_>, terms: Terms<'_>, object: &mut Value) {
        let Some(namespace) = run.id.namespace.as_deref().filter(|_| run.has_an_end()) else {
            return;
        };
        let places = places_of(namespace, object, &BTreeSet::new());
        let Some(places) = places.filter(|places| !places.is_empty()) else {
            return;
        };
        let Ok(Some(secrets)) = JobSecrets::read(&self.client, &places).await else {
            return;
        };
        let note = secrets.note((terms.journal.owner_uid(), terms.mark), &terms.journal.keys());
        let annotations = object
            .pointer_mut("/metadata/annotations")
            .and_then(Value::as_object_mut);
        if let (Some(note), Some(annotations)) = (note, annotations) {
            annotations.insert(SECRETS.to_owned(), note.into());
        }
    }

    /// Learns what is secret in what a Pod has said, which the hook has made or its Job, and whether all of that is known.
    pub(super) async fn learn_secrets(&self, terms: Terms<'_>, object: &DynamicObject, pod: &Pod) -> bool {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let named = places_of(namespace, &object.data, &BTreeSet::new());
        if let Some(named) = named.filter(BTreeSet::is_empty) {
            let Some(of_pod) = redactor_of_pod(namespace, pod, &named) else {
                return false;
            };
            terms.redactor.learn(of_pod);
            return true;
        }
        let annotations = object.metadata.annotations.as_ref();
        let mark = annotations.and_then(|annotations| annotations.get(HOOK_RUN));
        let made_for = (terms.journal.owner_uid(), mark.map_or("", String::as_str));
        let keys = terms.journal.keys();
        let job = (&object.metadata, &object.data);
        match redactor_of(&self.client, job, Some(pod), made_for, &keys).await {
            Ok(Some(redactor)) => {
                terms.redactor.learn(redactor);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }
}
