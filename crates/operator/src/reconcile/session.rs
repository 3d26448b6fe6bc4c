//! One reconcile of one custom resource.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_chart::Values;

use super::error::ReconcileError;
use super::{FINALIZER, SELECTOR_ANNOTATION, Settings, Shared, is_held, is_ours};
use crate::release::History;
use crate::status::Redactor;
use steersman_cluster::discovery::Resource;
use steersman_cluster::lookup::Answer;
use steersman_cluster::{Owner, RequestError};
use steersman_model::FIELD_MANAGER;
use steersman_model::{Inputs, ReleaseName};
use steersman_watches::controls::{Controls, DeletionPolicy};

/// The garbage collector's, while it takes owner references away.
const ORPHAN_FINALIZER: &str = "orphan";

/// What one reconcile works on.
pub(super) struct Session {
    pub(super) object: DynamicObject,
    pub(super) api: Api<DynamicObject>,
    pub(super) owner: Owner,
    pub(super) release: ReleaseName,
    pub(super) history: History,
    /// What its annotations ask for.
    pub(super) controls: Controls,
    /// The user's values, once they are made.
    pub(super) values: Values,
    /// What the release would be rendered from, once the values are made.
    pub(super) inputs: Option<Inputs>,
    /// Whether no revision was ever deployed.
    pub(super) first: bool,
    /// The selector under which the resource is held; empty where the watch has none.
    selector: String,
    /// Under which selectors it may have been held by this operator before.
    former_selectors: BTreeSet<String>,
    /// What was done about a revision that failed in this reconcile.
    pub(super) remedy: Option<Remedy>,
    /// Masks what must not be shown.
    pub(super) redactor: Redactor,
    /// What the last rendering has looked up.
    pub(super) lookups: Mutex<Vec<Answer>>,
    /// How many objects were put back.
    pub(super) corrected: usize,
    /// Whether its revisions were read in this reconcile.
    pub(super) read_anew: bool,
    /// The generation that this reconcile is about.
    pub(super) generation: Option<i64>,
    /// What the answers to our writes have told of the resource.
    told: Told,
}

/// What answers tell of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// Nothing was written.
    Nothing,
    /// It is as it was, but for what was written.
    OurWrite,
    /// Others have changed it meanwhile, which this reconcile does not know of.
    Change,
}

/// What was done about a failed revision.
pub(super) struct Remedy {
    /// For people.
    pub(super) text: String,
    /// Whether nothing of the revision is in effect any longer.
    pub(super) done: bool,
}

