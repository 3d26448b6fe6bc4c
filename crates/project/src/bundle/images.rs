//! The images of an operator.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::BundleError;
use super::value::{list, name, text};

/// Variables that name an image which the operator uses.
const PREFIX: &str = "RELATED_IMAGE_";

/// The images that variables of the operator's containers name, as `relatedImages`.
///
/// The name is that of the variable, with the container's in front where two variables of the same name differ; an image
/// under several names stands once, without a name.
pub(super) fn related_images(deployments: &[Value]) -> Result<Vec<Value>, BundleError> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    for deployment in deployments {
        let containers: Vec<&Value> = containers(deployment).collect();
        for container in &containers {
            let place = match containers.len() {
                1 => name(deployment).to_owned(),
                _ => format!("{}-{}", name(deployment), text(container, "/name")),
            };
            for (variable, image) in related_variables(container)? {
                if !found
                    .iter()
                    .any(|(name, value, _)| *name == variable && *value == image)
                {
                    found.push((variable, image, place.clone()));
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    let mut images = Vec::new();
    for (variable, image, place) in &found {
        if !seen.insert(image) {
            continue;
        }
        let has_other_names = found
            .iter()
            .any(|(name, value, _)| value == image && name != variable);
        let is_ambiguous = found.iter().filter(|(name, ..)| name == variable).count() > 1;
        let name = match (has_other_names, is_ambiguous) {
            (true, _) => String::new(),
            (false, true) => format!("{place}-{variable}"),
            (false, false) => variable.clone(),
        };
        images.push(json!({"name": name, "image": image}));
    }
    Ok(images)
}

/// The variables of a container that name images: `RELATED_IMAGE_MY_PROXY` is `my-proxy`.
fn related_variables(container: &Value) -> Result<Vec<(String, String)>, BundleError> {
    let mut found = Vec::new();
    for variable in list(container, "/env") {
        let Some(name) = text(variable, "/name").strip_prefix(PREFIX) else {
            continue;
        };
        if variable.get("valueFrom").is_some() {
            return Err(BundleError::RelatedImage {
                variable: text(variable, "/name").to_owned(),
                container: text(container, "/name").to_owned(),
            });
        }
        let name = name.replace('_', "-").to_lowercase();
        found.push((name, text(variable, "/value").to_owned()));
    }
    Ok(found)
}

fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    let inside = |key: &str| list(deployment, &format!("/spec/template/spec/{key}"));
    inside("containers").iter().chain(inside("initContainers"))
}

/// Every image that a `ClusterServiceVersion` names: of containers, of variables, and of the annotation
/// `containerImage`.
pub fn image_names(service_version: &Value) -> BTreeSet<String> {
    let mut copy = service_version.clone();
    let mut names = BTreeSet::new();
    visit_images(&mut copy, &mut |_, image| {
        names.insert(image.clone());
    });
    names
}

/// Puts other references, such as digests, in the place of images, and lists all of them as `relatedImages`. What `pinned`
/// does not know stays.
pub fn pin_images(service_version: &mut Value, pinned: &BTreeMap<String, String>) {
    let mut related: Vec<(String, String)> = Vec::new();
    visit_images(service_version, &mut |name, image| {
        if let Some(other) = pinned.get(image) {
            image.clone_from(other);
        }
        if !related.iter().any(|(_, known)| known == image) {
            related.push((name.to_owned(), image.clone()));
        }
    });
    related.sort();
    if let Some(spec) = service_version.get_mut("spec").and_then(Value::as_object_mut) {
        let list = related
            .into_iter()
            .map(|(name, image)| json!({"name": name, "image": image}))
            .collect();
        spec.insert("relatedImages".to_owned(), list);
    }
}

/// Calls `visit` with a name and the text of every image.
fn visit_images(service_version: &mut Value, visit: &mut dyn FnMut(&str, &mut String)) {
    let deployments = service_version
        .pointer_mut("/spec/install/spec/deployments")
        .and_then(Value::as_array_mut);
    for deployment in deployments.into_iter().flatten() {
        for key in ["containers", "initContainers"] {
            let containers = deployment.pointer_mut(&format!("/spec/template/spec/{key}"));
            for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
                let name = text(container, "/name").to_owned();
                if let Some(Value::String(image)) = container.get_mut("image") {
                    visit(&name, image);
                }
                let variables = container.get_mut("env").and_then(Value::as_array_mut);
                for variable in variables.into_iter().flatten() {
                    let Some(name) = text(variable, "/name").strip_prefix(PREFIX) else {
                        continue;
                    };
                    let name = name.replace('_', "-").to_lowercase();
                    if let Some(Value::String(image)) = variable.get_mut("value") {
                        visit(&name, image);
                    }
                }
            }
        }
    }
    if let Some(Value::String(image)) = service_version.pointer_mut("/metadata/annotations/containerImage") {
        visit("operator", image);
    }
}
