//! What is left to others in objects that are applied.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_cluster::{Owner, Ownership, RequestError};
use steersman_model::{FIELD_MANAGER, ObjectId, RenderedObject};
use steersman_watches::drift::{Candidate, FieldPath, IgnoreRule, is_retained, retain};

use crate::apply::address::identify;
use crate::apply::applier::Applier;
use crate::apply::error::ApplyError;

/// Keeps the number of replicas of a workload whose chart no longer says one.
const HANDOVER: &str = "steersman-handover";

/// What is done about a number of replicas that the chart no longer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// It is given a second owner.
    Make,
    /// Nothing is written; the object gets the number that it will keep.
    DryRun,
}

impl Applier {
    /// `objects` with the values that are left to others as they are in the cluster.
    ///
    /// `before` is what was sent of the objects before, perhaps more than once. A value at an ignored path that the chart
    /// renders like all of these is taken from the live object. And where the chart no longer renders a number of
    /// replicas, the live one is made to stay when the release drops it, so that whoever scales
    /// the workload from now on takes it up from there.
    ///
    /// # Errors
    /// A live object can't be read, or the number of replicas not be handed over.
    pub async fn leave_to_others(
        &self,
        owner: &Owner,
        rules: &[IgnoreRule],
        mut objects: Vec<RenderedObject>,
        before: Vec<RenderedObject>,
        handover: Handover,
    ) -> Result<Vec<RenderedObject>, ApplyError> {
        let before = self.identities(owner, before).await?;
        let served = self.discovery.served().await?;
        for object in &mut objects {
            let Some(resource) = served.resource(&object.api) else {
                continue;
            };
            let id = identify(object, resource, &owner.release_namespace);
            let former = || {
                before
                    .iter()
                    .filter(|(other, _)| *other == id)
                    .map(|(_, former)| former)
            };
            if former().next().is_none() {
                continue;
            }
            let candidate = || {
                let marked = owner.mark(&object.value, id.namespace.as_deref(), object.is_kept());
                Candidate::applied(&object.api.version, &marked)
            };
            let mut retained: Vec<&FieldPath> = IgnoreRule::paths_of(rules, &id, candidate);
            retained.retain(|path| former().all(|former| is_retained(&object.value, &former.value, path)));
            let was_scaled = former().any(|former| replicas(&former.value).is_some());
            let scaled = was_scaled && replicas(&object.value).is_none();
            if retained.is_empty() && !scaled {
                continue;
            }
            let api = self.api(resource, id.namespace.as_deref());
            let Some(live) = live(owner, &api, &id).await? else {
                continue;
            };
            for path in retained {
                retain(&mut object.value, &live.data, path);
            }
            match (replicas(&live.data).filter(|_| scaled), handover) {
                (Some(count), Handover::Make) => hand_over(&api, &id, object, &live, count).await?,
                (Some(count), Handover::DryRun) => object.value["spec"]["replicas"] = count.into(),
                (None, _) => {}
            }
        }
        Ok(objects)
    }
}

impl Applier {
    /// The manager of fields that wrote an object last, besides us; `None` where that is unknown.
    pub async fn last_writer(&self, id: &ObjectId) -> Option<String> {
        let served = self.discovery.served().await.ok()?;
        let resource = served.any_version(&id.group, &id.kind)?;
        let api = self.api(resource, id.namespace.as_deref());
        let metadata = api.get_metadata_opt(&id.name).await.ok()??.metadata;
        let others = metadata.managed_fields.into_iter().flatten().filter(|entry| {
            entry.subresource.as_deref() != Some("status") && entry.manager.as_deref() != Some(FIELD_MANAGER)
        });
        others
            .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?
            .manager
    }
}

/// The object, if it is there and ours.
async fn live(
    owner: &Owner,
    api: &Api<DynamicObject>,
    id: &ObjectId,
) -> Result<Option<DynamicObject>, ApplyError> {
    let found = api
        .get_opt(&id.name)
        .await
        .map_err(|error| request("read", id, error.into()))?;
    Ok(found.filter(|object| !matches!(owner.ownership(&object.metadata), Ownership::Foreign(_))))
}

/// Gives the number of replicas a second owner. A value with two stays when one drops it, and
/// whoever changes it takes it from both.
async fn hand_over(
    api: &Api<DynamicObject>,
    id: &ObjectId,
    object: &RenderedObject,
    live: &DynamicObject,
    count: i64,
) -> Result<(), ApplyError> {
    let value = json!({
        "apiVersion": object.api.api_version(), "kind": object.api.kind,
        "metadata": {"name": id.name, "uid": live.metadata.uid},
        "spec": {"replicas": count},
    });
    let parameters = PatchParams::apply(HANDOVER);
    match api
        .patch_metadata(&id.name, &parameters, &Patch::Apply(&value))
        .await
        .map_err(RequestError::from)
    {
        Ok(_) => Ok(()),
        // Somebody scales it at this moment, so it has another owner already.
        Err(error) if error.is_field_conflict() => Ok(()),
        Err(error) => Err(request("hand over the replicas of", id, error)),
    }
}

fn replicas(object: &Value) -> Option<i64> {
    object.pointer("/spec/replicas").and_then(Value::as_i64)
}

fn request(attempt: &'static str, id: &ObjectId, source: RequestError) -> ApplyError {
    ApplyError::Request {
        attempt,
        id: Box::new(id.clone()),
        source,
    }
}
