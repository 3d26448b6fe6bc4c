//! Applying the objects of an operator.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::{Discovery, DiscoveryError, Resource};
use steersman_model::{FIELD_MANAGER, ObjectId, RenderedObject};
use steersman_operator::apply::{ESTABLISH_TIMEOUT, established, take_over_fields};
use steersman_operator::status::{Health, health};

use super::plan::Plan;

/// How often something that changes is looked at.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Whose fields become ours when we apply: `kubectl apply` has deployed the operator before, as operator-sdk's Makefile
/// does. Else what the new manifests drop would stay.
const FORMERS: [&str; 2] = ["kubectl-client-side-apply", "kubectl"];

/// The operator could not be deployed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// Some objects are of kinds that the server does not serve. Nothing was written.
    #[error("the API server does not serve the kinds of these objects:\n{}", lines(.0))]
    NotServed(Vec<String>),
    /// The server refused a request.
    #[error("failed to {attempt} {object}")]
    Request {
        /// `apply`, `read`, `look for` or `delete`.
        attempt: &'static str,
        /// `ServiceAccount web-system/web`, for example.
        object: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
    /// A definition is there but the server does not act on it.
    #[error("{object} is not established after {} s{}", ESTABLISH_TIMEOUT.as_secs(), detail(reason))]
    NotEstablished {
        /// The definition.
        object: ObjectId,
        /// What its conditions say.
        reason: String,
    },
}

