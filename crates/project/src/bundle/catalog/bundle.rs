//! A bundle as a catalog has it.

use semver::Version;
use serde_json::{Value, json};

use super::super::images::image_names;
use super::super::value::{list, name, text};
use super::{CatalogBundle, CatalogError};

const PREFIX: &str = "operators.operatorframework.io.bundle";

/// What of a `ClusterServiceVersion` is in a catalog, and under which name.
const METADATA: [(&str, &str); 12] = [
    ("/metadata/annotations", "annotations"),
    ("/metadata/labels", "labels"),
    ("/spec/customresourcedefinitions", "crdDescriptions"),
    ("/spec/description", "description"),
    ("/spec/displayName", "displayName"),
    ("/spec/installModes", "installModes"),
    ("/spec/keywords", "keywords"),
    ("/spec/links", "links"),
    ("/spec/maintainers", "maintainers"),
    ("/spec/maturity", "maturity"),
    ("/spec/minKubeVersion", "minKubeVersion"),
    ("/spec/nativeAPIs", "nativeAPIs"),
];

/// A bundle, read.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) version: Version,
    pub(super) channels: Vec<String>,
    pub(super) default_channel: Option<String>,
    pub(super) replaces: String,
    pub(super) skips: Vec<Value>,
    pub(super) skip_range: String,
    pub(super) description: String,
    pub(super) icon: Option<Value>,
    /// The object `olm.bundle`.
    pub(super) bundle: Value,
}

impl Entry {
    pub(super) fn read(bundle: &CatalogBundle) -> Result<Self, CatalogError> {
        let lacks = |what| CatalogError::Incomplete {
            bundle: bundle.image.clone(),
            what,
        };
        let objects: Vec<Value> = documents(bundle, "manifests/").collect();
        let service_version = objects
            .iter()
            .find(|object| text(object, "/kind") == "ClusterServiceVersion")
            .ok_or_else(|| lacks("ClusterServiceVersion"))?;
        let metadata: Vec<Value> = documents(bundle, "metadata/").collect();
        let annotations = metadata
            .iter()
            .find_map(|document| document.get("annotations"))
            .ok_or_else(|| lacks("annotations"))?;
        let annotation = |key: &str| annotations.get(format!("{PREFIX}.{key}")).and_then(Value::as_str);
        let package = annotation("package.v1").ok_or_else(|| lacks("annotation that names its package"))?;
        let version = text(service_version, "/spec/version");
        if bundle.image.is_empty() {
            return Err(CatalogError::Incomplete {
                bundle: name(service_version).to_owned(),
                what: "image",
            });
        }
        Ok(Self {
            name: name(service_version).to_owned(),
            package: package.to_owned(),
            version: Version::parse(version).map_err(|_| lacks("semantic version"))?,
            channels: annotation("channels.v1")
                .unwrap_or_default()
                .split(',')
                .map(|channel| channel.trim().to_owned())
                .filter(|channel| !channel.is_empty())
                .collect(),
            default_channel: annotation("channel.default.v1").map(str::to_owned),
            replaces: text(service_version, "/spec/replaces").to_owned(),
            skips: list(service_version, "/spec/skips").to_vec(),
            skip_range: text(service_version, "/metadata/annotations/olm.skipRange").to_owned(),
            description: text(service_version, "/spec/description").to_owned(),
            icon: list(service_version, "/spec/icon").first().cloned(),
            bundle: json!({
                "schema": "olm.bundle",
                "name": name(service_version),
                "package": package,
                "image": bundle.image,
                "properties": properties(package, service_version, &objects, &metadata),
                "relatedImages": related_images(service_version, &bundle.image),
            }),
        })
    }
}

/// The version of an `olm.bundle`.
pub(super) fn version_of(bundle: &Value) -> Option<Version> {
    let property = list(bundle, "/properties")
        .iter()
        .find(|property| text(property, "/type") == "olm.package")?;
    Version::parse(text(property, "/value/version")).ok()
}

/// The first document of each file in a folder.
fn documents<'a>(bundle: &'a CatalogBundle, folder: &'a str) -> impl Iterator<Item = Value> + 'a {
    let files = bundle
        .files
        .iter()
        .filter(move |(path, _)| path.starts_with(folder));
    files.filter_map(|(_, text)| steersman_yaml::to_json(text).ok())
}

/// What resolution of dependencies and consoles need to know.
fn properties(package: &str, service_version: &Value, objects: &[Value], metadata: &[Value]) -> Vec<Value> {
    let mut properties = vec![property(
        "olm.package",
        json!({"packageName": package, "version": text(service_version, "/spec/version")}),
    )];
    for definition in objects
        .iter()
        .filter(|object| text(object, "/kind") == "CustomResourceDefinition")
    {
        for version in list(definition, "/spec/versions") {
            let kind = json!({
                "group": text(definition, "/spec/group"),
                "kind": text(definition, "/spec/names/kind"),
                "version": text(version, "/name"),
            });
            properties.push(property("olm.gvk", kind));
        }
    }
    for required in list(service_version, "/spec/customresourcedefinitions/required") {
        if let Some((_, group)) = text(required, "/name").split_once('.') {
            let kind = json!({
                "group": group,
                "kind": text(required, "/kind"),
                "version": text(required, "/version"),
            });
            properties.push(property("olm.gvk.required", kind));
        }
    }
    for document in metadata {
        properties.extend(list(document, "/dependencies").iter().map(required));
        properties.extend(list(document, "/properties").iter().cloned());
    }
    properties.push(property("olm.csv.metadata", metadata_of(service_version)));
    properties.sort_by(|a, b| {
        let key = |value: &Value| (text(value, "/type").to_owned(), value["value"].to_string());
        key(a).cmp(&key(b))
    });
    properties.dedup();
    properties
}

fn property(kind: &str, value: Value) -> Value {
    json!({"type": kind, "value": value})
}

/// A dependency as a property.
fn required(dependency: &Value) -> Value {
    let value = dependency.get("value").cloned().unwrap_or_default();
    match text(dependency, "/type") {
        "olm.package" => {
            let version = json!({
                "packageName": text(&value, "/packageName"),
                "versionRange": text(&value, "/version"),
            });
            property("olm.package.required", version)
        }
        "olm.gvk" => property("olm.gvk.required", value),
        other => property(other, value),
    }
}

fn metadata_of(service_version: &Value) -> Value {
    let mut metadata = json!({
        "apiServiceDefinitions": service_version.pointer("/spec/apiservicedefinitions").cloned()
            .unwrap_or_else(|| json!({})),
        "provider": service_version.pointer("/spec/provider").cloned().unwrap_or_else(|| json!({})),
    });
    for (pointer, key) in METADATA {
        if let Some(value) = service_version.pointer(pointer) {
            metadata[key] = value.clone();
        }
    }
    metadata
}

/// The images that a cluster without a way out needs copies of.
fn related_images(service_version: &Value, image: &str) -> Vec<Value> {
    let mut images: Vec<Value> = list(service_version, "/spec/relatedImages").to_vec();
    let own = image_names(service_version);
    for image in [image].into_iter().chain(own.iter().map(String::as_str)) {
        if !images.iter().any(|known| text(known, "/image") == image) {
            images.push(json!({"name": "", "image": image}));
        }
    }
    images.sort_by_key(|image| (text(image, "/image").to_owned(), text(image, "/name").to_owned()));
    images
}
