//! Applying the objects of a release, in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;

use super::conflicts::in_words;
use crate::apply::address::{Addressed, address, identify, missing_kind, unknown_kind};
use crate::apply::error::ApplyError;
use crate::apply::ownership::takeover::take_over_fields;
use crate::apply::repair::heal::{HealError, heal};
use crate::apply::repair::mend::mend;
use crate::apply::repair::recreate::Recreation;
use crate::dependents::Dependents;
use crate::telemetry::step;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::{Discovery, DiscoveryError, Resource, Served};
use steersman_cluster::{Owner, Ownership};
use steersman_model::FIELD_MANAGER;
use steersman_model::{Applied, Change, ChangeSet};
use steersman_model::{ObjectId, RenderedObject};
use steersman_model::{is_definition, kinds_defined_by};
use steersman_watches::ConflictPolicy;

/// Objects of one kind are applied this many at a time.
const PARALLEL: usize = 4;

/// Writes objects for releases. One serves all of them.
#[derive(Clone)]
pub struct Applier {
    pub(super) client: Client,
    pub(super) discovery: Arc<Discovery>,
    pub(super) dependents: Arc<Dependents>,
}

impl std::fmt::Debug for Applier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applier").finish_non_exhaustive()
    }
}

/// What an application does besides applying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions<'a> {
    /// Objects that carry our mark may have been written by managers of these names since: each
    /// object is read, and what they manage in it becomes ours.
    pub former_managers: &'a [String],
    /// What can't be changed in place is deleted and created again.
    pub recreate: bool,
    /// What is done about fields that others manage.
    pub conflicts: ConflictPolicy,
}

impl Applier {
    /// An applier that learns about live objects from `dependents`.
    pub fn new(client: Client, discovery: Arc<Discovery>, dependents: Arc<Dependents>) -> Self {
        Self {
            client,
            discovery,
            dependents,
        }
    }

    /// Applies `objects` in their order for `owner`.
    ///
    /// Kinds that definitions among `objects` bring are waited for before their objects follow.
    ///
    /// # Guarantees
    /// Nothing is written when a kind is unknown or an object is there twice. Objects of a later
    /// kind are untouched when one of an earlier kind failed. Applying the same again converges.
    ///
    /// # Errors
    /// The first object that could not be applied.
    ///
    /// # Cancellation
    /// Safe at any await.
    pub async fn apply(&self, owner: &Owner, objects: Vec<RenderedObject>) -> Result<ChangeSet, ApplyError> {
        self.apply_with(owner, objects, ApplyOptions::default()).await
    }

    /// As [`Applier::apply`], with what goes beyond.
    ///
    /// # Errors
    /// As there.
    pub async fn apply_with(
        &self,
        owner: &Owner,
        objects: Vec<RenderedObject>,
        options: ApplyOptions<'_>,
    ) -> Result<ChangeSet, ApplyError> {
        let step = step("apply").objects(objects.len());
        step.of(self.apply_all(owner, objects, options)).await
    }

    async fn apply_all(
        &self,
        owner: &Owner,
        objects: Vec<RenderedObject>,
        options: ApplyOptions<'_>,
    ) -> Result<ChangeSet, ApplyError> {
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let defined = kinds_defined_by(&objects);
        let (known, later): (Vec<_>, Vec<_>) = objects
            .into_iter()
            .partition(|object| served.resource(&object.api).is_some());
        if let Some(unknown) = later.iter().find(|object| !defined.contains(&object.api)) {
            return Err(missing_kind(&served, unknown));
        }
        let mut seen = BTreeSet::new();
        let addressed = address(known, &served, owner, &mut seen)?;
        let definitions: Vec<String> = addressed
            .iter()
            .filter(|one| is_definition(&one.object))
            .map(|one| one.id.name.clone())
            .collect();
        let mut changes = self.apply_addressed(owner, addressed, options).await?;
        if !later.is_empty() {
            self.wait_established(&definitions).await?;
            let served = self.served_eventually(&later).await?;
            let addressed = address(later, &served, owner, &mut seen)?;
            changes.extend(self.apply_addressed(owner, addressed, options).await?);
        }
        Ok(changes)
    }

    /// Whether `objects` can be applied as far as that shows without a write: each is there
    /// once, and its kind is served or defined by another one.
    ///
    /// # Errors
    /// The first object for which that is not so.
    pub async fn check(&self, owner: &Owner, objects: &[RenderedObject]) -> Result<Arc<Served>, ApplyError> {
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let defined = kinds_defined_by(objects);
        let mut seen = BTreeSet::new();
        for object in objects {
            match served.resource(&object.api) {
                Some(resource) => {
                    let id = identify(object, resource, &owner.release_namespace);
                    if !seen.insert(id.clone()) {
                        return Err(ApplyError::Duplicate {
                            origin: object.source.clone(),
                            id: Box::new(id),
                        });
                    }
                }
                None if defined.contains(&object.api) => {}
                None => return Err(missing_kind(&served, object)),
            }
        }
        Ok(served)
    }

