//! From the objects of a project to a bundle.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::manifests::Manifests;
use super::permissions::{self, Permissions};
use super::upgrade::{self, Replaces, check_version, versioned_name};
use super::value::{child, group_version, list, name, portable, sorted, text};
use super::{
    BundleError, ResourceReference, base, images, install_modes, owned, service_version_file, to_yaml,
};
use crate::set_operator_image;

/// Kinds that OLM takes beside a `ClusterServiceVersion`, as operator-registry lists them.
pub(super) const SUPPORTED_KINDS: [&str; 21] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterServiceVersion",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsolePlugin",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

/// Kinds that a project has for the way without OLM, and that nobody misses in a bundle.
const WITHOUT_OLM: [&str; 2] = ["Namespace", "Kustomization"];

/// The version of a package that has none yet, as in the Makefile of a new project.
const FIRST_VERSION: &str = "0.0.1";

/// What the objects of a project do not say about their bundle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The name of the package.
    pub package: String,
    /// The version. Without it: that of the base, that of the bundle before, or 0.0.1.
    pub version: Option<String>,
    /// The version that OLM upgrades from: `spec.replaces`.
    pub replaces: Replaces,
    /// Versions that an upgrade may leave out: names of their `ClusterServiceVersion`s.
    pub skips: Vec<String>,
    /// Versions from which an upgrade may come directly, such as `>=0.1.0 <0.3.0`.
    pub skip_range: Option<String>,
    /// The image of the operator.
    pub image: Option<String>,
    /// Service accounts besides those of Deployments whose roles belong to the operator.
    pub extra_service_accounts: Vec<String>,
    /// What writes the bundle, such as `steersman-v1.0.0`.
    pub builder: String,
    /// The layout of the project, such as `helm.sdk.operatorframework.io/v1`.
    pub layout: String,
    /// What resources of each definition consist of, by the definition's name.
    pub resources: BTreeMap<String, Vec<ResourceReference>>,
    /// A base for where the objects have none.
    pub base: Option<Value>,
    /// The `ClusterServiceVersion` that the new one is written over.
    pub previous: Option<Value>,
}

/// A bundle before it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// The name of the package.
    pub package: String,
    /// Strictly semantic, without a `v`: `0.0.1` in `memcached-operator.v0.0.1`.
    pub version: String,
    /// The `ClusterServiceVersion`, without the time of its creation.
    pub service_version: Value,
    /// The objects beside it, by the name of their file.
    pub objects: BTreeMap<String, Value>,
    /// The configuration of scorecard.
    pub scorecard: Option<Value>,
    /// What the user should know.
    pub notices: Vec<String>,
}

impl Bundle {
    /// Writes down when the bundle was made: when the one before was, if nothing else has changed, else `now`.
    pub fn stamp(&mut self, previous: Option<&Value>, now: &str) {
        let before = previous
            .and_then(|previous| previous.pointer("/metadata/annotations/createdAt"))
            .cloned();
        if let Some(before) = before {
            self.set_created_at(before);
            if previous.is_some_and(|previous| sorted(previous) == sorted(&self.service_version)) {
                return;
            }
        }
        self.set_created_at(now.into());
    }

    /// The files of the bundle, by their paths inside of it, without its metadata.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files: BTreeMap<String, String> = self
            .objects
            .iter()
            .map(|(name, object)| (format!("manifests/{name}"), to_yaml(object)))
            .collect();
        files.insert(
            format!("manifests/{}", service_version_file(&self.package)),
            to_yaml(&self.service_version),
        );
        if let Some(scorecard) = &self.scorecard {
            files.insert("tests/scorecard/config.yaml".to_owned(), to_yaml(scorecard));
        }
        files
    }

    fn set_created_at(&mut self, time: Value) {
        if let Some(root) = self.service_version.as_object_mut() {
            child(child(root, "metadata"), "annotations").insert("createdAt".to_owned(), time);
        }
    }
}

