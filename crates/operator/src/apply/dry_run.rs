//! What an apply would do to an object, by the server's own word.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use steersman_cluster::discovery::Served;
use steersman_cluster::{Owner, Ownership, RequestError};
use steersman_model::{ClaimChange, FIELD_MANAGER, ObjectId, RenderedObject};
use steersman_watches::ConflictPolicy;

use super::applier::{Applier, ApplyOptions, refused};
use super::repair::claims::ClaimsPlan;
use super::repair::recreate::{Recreation, as_recreated};
use crate::apply::address::{identify, missing_kind};
use crate::apply::error::ApplyError;
use crate::apply::ownership::may_delete;
use crate::apply::ownership::takeover::TakenOver;
use crate::apply::repair::dropped::{merge_patch, without_dropped};
use crate::apply::repair::forbidden::{set_aside, without_forbidden};
use crate::apply::repair::schema::mend;

/// What a dry run of an apply has shown of an object.
#[derive(Debug)]
pub struct DryRunApplied {
    /// As [`Applier::apply`] would address it.
    pub id: ObjectId,
    /// It as it is in the cluster, if it is there.
    pub live: Option<Value>,
    /// It as it would be after the apply, or why it would not be applied.
    pub result: Result<Value, ApplyError>,
    /// Whether it would be deleted and created again to become that.
    pub recreated: bool,
    /// What would become of its claims, where it is a `StatefulSet`.
    pub claims: Vec<ClaimChange>,
    /// It as the apply alone would leave it, where fields of a former manager go with it.
    pub without_takeover: Option<Value>,
}

/// An apply that is asked about in a dry run.
#[derive(Clone, Copy, Debug)]
pub struct DryRunApply<'a> {
    /// What the chart renders, without our marks.
    pub object: &'a RenderedObject,
    /// The kinds among which the object's is looked for.
    pub served: &'a Served,
    /// Whether a definition beside it brings its kind.
    pub is_defined: bool,
    /// The namespaces that come before it.
    pub new_namespaces: &'a BTreeSet<String>,
    /// The managers whose fields are taken over before the apply; `None` where nothing is taken over.
    pub former_managers: Option<&'a [String]>,
    /// What the apply does besides.
    pub options: ApplyOptions<'a>,
}

impl Applier {
    /// An object as it is in the cluster; `None` where there is none that `owner` may delete.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn live(&self, owner: &Owner, id: &ObjectId) -> Result<Option<Value>, ApplyError> {
        let served = self.discovery.served().await?;
        let Some(resource) = served.any_version(&id.group, &id.kind) else {
            return Ok(None);
        };
        let found = self.read(resource, id).await?;
        let ours = found.filter(|live| may_delete(owner, &live.metadata).is_ok());
        Ok(ours.and_then(|live| serde_json::to_value(live).ok()))
    }

    /// Has the server apply `object` for `owner` without keeping it. The result of an object whose kind or namespace
    /// does not exist yet, so that the server cannot say, is what would be sent. Where the apply would be preceded by
    /// a takeover, what Helm or the former managers alone own of the object goes, too.
    ///
    /// # Guarantees
    /// Nothing is written.
    ///
    /// # Errors
    /// The object in the cluster can't be read.
    pub async fn dry_run_apply(
        &self,
        owner: &Owner,
        apply: DryRunApply<'_>,
    ) -> Result<DryRunApplied, ApplyError> {
        let DryRunApply { object, served, .. } = apply;
        let Some(resource) = served.resource(&object.api) else {
            return self.without_version(owner, apply).await;
        };
        let id = identify(object, resource, &owner.release_namespace);
        let api = self.api(resource, id.namespace.as_deref());
        let live = self.read(resource, &id).await?;
        let foreign = live
            .as_ref()
            .and_then(|live| match owner.ownership(&live.metadata) {
                Ownership::Foreign(reason) => Some(reason),
                Ownership::Ours | Ownership::Adoptable => None,
            });
        if let Some(reason) = foreign {
            let error = ApplyError::Foreign {
                id: Box::new(id.clone()),
                reason,
            };
            let live = live.and_then(|live| serde_json::to_value(live).ok());
            return Ok(DryRunApplied::new(id, live, Err(error)));
        }
        let value = owner.mark(&object.value, id.namespace.as_deref(), object.is_kept());
        let mut parameters = PatchParams::apply(FIELD_MANAGER).dry_run();
        parameters.force = live.is_some() && apply.options.conflicts == ConflictPolicy::Overwrite;
        let mut tried = try_value(&api, &object.name, value, live.as_ref(), &parameters).await;
        let taken_over = live.as_ref().and_then(|live| taken_over(live, &apply));
        // Fields of former managers are taken over before anything is applied.
        if taken_over.is_some_and(|fields| tried.forget_conflicts_with(|name| fields.is_former_manager(name)))
        {
            parameters.force = true;
            tried = try_value(&api, &object.name, tried.value, live.as_ref(), &parameters).await;
        }
        let Tried { value, answer } = tried;
        let recreation = Recreation {
            owner,
            options: apply.options,
            api: &api,
            id: &id,
            object,
            value: &value,
            is_there: live.is_some(),
        };
        let mut dry_run = DryRunApplied::new(id.clone(), None, Ok(Value::Null));
        dry_run.result = match (answer, &live) {
            (Ok(applied), _) => {
                let answered = Answered {
                    api: &api,
                    id: &id,
                    sent: &value,
                    applied: &applied,
                };
                let pruned = match (&live, apply.former_managers) {
                    (Some(live), Some(managers)) => answered.without_fields_of(managers, live).await,
                    _ => None,
                };
                match pruned {
                    Some(pruned) => {
                        dry_run.without_takeover = serde_json::to_value(applied).ok();
                        pruned
                    }
                    None => Ok(serde_json::to_value(applied).unwrap_or_default()),
                }
            }
            (Err(error), None) if error.is_not_found() && apply.brings_namespace_of(&id) => Ok(value.clone()),
            (Err(refusal), Some(live)) if refusal.is_immutable() => {
                let recreating = self.try_recreation(recreation, live, refusal, &parameters);
                let (result, recreated, claims) = recreating.await;
                (dry_run.recreated, dry_run.claims) = (recreated, claims);
                result
            }
            (Err(source), _) => Err(refused(&id, source)),
        };
        if live.is_none() && dry_run.result.is_ok() {
            match self.plan_claims_of_new(recreation).await {
                Ok(small) => dry_run.claims = small.into_iter().map(ClaimChange::from).collect(),
                Err(error) => dry_run.result = Err(error),
            }
        }
        dry_run.live = live.and_then(|live| serde_json::to_value(live).ok());
        Ok(dry_run)
    }
}

