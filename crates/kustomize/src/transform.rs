//! What a kustomization changes in all its objects: namespace, names, labels, annotations, images, replicas.

use crate::field::FieldSpec;
use crate::kustomization::{Image, Replica};
use crate::resource::{Resource, Resources, scalar_text};
use crate::selector;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Kinds whose names are not the kustomization's to change.
const FIXED_NAMES: &[(&str, &str)] = &[
    ("", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("", "Namespace"),
];

/// Puts all objects that can be in one into a namespace.
pub(crate) fn set_namespace(
    resources: &mut Resources,
    namespace: &str,
    fields: &[FieldSpec],
) -> Result<(), String> {
    for index in 0..resources.0.len() {
        let resource = &mut resources.0[index];
        resource.remember();
        let gvk = resource.gvk();
        if !gvk.is_cluster_scoped() {
            resource.set_metadata("namespace", namespace);
        }
        let is_binding = matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
        if is_binding {
            set_default_subjects(&mut resource.object, namespace);
        }
        let is_core = gvk.group.is_empty() && gvk.version == "v1";
        for field in fields {
            let is_left_out = field.path == "metadata/namespace"
                || (field.path == "metadata/name" && !is_core)
                || (is_binding && field.path == "subjects/namespace");
            if is_left_out {
                continue;
            }
            field.apply(&mut resource.object, Some(&Value::Null), &mut |place| {
                *place = Value::from(namespace);
                Ok(())
            })?;
        }
        let id = resources.0[index].current_id();
        if resources
            .0
            .iter()
            .filter(|other| other.current_id().is_same_as(&id))
            .count()
            > 1
        {
            return Err(format!("two objects become {id}"));
        }
    }
    Ok(())
}

/// Subjects called `default` are the accounts of the namespace; others follow the objects that they name.
fn set_default_subjects(object: &mut Map<String, Value>, namespace: &str) {
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        if subject.get("name").is_some_and(|name| name == "default")
            && let Some(subject) = subject.as_object_mut()
        {
            subject.insert("namespace".to_owned(), Value::from(namespace));
        }
    }
}

/// Where an affix goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Affix {
    Prefix,
    Suffix,
}

