//! One resource while it is reconciled: what it is about, and what is written into it.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, DynamicObject};
use serde_json::{Map, Value, json};
use steersman_cluster::{PrimaryResource, RequestError};
use steersman_watches::controls::Controls;

use super::report::{RunReport, next_status};
use crate::reconcile::{FINALIZER, ORPHAN_FINALIZER, SELECTOR_ANNOTATION, patch_finalizers};
use crate::status::{LearningRedactor, Redactor, StatusError, reference, write_status};

/// How often a status is written at once where others write it at the same moment.
const REPORTS: u32 = 5;

/// The resource of a reconcile.
pub(super) struct Subject {
    /// As the last answer has it.
    pub(super) object: DynamicObject,
    pub(super) owner: PrimaryResource,
    /// What its annotations ask for.
    pub(super) controls: Controls,
    pub(super) redactor: Arc<LearningRedactor>,
    pub(super) api: Api<DynamicObject>,
}

/// What the resource is to carry of the operator's.
pub(super) struct Finalizers<'a> {
    pub(super) added: &'a [String],
    /// Which are taken off.
    pub(super) removed: &'a [String],
    /// The selector of the entry, by which the operator knows its resources when that no longer matches them.
    pub(super) selector: String,
}

impl Subject {
    /// `None` for an object without a name or UID, which no server sends.
    pub(super) fn new(object: DynamicObject, api: Api<DynamicObject>, types: (&str, &str)) -> Option<Self> {
        let owner = PrimaryResource {
            api_version: types.0.to_owned(),
            kind: types.1.to_owned(),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone()?,
            uid: object.metadata.uid.clone()?,
        };
        let (controls, complaints) = Controls::read(object.metadata.annotations.as_ref());
        for complaint in complaints {
            tracing::warn!(name = %owner.name, "{complaint}");
        }
        let subject = Self {
            object,
            owner,
            controls,
            redactor: Arc::default(),
            api,
        };
        subject.learn();
        Some(subject)
    }

    /// Masks from now on what is secret in the resource. What was secret in it before stays masked.
    fn learn(&self) {
        self.redactor.learn(secrets_in(&self.object, &self.owner));
    }

    /// Masks from now on what is secret in these variables of a run.
    pub(super) fn learn_vars(&self, vars: &Map<String, Value>) {
        let vars = Value::Object(vars.clone());
        self.redactor.learn(Redactor::new([], &vars));
    }

    /// What events are about.
    pub(super) fn reference(&self) -> ObjectReference {
        reference((&self.owner.api_version, &self.owner.kind), &self.object.metadata)
    }