/// Makes a bundle of the objects of a project.
///
/// The base is the package's `ClusterServiceVersion` among the objects, else that of the request, else a new one. What
/// people say there stays; what follows from the other objects is written anew: deployments, permissions, the kinds that
/// are served, examples, install modes.
///
/// # Errors
///
/// There is no Deployment, the version is none, or the request contradicts the objects: see [`BundleError`].
pub fn generate(mut manifests: Manifests, request: &Request) -> Result<Bundle, BundleError> {
    if manifests.deployments.is_empty() {
        return Err(BundleError::NoDeployment {
            count: manifests.count(),
        });
    }
    if let Some(image) = &request.image {
        set_operator_image(&mut manifests.deployments, image)?;
    }
    manifests
        .deployments
        .iter_mut()
        .for_each(install_modes::follow_target_namespaces);
    let base = match (manifests.service_version(&request.package), &request.base) {
        (Some(found), _) => found.clone(),
        (None, Some(given)) => given.clone(),
        (None, None) => base::base(&request.package, &[], base::CapabilityLevel::default()),
    };
    let version = version(request, &base)?;
    let permissions = permissions::divide(&manifests, &request.extra_service_accounts);
    let service_version = service_version(&manifests, request, base, &version, &permissions)?;
    Ok(Bundle {
        package: request.package.clone(),
        notices: notices(&manifests, &service_version),
        objects: objects_beside(&manifests, permissions.beside),
        scorecard: manifests.scorecard,
        version,
        service_version,
    })
}

fn version(request: &Request, base: &Value) -> Result<String, BundleError> {
    let of_previous = request
        .previous
        .as_ref()
        .map(|previous| text(previous, "/spec/version"));
    let candidates = [Some(text(base, "/spec/version")), of_previous];
    let mut known = candidates
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty() && *text != "0.0.0");
    let text = match &request.version {
        Some(version) => version.as_str(),
        None => known.next().unwrap_or(FIRST_VERSION),
    };
    check_version(text).map(|version| version.to_string())
}

fn service_version(
    manifests: &Manifests,
    request: &Request,
    base: Value,
    version: &str,
    permissions: &Permissions,
) -> Result<Value, BundleError> {
    let parsed = check_version(version)?;
    let previous = request.previous.as_ref();
    let replaces = upgrade::replaced(&request.replaces, &request.package, &parsed, &base, previous)?;
    let modes = install_modes::install_modes(manifests, &base);
    let owned = owned::owned(manifests, &base, &request.resources);
    let mut root = match base {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    root.remove("status");
    set_metadata(&mut root, manifests, request, version);

    let spec = child(&mut root, "spec");
    spec.entry("apiservicedefinitions").or_insert_with(|| json!({}));
    spec.insert("version".to_owned(), version.into());
    spec.insert("installModes".to_owned(), modes);
    spec.insert("install".to_owned(), install(manifests, permissions));
    child(spec, "customresourcedefinitions").insert("owned".to_owned(), owned.into());
    set_or_remove(spec, "replaces", replaces.map(Value::from));
    if !request.skips.is_empty() {
        spec.insert("skips".to_owned(), request.skips.clone().into());
    }
    let related = images::related_images(&manifests.deployments)?;
    let related = Some(Value::from(related)).filter(|related| related != &json!([]));
    set_or_remove(spec, "relatedImages", related);
    // An icon without content is operator-sdk's placeholder, and no catalog takes it.
    let has_icon = list(&Value::Object(spec.clone()), "/icon")
        .iter()
        .any(|icon| !text(icon, "/base64data").is_empty());
    if !has_icon {
        spec.remove("icon");
    }
    Ok(Value::Object(root))
}

fn set_metadata(root: &mut Map<String, Value>, manifests: &Manifests, request: &Request, version: &str) {
    let metadata = child(root, "metadata");
    metadata.remove("creationTimestamp");
    metadata.insert(
        "name".to_owned(),
        versioned_name(&request.package, version).into(),
    );
    metadata
        .entry("namespace")
        .or_insert_with(|| "placeholder".into());
    let annotations = child(metadata, "annotations");
    annotations.insert("alm-examples".to_owned(), examples(manifests).into());
    annotations.insert(
        "operators.operatorframework.io/builder".to_owned(),
        request.builder.as_str().into(),
    );
    annotations.insert(
        "operators.operatorframework.io/project_layout".to_owned(),
        request.layout.as_str().into(),
    );
    if let Some(range) = &request.skip_range {
        annotations.insert("olm.skipRange".to_owned(), range.as_str().into());
    }
    if let Some(image) = &request.image {
        annotations.insert("containerImage".to_owned(), image.as_str().into());
    }
    // Set by `stamp`, when all else is known.
    annotations.remove("createdAt");
}

/// The custom resources of the project, as JSON.
fn examples(manifests: &Manifests) -> String {
    let resources: Vec<Value> = manifests
        .custom_resources
        .iter()
        .map(|resource| sorted(&portable(resource.clone())))
        .collect();
    // A list of JSON values always has a text.
    serde_json::to_string_pretty(&resources).unwrap_or_else(|_| "[]".to_owned())
}

fn install(manifests: &Manifests, permissions: &Permissions) -> Value {
    let deployments: Vec<Value> = manifests
        .deployments
        .iter()
        .map(|deployment| {
            let mut entry = json!({
                "name": name(deployment),
                "spec": deployment.get("spec").cloned().unwrap_or_default(),
            });
            if let Some(labels) = deployment.pointer("/metadata/labels") {
                entry["label"] = labels.clone();
            }
            if let Some(metadata) = entry
                .pointer_mut("/spec/template/metadata")
                .and_then(Value::as_object_mut)
            {
                metadata.remove("creationTimestamp");
            }
            entry
        })
        .collect();
    let mut spec = json!({"deployments": deployments});
    for (key, list) in [
        ("clusterPermissions", &permissions.cluster),
        ("permissions", &permissions.namespaced),
    ] {
        if !list.is_empty() {
            spec[key] = list.clone().into();
        }
    }
    json!({"strategy": "deployment", "spec": spec})
}

fn set_or_remove(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            map.insert(key.to_owned(), value);
        }
        None => {
            map.remove(key);
        }
    }
}

