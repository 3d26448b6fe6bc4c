//! What an apply would do to an object, by the server's own word.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use steersman_cluster::discovery::Served;
use steersman_cluster::{Owner, Ownership, RequestError};
use steersman_model::{FIELD_MANAGER, ObjectId, RenderedObject};
use steersman_watches::ConflictPolicy;

use super::applier::{Applier, ApplyOptions};
use super::repair::recreate::Recreation;
use crate::apply::address::{identify, unknown_kind};
use crate::apply::error::ApplyError;
use crate::apply::ownership::takeover::TakenOver;
use crate::apply::repair::dropped::{merge_patch, without_dropped};
use crate::apply::repair::forbidden::{set_aside, without_forbidden};
use crate::apply::repair::mend::mend;

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
    /// The managers whose fields are taken over before the apply; `None` where nothing is taken over.
    pub former_managers: Option<&'a [String]>,
    /// What the apply does besides.
    pub options: ApplyOptions<'a>,
}

impl Applier {
    /// An object of `owner`'s as it is in the cluster; `None` where there is none that is its own.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn live(&self, owner: &Owner, id: &ObjectId) -> Result<Option<Value>, ApplyError> {
        let served = self.discovery.served().await?;
        let Some(resource) = served.any_version(&id.group, &id.kind) else {
            return Ok(None);
        };
        let found = self
            .api(resource, id.namespace.as_deref())
            .get_opt(&id.name)
            .await;
        let found = found.map_err(|error| ApplyError::Request {
            attempt: "read",
            id: Box::new(id.clone()),
            source: error.into(),
        })?;
        let ours = found.filter(|live| !matches!(owner.ownership(&live.metadata), Ownership::Foreign(_)));
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
            return Ok(without_version(owner, apply));
        };
        let id = identify(object, resource, &owner.release_namespace);
        let api = self.api(resource, id.namespace.as_deref());
        let live = match api.get_opt(&object.name).await {
            Ok(live) => live,
            Err(error) => {
                return Err(ApplyError::Request {
                    attempt: "read",
                    id: Box::new(id),
                    source: error.into(),
                });
            }
        };
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
        if live.is_some() {
            // What former managers own is taken over before anything is applied.
            parameters.force = apply.options.conflicts == ConflictPolicy::Overwrite
                || live.as_ref().is_some_and(|live| is_taken_over(live, &apply));
        }
        let answer = dry_run_value(&api, &object.name, &value, live.as_ref(), &parameters).await;
        let mut dry_run = DryRunApplied::new(id.clone(), None, Ok(Value::Null));
        dry_run.result = match answer {
            Ok(applied) => {
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
            // The namespace comes with the chart, or is not there yet.
            Err(error) if error.is_not_found() && live.is_none() => Ok(value),
            Err(refusal) if refusal.is_immutable() && live.is_some() => {
                let recreation = Recreation {
                    options: apply.options,
                    api: &api,
                    id: &id,
                    object,
                    value: &value,
                };
                let possible = recreation.check(refusal).await;
                dry_run.recreated = possible.is_ok();
                possible.map(|()| value)
            }
            Err(source) => Err(ApplyError::Request {
                attempt: "apply",
                id: Box::new(id),
                source,
            }),
        };
        dry_run.live = live.and_then(|live| serde_json::to_value(live).ok());
        Ok(dry_run)
    }
}

/// Whether former managers own fields of the object, which become ours before it is applied.
fn is_taken_over(live: &DynamicObject, apply: &DryRunApply<'_>) -> bool {
    let entries = live.metadata.managed_fields.as_deref().unwrap_or_default();
    let managers = apply.former_managers;
    managers.is_some_and(|managers| TakenOver::of(entries, managers).is_some())
}

impl DryRunApplied {
    fn new(id: ObjectId, live: Option<Value>, result: Result<Value, ApplyError>) -> Self {
        Self {
            id,
            live,
            result,
            recreated: false,
            without_takeover: None,
        }
    }
}

/// The dry run of an object whose version is not served: the server can't be asked, so it is what would be sent. Another
/// version of its kind says where it is.
fn without_version(owner: &Owner, apply: DryRunApply<'_>) -> DryRunApplied {
    let object = apply.object;
    let other_version = apply.served.any_version(&object.api.group, &object.api.kind);
    let id = match other_version {
        Some(resource) => identify(object, resource, &owner.release_namespace),
        None => ObjectId {
            group: object.api.group.clone(),
            kind: object.api.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        },
    };
    let result = if apply.is_defined {
        Ok(owner.mark(&object.value, id.namespace.as_deref(), object.is_kept()))
    } else {
        Err(unknown_kind(object))
    };
    DryRunApplied::new(id, None, result)
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

/// What would be applied, with what the applier does about objects that the server does not take as they are.
async fn dry_run_value(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
    live: Option<&DynamicObject>,
    parameters: &PatchParams,
) -> Result<DynamicObject, RequestError> {
    let mut value = value.clone();
    let mut aside: Vec<(String, Value)> = Vec::new();
    loop {
        let answer = api.patch(name, parameters, &Patch::Apply(&value)).await;
        match (answer.map_err(RequestError::from), live) {
            (Ok(mut applied), _) => {
                for (path, value) in aside {
                    if let Some(node) = applied.data.pointer_mut(&path) {
                        *node = value;
                    }
                }
                return Ok(applied);
            }
            (Err(error), _) if error.is_about_the_schema() => value = mend(api, &value, error).await?.value,
            (Err(error), Some(live)) if error.is_about_forbidden_fields() && aside.is_empty() => {
                if without_forbidden(&value, &live.data, &error).is_none() {
                    return Err(error);
                }
                aside = set_aside(&mut value, &error);
            }
            (Err(error), _) => return Err(error),
        }
    }
}