    /// The identities of `objects`. Those whose kind is not served are left out: nothing of that
    /// kind exists.
    ///
    /// # Errors
    /// The server does not say what it serves, or not of all groups.
    pub async fn identities(
        &self,
        owner: &Owner,
        objects: Vec<RenderedObject>,
    ) -> Result<Vec<(ObjectId, RenderedObject)>, DiscoveryError> {
        let mut identified = Vec::with_capacity(objects.len());
        for object in objects {
            let (group, kind) = (&object.api.group, &object.api.kind);
            if let Some(resource) = self.discovery.find(group, kind).await? {
                let id = identify(&object, &resource, &owner.release_namespace);
                identified.push((id, object));
            }
        }
        Ok(identified)
    }

    /// That one of `objects` is of a kind which is not served, if one is.
    ///
    /// # Errors
    /// The server can't be asked for its kinds.
    pub async fn first_unserved<'a>(
        &self,
        mut objects: impl Iterator<Item = &'a RenderedObject>,
    ) -> Result<Option<ApplyError>, DiscoveryError> {
        let served = self.discovery.served().await?;
        let unserved =
            objects.find(|object| served.any_version(&object.api.group, &object.api.kind).is_none());
        Ok(unserved.map(|object| missing_kind(&served, object)))
    }

    /// Discovery lags behind a definition that is established, by a second or so.
    async fn served_eventually(&self, objects: &[RenderedObject]) -> Result<Arc<Served>, ApplyError> {
        for _ in 0..40 {
            let served = self.discovery.refresh().await?;
            if objects
                .iter()
                .all(|object| served.resource(&object.api).is_some())
            {
                return Ok(served);
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        let served = self.discovery.refresh().await?;
        match objects
            .iter()
            .find(|object| served.resource(&object.api).is_none())
        {
            Some(object) => Err(unknown_kind(object)),
            None => Ok(served),
        }
    }

    async fn apply_addressed(
        &self,
        owner: &Owner,
        addressed: Vec<Addressed>,
        options: ApplyOptions<'_>,
    ) -> Result<ChangeSet, ApplyError> {
        let mut changes = ChangeSet::new();
        for group in addressed.chunk_by(|a, b| a.object.api.kind == b.object.api.kind) {
            let requests: Vec<_> = group
                .iter()
                .map(|one| self.apply_one(owner, one, options).boxed())
                .collect();
            let applied = futures::stream::iter(requests)
                .buffered(PARALLEL)
                .try_collect::<Vec<Applied>>();
            let step = step("apply kind").objects(group.len());
            let applied = match group.first() {
                Some(one) => step.kind(&one.object.api.kind).of(applied).await?,
                None => continue,
            };
            let applied = group.iter().map(|one| one.id.clone()).zip(applied);
            changes.extend(applied);
        }
        Ok(changes)
    }

    async fn apply_one(
        &self,
        owner: &Owner,
        addressed: &Addressed,
        options: ApplyOptions<'_>,
    ) -> Result<Applied, ApplyError> {
        let Addressed { id, object, resource } = addressed;
        let api = self.api(resource, id.namespace.as_deref());
        let mut value = owner.mark(&object.value, id.namespace.as_deref(), object.is_kept());
        let known = self.dependents.live(&owner.uid, id);
        let failed = |attempt| {
            move |source| ApplyError::Request {
                attempt,
                id: Box::new(id.clone()),
                source,
            }
        };

        let mut uid = match known {
            Some(live) if options.former_managers.is_empty() => Some(live.uid),
            None if options.former_managers.is_empty() => None,
            _ => self.find(owner, &api, id, options).await?,
        };
        let mut new = Change::Created;
        let mut mended = Vec::new();
        let mut refusal = None;
        // Each turn follows what the last answer said of the object; two writers that create and
        // delete it all the time are left to the next reconcile.
        for _ in 0..4 {
            let answer = match &uid {
                Some(uid) => apply_to(&api, &id.name, &value, uid, options.conflicts).await,
                None => apply_new(&api, &id.name, &value).await,
            };
            let change = uid.as_ref().map_or(new, |_| Change::Configured);
            match (answer, &uid) {
                (Ok(metadata), _) => {
                    return Ok(self.applied(owner, addressed, &metadata, (change, mended)));
                }
                (Err(error), _) if error.is_about_the_schema() => {
                    let fitting = mend(&api, &value, error).await.map_err(failed("apply"))?;
                    tracing::warn!(object = %id, "the chart's object is mended: {}", fitting.notes.join("; "));
                    value = fitting.value;
                    mended.extend(fitting.notes);
                }
                (Err(error), Some(_)) if error.is_field_conflict() => {
                    return Err(ApplyError::Conflict {
                        id: Box::new(id.clone()),
                        fields: in_words(&error),
                        source: error,
                    });
                }
                (Err(error), Some(current)) if error.is_immutable() => {
                    self.make_way(
                        Recreation {
                            options,
                            api: &api,
                            id,
                            object,
                            value: &value,
                        },
                        current,
                        error,
                    )
                    .await?;
                    (uid, new) = (None, Change::Recreated);
                }
                (Err(error), Some(uid)) if error.is_list_conflict() || error.is_about_forbidden_fields() => {
                    let metadata = heal_or_refuse(&api, id, (&value, uid), error, options.conflicts).await?;
                    return Ok(self.applied(owner, addressed, &metadata, (change, mended)));
                }
                // A release of many objects would hardly ever succeed where connections break now and then.
                (Err(error), _) if error.is_other_uid() || error.is_conflict() || error.is_unanswered() => {
                    uid = self.find(owner, &api, id, options).await?;
                    refusal = Some(error);
                }
                (Err(error), _) => {
                    if error.is_not_found() {
                        self.discovery.forget();
                    }
                    return Err(failed("apply")(error));
                }
            }
        }
        // Not every conflict is about the object: two that create pods meet in their quota, too.
        Err(failed("apply")(refusal.unwrap_or_else(|| {
            RequestError::local("the object is created and deleted by somebody else all the time")
        })))
    }

    /// The UID of the object of this name, if there is one and it may be written. What Helm or
    /// helm-operator manage in it becomes ours.
    async fn find(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        id: &ObjectId,
        options: ApplyOptions<'_>,
    ) -> Result<Option<String>, ApplyError> {
        let failed = |attempt| {
            move |source| ApplyError::Request {
                attempt,
                id: Box::new(id.clone()),
                source,
            }
        };
        let mut attempts = 0;
        loop {
            let Some(metadata) = existing(api, &id.name).await.map_err(failed("read"))? else {
                return Ok(None);
            };
            if let Ownership::Foreign(reason) = owner.ownership(&metadata) {
                return Err(ApplyError::Foreign {
                    id: Box::new(id.clone()),
                    reason,
                });
            }
            match take_over_fields(api, &id.name, &metadata, options.former_managers).await {
                Ok(()) => return Ok(metadata.uid),
                // Others write the object, too.
                Err(error) if (error.is_conflict() || error.is_not_found()) && attempts < 3 => attempts += 1,
                Err(error) => return Err(failed("take over the fields of")(error)),
            }
        }
    }

    fn applied(
        &self,
        owner: &Owner,
        addressed: &Addressed,
        metadata: &ObjectMeta,
        (change, mended): (Change, Vec<String>),
    ) -> Applied {
        let digest = self.dependents.note_applied(&owner.uid, &addressed.id, metadata);
        Applied {
            version: addressed.object.api.version.clone(),
            digest,
            change,
            kept: addressed.object.is_kept(),
            mended,
        }
    }

    pub(super) fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        resource.objects(&self.client, namespace)
    }
}

