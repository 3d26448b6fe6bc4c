//! Applying the objects of a release, in order.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_cluster::discovery::{Discovery, Resource};
use steersman_cluster::{Owner, Ownership, RequestError};
use steersman_model::{
    ApiKind, Applied, Change, ChangeSet, ObjectId, RenderedObject, is_definition, kinds_defined_by,
};
use steersman_watches::ConflictPolicy;

use super::conflicts::in_words;
use crate::apply::address::{Addressed, address, missing_kind};
use crate::apply::error::ApplyError;
use crate::apply::ownership::takeover::take_over_fields;
use crate::apply::repair::claims::{ClaimNotes, ClaimPolicy};
use crate::apply::repair::merged_lists::{HealError, heal};
use crate::apply::repair::recreate::{Recreation, Way};
use crate::apply::repair::schema::mend;
use crate::apply::request::{Existing, apply_new, find};
use crate::dependents::Dependents;
use crate::telemetry::step;

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
#[derive(Clone, Copy, Debug, Default)]
pub struct ApplyOptions<'a> {
    /// Objects that carry our mark may have been written by managers of these names since: each
    /// object is read, and what they manage in it becomes ours.
    pub former_managers: &'a [String],
    /// What can't be changed in place is deleted and created again.
    pub recreate: bool,
    /// What is done where claim templates of a `StatefulSet` ask for another size.
    pub claims: ClaimPolicy,
    /// Where it is said what was done about claims, also where the application fails behind that.
    pub claim_notes: Option<&'a ClaimNotes>,
    /// What is done about fields that others manage.
    pub conflicts: ConflictPolicy,
    /// Kinds that come with what was applied before: the server may not serve them yet.
    pub defined_before: Option<&'a BTreeSet<ApiKind>>,
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

    /// The same with the rights of another client.
    #[must_use]
    pub fn with_client(&self, client: Client) -> Self {
        Self {
            client,
            ..self.clone()
        }
    }

    /// What is live of what it applies.
    pub fn dependents(&self) -> &Arc<Dependents> {
        &self.dependents
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
        let is_defined = |api: &ApiKind| {
            let before = options.defined_before.is_some_and(|kinds| kinds.contains(api));
            before || defined.contains(api)
        };
        if let Some(unknown) = later.iter().find(|object| !is_defined(&object.api)) {
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
        let mut uid = match known {
            Some(live) if options.former_managers.is_empty() => Some(live.uid),
            None if options.former_managers.is_empty() => None,
            _ => self.find(owner, &api, id, options).await?,
        };
        let mut new = Change::Created;
        let mut mended = Vec::new();
        let mut refusal = None;
        let mut has_grown = false;
        // Each turn follows what the last answer said of the object; two writers that create and
        // delete it all the time are left to the next reconcile.
        for _ in 0..4 {
            let recreation = Recreation {
                owner,
                options,
                api: &api,
                id,
                object,
                value: &value,
                is_there: uid.is_some(),
            };
            if uid.is_none() && !has_grown {
                self.expand_claims_of_new(recreation).await?;
                has_grown = true;
            }
            let answer = match &uid {
                Some(uid) => {
                    let (api, name) = (&api, id.name.as_str());
                    Existing { api, name, uid }.apply(&value, options.conflicts).await
                }
                None => apply_new(&api, &id.name, &value).await,
            };
            let change = uid.as_ref().map_or(new, |_| Change::Configured);
            match (answer, &uid) {
                (Ok(metadata), _) => {
                    return Ok(self.applied(owner, addressed, &metadata, change, mended));
                }
                (Err(error), _) if error.is_about_the_schema() => {
                    let fitting = mend(&api, &value, error).await;
                    let fitting = fitting.map_err(|error| refused(id, error))?;
                    tracing::warn!(object = %id, notes = fitting.notes.join("; "), "the chart's object is mended");
                    value = fitting.value;
                    mended.extend(fitting.notes);
                }
                (Err(error), Some(_)) if error.is_field_conflict() => return Err(refused(id, error)),
                (Err(error), Some(current)) if error.is_immutable() => {
                    match self.make_way_for_claims(recreation, current, error).await? {
                        Way::Free => {}
                        Way::Grown => has_grown = true,
                        Way::Apply(kept) => {
                            value = kept;
                            continue;
                        }
                    }
                    (uid, new) = (None, Change::Recreated);
                }
                (Err(error), Some(uid)) if error.is_list_conflict() || error.is_about_forbidden_fields() => {
                    let metadata = heal_or_refuse(&api, id, uid, &value, error, options.conflicts).await?;
                    return Ok(self.applied(owner, addressed, &metadata, change, mended));
                }
                // Where connections break now and then, a release of many objects would fail each time without this.
                (Err(error), _) if error.is_other_uid() || error.is_conflict() || error.is_unanswered() => {
                    uid = self.find(owner, &api, id, options).await?;
                    refusal = Some(error);
                }
                (Err(error), _) => {
                    if error.is_not_found() {
                        self.discovery.forget();
                    }
                    return Err(refused(id, error));
                }
            }
        }
        // Not every conflict is about the object: two that create pods meet in their quota, too.
        let by_others =
            || RequestError::local("the object is created and deleted by somebody else all the time");
        Err(refused(id, refusal.unwrap_or_else(by_others)))
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
            let Some(metadata) = find(api, &id.name).await.map_err(failed("read"))? else {
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
        change: Change,
        mended: Vec<String>,
    ) -> Applied {
        let fields = self.dependents.note_applied(&owner.uid, &addressed.id, metadata);
        Applied {
            uid: metadata.uid.clone().unwrap_or_default(),
            version: addressed.object.api.version.clone(),
            fields,
            change,
            kept: addressed.object.is_kept(),
            mended,
        }
    }

    pub(super) fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        resource.objects(&self.client, namespace)
    }

    /// The object as the server has it, whosever it is; `None` where there is none.
    pub(super) async fn read(
        &self,
        resource: &Resource,
        id: &ObjectId,
    ) -> Result<Option<DynamicObject>, ApplyError> {
        let api = self.api(resource, id.namespace.as_deref());
        api.get_opt(&id.name).await.map_err(|error| ApplyError::Request {
            attempt: "read",
            id: Box::new(id.clone()),
            source: error.into(),
        })
    }
}

/// That the server does not apply an object: who manages its fields, where that is why.
pub(super) fn refused(id: &ObjectId, source: RequestError) -> ApplyError {
    let id = Box::new(id.clone());
    if source.is_field_conflict() {
        let fields = in_words(&source);
        return ApplyError::Conflict { id, fields, source };
    }
    let attempt = "apply";
    ApplyError::Request { attempt, id, source }
}

/// An object of ours that the server refuses to change may be one that others, or an earlier revision, have left in a
/// state from which no apply leads on. When mending that does not help either, the first answer counts.
async fn heal_or_refuse(
    api: &Api<DynamicObject>,
    id: &ObjectId,
    uid: &str,
    value: &Value,
    refusal: RequestError,
    conflicts: ConflictPolicy,
) -> Result<ObjectMeta, ApplyError> {
    let name = id.name.as_str();
    match heal(Existing { api, name, uid }, value, &refusal, conflicts).await {
        Ok(metadata) => Ok(metadata),
        Err(HealError::NothingToReplace | HealError::Refused) => Err(refused(id, refusal)),
        Err(source) => Err(ApplyError::Heal {
            id: Box::new(id.clone()),
            source,
        }),
    }
}
