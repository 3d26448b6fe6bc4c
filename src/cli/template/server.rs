//! `--dry-run=server`: the cluster's versions, its objects, and what it would say to the result.

use std::sync::Arc;

use anyhow::anyhow;
use kube::api::{Api, DynamicObject};
use steersman_chart::{Capabilities, Manifest, Notice, ReleaseInfo};
use steersman_cluster::RequestError;
use steersman_cluster::discovery::{Discovery, Resource, Served};
use steersman_cluster::lookup::ClusterWorld;
use steersman_model::{Environment, RenderedObject};
use tokio::runtime::Runtime;

use super::super::Failure;
use super::super::helm::{self, Settings};

/// The cluster that a chart is rendered for.
pub(super) struct Server {
    runtime: Runtime,
    client: kube::Client,
    discovery: Arc<Discovery>,
    served: Arc<Served>,
}

impl Server {
    /// Connects to the cluster and asks it what it serves.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub(super) fn connect(settings: &Settings, environment: &Environment) -> Result<Self, Failure> {
        let runtime = Runtime::new().map_err(Failure::helm)?;
        let connect = async {
            let client = settings.target.connect(environment).await;
            let client = client.map_err(|error| error.to_string())?;
            let discovery = Arc::new(Discovery::new(client.clone()));
            let served = discovery
                .served()
                .await
                .map_err(|error| format!("{:#}", anyhow!(error)))?;
            Ok((client, discovery, served))
        };
        let connected = runtime.block_on(connect);
        let (client, discovery, served) = connected.map_err(|error: String| {
            let message =
                format!("cluster reachability check failed: kubernetes cluster unreachable: {error}");
            helm::log(&Notice::error(message.clone()));
            Failure::helm(anyhow!(message))
        })?;
        Ok(Self {
            runtime,
            client,
            discovery,
            served,
        })
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.served.capabilities().clone()
    }

    /// A world whose `lookup` asks the cluster. Not to be used on a thread of the runtime.
    pub(super) fn world(&self) -> ClusterWorld {
        let runtime = self.runtime.handle().clone();
        ClusterWorld::new(self.client.clone(), Arc::clone(&self.discovery), runtime)
    }

    /// Whether the cluster serves the kinds of all objects, and whether those that are new to the release belong to
    /// nobody else.
    ///
    /// # Errors
    /// They do not; the text is Helm's.
    pub(super) fn check(
        &self,
        manifests: &[Manifest],
        release: &ReleaseInfo,
        may_exist: bool,
    ) -> Result<(), Failure> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for object in objects(manifests)? {
            match self.served.resource(&object.api) {
                Some(resource) => found.push((object, resource)),
                None => missing.push(no_match(&object)),
            }
        }
        if !missing.is_empty() {
            let text = match missing.as_slice() {
                [text] => text.clone(),
                texts => format!("[{}]", texts.join(", ")),
            };
            return Err(Failure::helm(anyhow!(
                "unable to build kubernetes objects from release manifest: {text}"
            )));
        }
        if may_exist {
            return Ok(());
        }
        for (object, resource) in &found {
            self.check_owner(object, resource, release)
                .map_err(|error| Failure::helm(anyhow!("unable to continue with install: {error}")))?;
        }
        Ok(())
    }

    fn check_owner(
        &self,
        object: &RenderedObject,
        resource: &Resource,
        release: &ReleaseInfo,
    ) -> Result<(), String> {
        let own = object.namespace.as_deref().unwrap_or(&release.namespace);
        let namespace = if resource.namespaced { own } else { "" };
        let api: Api<DynamicObject> = resource.objects(&self.client, Some(namespace));
        let name = format!("{} {:?} in namespace {namespace:?}", object.api.kind, object.name);
        match self.runtime.block_on(api.get_opt(&object.name)) {
            Ok(None) => Ok(()),
            Ok(Some(existing)) => check_marks(&existing, release).map_err(|error| {
                format!("{name} exists and cannot be imported into the current release: {error}")
            }),
            Err(error) => Err(format!(
                "could not get information about the resource {name}: {}",
                RequestError::from(error)
            )),
        }
    }
}

/// The objects of manifests, lists taken apart; those whose names the server makes up are left out.
fn objects(manifests: &[Manifest]) -> Result<Vec<RenderedObject>, Failure> {
    let mut objects = Vec::new();
    for manifest in manifests {
        let document = manifest.object();
        let is_named_by_server = document.pointer("/metadata/generateName").is_some()
            && document.pointer("/metadata/name").is_none();
        if is_named_by_server {
            continue;
        }
        let found = RenderedObject::from_document(&manifest.source, &document).map_err(|error| {
            Failure::helm(anyhow!(
                "unable to build kubernetes objects from release manifest: {error}"
            ))
        })?;
        objects.extend(found);
    }
    Ok(objects)
}

fn no_match(object: &RenderedObject) -> String {
    let namespace = object.namespace.as_deref().unwrap_or_default();
    format!(
        "resource mapping not found for name: {:?} namespace: {namespace:?} from \"\": no matches for kind {:?} in version \
         {:?}\nensure CRDs are installed first",
        object.name,
        object.api.kind,
        object.api.api_version()
    )
}

/// Whether an object carries the marks of the release.
fn check_marks(existing: &DynamicObject, release: &ReleaseInfo) -> Result<(), String> {
    let labels = existing.metadata.labels.clone().unwrap_or_default();
    let annotations = existing.metadata.annotations.clone().unwrap_or_default();
    let mut problems = Vec::new();
    for (what, map, key, wanted) in [
        ("label", &labels, "app.kubernetes.io/managed-by", "Helm"),
        (
            "annotation",
            &annotations,
            "meta.helm.sh/release-name",
            release.name.as_str(),
        ),
        (
            "annotation",
            &annotations,
            "meta.helm.sh/release-namespace",
            release.namespace.as_str(),
        ),
    ] {
        match map.get(key) {
            Some(found) if found == wanted => {}
            Some(found) => problems.push(format!(
                "{what} validation error: key {key:?} must equal {wanted:?}: current value is {found:?}"
            )),
            None => problems.push(format!(
                "{what} validation error: missing key {key:?}: must be set to {wanted:?}"
            )),
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("invalid ownership metadata; {}", problems.join("; ")))
}
