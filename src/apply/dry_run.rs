//! What an apply would do to an object, by the server's own word.

use kube::api::{ListParams, Patch, PatchParams};
use serde_json::Value;

use super::applier::{Applier, ApplyError, identify, unknown_kind};
use super::fields::FIELD_MANAGER;
use super::mark::{CHART_LABEL, Owner, Ownership};
use super::object::{ObjectId, RenderedObject};
use super::request::RequestError;
use crate::discovery::Served;

/// An object whose apply was tried.
#[derive(Debug)]
pub struct Tried {
    /// Which object.
    pub id: ObjectId,
    /// It as it is in the cluster, if it is there.
    pub live: Option<Value>,
    /// It as it would be after the apply, or why it would not be applied.
    pub result: Result<Value, ApplyError>,
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
        let ours = found.filter(|live| !matches!(owner.judge(&live.metadata), Ownership::Foreign(_)));
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
    /// does not exist yet, so that the server cannot say, is what would be sent.
    ///
    /// # Guarantees
    /// Nothing is written.
    ///
    /// # Errors
    /// The object in the cluster can't be read.
    pub async fn try_apply(
        &self,
        owner: &Owner,
        object: &RenderedObject,
        served: &Served,
        is_defined: bool,
    ) -> Result<Tried, ApplyError> {
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
            return Ok(Tried {
                id,
                live: None,
                result,
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
            if let Ownership::Foreign(reason) = owner.judge(&live.metadata) {
                let error = ApplyError::Foreign {
                    id: Box::new(id.clone()),
                    reason,
                };
                return Ok(Tried {
                    id,
                    live: serde_json::to_value(live).ok(),
                    result: Err(error),
                });
            }
            parameters = parameters.force();
        }
        let answer = api.patch(&object.name, &parameters, &Patch::Apply(&value)).await;
        let result = match answer.map_err(RequestError::from) {
            Ok(applied) => Ok(serde_json::to_value(applied).unwrap_or_default()),
            // The namespace comes with the chart, or is not there yet.
            Err(error) if error.is_not_found() && live.is_none() => Ok(value),
            Err(source) => Err(ApplyError::Request {
                attempt: "apply",
                id: Box::new(id.clone()),
                source,
            }),
        };
        Ok(Tried {
            id,
            live: live.and_then(|live| serde_json::to_value(live).ok()),
            result,
        })
    }
}
