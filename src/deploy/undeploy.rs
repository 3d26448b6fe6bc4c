//! Taking an operator out of a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Preconditions};
use serde_json::Value;
use steersman_chart::manifest::uninstall_order;
use steersman_cluster::client::list_all;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{RequestError, is_kept};
use steersman_model::{ApiKind, ObjectId, RESOURCE_POLICY, RenderedObject};
use tokio::time::Instant;

use super::deployer::{DeployError, Deployer, POLL_INTERVAL, Step, request_failed, text};
use super::left_behind::{leases, signing_keys};
use super::plan::Plan;

/// How many resources an error names.
pub(super) const NAMED: usize = 5;

/// How the resources of an operator's kinds are treated when it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// They are deleted first, by the operator; else they keep it from going.
    pub cascade: bool,
    /// How long all of it may take.
    pub limit: Duration,
}

/// The operator could not be taken out.
#[derive(Debug, thiserror::Error)]
pub enum UndeployError {
    /// A request failed.
    #[error(transparent)]
    Deploy(#[from] DeployError),
    /// Resources are left whose finalizers only the operator takes off. Nothing was deleted.
    #[error("{} of the operator's kinds are there: {}", count(resources.len()), first(resources))]
    InUse {
        /// The custom resources that the operator would have to let go.
        resources: Vec<ObjectId>,
    },
    /// Resources say themselves that they are to be kept, and without the operator they could not be. They were not deleted.
    #[error("the annotation {RESOURCE_POLICY} keeps {}: {}", count(resources.len()), first(resources))]
    Kept {
        /// The custom resources with the annotation.
        resources: Vec<ObjectId>,
    },
    /// Something is not gone in time. The operator was left as it is while resources are there.
    #[error("{} not gone after {} s: {}", is_or_are(waiting.len()), limit.as_secs(), first_with_reason(waiting))]
    NotGone {
        /// Each with the reason why it is not gone.
        waiting: Vec<(ObjectId, String)>,
        /// How long it had.
        limit: Duration,
    },
}

impl Deployer<'_> {
    /// Deletes the operator of the plan: its kinds' resources while it still runs, then the definitions, all other
    /// objects in Helm's order, its lease and its keys, and its namespaces, unless others have something in them.
    ///
    /// # Guarantees
    /// The operator runs until the last resource of its kinds is gone, and the definitions stay until the garbage collector
    /// has turned to what had one of these as its owner. Where resources are there and `cascade` is off, or
    /// one of them says that it is to be kept, nothing is deleted. What else says so stays.
    ///
    /// # Errors
    /// Resources are there, something is not gone in time, or a request failed.
    pub async fn undeploy(&self, plan: &Plan, removal: Removal) -> Result<(), UndeployError> {
        let deadline = Instant::now() + removal.limit;
        let end = End {
            deadline,
            limit: removal.limit,
        };
        let kinds = self.kinds(plan).await?;
        let resources = self.resources(&kinds).await?;
        if !resources.is_empty() {
            if !removal.cascade {
                let resources = resources.into_iter().map(|resource| resource.id).collect();
                return Err(UndeployError::InUse { resources });
            }
            refuse_kept(&resources)?;
            self.delete_resources(&kinds, resources, end).await?;
        }
        self.wait_collected(&kinds, end).await?;
        // With the definitions go resources that were created meanwhile, and the operator is still there for them.
        self.delete_all(&plan.definitions, end).await?;
        let mut others = plan.others.clone();
        others.sort_by(|a, b| uninstall_order(&a.api.kind, &b.api.kind));
        self.delete_all(&others, end).await?;
        self.delete_all(&leases(plan), end).await?;
        self.delete_all(&signing_keys(plan), end).await?;
        for namespace in &plan.namespaces {
            let found = self.leftovers(&namespace.name).await?;
            if found.is_empty() {
                self.delete_all(std::slice::from_ref(namespace), end).await?;
            } else {
                let (_, id) = self.address(namespace).await?;
                (self.on_step)(Step::Kept(&id, &found));
            }
        }
        Ok(())
    }

