//! One resource while it is reconciled: what it is about, and what is written into it.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use steersman_cluster::{PrimaryResource, RequestError};
use steersman_watches::controls::Controls;

use super::report::{RunReport, next_status};
use crate::reconcile::{SELECTOR_ANNOTATION, patch_finalizers};
use crate::status::{LearningRedactor, StatusError, reference, write_status};

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
        Some(Self {
            object,
            owner,
            controls,
            redactor: Arc::default(),
            api,
        })
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
        self.object = object;
    }

    pub(super) fn status(&self) -> Value {
        self.object.data.get("status").cloned().unwrap_or_default()
    }

    /// Whether it carries this finalizer.
    pub(super) fn holds(&self, finalizer: &str) -> bool {
        let mut held = self.object.metadata.finalizers.iter().flatten();
        held.any(|held| held == finalizer)
    }

    /// Whether its status says that a run is under way.
    pub(super) fn is_said_to_run(&self) -> bool {
        let conditions = self.object.data.pointer("/status/conditions");
        let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        conditions.any(|condition| condition["type"] == "Reconciling" && condition["status"] == "True")
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