impl Applier {
    /// What becomes of the `live` object that the server does not change in place, whether it is created again for that, and
    /// what becomes of its claims.
    async fn try_recreation(
        &self,
        recreation: Recreation<'_>,
        live: &DynamicObject,
        refusal: RequestError,
        parameters: &PatchParams,
    ) -> (Result<Value, ApplyError>, bool, Vec<ClaimChange>) {
        let Recreation { api, id, value, .. } = recreation;
        match self.plan_claims(recreation, live, &refusal).await {
            Ok(ClaimsPlan::Other) => {
                let created = recreation.check(live, refusal).await;
                let recreated = created.is_ok();
                let result = created.map(|created| as_recreated(value, created, live));
                (result, recreated, Vec::new())
            }
            Ok(ClaimsPlan::Expand(small, created)) => {
                let claims = small.into_iter().map(ClaimChange::from).collect();
                (Ok(as_recreated(value, *created, live)), true, claims)
            }
            Ok(ClaimsPlan::Keep(kept, claims)) => {
                let tried = try_value(api, &id.name, kept, Some(live), parameters).await;
                let applied = tried.answer.map_err(|source| refused(id, source));
                let result = applied.map(|applied| serde_json::to_value(applied).unwrap_or_default());
                (result, false, claims)
            }
            Err(error) => (Err(error), false, Vec::new()),
        }
    }

    /// The dry run of an object whose version is not served: the server can't be asked, so it is what would be sent. By
    /// another version of its kind it may be there already.
    async fn without_version(
        &self,
        owner: &Owner,
        apply: DryRunApply<'_>,
    ) -> Result<DryRunApplied, ApplyError> {
        let object = apply.object;
        let other_version = apply.served.any_version(&object.api.group, &object.api.kind);
        let (id, live) = if let Some(resource) = other_version {
            let id = identify(object, resource, &owner.release_namespace);
            let live = self.live(owner, &id).await?;
            (id, live)
        } else {
            let id = ObjectId {
                group: object.api.group.clone(),
                kind: object.api.kind.clone(),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
            };
            (id, None)
        };
        let result = if apply.is_defined {
            Ok(owner.mark(&object.value, id.namespace.as_deref(), object.is_kept()))
        } else {
            Err(missing_kind(apply.served, object))
        };
        Ok(DryRunApplied::new(id, live, result))
    }
}

/// What former managers own of the object, which becomes ours before it is applied.
fn taken_over<'a>(live: &'a DynamicObject, apply: &DryRunApply<'a>) -> Option<TakenOver<'a>> {
    let entries = live.metadata.managed_fields.as_deref().unwrap_or_default();
    TakenOver::of(entries, apply.former_managers?)
}

impl DryRunApply<'_> {
    fn brings_namespace_of(&self, id: &ObjectId) -> bool {
        let namespace = id.namespace.as_ref();
        namespace.is_some_and(|namespace| self.new_namespaces.contains(namespace))
    }
}

impl DryRunApplied {
    fn new(id: ObjectId, live: Option<Value>, result: Result<Value, ApplyError>) -> Self {
        Self {
            id,
            live,
            result,
            recreated: false,
            claims: Vec::new(),
            without_takeover: None,
        }
    }
}

