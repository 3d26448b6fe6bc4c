//! What an apply would do to an object, by the server's own word.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::Value;

use super::applier::{Applier, ApplyOptions};
use super::repair::recreate::Recreation;
use crate::apply::address::{identify, unknown_kind};
use crate::apply::error::ApplyError;
use crate::apply::ownership::takeover::TakenOver;
use crate::apply::repair::dropped::{merge_patch, without_dropped};
use crate::apply::repair::forbidden::{set_aside, without_forbidden};
use crate::apply::repair::mend::mend;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Served;
use steersman_cluster::{CHART_LABEL, Owner, Ownership};
use steersman_model::FIELD_MANAGER;
use steersman_model::{ObjectId, RenderedObject};
use steersman_watches::ConflictPolicy;

/// An object whose apply was tried.
#[derive(Debug)]
pub struct DryRunApplied {
    /// Which object.
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

/// An object whose apply is to be tried.
#[derive(Clone, Copy, Debug)]
pub struct DryRunApply<'a> {
    /// The object.
    pub object: &'a RenderedObject,
    /// What the server serves.
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

    /// The objects of a kind, in the namespace of `owner`'s release, that name `owner` as theirs.
    ///
    /// # Errors
    /// They can't be listed.
    pub async fn marked(&self, owner: &Owner, group: &str, kind: &str) -> Result<Vec<ObjectId>, ApplyError> {
        let served = self.discovery.served().await?;
        let Some(resource) = served
            .any_version(group, kind)
            .filter(|resource| resource.namespaced)
        else {
            return Ok(Vec::new());
        };
        let id = |name: String| ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(owner.release_namespace.clone()),
            name,
        };
        let selector = ListParams::default().labels(&format!("{CHART_LABEL}={}", owner.chart));
        let api = self.api(resource, Some(&owner.release_namespace));
        let found = api
            .list_metadata(&selector)
            .await
            .map_err(|error| ApplyError::Request {
                attempt: "list objects like",
                id: Box::new(id("*".to_owned())),
                source: error.into(),
            })?;
        let ours = found.items.into_iter().filter(|object| {
            // What a controller derives from our objects carries our labels, too, but not our mark as owner.
            let references = object.metadata.owner_references.iter().flatten();
            references.into_iter().any(|reference| reference.uid == owner.uid)
        });
        Ok(ours.filter_map(|object| object.metadata.name.map(id)).collect())
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
        trial: DryRunApply<'_>,
    ) -> Result<DryRunApplied, ApplyError> {
        let DryRunApply {
            object,
            served,
            is_defined,
            former_managers,
            options,
        } = trial;
        let Some(resource) = served.resource(&object.api) else {
            let id = ObjectId {
                group: object.api.group.clone(),
                kind: object.api.kind.clone(),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
            };
            let result = if is_defined {
                Ok(owner.mark(&object.value, id.namespace.as_deref(), object.is_kept()))
            } else {
                Err(unknown_kind(object))
            };
            return Ok(DryRunApplied {
                id,
                live: None,
                result,
                recreated: false,
                without_takeover: None,
            });
        };
        let id = identify(object, resource, &owner.release_namespace);
        let api = self.api(resource, id.namespace.as_deref());
        let live = match api.get_opt(&object.name).await.map_err(RequestError::from) {
            Ok(live) => live,
            Err(source) => {
                return Err(ApplyError::Request {
                    attempt: "read",
                    id: Box::new(id),
                    source,
                });
            }
        };
        let value = owner.mark(&object.value, id.namespace.as_deref(), object.is_kept());
        let mut parameters = PatchParams::apply(FIELD_MANAGER).dry_run();
        if let Some(live) = &live {
            if let Ownership::Foreign(reason) = owner.ownership(&live.metadata) {
                let error = ApplyError::Foreign {
                    id: Box::new(id.clone()),
                    reason,
                };
                return Ok(DryRunApplied {
                    id,
                    live: serde_json::to_value(live).ok(),
                    result: Err(error),
                    recreated: false,
                    without_takeover: None,
                });
            }
            // What former managers own is taken over before anything is applied.
            parameters.force = options.conflicts == ConflictPolicy::Overwrite || former_managers.is_some();
        }
        let answer = dry_run_value(&api, &object.name, &value, live.as_ref(), &parameters).await;
        let (mut without_takeover, mut recreated) = (None, false);
        let result = match answer {
            Ok(applied) => {
                match dry_run_takeover((&api, &id), live.as_ref(), (&value, &applied), former_managers).await
                {
                    Some(pruned) => {
                        without_takeover = serde_json::to_value(applied).ok();
                        pruned
                    }
                    None => Ok(serde_json::to_value(applied).unwrap_or_default()),
                }
            }
            // The namespace comes with the chart, or is not there yet.
            Err(error) if error.is_not_found() && live.is_none() => Ok(value),
            Err(refusal) if refusal.is_immutable() && live.is_some() => {
                let recreation = Recreation {
                    options,
                    api: &api,
                    id: &id,
                    object,
                    value: &value,
                };
                let possible = recreation.check(refusal).await;
                recreated = possible.is_ok();
                possible.map(|()| value)
            }
            Err(source) => Err(ApplyError::Request {
                attempt: "apply",
                id: Box::new(id.clone()),
                source,
            }),
        };
        Ok(DryRunApplied {
            recreated,
            id,
            live: live.and_then(|live| serde_json::to_value(live).ok()),
            result,
            without_takeover,
        })
    }
}

/// What becomes of an object when the apply takes away what its former manager alone owns; `None` if that is
/// nothing. The server says it, as it sets defaults where values go.
async fn dry_run_takeover(
    (api, id): (&Api<DynamicObject>, &ObjectId),
    live: Option<&DynamicObject>,
    (sent, applied): (&Value, &DynamicObject),
    former_managers: Option<&[String]>,
) -> Option<Result<Value, ApplyError>> {
    let (live, former_managers) = (live?, former_managers?);
    let before = live.metadata.managed_fields.as_deref()?;
    let taken_over = TakenOver::of(before, former_managers)?;
    let after = applied.metadata.managed_fields.as_deref().unwrap_or_default();
    let [live, applied] = [live, applied].map(written);
    let mut pruned = without_dropped(&applied, after, &taken_over)?;
    // What the server takes and never gives back makes up for some of it: a Secret's `stringData`.
    if let (Some(pruned), Some(sent)) = (pruned.as_object_mut(), sent.as_object()) {
        let kept_back = sent.iter().filter(|(key, _)| applied.get(key).is_none());
        pruned.extend(kept_back.map(|(key, value)| (key.clone(), value.clone())));
    }
    let patch = merge_patch(&live, &pruned)?;
    let parameters = PatchParams {
        dry_run: true,
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let answer = api.patch(&id.name, &parameters, &Patch::Merge(&patch)).await;
    let answer = answer.map_err(|error| ApplyError::Request {
        attempt: "try the takeover of",
        id: Box::new(id.clone()),
        source: error.into(),
    });
    Some(answer.map(|object| serde_json::to_value(object).unwrap_or_default()))
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