    /// Reads it anew. `false` when it is gone, or another one has its name.
    pub(super) async fn refresh(&mut self) -> Result<bool, RequestError> {
        let found = self.api.get_opt(&self.owner.name).await?;
        let uid = Some(&self.owner.uid);
        match found.filter(|found| found.metadata.uid.as_ref() == uid) {
            Some(object) => {
                self.accept(object);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// It is from now on as an answer has it.
    fn accept(&mut self, object: DynamicObject) {
        if object.metadata.annotations != self.object.metadata.annotations {
            self.controls = Controls::read(object.metadata.annotations.as_ref()).0;
        }
        // Most answers are to what was written into the status.
        let mut with_secrets = ["spec", "data"].into_iter();
        let is_news = with_secrets.any(|field| object.data.get(field) != self.object.data.get(field));
        self.object = object;
        if is_news {
            self.learn();
        }
    }

    pub(super) fn status(&self) -> Value {
        self.object.data.get("status").cloned().unwrap_or_default()
    }

    /// Whether it carries this finalizer.
    pub(super) fn holds(&self, finalizer: &str) -> bool {
        let mut held = self.object.metadata.finalizers.iter().flatten();
        held.any(|held| held == finalizer)
    }

    /// What keeps one that is being deleted, where nothing of the operator's does; in a sentence. The garbage collector's are off
    /// soon.
    pub(super) fn held_by_others(&self) -> Option<String> {
        let held = self.object.metadata.finalizers.iter().flatten();
        let held: Vec<&str> = held
            .map(String::as_str)
            .filter(|name| ![ORPHAN_FINALIZER, "foregroundDeletion"].contains(name))
            .collect();
        let hint = if held.contains(&FINALIZER) {
            "; where it was a release, an entry with the chart takes that off"
        } else {
            ""
        };
        let names = held.join(", ");
        (!held.is_empty()).then(|| format!("the deletion waits for finalizers of others: {names}{hint}"))
    }

    /// Whether its status says that a run is under way.
    pub(super) fn is_said_to_run(&self) -> bool {
        let conditions = self.object.data.pointer("/status/conditions");
        let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        // A run of what is settled is said in ansible-operator's words alone.
        conditions.any(|condition| {
            let is_under_way = match condition["type"].as_str() {
                Some("Running") => condition["reason"] == "Running",
                Some("Reconciling") => condition["reason"] != "ProgressingWithRetry",
                _ => false,
            };
            is_under_way && condition["status"] == "True"
        })
    }

    pub(super) fn generation(&self) -> Option<i64> {
        self.object.metadata.generation
    }

    /// Writes what is different in its status, which is about this generation. Others have part in that, as the tasks of a run:
    /// where one of them was first, it is read and written again.
    pub(super) async fn report(
        &mut self,
        (report, generation): (&RunReport, Option<i64>),
        record: Option<Value>,
        now: Timestamp,
    ) -> Result<(), RequestError> {
        for tries_left in (0..REPORTS).rev() {
            let current = self.status();
            let next = next_status(&current, report, generation, record.clone(), now);
            let (owner, version) = (&self.owner, self.object.metadata.resource_version.as_deref());
            let written = write_status(&self.api, &owner.name, (&owner.uid, version), &current, &next).await;
            match written {
                Ok(Some(object)) => self.accept(object),
                Ok(None) => {}
                Err(StatusError(error)) if error.is_conflict() && tries_left > 0 => {
                    if self.refresh().await? {
                        continue;
                    }
                }
                Err(StatusError(error)) => return Err(error),
            }
            break;
        }
        Ok(())
    }

    /// Changes which finalizers it carries, if nobody has changed it meanwhile. One that is gone has none.
    pub(super) async fn write_finalizers(&mut self, wanted: &Finalizers<'_>) -> Result<(), RequestError> {
        let metadata = &self.object.metadata;
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| !wanted.removed.contains(name) && !wanted.added.contains(name));
        finalizers.extend(wanted.added.iter().cloned());
        let is_new = !wanted.added.is_empty() && !wanted.selector.is_empty();
        let annotations = is_new.then(|| json!({ SELECTOR_ANNOTATION: wanted.selector }));
        match patch_finalizers(&self.api, metadata, &finalizers, annotations).await {
            Ok(object) => self.accept(object),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What is secret in a resource by the keys of its spec; of a Secret all values are.
fn secrets_in(object: &DynamicObject, owner: &PrimaryResource) -> Redactor {
    let field = |name: &str| object.data.get(name);
    let mut secrets = Redactor::new([], field("spec").unwrap_or(&Value::Null));
    if owner.kind == "Secret" {
        secrets.add_object(&json!({
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "data": field("data"),
        }));
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(api_version: &str, kind: &str, data: &Value, text: &str) -> String {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "uid": "u"}});
        let mut object: DynamicObject = serde_json::from_value(object).unwrap();
        object.data = data.clone();
        let owner = PrimaryResource {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: "a".to_owned(),
            uid: "u".to_owned(),
        };
        secrets_in(&object, &owner).mask(text)
    }

    #[test]
    fn what_a_spec_says_under_keys_of_secrets_is_secret() {
        let spec = json!({
            "password": "canary-a",
            "db": {"apiKey": "canary-b", "user_password": "canary-c", "user": "crimson"},
            "conns": [{"clientSecret": "canary-d", "existingSecret": "named", "token": 12_345_678}],
            "pwd": "abc",
            "message": "hello",
        });
        let text = "canary-a canary-b canary-c canary-d 12345678 abc crimson hello named";
        assert_eq!(
            mask("example.com/v1", "Web", &json!({ "spec": spec }), text),
            "******** ******** ******** ******** ******** abc crimson hello named"
        );
        assert_eq!(mask("v1", "Pod", &json!({}), text), text);
    }

    #[test]
    fn of_a_secret_all_values_are_secret() {
        let data = json!({"data": {"user": "Y2FuYXJ5LWE="}});
        assert_eq!(
            mask("v1", "Secret", &data, "canary-a Y2FuYXJ5LWE="),
            "******** ********"
        );
        assert_eq!(mask("v1", "ConfigMap", &data, "canary-a"), "canary-a");
    }
}