/// An object of ours that the server refuses to change may be one that others, or an earlier revision, have left in a
/// state from which no apply leads on. When mending that does not help either, the first answer counts.
async fn heal_or_refuse(
    api: &Api<DynamicObject>,
    id: &ObjectId,
    (value, uid): (&Value, &str),
    refusal: RequestError,
    conflicts: ConflictPolicy,
) -> Result<ObjectMeta, ApplyError> {
    match heal(api, &id.name, (value, uid), &refusal, conflicts).await {
        Ok(metadata) => Ok(metadata),
        Err(HealError::NothingToReplace | HealError::Refused) => Err(ApplyError::Request {
            attempt: "apply",
            id: Box::new(id.clone()),
            source: refusal,
        }),
        Err(source) => Err(ApplyError::Heal {
            id: Box::new(id.clone()),
            source,
        }),
    }
}

/// Applies `value` to the object with this UID, and to no other.
pub(super) async fn apply_to(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
    uid: &str,
    conflicts: ConflictPolicy,
) -> Result<ObjectMeta, RequestError> {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), uid.into());
    }
    let mut parameters = PatchParams::apply(FIELD_MANAGER);
    parameters.force = conflicts == ConflictPolicy::Overwrite;
    let answer = api.patch_metadata(name, &parameters, &Patch::Apply(&value)).await;
    of_object(answer?.metadata)
}

/// The metadata, if it is that of an object: whatever stands between us and the server may answer, too.
fn of_object(metadata: ObjectMeta) -> Result<ObjectMeta, RequestError> {
    if metadata.uid.is_none() {
        return Err(RequestError::local("the server's answer is no object"));
    }
    Ok(metadata)
}

/// A resource version that no object has which anybody applies: the server compares it with that of the object
/// where there is one, and leaves it out of consideration where there is none.
const ABSENT: &str = "1";

/// Applies `value` as a new object. Should there be one of this name, it stays as it is and the
/// request is refused as a conflict.
pub(super) async fn apply_new(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
) -> Result<ObjectMeta, RequestError> {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), ABSENT.into());
    }
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let answer = api.patch_metadata(name, &parameters, &Patch::Apply(&value)).await;
    of_object(answer?.metadata)
}

/// The metadata of the object of this name, if there is one. Where the kind is gone, so is the
/// object.
pub(super) async fn existing(
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<ObjectMeta>, RequestError> {
    match api.get_metadata_opt(name).await.map_err(RequestError::from) {
        Ok(object) => Ok(object.map(|object| object.metadata)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