/// The objects that stand beside the `ClusterServiceVersion`, by the name of their file.
fn objects_beside(manifests: &Manifests, roles: Vec<Value>) -> BTreeMap<String, Value> {
    let others = manifests.others.iter().filter(|object| is_supported(object));
    let all = manifests
        .definitions
        .iter()
        .chain(&manifests.services)
        .chain(others)
        .cloned()
        .chain(roles);
    let mut files = BTreeMap::new();
    for object in all {
        let file = file_name(&object);
        let mut unique = file.clone();
        let mut count = 0;
        while files.contains_key(&unique) {
            unique = format!("dup{count}_{file}");
            count += 1;
        }
        files.insert(unique, portable(object));
    }
    files
}

fn is_supported(object: &Value) -> bool {
    SUPPORTED_KINDS.contains(&text(object, "/kind"))
}

/// `GROUP_PLURAL.yaml` for definitions, else name, group, version and kind.
fn file_name(object: &Value) -> String {
    let kind = text(object, "/kind");
    let (group, version) = group_version(object);
    let named = [text(object, "/spec/group"), text(object, "/spec/names/plural")];
    let parts: Vec<String> = match (kind, named) {
        ("CustomResourceDefinition", [group, plural]) if !group.is_empty() && !plural.is_empty() => {
            vec![group.to_owned(), plural.to_owned()]
        }
        _ => [name(object), group, version, &kind.to_lowercase()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    // Names of objects become names of files: nothing in them leads to another folder.
    format!("{}.yaml", parts.join("_").replace(['/', '\\', ':'], "-"))
}

fn notices(manifests: &Manifests, service_version: &Value) -> Vec<String> {
    let mut notices = Vec::new();
    for object in &manifests.others {
        let kind = text(object, "/kind");
        if !is_supported(object) && !WITHOUT_OLM.contains(&kind) {
            notices.push(format!(
                "{kind} {} is left out: OLM takes no such kind in a bundle",
                name(object)
            ));
        }
    }
    for (group, version, kind) in manifests.kinds() {
        let has_example = manifests
            .custom_resources
            .iter()
            .any(|resource| group_version(resource) == (&group, &version) && text(resource, "/kind") == kind);
        if !has_example {
            notices.push(format!(
                "there is no sample of {kind} {group}/{version} for alm-examples"
            ));
        }
    }
    if manifests.definitions.is_empty() {
        notices.push("there is no CustomResourceDefinition among the objects".to_owned());
    }
    if list(service_version, "/spec/install/spec/clusterPermissions").is_empty()
        && list(service_version, "/spec/install/spec/permissions").is_empty()
    {
        notices.push("no role is bound to the operator's service account".to_owned());
    }
    notices
}