    /// The kinds that the plan defines, each in one version, as far as the server serves them.
    async fn kinds(&self, plan: &Plan) -> Result<Vec<(ApiKind, Resource)>, DeployError> {
        let served = self.discovery.refresh().await?;
        let mut kinds = BTreeMap::new();
        for kind in plan.custom_kinds() {
            if let Some(resource) = served.resource(&kind) {
                kinds.insert((kind.group.clone(), kind.kind.clone()), (kind, resource.clone()));
            }
        }
        Ok(kinds.into_values().collect())
    }

    /// The custom resources that exist of these kinds, in all namespaces.
    pub(super) async fn resources(&self, kinds: &[(ApiKind, Resource)]) -> Result<Vec<Live>, DeployError> {
        let mut found = Vec::new();
        for (kind, resource) in kinds {
            let api: Api<DynamicObject> = resource.objects(&self.client, None);
            let listed = match list_all(&api, ListParams::default()).await {
                Ok(listed) => listed,
                // The definition has gone meanwhile.
                Err(error) if error.is_not_found() => continue,
                Err(source) => {
                    return Err(DeployError::Request {
                        attempt: "list the resources of",
                        object: Box::new(definition_id(&resource.api.plural, &kind.group)),
                        source,
                    });
                }
            };
            found.extend(listed.into_iter().map(|live| Live {
                id: ObjectId {
                    group: kind.group.clone(),
                    kind: kind.kind.clone(),
                    namespace: live.metadata.namespace.clone(),
                    name: live.metadata.name.clone().unwrap_or_default(),
                },
                api: self.api(resource, live.metadata.namespace.as_deref()),
                uid: live.metadata.uid.clone(),
                is_going: live.metadata.deletion_timestamp.is_some(),
                is_kept: is_kept(&live.metadata),
                blocker: blocker(&live.data),
            }));
        }
        Ok(found)
    }

