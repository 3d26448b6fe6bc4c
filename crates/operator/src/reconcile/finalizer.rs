//! Our finalizer on a custom resource: added before the first object is written, removed when the last one is gone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;

use super::error::ReconcileError;
use super::session::{Freshness, Session, Written, changed_by_others, finalizer_selector};
use super::{FINALIZER, SELECTOR_ANNOTATION, has_finalizer, is_finalizer};

/// So often is a resource read again that others write at the same moment.
const ATTEMPTS: usize = 3;

/// What the resource is to carry: its finalizers, and the selector of the watch that has added ours.
type Wanted = Option<(Vec<String>, Option<String>)>;

impl Session {
    /// Puts the finalizer on the resource, and the selector of the watch.
    pub(super) async fn add_finalizer(&self) -> Result<Written, ReconcileError> {
        tracing::debug!(namespace = self.namespace(), name = %self.owner.name, "Adding finalizer");
        let added = |object: &DynamicObject| {
            let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
            if !has_finalizer(&object.metadata) {
                finalizers.push(FINALIZER.to_owned());
            }
            let selector = if self.selector.is_empty() {
                finalizer_selector(object)
            } else {
                &self.selector
            };
            let selector = Some(selector.to_owned()).filter(|selector| !selector.is_empty());
            Some((finalizers, selector))
        };
        self.write_finalizers(added)
            .await
            .map_err(|source| ReconcileError::Finalizer {
                attempt: "add",
                source,
            })
    }

    /// Takes the finalizer off the resource. `None` when the resource is gone.
    pub(super) async fn remove_finalizer(&self) -> Result<Option<Written>, ReconcileError> {
        self.log("Removing finalizer");
        removed(self.write_finalizers(|object| Some((others(object), None))).await)
    }

    /// Takes the finalizer off the resource if it is still this operator's.
    pub(super) async fn remove_finalizer_of_operator(&self) -> Result<Option<Written>, ReconcileError> {
        self.log("Removing finalizer");
        let ours = |object: &DynamicObject| {
            let is_ours =
                has_finalizer(&object.metadata) && self.is_selector_of_operator(finalizer_selector(object));
            is_ours.then(|| (others(object), None))
        };
        removed(self.write_finalizers(ours).await)
    }

    /// The resource as it is now. `None` when it is gone, or another one has its name.
    pub(super) async fn read_again(&self) -> Result<Option<Written>, ReconcileError> {
        let found = self.api.get_opt(&self.owner.name).await;
        let found = found.map_err(|error| ReconcileError::Finalizer {
            attempt: "look for",
            source: error.into(),
        })?;
        let same = found.filter(|object| object.metadata.uid == self.object().metadata.uid);
        Ok(same.map(|object| Written {
            generation: object.metadata.generation,
            freshness: self.freshness,
            object,
        }))
    }

    /// Writes the finalizers and the selector that `wanted` gives; nothing where it gives nothing.
    ///
    /// Others write finalizers too, so the list is written only over the one that was read. When
    /// that is out of date it is read again.
    async fn write_finalizers(
        &self,
        wanted: impl Fn(&DynamicObject) -> Wanted,
    ) -> Result<Written, RequestError> {
        let mut known = self.object().clone();
        let mut freshness = self.freshness;
        let mut attempts = 0;
        loop {
            let Some((finalizers, selector)) = wanted(&known) else {
                return Ok(self.written(known, freshness));
            };
            let is_other = finalizer_selector(&known) != selector.as_deref().unwrap_or_default();
            let annotations = is_other.then(|| json!({ SELECTOR_ANNOTATION: selector }));
            let answer = patch_finalizers(&self.api, &known.metadata, &finalizers, annotations).await;
            let (object, is_written) = match answer {
                Ok(object) if object.metadata.uid == known.metadata.uid => (object, true),
                Ok(_) => return Err(RequestError::local("the server's answer is not the resource")),
                Err(error) if error.is_conflict() && attempts < ATTEMPTS => {
                    attempts += 1;
                    let object = self.api.get(&self.owner.name).await?;
                    if object.metadata.uid != known.metadata.uid {
                        return Err(error);
                    }
                    (object, false)
                }
                Err(error) => return Err(error),
            };
            let now = if changed_by_others(&known, &object) {
                Freshness::ChangedByOthers
            } else {
                Freshness::OurWrite
            };
            freshness = freshness.max(now);
            known = object;
            if is_written {
                return Ok(self.written(known, freshness));
            }
        }
    }

    fn written(&self, object: DynamicObject, freshness: Freshness) -> Written {
        Written {
            object,
            freshness,
            generation: self.generation,
        }
    }
}

/// Writes the finalizers of a resource, and these annotations with them, unless others have changed it since it was read.
pub(crate) async fn patch_finalizers(
    api: &Api<DynamicObject>,
    read: &ObjectMeta,
    finalizers: &[String],
    annotations: Option<Value>,
) -> Result<DynamicObject, RequestError> {
    let mut patch = json!({ "metadata": {
        "uid": read.uid, "resourceVersion": read.resource_version, "finalizers": finalizers,
    }});
    if let Some(annotations) = annotations {
        patch["metadata"]["annotations"] = annotations;
    }
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let name = read.name.as_deref().unwrap_or_default();
    Ok(api.patch(name, &parameters, &Patch::Merge(patch)).await?)
}

/// All but ours, which stay when ours is removed.
fn others(object: &DynamicObject) -> Vec<String> {
    let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| !is_finalizer(name));
    finalizers
}

/// A finalizer of a resource that is gone is gone.
fn removed(written: Result<Written, RequestError>) -> Result<Option<Written>, ReconcileError> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(source) if source.is_not_found() => Ok(None),
        Err(source) => Err(ReconcileError::Finalizer {
            attempt: "remove",
            source,
        }),
    }
}