impl Session {
    /// Takes in a custom resource.
    ///
    /// # Errors
    /// Its name can't be a release's.
    #[expect(
        clippy::result_large_err,
        reason = "the object is handed back, and made once per reconcile"
    )]
    pub(super) fn new(
        shared: &Shared,
        settings: &Settings,
        resource: &Resource,
        object: DynamicObject,
    ) -> Result<Self, (DynamicObject, ReconcileError)> {
        let metadata = &object.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let release = match ReleaseName::new(name.clone()) {
            Ok(release) => release,
            Err(error) => return Err((object, error.into())),
        };
        let release_namespace = metadata
            .namespace
            .clone()
            .unwrap_or_else(|| settings.cluster_release_namespace.clone());
        let owner = Owner {
            api_version: resource.api.api_version.clone(),
            kind: resource.api.kind.clone(),
            namespace: metadata.namespace.clone(),
            name,
            uid: metadata.uid.clone().unwrap_or_default(),
            chart: settings.chart.name().to_owned(),
            release: release.to_string(),
            release_namespace: release_namespace.clone(),
        };
        let reference = OwnerReference {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        let api = match &metadata.namespace {
            Some(namespace) => Api::namespaced_with(shared.client.clone(), namespace, &resource.api),
            None => Api::all_with(shared.client.clone(), &resource.api),
        };
        let (controls, complaints) = Controls::read(metadata.annotations.as_ref());
        for complaint in complaints {
            tracing::warn!(namespace = metadata.namespace, name = owner.name, "{complaint}");
        }
        let spec = object.data.get("spec").cloned().unwrap_or(Value::Null);
        Ok(Self {
            history: History::new(
                shared.client.clone(),
                release.clone(),
                &release_namespace,
                reference,
            ),
            redactor: Redactor::new([], &spec),
            controls,
            selector: settings.selector.to_string(),
            former_selectors: settings.former_selectors.clone(),
            generation: object.metadata.generation,
            told: Told::Nothing,
            object,
            api,
            owner,
            release,
            values: Values::new(),
            inputs: None,
            first: true,
            remedy: None,
            lookups: Mutex::default(),
            corrected: 0,
            read_anew: false,
        })
    }

    /// What the last rendering has looked up, whatever came of it.
    pub(super) fn looked_up(&self) -> Vec<Answer> {
        let lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        lookups.clone()
    }

    /// Whether the resource is being deleted.
    pub(super) fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether the resource carries our finalizer, and says under which selector. Without a selector
    /// it is no matter what it says: nobody is to be told from others.
    pub(super) fn guarded(&self) -> bool {
        self.held() && (self.selector.is_empty() || self.held_under() == self.selector)
    }

    /// Whether it is this operator that holds the resource, under whatever selector.
    pub(super) fn held_by_us(&self) -> bool {
        self.guarded() || (self.held() && self.former_selectors.contains(self.held_under()))
    }

    /// Whether the resource carries our finalizer, by any of its names.
    pub(super) fn held(&self) -> bool {
        is_held(&self.object.metadata)
    }

    /// The selector under which the resource says that it is held; empty where it says none.
    pub(super) fn held_under(&self) -> &str {
        let annotations = self.object.metadata.annotations.as_ref();
        let selector = annotations.and_then(|all| all.get(SELECTOR_ANNOTATION));
        selector.map(String::as_str).unwrap_or_default()
    }

    /// What its deletion does to its objects: an annotation says so, or `kubectl delete
    /// --cascade=orphan`.
    pub(super) fn deletion_policy(&self) -> DeletionPolicy {
        let finalizers = self.object.metadata.finalizers.iter().flatten();
        if finalizers.into_iter().any(|name| name == ORPHAN_FINALIZER) {
            return DeletionPolicy::Orphan;
        }
        self.controls.deletion
    }

    /// Whether nothing says that anybody has dealt with the resource before.
    pub(super) fn is_new(&self) -> bool {
        let status = self.object.data.get("status");
        !self.held() && status.and_then(|status| status.get("deployedRelease")).is_none()
    }

    /// Whether the resource is no longer what this reconcile was about; `last` is the answer to its last write.
    pub(super) fn is_outdated(&self, last: Option<&DynamicObject>) -> bool {
        let is_same = |last: &&DynamicObject| last.metadata.uid == self.object.metadata.uid;
        self.told == Told::Change
            || last
                .filter(is_same)
                .is_some_and(|last| changed_by_others(&self.object, last))
    }

    /// The resource, if it was written in this reconcile.
    pub(super) fn written(self) -> Option<DynamicObject> {
        (self.told != Told::Nothing).then_some(self.object)
    }

    /// Puts the finalizer on the resource, and the selector under which it is held.
    pub(super) async fn guard(&mut self) -> Result<(), ReconcileError> {
        tracing::debug!(namespace = self.namespace(), name = %self.owner.name, "Adding finalizer");
        let held = |session: &Self| {
            let mut finalizers = session.finalizers();
            if !session.held() {
                finalizers.push(FINALIZER.to_owned());
            }
            let selector = if session.selector.is_empty() {
                session.held_under()
            } else {
                &session.selector
            };
            let selector = Some(selector.to_owned()).filter(|selector| !selector.is_empty());
            Some((finalizers, selector))
        };
        self.edit_hold(held)
            .await
            .map_err(|source| ReconcileError::Finalizer {
                attempt: "add",
                source,
            })
    }

    /// Takes the finalizer off the resource, which lets it go.
    pub(super) async fn release_hold(&mut self) -> Result<(), ReconcileError> {
        self.log("Removing finalizer");
        self.edit_hold(|session| Some((session.other_finalizers(), None)))
            .await
            .or_else(removed)
    }

    /// Takes the finalizer off the resource if it is still held by this operator.
    pub(super) async fn leave(&mut self) -> Result<(), ReconcileError> {
        self.log("Removing finalizer");
        let ours = |session: &Self| session.held_by_us().then(|| (session.other_finalizers(), None));
        self.edit_hold(ours).await.or_else(removed)
    }

    /// Reads the resource again. `false` when it is gone, or another one has its name.
    pub(super) async fn reload(&mut self) -> Result<bool, ReconcileError> {
        let found = self.api.get_opt(&self.owner.name).await;
        let found = found.map_err(|error| ReconcileError::Finalizer {
            attempt: "look for",
            source: error.into(),
        })?;
        match found {
            Some(object) if object.metadata.uid == self.object.metadata.uid => {
                self.generation = object.metadata.generation;
                self.take(object);
                self.told = Told::Nothing;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn finalizers(&self) -> Vec<String> {
        self.object.metadata.finalizers.clone().unwrap_or_default()
    }

    fn other_finalizers(&self) -> Vec<String> {
        let mut finalizers = self.finalizers();
        finalizers.retain(|name| !is_ours(name));
        finalizers
    }

    /// Writes the finalizers and the selector that `wanted` gives; nothing where it gives nothing.
    ///
    /// Others write finalizers too, so the list is written only over the one that was read. When
    /// that is out of date it is read again.
    async fn edit_hold(
        &mut self,
        wanted: impl Fn(&Self) -> Option<(Vec<String>, Option<String>)>,
    ) -> Result<(), RequestError> {
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let mut attempts = 0;
        loop {
            let Some((finalizers, selector)) = wanted(self) else {
                return Ok(());
            };
            let metadata = &self.object.metadata;
            let mut patch = json!({ "metadata": {
                "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers,
            }});
            if self.held_under() != selector.as_deref().unwrap_or_default() {
                patch["metadata"]["annotations"] = json!({ SELECTOR_ANNOTATION: selector });
            }
            let answer = self
                .api
                .patch(&self.owner.name, &parameters, &Patch::Merge(patch))
                .await;
            match answer.map_err(RequestError::from) {
                Ok(object) if object.metadata.uid == self.object.metadata.uid => {
                    self.take(object);
                    return Ok(());
                }
                Ok(_) => return Err(RequestError::local("the server's answer is not the resource")),
                Err(error) if error.is_conflict() && attempts < 3 => {
                    attempts += 1;
                    let object = self.api.get(&self.owner.name).await?;
                    if object.metadata.uid != self.object.metadata.uid {
                        return Err(error);
                    }
                    self.take(object);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, object: DynamicObject) {
        let told = if changed_by_others(&self.object, &object) {
            Told::Change
        } else {
            Told::OurWrite
        };
        self.told = self.told.max(told);
        self.object = object;
        self.object.metadata.managed_fields = None;
    }

    /// For events.
    pub(super) fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.owner.api_version.clone()),
            kind: Some(self.owner.kind.clone()),
            name: Some(self.owner.name.clone()),
            namespace: self.owner.namespace.clone(),
            uid: Some(self.owner.uid.clone()),
            ..ObjectReference::default()
        }
    }

    /// Logs one of helm-operator's messages with its fields.
    pub(super) fn log(&self, message: &'static str) {
        tracing::info!(
            namespace = self.namespace(),
            name = %self.owner.name,
            apiVersion = %self.owner.api_version,
            kind = %self.owner.kind,
            release = %self.release,
            "{message}"
        );
    }

    /// The same for what is of interest to few.
    pub(super) fn log_debug(&self, message: &'static str) {
        tracing::debug!(
            namespace = self.namespace(),
            name = %self.owner.name,
            apiVersion = %self.owner.api_version,
            kind = %self.owner.kind,
            release = %self.release,
            "{message}"
        );
    }

    /// The same for errors.
    pub(super) fn log_error(&self, message: &'static str, error: &str) {
        tracing::error!(
            namespace = self.namespace(),
            name = %self.owner.name,
            apiVersion = %self.owner.api_version,
            kind = %self.owner.kind,
            release = %self.release,
            error,
            "{message}"
        );
    }

    fn namespace(&self) -> &str {
        self.owner.namespace.as_deref().unwrap_or_default()
    }
}

/// Whether something is different that leads to another reconcile and that we do not write ourselves. The generation is
/// not compared: where a definition has no status of its own, our reports count in it.
fn changed_by_others(before: &DynamicObject, now: &DynamicObject) -> bool {
    let (old, new) = (&before.metadata, &now.metadata);
    let finalizers = |metadata: &ObjectMeta| -> Vec<String> {
        let all = metadata.finalizers.iter().flatten();
        all.filter(|name| !is_ours(name)).cloned().collect()
    };
    let annotations = |metadata: &ObjectMeta| {
        let mut all = metadata.annotations.clone().unwrap_or_default();
        all.remove(SELECTOR_ANNOTATION);
        all
    };
    old.deletion_timestamp != new.deletion_timestamp
        || old.labels.as_ref().filter(|all| !all.is_empty())
            != new.labels.as_ref().filter(|all| !all.is_empty())
        || annotations(old) != annotations(new)
        || finalizers(old) != finalizers(new)
        || before.data.get("spec") != now.data.get("spec")
}

/// A finalizer of a resource that is gone is gone.
fn removed(source: RequestError) -> Result<(), ReconcileError> {
    if source.is_not_found() {
        return Ok(());
    }
    Err(ReconcileError::Finalizer {
        attempt: "remove",
        source,
    })
}
