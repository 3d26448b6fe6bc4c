//! Names that refer to other objects, after those objects were renamed.

use crate::identity::{Gvk, Id};
use crate::references::Reference;
use crate::resource::{Resource, Resources};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Rewrites every field that names an object by what it was called before.
///
/// # Errors
///
/// Several objects could be meant, or a field is not what its kind has there.
pub(crate) fn fix(resources: &mut Resources, references: &[Reference]) -> Result<(), String> {
    for index in 0..resources.0.len() {
        let id = resources.0[index].original_id();
        let mut object = std::mem::take(&mut resources.0[index].object);
        // The referrer is compared with others while its object is changed.
        resources.0[index].object.clone_from(&object);
        for reference in references {
            for field in &reference.fields {
                if !id.gvk.is_selected_by(&field.gvk) {
                    continue;
                }
                let mut scope = None;
                let mut spec = field.clone();
                spec.gvk = Gvk::default();
                spec.apply(&mut object, None, &mut |place| {
                    scope
                        .get_or_insert_with(|| Scope::new(resources, index, &reference.referral, &field.path))
                        .rename(place)
                })
                .map_err(|problem| format!("{}: {problem}", resources.0[index].current_id()))?;
            }
        }
        resources.0[index].object = object;
    }
    Ok(())
}

/// The objects that a field of an object may mean.
struct Scope<'a> {
    referrer: &'a Resource,
    referral: &'a Gvk,
    candidates: Vec<&'a Resource>,
    role: Option<Gvk>,
}

impl<'a> Scope<'a> {
    fn new(resources: &'a Resources, referrer: usize, referral: &'a Gvk, path: &str) -> Self {
        let referrer = &resources.0[referrer];
        let id = referrer.current_id();
        let bound = account_namespaces(referrer);
        let candidates = resources
            .0
            .iter()
            .filter(|candidate| {
                let other = candidate.current_id();
                id.gvk.is_cluster_scoped()
                    || other.gvk.is_cluster_scoped()
                    || other.effective_namespace() == id.effective_namespace()
                    || bound.contains(candidate.namespace())
            })
            .collect();
        Self {
            referrer,
            referral,
            candidates,
            role: path
                .ends_with("roleRef/name")
                .then(|| role_of(referrer))
                .flatten(),
        }
    }

    fn rename(&self, place: &mut Value) -> Result<(), String> {
        match place {
            Value::Null => Ok(()),
            Value::Array(items) => items.iter_mut().try_for_each(|item| match item {
                Value::Object(map) => self.rename_map(map),
                item => self.rename_scalar(item),
            }),
            Value::Object(map) => self.rename_map(map),
            scalar => self.rename_scalar(scalar),
        }
    }

    fn rename_scalar(&self, place: &mut Value) -> Result<(), String> {
        let Value::String(name) = place else { return Ok(()) };
        let found = self.select(name, self.candidates.clone(), |one, other| {
            one.name() == other.name()
        })?;
        if let Some(found) = found {
            found.name().clone_into(name);
        }
        Ok(())
    }

    /// A map with a name and maybe a namespace, both of which become those of the object.
    fn rename_map(&self, map: &mut Map<String, Value>) -> Result<(), String> {
        let Some(name) = map.get("name").and_then(Value::as_str) else {
            return Err("there is no `name` in it".to_owned());
        };
        let candidates = match map.get("namespace").and_then(Value::as_str) {
            Some(namespace) => self.in_namespace(namespace),
            None => self.candidates.clone(),
        };
        let found = self.select(name, candidates, |one, other| {
            one.name() == other.name() && one.namespace() == other.namespace()
        })?;
        let Some(found) = found else { return Ok(()) };
        map.insert("name".to_owned(), Value::from(found.name()));
        if !found.namespace().is_empty() {
            map.insert("namespace".to_owned(), Value::from(found.namespace()));
        }
        Ok(())
    }

    /// The candidates of a namespace: of those that were in it at first, or else of those that are in it now.
    fn in_namespace(&self, namespace: &str) -> Vec<&'a Resource> {
        let within = |id_of: fn(&Resource) -> Id| -> Vec<&'a Resource> {
            let is_inside = |candidate: &&&Resource| {
                let id = id_of(candidate);
                !id.gvk.is_cluster_scoped() && id.effective_namespace() == namespace
            };
            self.candidates.iter().filter(is_inside).copied().collect()
        };
        let original = within(Resource::original_id);
        if original.is_empty() {
            within(Resource::current_id)
        } else {
            original
        }
    }

    fn select(
        &self,
        name: &str,
        mut candidates: Vec<&'a Resource>,
        are_alike: fn(&Resource, &Resource) -> bool,
    ) -> Result<Option<&'a Resource>, String> {
        let referrer = self.referrer.current_id();
        candidates.retain(|candidate| {
            let previous = candidate.previous_ids();
            let is_one = |gvk: &Gvk| previous.iter().any(|id| id.gvk.is_selected_by(gvk));
            let current = candidate.current_id();
            previous.iter().any(|id| id.name == name)
                && is_one(self.referral)
                && self.role.as_ref().is_none_or(is_one)
                && (referrer.gvk.is_cluster_scoped()
                    || current.gvk.is_cluster_scoped()
                    || current.gvk.kind == "ServiceAccount"
                    || current.effective_namespace() == referrer.effective_namespace())
        });
        if candidates.len() > 1 {
            candidates.retain(|candidate| candidate.has_affixes_of(self.referrer, true));
        }
        if candidates.len() > 1 {
            candidates.retain(|candidate| candidate.has_affixes_of(self.referrer, false));
        }
        let Some((first, rest)) = candidates.split_first() else {
            return Ok(None);
        };
        if rest.iter().all(|other| are_alike(first, other)) {
            return Ok(Some(first));
        }
        Err(format!(
            "`{name}` could mean {} and {}",
            first.current_id(),
            rest[0].current_id()
        ))
    }
}

/// The kind of role that a binding refers to.
fn role_of(binding: &Resource) -> Option<Gvk> {
    let role = binding.object.get("roleRef")?;
    let text = |field: &str| Some(role.get(field)?.as_str()?.to_owned());
    Some(Gvk {
        group: text("apiGroup")?,
        version: String::new(),
        kind: text("kind")?,
    })
}

/// The namespaces of the accounts that a binding names.
fn account_namespaces(referrer: &Resource) -> BTreeSet<String> {
    let subjects = referrer.object.get("subjects").and_then(Value::as_array);
    if referrer.gvk().kind != "RoleBinding" {
        return BTreeSet::new();
    }
    subjects
        .into_iter()
        .flatten()
        .filter(|subject| subject["kind"] == "ServiceAccount")
        .filter_map(|subject| subject.get("namespace")?.as_str())
        .map(ToOwned::to_owned)
        .collect()
}
