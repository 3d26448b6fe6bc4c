//! The resources that are compared: of files, as the server would admit them, and of the cluster.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use kube::api::{DynamicObject, PostParams};
use kube::core::{GroupVersionKind, SelectorExt as _};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, FIELD_MANAGER};
use steersman_watches::{Watch, Watches};

use crate::cli::Failure;
use crate::cli::cluster::{Cluster, Named, failed};

/// A resource, and the watch that it belongs to.
pub(in crate::cli) struct Subject<'a> {
    pub(in crate::cli) object: DynamicObject,
    pub(in crate::cli) resource: Resource,
    pub(in crate::cli) watch: &'a Watch,
}

impl<'a> Subject<'a> {
    /// A resource of a file as it would be once it is applied: with the server's defaults, and checked by it.
    pub(super) async fn of_document(
        cluster: &Cluster,
        watches: &'a Watches,
        document: Value,
    ) -> Result<Self, Failure> {
        let wanted: DynamicObject =
            serde_json::from_value(document).context("a document of the files is no resource")?;
        let types = wanted.types.clone().unwrap_or_default();
        let api = ApiKind::new(&types.api_version, &types.kind);
        let watch = watch(watches, &api)?;
        let served = cluster.discovery.served().await.map_err(failed)?;
        let resource = served.resource(&api).cloned().ok_or_else(|| {
            let hint = "apply its CustomResourceDefinition first";
            Failure::failed(
                anyhow!(
                    "the API server does not serve {} in {}",
                    api.kind,
                    api.api_version()
                ),
                Some(hint.to_owned()),
            )
        })?;
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let attempt = || format!("the server does not admit {} {name}", api.kind);
        let objects = cluster.api(&resource, wanted.metadata.namespace.as_deref());
        let parameters = PostParams {
            dry_run: true,
            field_manager: Some(FIELD_MANAGER.to_owned()),
        };
        let live = objects.get_opt(&name).await;
        let live = live.map_err(|error| anyhow!(RequestError::from(error)).context(attempt()))?;
        let admitted = match live {
            Some(live) => objects.replace(&name, &parameters, &merged(live, wanted)).await,
            None => objects.create(&parameters, &wanted).await,
        };
        let object = admitted.map_err(|error| anyhow!(RequestError::from(error)).context(attempt()))?;
        Ok(Self {
            object,
            resource,
            watch,
        })
    }

    /// A resource of the cluster.
    pub(super) async fn of_cluster(
        cluster: &Cluster,
        watches: &'a Watches,
        named: &Named,
    ) -> Result<Self, Failure> {
        let served = cluster.discovery.served().await.map_err(failed)?;
        let watch_of = |api: &ApiKind| {
            let same = |watch: &&Watch| watch.gvk.group == api.group && watch.gvk.kind == api.kind;
            watches.iter().find(same)
        };
        let (api, _) = Cluster::kind(&served, &named.kind, |api| watch_of(api).is_some())?;
        let watch = watch_of(&api).ok_or_else(|| not_watched(watches, &api))?;
        let api = of_watch(watch);
        let resource = served.resource(&api).cloned();
        let resource = resource.ok_or_else(|| not_watched(watches, &api))?;
        Ok(Self {
            object: cluster.get(&api, &resource, &named.name).await?,
            resource,
            watch,
        })
    }

    /// Whether the watch is about it: the operator leaves other resources alone.
    pub(super) fn is_selected(&self) -> bool {
        let labels = self.object.metadata.labels.clone().unwrap_or_default();
        self.watch.selector.matches(&labels)
    }

    /// Its kind and name, for people.
    pub(in crate::cli) fn title(&self) -> String {
        let metadata = &self.object.metadata;
        let name = metadata.name.as_deref().unwrap_or_default();
        match &metadata.namespace {
            Some(namespace) => format!("{} {namespace}/{name}", self.watch.gvk.kind),
            None => format!("{} {name}", self.watch.gvk.kind),
        }
    }
}

/// The resource in the cluster with what the file says. What the file does not say of the metadata stays, as others
/// write there, too.
fn merged(live: DynamicObject, wanted: DynamicObject) -> DynamicObject {
    let mut object = live;
    for (key, value) in wanted.metadata.annotations.into_iter().flatten() {
        object
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(key, value);
    }
    for (key, value) in wanted.metadata.labels.into_iter().flatten() {
        object.metadata.labels.get_or_insert_default().insert(key, value);
    }
    object.metadata.managed_fields = None;
    let status = object.data.get("status").cloned();
    object.data = wanted.data;
    if let (Some(status), Some(data)) = (status, object.data.as_object_mut()) {
        data.insert("status".to_owned(), status);
    }
    object
}

fn watch<'a>(watches: &'a Watches, api: &ApiKind) -> Result<&'a Watch, Failure> {
    let gvk = GroupVersionKind::gvk(&api.group, &api.version, &api.kind);
    watches.get(&gvk).ok_or_else(|| not_watched(watches, api))
}

fn of_watch(watch: &Watch) -> ApiKind {
    ApiKind {
        group: watch.gvk.group.clone(),
        version: watch.gvk.version.clone(),
        kind: watch.gvk.kind.clone(),
    }
}

fn not_watched(watches: &Watches, api: &ApiKind) -> Failure {
    let kinds: Vec<String> = watches
        .iter()
        .map(|watch| format!("{} in {}", watch.gvk.kind, watch.gvk.api_version()))
        .collect();
    Failure::usage(
        anyhow!(
            "{} in {} is not watched by this watches.yaml",
            api.kind,
            api.api_version()
        ),
        Some(format!("it has {}", kinds.join(", "))),
    )
}

/// The documents of all files.
pub(in crate::cli) fn read_files(files: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    let mut documents = Vec::new();
    for file in files {
        let text = read_file(file).with_context(|| format!("failed to read `{}`", file.display()));
        let text = text.map_err(|error| Failure::usage(error, None))?;
        let wrong = |error: steersman_yaml::Error| {
            Failure::usage(anyhow!("`{}` is not valid YAML: {error}", file.display()), None)
        };
        for node in steersman_yaml::parse_documents(&text).map_err(wrong)? {
            match node.into_json().map_err(wrong)? {
                Value::Null => {}
                document => documents.push(document),
            }
        }
    }
    Ok(documents)
}

fn read_file(file: &Path) -> io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}