/// Something that happened, for people who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The object is new.
    Created(&'a ObjectId),
    /// The object was there and differs now.
    Configured(&'a ObjectId),
    /// The object was so already.
    Unchanged(&'a ObjectId),
    /// The object is not ready, and this is why.
    WaitingFor(&'a ObjectId, &'a str),
    /// The object does what it is there for.
    Ready(&'a ObjectId),
    /// A request to delete the object was sent.
    Deleting(&'a ObjectId),
    /// The server does not find it any longer.
    Gone(&'a ObjectId),
    /// The namespace stays, as it has these other objects.
    Kept(&'a ObjectId, &'a [String]),
    /// The object stays, as it says itself.
    KeptByAnnotation(&'a ObjectId),
    /// The object stays although its owner is gone, as the garbage collector can't ask for all owners that it names.
    Uncollected(&'a ObjectId),
}

/// Brings operators into a cluster and takes them out.
pub struct Deployer<'a> {
    pub(super) client: Client,
    pub(super) discovery: Discovery,
    /// The namespace of objects that name none.
    pub(super) namespace: String,
    pub(super) on_step: &'a (dyn Fn(Step<'_>) + Sync),
}

impl std::fmt::Debug for Deployer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deployer").finish_non_exhaustive()
    }
}

impl<'a> Deployer<'a> {
    /// For a cluster; `on_step` is called at each step.
    pub fn new(client: Client, namespace: &str, on_step: &'a (dyn Fn(Step<'_>) + Sync)) -> Self {
        Self {
            discovery: Discovery::new(client.clone()),
            client,
            namespace: namespace.to_owned(),
            on_step,
        }
    }

    /// Applies all objects. Values that others have set are overwritten, as by `kubectl apply`.
    ///
    /// # Guarantees
    /// Where a kind is not served, nothing is written. The server acts on the definitions before any other object is
    /// applied.
    ///
    /// # Errors
    /// A kind is not served, or the server refuses an object; those before it are applied.
    pub async fn deploy(&self, plan: &Plan) -> Result<(), DeployError> {
        self.check_served(plan).await?;
        for object in plan.namespaces.iter().chain(&plan.definitions) {
            self.apply(object).await?;
        }
        for definition in &plan.definitions {
            self.wait_established(definition).await?;
        }
        if !plan.definitions.is_empty() {
            self.discovery.refresh().await?;
        }
        for object in &plan.others {
            self.apply(object).await?;
        }
        Ok(())
    }

    async fn check_served(&self, plan: &Plan) -> Result<(), DeployError> {
        let served = self.discovery.served().await?;
        let defined = plan.custom_kinds();
        let missing: Vec<String> = plan
            .objects()
            .filter(|object| served.resource(&object.api).is_none() && !defined.contains(&object.api))
            .map(|object| {
                format!(
                    "{} {} ({})",
                    object.api.kind,
                    object.name,
                    object.api.api_version()
                )
            })
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(DeployError::NotServed(missing))
        }
    }

    async fn apply(&self, object: &RenderedObject) -> Result<(), DeployError> {
        let (api, id) = self.address(object).await?;
        let failed = |attempt| request_failed(attempt, &id);
        let found = api.get_metadata_opt(&object.name).await;
        let found = found.map_err(|error| failed("look for")(error.into()))?;
        if let Some(found) = &found {
            let formers = FORMERS.map(str::to_owned);
            take_over_fields(&api, &object.name, &found.metadata, &formers)
                .await
                .map_err(failed("take over the fields of"))?;
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let applied = api
            .patch(&object.name, &parameters, &Patch::Apply(&object.value))
            .await
            .map_err(|error| failed("apply")(error.into()))?;
        (self.on_step)(match found {
            None => Step::Created(&id),
            Some(found) if is_same(found.metadata.resource_version.as_ref(), &applied) => {
                Step::Unchanged(&id)
            }
            Some(_) => Step::Configured(&id),
        });
        Ok(())
    }

    async fn wait_established(&self, definition: &RenderedObject) -> Result<(), DeployError> {
        let (api, id) = self.address(definition).await?;
        let end = established(&api, &definition.name).await;
        match end.map_err(request_failed("read", &id))? {
            Ok(()) => Ok(()),
            Err(reason) => Err(DeployError::NotEstablished { object: id, reason }),
        }
    }

    /// The way to objects of this kind, and the object's identity.
    pub(super) async fn address(
        &self,
        object: &RenderedObject,
    ) -> Result<(Api<DynamicObject>, ObjectId), DeployError> {
        let served = self.discovery.served().await?;
        let resource = served
            .resource(&object.api)
            .ok_or_else(|| DeployError::NotServed(vec![format!("{} {}", object.api.kind, object.name)]))?;
        Ok((
            self.api(resource, object.namespace.as_deref()),
            self.identify(resource, object),
        ))
    }

    pub(super) fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        let namespace = namespace.unwrap_or(&self.namespace);
        resource.objects(&self.client, Some(namespace))
    }

    fn identify(&self, resource: &Resource, object: &RenderedObject) -> ObjectId {
        let namespace = object.namespace.as_deref().unwrap_or(&self.namespace);
        ObjectId {
            group: object.api.group.clone(),
            kind: object.api.kind.clone(),
            namespace: resource.namespaced.then(|| namespace.to_owned()),
            name: object.name.clone(),
        }
    }
}

/// Adds to the error of a request what it was for.
pub(super) fn request_failed(
    attempt: &'static str,
    id: &ObjectId,
) -> impl FnOnce(RequestError) -> DeployError + use<> {
    let object = Box::new(id.clone());
    move |source| DeployError::Request {
        attempt,
        object,
        source,
    }
}

/// How an object is, by its own status.
pub(super) fn verdict(object: &RenderedObject, live: &DynamicObject) -> Option<Health> {
    let generation = live.metadata.generation;
    health(&object.api.group, &object.api.kind, generation, &live.data)
}

fn is_same(version: Option<&String>, applied: &DynamicObject) -> bool {
    version.is_some() && version == applied.metadata.resource_version.as_ref()
}

fn lines(objects: &[String]) -> String {
    let lines: Vec<String> = objects.iter().map(|object| format!("  {object}")).collect();
    lines.join("\n")
}

fn detail(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

/// The data of an object that is read for what it says of itself.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
