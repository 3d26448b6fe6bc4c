//! Patches: which objects they are for, and what they do to them.

use crate::error::Error;
use crate::files::Files;
use crate::kustomization::{Kustomization, Patch};
use crate::merge;
use crate::merge_schema::Edition;
use crate::resource::{Resource, Resources, check_size};
use crate::selector::Selector;
use serde_json::Value;
use std::path::Path;

/// What a patch consists of.
enum Body {
    /// Objects to merge.
    Merge(Vec<Resource>),
    /// Operations after RFC 6902.
    Json(json_patch::Patch),
}

/// Applies `patchesStrategicMerge` and then `patches`.
pub(crate) fn apply_all(
    files: &Files,
    kustomization: &Kustomization,
    resources: &mut Resources,
) -> Result<(), Error> {
    const STRATEGIC: &str = "patchesStrategicMerge";
    for entry in &kustomization.patches_strategic_merge {
        // Either a file or, in several lines, the patch itself.
        let (origin, text) = if entry.contains('\n') || entry.starts_with('{') {
            (files.kustomization().to_owned(), entry.clone())
        } else {
            files.read(STRATEGIC, entry)?
        };
        for patch in crate::files::parse_resources(&origin, &text)? {
            merge_into_named(resources, &patch, false, false)
                .map_err(|problem| Error::field(files.kustomization(), STRATEGIC, problem))?;
        }
    }
    for patch in &kustomization.patches {
        apply(files, "patches", patch, resources)?;
    }
    Ok(())
}

/// The deprecated field for JSON patches: its turn is after labels and annotations, not with `patches`.
pub(crate) fn apply_json6902(
    files: &Files,
    kustomization: &Kustomization,
    resources: &mut Resources,
) -> Result<(), Error> {
    for patch in &kustomization.patches_json6902 {
        apply(files, "patchesJson6902", patch, resources)?;
    }
    Ok(())
}

fn apply(files: &Files, field: &str, patch: &Patch, resources: &mut Resources) -> Result<(), Error> {
    let fail = |problem: String| Error::field(files.kustomization(), field, problem);
    let (origin, text) = match (patch.path.is_empty(), patch.inline.trim().is_empty()) {
        (false, true) => files.read(field, &patch.path)?,
        (true, false) => (files.kustomization().to_owned(), patch.inline.clone()),
        (true, true) => return Err(fail("one of `patch` and `path` is needed".to_owned())),
        (false, false) => return Err(fail("`patch` and `path` cannot both be given".to_owned())),
    };
    let selector = patch
        .target
        .as_ref()
        .map(Selector::new)
        .transpose()
        .map_err(fail)?;
    let option = |name: &str| patch.options.get(name).copied().unwrap_or(false);
    let (renames, changes_kind) = (option("allowNameChange"), option("allowKindChange"));
    match (body(&origin, &text)?, selector) {
        (Body::Merge(patches), None) => {
            for patch in &patches {
                merge_into_named(resources, patch, renames, changes_kind).map_err(fail)?;
            }
            Ok(())
        }
        (Body::Merge(patches), Some(selector)) => {
            let [patch] = patches.as_slice() else {
                return Err(fail(
                    "a patch of several documents cannot have a `target`".to_owned(),
                ));
            };
            merge_into_selected(resources, &selector, patch, renames, changes_kind).map_err(fail)
        }
        (Body::Json(_), None) => Err(fail("a JSON patch needs a `target`".to_owned())),
        (Body::Json(operations), Some(selector)) => {
            patch_selected(resources, &selector, &operations).map_err(fail)
        }
    }
}

fn body(origin: &Path, text: &str) -> Result<Body, Error> {
    let first = steersman_yaml::to_json(text).map_err(|source| Error::Yaml {
        path: origin.to_owned(),
        source,
    })?;
    if !first.is_array() {
        return Ok(Body::Merge(crate::files::parse_resources(origin, text)?));
    }
    serde_json::from_value(first)
        .map(Body::Json)
        .map_err(|error| Error::object(origin, format!("this is no JSON patch: {error}")))
}

/// Merges a patch into the one object that it names.
fn merge_into_named(
    resources: &mut Resources,
    patch: &Resource,
    renames: bool,
    changes_kind: bool,
) -> Result<(), String> {
    let id = patch.original_id();
    let matches: Vec<usize> = (0..resources.0.len())
        .filter(|index| {
            resources.0[*index]
                .all_ids()
                .iter()
                .any(|other| other.is_same_as(&id))
        })
        .collect();
    let [index] = matches.as_slice() else {
        let count = if matches.is_empty() {
            "nothing"
        } else {
            "more than one object"
        };
        return Err(format!("{count} is called {id}, which a patch is for"));
    };
    if !merge_into(&mut resources.0[*index], patch, renames, changes_kind)? {
        resources.0.remove(*index);
    }
    Ok(())
}

fn merge_into_selected(
    resources: &mut Resources,
    selector: &Selector,
    patch: &Resource,
    renames: bool,
    changes_kind: bool,
) -> Result<(), String> {
    let mut kept = Resources::default();
    for mut resource in std::mem::take(&mut resources.0) {
        if !selector.matches(&resource) || {
            let mut patch = patch.clone();
            let kind = patch.object.get("kind").cloned();
            for (field, value) in [
                ("apiVersion", resource.object.get("apiVersion").cloned()),
                ("kind", kind),
            ] {
                if let Some(value) = value {
                    patch.object.insert(field.to_owned(), value);
                }
            }
            merge_into(&mut resource, &patch, renames, changes_kind)?
        } {
            kept.append(resource)?;
        }
    }
    *resources = kept;
    Ok(())
}

/// Merges a patch into an object and says whether anything is left of it. Its name, namespace and kind stay, unless
/// the patch may change them.
fn merge_into(
    resource: &mut Resource,
    patch: &Resource,
    renames: bool,
    changes_kind: bool,
) -> Result<bool, String> {
    let id = resource.current_id();
    if renames || changes_kind {
        resource.remember();
    }
    let object = Value::Object(std::mem::take(&mut resource.object));
    let patch = Value::Object(patch.object.clone());
    let merged =
        merge::merge(object, &patch, Edition::Kustomize).map_err(|problem| format!("{id}: {problem}"))?;
    let Some(Value::Object(merged)) = merged else {
        return Ok(false);
    };
    resource.object = merged;
    if !changes_kind {
        resource
            .object
            .insert("kind".to_owned(), Value::from(id.gvk.kind));
    }
    if !renames {
        resource.set_metadata("name", &id.name);
    }
    resource.set_metadata("namespace", &id.namespace);
    Ok(true)
}

fn patch_selected(
    resources: &mut Resources,
    selector: &Selector,
    operations: &json_patch::Patch,
) -> Result<(), String> {
    for resource in resources
        .0
        .iter_mut()
        .filter(|resource| selector.matches(resource))
    {
        let id = resource.current_id();
        resource.remember();
        let mut object = Value::Object(std::mem::take(&mut resource.object));
        // One after the other, as `copy` can double an object each time.
        for operation in &operations.0 {
            json_patch::patch(&mut object, std::slice::from_ref(operation))
                .map_err(|error| format!("{id}: {error}"))?;
            if matches!(operation, json_patch::PatchOperation::Copy(_)) {
                check_size(&object).map_err(|problem| format!("{id}: {problem}"))?;
            }
        }
        let Value::Object(object) = object else {
            return Err(format!("{id}: the patch leaves no object"));
        };
        resource.object = object;
    }
    Ok(())
}