    async fn delete_resources(
        &self,
        kinds: &[(ApiKind, Resource)],
        mut resources: Vec<Live>,
        end: End,
    ) -> Result<(), UndeployError> {
        for resource in resources.iter().filter(|resource| !resource.is_going) {
            (self.on_step)(Step::Deleting(&resource.id));
            delete(&resource.api, &resource.id, resource.uid.clone()).await?;
        }
        loop {
            let left = self.resources(kinds).await?;
            for gone in resources
                .iter()
                .filter(|one| !left.iter().any(|other| other.uid == one.uid))
            {
                (self.on_step)(Step::Gone(&gone.id));
            }
            if left.is_empty() {
                return Ok(());
            }
            refuse_kept(&left)?;
            end.check(|| {
                left.iter()
                    .map(|one| (one.id.clone(), one.blocker.clone()))
                    .collect()
            })?;
            for new in left.iter().filter(|one| !one.is_going) {
                delete(&new.api, &new.id, new.uid.clone()).await?;
            }
            resources = left;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Deletes objects that are there, but what says itself that it is to be kept, and waits until they are gone.
    async fn delete_all(&self, objects: &[RenderedObject], end: End) -> Result<(), UndeployError> {
        let mut going = Vec::new();
        for object in objects {
            let (api, id) = match self.address(object).await {
                Ok(address) => address,
                // What is not served is not there.
                Err(DeployError::NotServed(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            let found = api.get_metadata_opt(&object.name).await;
            let found = found.map_err(|error| request_failed("look for", &id)(error.into()))?;
            if let Some(found) = found {
                if is_kept(&found.metadata) {
                    (self.on_step)(Step::KeptByAnnotation(&id));
                    continue;
                }
                (self.on_step)(Step::Deleting(&id));
                delete(&api, &id, found.metadata.uid.clone()).await?;
                going.push((api, id, found.metadata.uid));
            }
        }
        for (api, id, uid) in going {
            loop {
                let found = api.get_opt(&id.name).await;
                let found = found.map_err(|error| request_failed("read", &id)(error.into()))?;
                let Some(found) = found.filter(|found| found.metadata.uid == uid) else {
                    break;
                };
                end.check(|| vec![(id.clone(), why_it_stays(&found))])?;
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            (self.on_step)(Step::Gone(&id));
        }
        Ok(())
    }
}

/// A resource of one of the operator's kinds.
pub(super) struct Live {
    id: ObjectId,
    api: Api<DynamicObject>,
    pub(super) uid: Option<String>,
    is_going: bool,
    is_kept: bool,
    blocker: String,
}

/// When waiting ends.
#[derive(Clone, Copy)]
pub(super) struct End {
    deadline: Instant,
    limit: Duration,
}

impl End {
    pub(super) fn check(
        self,
        waiting: impl FnOnce() -> Vec<(ObjectId, String)>,
    ) -> Result<(), UndeployError> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(UndeployError::NotGone {
            waiting: waiting(),
            limit: self.limit,
        })
    }
}

/// Deletes this very object; one that is gone is as good.
async fn delete(api: &Api<DynamicObject>, id: &ObjectId, uid: Option<String>) -> Result<(), DeployError> {
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid,
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    match api
        .delete(&id.name, &parameters)
        .await
        .map_err(RequestError::from)
    {
        Err(error) if !error.is_not_found() && !error.is_other_uid() => {
            Err(request_failed("delete", id)(error))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// One of them says that it is to be kept, and nobody has deleted it.
fn refuse_kept(resources: &[Live]) -> Result<(), UndeployError> {
    let kept = resources.iter().filter(|one| one.is_kept && !one.is_going);
    let kept: Vec<ObjectId> = kept.map(|one| one.id.clone()).collect();
    if kept.is_empty() {
        Ok(())
    } else {
        Err(UndeployError::Kept { resources: kept })
    }
}

fn definition_id(plural: &str, group: &str) -> ObjectId {
    ObjectId {
        group: "apiextensions.k8s.io".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: None,
        name: format!("{plural}.{group}"),
    }
}

/// What the operator says keeps a resource: its condition that is not ready.
fn blocker(resource: &Value) -> String {
    let conditions = resource.pointer("/status/conditions").and_then(Value::as_array);
    let message = |kind: &str, status: &str| {
        let found = conditions?
            .iter()
            .find(|one| one["type"] == kind && one["status"] == status)?;
        Some(text(found, "/message").to_owned()).filter(|message| !message.is_empty())
    };
    message("Ready", "False")
        .or_else(|| message("Irreconcilable", "True"))
        .unwrap_or_else(|| "its finalizer is there, so the operator may not be running".to_owned())
}

/// Why an object that is being deleted is still there: its finalizers, or else a condition that is true.
fn why_it_stays(object: &DynamicObject) -> String {
    if let Some(finalizers @ [_, ..]) = object.metadata.finalizers.as_deref() {
        return format!("finalizers {}", finalizers.join(", "));
    }
    let conditions = object
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let reason = conditions
        .into_iter()
        .flatten()
        .find(|one| one["status"] == "True");
    reason.map_or_else(String::new, |one| text(one, "/message").to_owned())
}

fn count(number: usize) -> String {
    if number == 1 {
        "1 resource".to_owned()
    } else {
        format!("{number} resources")
    }
}

fn is_or_are(number: usize) -> String {
    if number == 1 {
        "1 object is".to_owned()
    } else {
        format!("{number} objects are")
    }
}

fn first(resources: &[ObjectId]) -> String {
    let names: Vec<String> = resources.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if resources.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

fn first_with_reason(waiting: &[(ObjectId, String)]) -> String {
    let shown = waiting.iter().take(NAMED).map(|(id, reason)| {
        if reason.is_empty() {
            id.to_string()
        } else {
            format!("{id} ({reason})")
        }
    });
    let shown: Vec<String> = shown.collect();
    let more = if waiting.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