/// Adds a prefix or a suffix to the names of objects.
pub(crate) fn add_affix(
    resources: &mut Resources,
    affix: Affix,
    text: &str,
    fields: &[FieldSpec],
) -> Result<(), String> {
    for resource in &mut resources.0 {
        let id = resource.original_id();
        let is_fixed = |(group, kind): &(&str, &str)| {
            id.gvk.kind == *kind && (group.is_empty() || id.gvk.group == *group)
        };
        if FIXED_NAMES.iter().any(is_fixed) {
            continue;
        }
        for field in fields.iter().filter(|field| id.gvk.is_selected_by(&field.gvk)) {
            if field.path == "metadata/name" {
                resource.remember();
                let affixes = match affix {
                    Affix::Prefix => &mut resource.prefixes,
                    Affix::Suffix => &mut resource.suffixes,
                };
                affixes.push(text.to_owned());
            }
            field.apply(&mut resource.object, None, &mut |place| {
                let name = scalar_text(place).ok_or("is no scalar")?;
                *place = Value::from(match affix {
                    Affix::Prefix => format!("{text}{name}"),
                    Affix::Suffix => format!("{name}{text}"),
                });
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Adds labels or annotations to the maps that the fields lead to.
pub(crate) fn add_pairs(
    resources: &mut Resources,
    pairs: &BTreeMap<String, String>,
    fields: &[FieldSpec],
) -> Result<(), String> {
    if pairs.is_empty() {
        return Ok(());
    }
    let fresh = Value::Object(Map::new());
    for resource in &mut resources.0 {
        for field in fields {
            field.apply(&mut resource.object, Some(&fresh), &mut |place| {
                let Value::Object(map) = place else {
                    return Err("is no map".to_owned());
                };
                for (key, value) in pairs {
                    map.insert(key.clone(), Value::from(value.as_str()));
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Gives the objects of a name their number of replicas.
pub(crate) fn set_replicas(
    resources: &mut Resources,
    replica: &Replica,
    fields: &[FieldSpec],
) -> Result<(), String> {
    let mut is_found = false;
    for resource in &mut resources.0 {
        for field in fields {
            let is_meant =
                |id: &crate::identity::Id| id.name == replica.name && id.gvk.is_selected_by(&field.gvk);
            if resource.all_ids().iter().any(is_meant) {
                is_found = true;
                field.apply(&mut resource.object, Some(&Value::Null), &mut |place| {
                    *place = Value::from(replica.count);
                    Ok(())
                })?;
            }
        }
    }
    if is_found {
        Ok(())
    } else {
        Err(format!("nothing that has replicas is called `{}`", replica.name))
    }
}

/// Changes an image wherever it occurs in containers, and in the fields of the configuration.
pub(crate) fn set_image(
    resources: &mut Resources,
    image: &Image,
    fields: &[FieldSpec],
) -> Result<(), String> {
    let pattern = format!(
        "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
        image.name
    );
    let expression = selector::compile(&pattern)?;
    let mut update = |place: &mut Value| {
        if let Value::String(reference) = place
            && expression.is_match(reference)
        {
            *reference = changed(reference, image);
        }
    };
    for resource in &mut resources.0 {
        if resource.gvk().kind == "CustomResourceDefinition" {
            continue;
        }
        for (_, value) in &mut resource.object {
            in_containers(value, &mut update);
        }
        for list in ["containers", "initContainers"] {
            update_list(resource.object.get_mut(list), &mut update);
        }
        for field in fields {
            field.apply(&mut resource.object, None, &mut |place| {
                update(place);
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn in_containers(value: &mut Value, update: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| in_containers(item, update)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                in_containers(field, update);
                if matches!(name.as_str(), "containers" | "initContainers") {
                    update_list(Some(field), update);
                }
            }
        }
        _ => {}
    }
}

fn update_list(list: Option<&mut Value>, update: &mut dyn FnMut(&mut Value)) {
    for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(image) = item.get_mut("image") {
            update(image);
        }
    }
}

/// An image reference with another name, tag or digest. A new tag drops the digest, and a new digest the tag.
fn changed(reference: &str, image: &Image) -> String {
    let (mut name, mut tag, mut digest) = split_reference(reference);
    if !image.new_name.is_empty() {
        name = &image.new_name;
    }
    let new_tag = scalar_text(&image.new_tag).unwrap_or_default();
    let suffixed = format!("{tag}{}", image.tag_suffix);
    match (new_tag.is_empty(), image.digest.is_empty()) {
        (false, false) => (tag, digest) = (&new_tag, &image.digest),
        (false, true) => (tag, digest) = (&new_tag, ""),
        (true, false) => (tag, digest) = ("", &image.digest),
        (true, true) if !image.tag_suffix.is_empty() => (tag, digest) = (&suffixed, ""),
        (true, true) => {}
    }
    let mut text = name.to_owned();
    for (sign, part) in [(':', tag), ('@', digest)] {
        if !part.is_empty() {
            text.push(sign);
            text.push_str(part);
        }
    }
    text
}

/// Name, tag and digest. A colon before the first slash belongs to the host.
pub(crate) fn split_reference(reference: &str) -> (&str, &str, &str) {
    let path = reference.find('/').unwrap_or(0);
    let (named, digest) = match reference[path..].find('@') {
        Some(at) => (&reference[..path + at], &reference[path + at + 1..]),
        None => (reference, ""),
    };
    match named[path..].find(':') {
        Some(colon) => (&named[..path + colon], &named[path + colon + 1..], digest),
        None => (named, "", digest),
    }
}

/// Annotations are texts, and a map without any is left out: kustomize writes them anew at the end.
pub(crate) fn tidy_annotations(resource: &mut Resource) {
    let pairs = resource.pairs("annotations");
    let Some(metadata) = resource.metadata_mut() else {
        return;
    };
    match metadata.get("annotations") {
        Some(Value::Object(_)) if pairs.is_empty() => {
            metadata.remove("annotations");
        }
        Some(Value::Object(_)) => {
            let texts = pairs.into_iter().map(|(key, value)| (key, Value::String(value)));
            metadata.insert("annotations".to_owned(), texts.collect());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::split_reference;

    #[test]
    fn references_are_split_as_registries_do() {
        for (reference, expect) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1.2", ("nginx", "1.2", "")),
            ("localhost:5000/a/b", ("localhost:5000/a/b", "", "")),
            ("localhost:5000/a/b:v1", ("localhost:5000/a/b", "v1", "")),
            ("a/b:v1@sha256:00", ("a/b", "v1", "sha256:00")),
            ("a@sha256:00", ("a", "", "sha256:00")),
        ] {
            assert_eq!(split_reference(reference), expect, "{reference}");
        }
    }
}