/// A dry run of an apply that the server has answered.
struct Answered<'a> {
    api: &'a Api<DynamicObject>,
    id: &'a ObjectId,
    /// What would be applied.
    sent: &'a Value,
    /// What the object would be then, if nobody's fields were taken over.
    applied: &'a DynamicObject,
}

impl Answered<'_> {
    /// What becomes of the `live` object when the apply also takes away what `former_managers` alone own; `None` if that
    /// is nothing. The server is asked for it in another dry run, as it sets defaults where values go.
    async fn without_fields_of(
        &self,
        former_managers: &[String],
        live: &DynamicObject,
    ) -> Option<Result<Value, ApplyError>> {
        let before = live.metadata.managed_fields.as_deref()?;
        let taken_over = TakenOver::of(before, former_managers)?;
        let after = self.applied.metadata.managed_fields.as_deref();
        let [live, applied] = [live, self.applied].map(written);
        let mut pruned = without_dropped(&applied, after.unwrap_or_default(), &taken_over)?;
        // What the server takes and never gives back makes up for some of it: a Secret's `stringData`.
        if let (Some(pruned), Some(sent)) = (pruned.as_object_mut(), self.sent.as_object()) {
            let kept_back = sent.iter().filter(|(key, _)| applied.get(key).is_none());
            pruned.extend(kept_back.map(|(key, value)| (key.clone(), value.clone())));
        }
        let patch = merge_patch(&live, &pruned)?;
        let parameters = PatchParams {
            dry_run: true,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(&patch);
        let answer = self.api.patch(&self.id.name, &parameters, &patch).await;
        let answer = answer.map_err(|error| ApplyError::Request {
            attempt: "try the takeover of",
            id: Box::new(self.id.clone()),
            source: error.into(),
        });
        Some(answer.map(|object| serde_json::to_value(object).unwrap_or_default()))
    }
}

/// An object without what only the server writes.
fn written(object: &DynamicObject) -> Value {
    let mut object = object.clone();
    object.metadata = ObjectMeta {
        labels: object.metadata.labels,
        annotations: object.metadata.annotations,
        owner_references: object.metadata.owner_references,
        finalizers: object.metadata.finalizers,
        ..ObjectMeta::default()
    };
    if let Some(data) = object.data.as_object_mut() {
        data.remove("status");
    }
    serde_json::to_value(object).unwrap_or_default()
}

/// What was sent last of an object that the server was asked about, and its answer.
struct Tried {
    value: Value,
    answer: Result<DynamicObject, RequestError>,
}

impl Tried {
    /// Leaves conflicts with fields of the `former` managers out of the answer. Gives whether there were no others: it is to
    /// be tried by force then.
    fn forget_conflicts_with(&mut self, former: impl Fn(&str) -> bool) -> bool {
        match &mut self.answer {
            Err(error) if error.is_field_conflict() => {
                let causes = error.causes.iter();
                let of_others = causes.filter(|cause| !cause.manager.as_deref().is_some_and(&former));
                error.causes = of_others.cloned().collect();
                error.causes.is_empty()
            }
            _ => false,
        }
    }
}

/// Asks the server about an apply of `value`, with what the applier does about objects that the server does not take as
/// they are.
async fn try_value(
    api: &Api<DynamicObject>,
    name: &str,
    mut value: Value,
    live: Option<&DynamicObject>,
    parameters: &PatchParams,
) -> Tried {
    loop {
        let answer = api.patch(name, parameters, &Patch::Apply(&value)).await;
        let answer = match (answer.map_err(RequestError::from), live) {
            (Err(error), _) if error.is_about_the_schema() => match mend(api, &value, error).await {
                Ok(mended) => {
                    value = mended.value;
                    continue;
                }
                Err(refusal) => Err(refusal),
            },
            (Err(refusal), Some(live)) if refusal.is_about_forbidden_fields() && !refusal.is_immutable() => {
                try_without_forbidden(api, name, &value, live, parameters, refusal).await
            }
            (answer, _) => answer,
        };
        return Tried { value, answer };
    }
}

/// Asks the server about `value` without the fields beside which it has refused others: the applier takes those away.
///
/// # Errors
/// `refusal`, where the applier can do nothing about it.
async fn try_without_forbidden(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
    live: &DynamicObject,
    parameters: &PatchParams,
    refusal: RequestError,
) -> Result<DynamicObject, RequestError> {
    if without_forbidden(value, &live.data, &refusal).is_none() {
        return Err(refusal);
    }
    let mut rest = value.clone();
    let aside = set_aside(&mut rest, &refusal);
    let Ok(mut applied) = api.patch(name, parameters, &Patch::Apply(&rest)).await else {
        return Err(refusal);
    };
    for (path, value) in aside {
        if let Some(node) = applied.data.pointer_mut(&path) {
            *node = value;
        }
    }
    Ok(applied)
}
