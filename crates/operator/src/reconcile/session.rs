//! One reconcile of one custom resource: what it is about, as all actions get it.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_chart::Values;
use steersman_cluster::Owner;
use steersman_cluster::client::weight_of_cut;
use steersman_cluster::discovery::Resource;
use steersman_model::{Digest, Inputs, ReleaseName, Revision};
use steersman_watches::controls::{Controls, DeletionPolicy, test_request};

use super::error::ReconcileError;
use super::progress::ReconcileProgress;
use super::unfinished::{Unfinished, UnfinishedRevision, spec_of};
use super::{ReconcileSettings, SELECTOR_ANNOTATION, Shared, has_finalizer, is_finalizer};
use crate::budget::Share;
use crate::coordination::{HeldValues, Key};
use crate::release::{History, RecordOwner, Stored, StoredSource};
use crate::status::{LearningRedactor, Redactor, reference};

/// The finalizer of a deletion with `--cascade=orphan`: the garbage collector removes it with the owner references.
pub(crate) const ORPHAN_FINALIZER: &str = "orphan";

/// Numbers of revisions that the status tells of count up to this: whoever writes it leaves others for what follows.
const MOST_TOLD: u32 = u32::MAX / 2;

/// Logs a message with the fields that helm-operator has, and some more.
macro_rules! log {
    ($session:ident, $level:ident, $message:ident $(, $more:ident)*) => {
        tracing::$level!(
            namespace = $session.namespace(),
            name = %$session.owner.name,
            apiVersion = %$session.owner.api_version,
            kind = %$session.owner.kind,
            release = %$session.release,
            $($more,)*
            "{}",
            $message
        )
    };
}

/// What one reconcile works on: the resource and what follows from it alone.
///
/// Actions get it immutable. Only a write of the finalizers, or another read, puts another state of the resource in
/// ([`Session::accept`]).
pub(super) struct Session {
    object: DynamicObject,
    pub(super) api: Api<DynamicObject>,
    pub(super) owner: Owner,
    pub(super) release: ReleaseName,
    pub(super) history: History,
    /// What its annotations ask for.
    pub(super) controls: Controls,
    /// The selector of the watch; empty where it has none.
    pub(super) selector: String,
    /// Under which selectors this operator may have added its finalizer before.
    former_selectors: BTreeSet<String>,
    /// Of the memory: what it reads and renders has room there.
    pub(super) share: Arc<Share>,
    /// Masks what must not be shown.
    pub(super) redactor: Arc<LearningRedactor>,
    /// What was done and learnt so far.
    pub(super) progress: ReconcileProgress,
    /// The generation that this reconcile is about.
    pub(super) generation: Option<i64>,
    /// The generation that it was about before it went on with an earlier revision.
    own_generation: Option<i64>,
    pub(super) freshness: Freshness,
}

/// What the answers to our writes say of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Freshness {
    /// Nothing was written: the resource is as the reconcile got it.
    Unwritten,
    /// It is as it was, but for what was written.
    OurWrite,
    /// Others have changed it meanwhile, which this reconcile does not know of.
    ChangedByOthers,
}

/// The resource as the cluster has it after a write of its finalizers, or after it was read again.
pub(super) struct Written {
    pub(super) object: DynamicObject,
    pub(super) freshness: Freshness,
    pub(super) generation: Option<i64>,
}

/// What a release is made of now, as far as the resource, its watch and the revisions say it.
#[derive(Clone, Debug)]
pub(super) struct PreparedRelease {
    /// The user's values: the resource's spec under the watch's overrides, over what other objects have.
    pub(super) values: Values,
    /// The same without what other objects have, which is what a revision has stored.
    pub(super) own_values: Values,
    /// What procedures make of all of them.
    pub(super) held: HeldValues,
    /// Whether `values` have what other objects have. Nothing is rendered without.
    pub(super) is_whole: bool,
    /// What a revision says of other objects that have values.
    pub(super) sources: Vec<StoredSource>,
    /// What the release would be rendered from, as digests.
    pub(super) inputs: Inputs,
    /// The same without other objects.
    pub(super) own_inputs: Inputs,
    /// Whether no revision was ever deployed.
    pub(super) first: bool,
    /// The revision that the values are reused from, if nobody vouches for it.
    pub(super) unproven: Option<Revision>,
}

/// What a reconcile was about before it went on with a revision.
pub(super) struct Earlier {
    pub(super) is_of_other_spec: bool,
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
        settings: &ReconcileSettings,
        resource: &Resource,
        mut object: DynamicObject,
        share: Arc<Share>,
    ) -> Result<Self, (DynamicObject, ReconcileError)> {
        forget_cut_status(&mut object);
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
        let api = resource.objects(&shared.client, metadata.namespace.as_deref());
        shared.signer.warn_of_releases_in(&release_namespace);
        let redactor = Arc::new(LearningRedactor::default());
        learn_spec(&redactor, &object);
        Ok(Self {
            history: History::new(
                shared.client.clone(),
                release.clone(),
                &release_namespace,
                reference,
                Arc::clone(&shared.signer),
            )
            .with_index(Arc::clone(&shared.release_index))
            .within(Arc::clone(&share)),
            share,
            redactor,
            progress: ReconcileProgress::default(),
            controls: controls(&object),
            selector: settings.selector.to_string(),
            former_selectors: settings.former_selectors.clone(),
            generation: object.metadata.generation,
            own_generation: None,
            freshness: Freshness::Unwritten,
            object,
            api,
            owner,
            release,
        })
    }

    /// The resource, as far as this reconcile knows it.
    pub(super) fn object(&self) -> &DynamicObject {
        &self.object
    }

    /// The resource is from now on as a write, or another read, has left it. Gives whether others have changed it: what
    /// was made of it before is out of date then.
    pub(super) fn accept(&mut self, written: Written) -> bool {
        let is_changed = changed_by_others(&self.object, &written.object);
        self.object = written.object;
        self.object.metadata.managed_fields = None;
        forget_cut_status(&mut self.object);
        self.freshness = written.freshness;
        self.generation = written.generation;
        if is_changed {
            self.controls = controls(&self.object);
            learn_spec(&self.redactor, &self.object);
        }
        is_changed
    }

    /// Reports are from now on about the revision that is gone on with, and follow on what is said of it.
    pub(super) fn go_on_with(&mut self, unfinished: &Unfinished, revision: &UnfinishedRevision) -> Earlier {
        if let Some(said) = unfinished.said.clone() {
            self.progress.note_said(said);
        }
        let is_of_other_spec = revision.spec != spec_of(self);
        if is_of_other_spec {
            self.own_generation = self.own_generation.or(self.generation);
            self.generation = revision.generation;
        }
        Earlier { is_of_other_spec }
    }

    /// Reports are from now on about what the status is about: a test of the deployed revision says nothing of another spec.
    pub(super) fn go_on_as_observed(&mut self) -> Earlier {
        self.own_generation = self.own_generation.or(self.generation);
        self.generation = self.observed_generation().or(self.generation);
        Earlier {
            is_of_other_spec: self.generation != self.own_generation,
        }
    }

    /// Reports are about the resource as it is again.
    pub(super) fn go_on_with_own(&mut self) {
        self.generation = self.own_generation.take().or(self.generation);
    }

    /// The request for tests that the resource has, if there is one.
    pub(super) fn test_request(&self) -> Option<&str> {
        test_request(self.object.metadata.annotations.as_ref())
    }

    /// Whether the resource is being deleted.
    pub(super) fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether the resource carries our finalizer, by any of its names.
    pub(super) fn has_finalizer(&self) -> bool {
        has_finalizer(&self.object.metadata)
    }

    /// Whether the resource carries our finalizer, and says that it is this watch's. Without a selector it does
    /// not matter what it says, as the watch selects every resource.
    pub(super) fn has_finalizer_of_watch(&self) -> bool {
        self.has_finalizer() && (self.selector.is_empty() || self.finalizer_selector() == self.selector)
    }

    /// Whether the finalizer is this operator's, under whatever selector it was added.
    pub(super) fn has_finalizer_of_operator(&self) -> bool {
        self.has_finalizer() && self.is_selector_of_operator(self.finalizer_selector())
    }

    /// Whether this operator adds finalizers under this selector, or has done so before.
    pub(super) fn is_selector_of_operator(&self, selector: &str) -> bool {
        self.selector.is_empty() || selector == self.selector || self.former_selectors.contains(selector)
    }

    /// The selector of the watch that has added the finalizer, as the resource says it; empty where it says none.
    pub(super) fn finalizer_selector(&self) -> &str {
        finalizer_selector(&self.object)
    }

    /// What its deletion does to its objects, as it says itself: by an annotation, or by `kubectl delete --cascade=orphan`.
    pub(super) fn deletion_policy(&self) -> DeletionPolicy {
        let mut finalizers = self.object.metadata.finalizers.iter().flatten();
        if finalizers.any(|name| name == ORPHAN_FINALIZER) {
            return DeletionPolicy::Orphan;
        }
        self.controls.deletion
    }

    /// Whether a revision that was written for this very resource has lost it as its owner.
    pub(super) fn is_disowned(&self, stored: &Stored) -> bool {
        let identity = identity(&self.owner);
        let inputs = stored.snapshot.inputs;
        stored.owner != RecordOwner::Resource && inputs.is_some_and(|inputs| inputs.identity == identity)
    }

    /// Whether the resource has neither our finalizer nor a deployed release in its status.
    pub(super) fn is_new(&self) -> bool {
        !self.has_finalizer() && !self.shows_deployment()
    }

    /// Whether the resource of a release without revisions has them in another namespace, which its watch has named before.
    ///
    /// # Errors
    /// It has, or they can't be read.
    pub(super) async fn check_namespace(&self) -> Result<(), ReconcileError> {
        if self.object.metadata.namespace.is_some() || self.is_new() {
            return Ok(());
        }
        match self.history.former_namespace().await? {
            Some(former) => Err(ReconcileError::Moved {
                release: self.release.to_string(),
                former,
                namespace: self.owner.release_namespace.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Whether the resource's status says that a release was deployed.
    pub(super) fn shows_deployment(&self) -> bool {
        let status = self.object.data.get("status");
        status.is_some_and(|status| status.get("deployedRelease").is_some())
    }

    /// The generation that the resource's status is about.
    pub(super) fn observed_generation(&self) -> Option<i64> {
        self.object.data.pointer("/status/observedGeneration")?.as_i64()
    }

    /// The revision that the resource's status shows as deployed.
    pub(super) fn shown_revision(&self) -> Option<Revision> {
        let shown = self.object.data.pointer("/status/revision")?.as_u64()?;
        u32::try_from(shown).ok().map(Revision)
    }

    /// The number of the revision that follows `last`. Where somebody has deleted records, no number is used again that the
    /// status tells of stages with: what was said of a stage of that revision is not said of another one.
    pub(super) fn next_revision(&self, last: Option<Revision>) -> Revision {
        let next = last.map_or(Revision::FIRST, Revision::next);
        let told = self
            .object
            .data
            .pointer("/status/stages")
            .and_then(Value::as_array);
        let told = told
            .into_iter()
            .flatten()
            .filter_map(|stage| stage.get("revision")?.as_u64());
        let told = told.filter_map(|number| u32::try_from(number).ok().filter(|number| *number <= MOST_TOLD));
        next.max(
            told.max()
                .map_or(Revision::FIRST, |number| Revision(number).next()),
        )
    }

    /// Whether the resource is known from a watch alone, and not new: it may have gone meanwhile.
    pub(super) fn may_be_gone(&self) -> bool {
        self.freshness == Freshness::Unwritten && !self.is_new()
    }

    /// Whether the resource is no longer what this reconcile was about; `last` is the answer to its last write.
    pub(super) fn is_outdated(&self, last: Option<&DynamicObject>) -> bool {
        let is_same = |last: &&DynamicObject| last.metadata.uid == self.object.metadata.uid;
        self.freshness == Freshness::ChangedByOthers
            || last
                .filter(is_same)
                .is_some_and(|last| changed_by_others(&self.object, last))
    }

    /// The resource, if it was written in this reconcile.
    pub(super) fn into_written(self) -> Option<DynamicObject> {
        (self.freshness != Freshness::Unwritten).then_some(self.object)
    }

    /// What events of the resource refer to.
    pub(super) fn reference(&self) -> ObjectReference {
        reference((&self.owner.api_version, &self.owner.kind), &self.object.metadata)
    }

    /// Logs one of helm-operator's messages with its fields.
    pub(super) fn log(&self, message: &'static str) {
        log!(self, info, message);
    }

    /// As [`Session::log`], at the level `debug`.
    pub(super) fn log_debug(&self, message: &'static str) {
        log!(self, debug, message);
    }

    /// As [`Session::log`], at the level `error`; the caller has masked what is secret in `error`.
    pub(super) fn log_error(&self, message: &'static str, error: &str) {
        log!(self, error, message, error);
    }

    /// By which procedures know the resource.
    pub(super) fn key(&self) -> Key {
        (self.owner.namespace.clone(), self.owner.name.clone())
    }

    pub(super) fn namespace(&self) -> &str {
        self.owner.namespace.as_deref().unwrap_or_default()
    }
}

/// What the annotations ask for; what can't be read in them is said in the log.
fn controls(object: &DynamicObject) -> Controls {
    let metadata = &object.metadata;
    let (controls, complaints) = Controls::read(metadata.annotations.as_ref());
    for complaint in complaints {
        tracing::warn!(
            namespace = metadata.namespace,
            name = metadata.name,
            "{complaint}"
        );
    }
    controls
}

/// What is left of the status of a resource that was cut is none: it is written anew.
fn forget_cut_status(object: &mut DynamicObject) {
    if weight_of_cut(&object.data).is_some()
        && let Some(fields) = object.data.as_object_mut()
    {
        fields.remove("status");
    }
}

fn learn_spec(redactor: &LearningRedactor, object: &DynamicObject) {
    if let Some(spec) = object.data.get("spec") {
        redactor.learn(Redactor::new([], spec));
    }
}

/// Which resource's release it is, as revisions say it of themselves.
pub(super) fn identity(owner: &Owner) -> Digest {
    let identity = [&owner.release, &owner.release_namespace, &owner.uid].map(String::as_str);
    Digest::of(identity.join("/").as_bytes())
}

/// The selector of the watch that has added the finalizer; empty where the resource names none.
pub(super) fn finalizer_selector(object: &DynamicObject) -> &str {
    let annotations = object.metadata.annotations.as_ref();
    let selector = annotations.and_then(|all| all.get(SELECTOR_ANNOTATION));
    selector.map(String::as_str).unwrap_or_default()
}

/// Whether something is different that leads to another reconcile and that we do not write ourselves. The generation is
/// not compared: where a definition has no status of its own, our reports count in it.
pub(super) fn changed_by_others(before: &DynamicObject, now: &DynamicObject) -> bool {
    let (old, new) = (&before.metadata, &now.metadata);
    let finalizers = |metadata: &ObjectMeta| -> Vec<String> {
        let all = metadata.finalizers.iter().flatten();
        all.filter(|name| !is_finalizer(name)).cloned().collect()
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
