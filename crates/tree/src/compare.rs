//! What differs between two revisions of a release. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use steersman_model::{Revision, harmless, objects_of_manifest};
use steersman_operator::release::Stored;
use steersman_operator::status::Redactor;

use crate::error::TreeError;
use crate::text::{States, unified_all, unified_text, without_former};

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// Such as `Deployment default/web`.
    pub name: String,
    /// Such as `changed`.
    pub fate: &'static str,
    /// Why, or what else; mostly empty.
    pub why: String,
    /// A unified diff; `None` where only what is masked differs.
    pub diff: Option<String>,
    /// Who else owns fields of it.
    pub managers: Vec<String>,
}

/// What differs between two revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionChanges {
    /// A unified diff; `None` where values are the same.
    pub values: Option<String>,
    /// The objects that differ, by their names.
    pub objects: Vec<ObjectChange>,
}

/// What masks the secrets of these revisions: those in their Secrets, and among their values.
pub fn redactor_of<'a>(revisions: impl IntoIterator<Item = &'a Stored>) -> Redactor {
    let mut redactor = Redactor::default();
    for stored in revisions {
        redactor.add_manifest(&stored.record.manifest);
        for hook in stored.hooks() {
            redactor.add_manifest(&hook.manifest);
        }
        redactor.add_values(&config(stored));
    }
    redactor
}

/// The values of a revision, without the chart's own.
fn config(stored: &Stored) -> Value {
    Value::Object(stored.record.config.clone().unwrap_or_default())
}

/// What differs from one revision to another. `redactor` masks what is secret besides what [`redactor_of`] both masks; where that is
/// not all that is secret in one that is `unknown`, what it alone has is masked.
///
/// # Errors
/// What is stored of one is no list of objects.
pub fn compare(
    (from, to): (&Stored, &Stored),
    mut redactor: Redactor,
    unknown: &BTreeSet<Revision>,
) -> Result<RevisionChanges, TreeError> {
    redactor.extend(redactor_of([from, to]));
    let values = |stored: &Stored, other: &Stored| {
        let (mut values, others) = (config(stored), config(other));
        if unknown.contains(&stored.record.version) {
            values = without_former(&values, &others);
        }
        harmless(&redactor.mask(&steersman_yaml::to_string(&values)))
    };
    let name = |stored: &Stored| format!("revision {}", stored.record.version);
    let (old, new) = (objects(from)?, objects(to)?);
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut states = Vec::new();
    let changes = names.into_iter().filter_map(|name| {
        let (before, after) = (old.get(name), new.get(name));
        let shown = |of: &Stored, object: Option<&Value>, other: Option<&Value>| {
            let is_unknown = unknown.contains(&of.record.version);
            let other = other.unwrap_or(&Value::Null);
            object.map(|object| {
                if is_unknown {
                    without_former(object, other)
                } else {
                    object.clone()
                }
            })
        };
        let fate = match (before, after) {
            (None, _) => "created",
            (_, None) => "deleted",
            _ if before == after => return None,
            _ => "changed",
        };
        states.push(States {
            name: name.clone(),
            before: shown(from, before, after),
            after: shown(to, after, before),
        });
        Some(ObjectChange {
            name: harmless(name),
            fate,
            why: String::new(),
            diff: None,
            managers: Vec::new(),
        })
    });
    let mut changes: Vec<_> = changes.collect();
    for (change, diff) in changes.iter_mut().zip(unified_all(&states, &redactor)) {
        change.diff = diff;
    }
    Ok(RevisionChanges {
        values: unified_text((&name(from), &values(from, to)), (&name(to), &values(to, from))),
        objects: changes,
    })
}

fn objects(stored: &Stored) -> Result<BTreeMap<String, Value>, TreeError> {
    let objects = objects_of_manifest(&stored.record.manifest)?;
    let named = objects.into_iter().map(|object| {
        let namespace = object
            .namespace
            .as_ref()
            .map_or_else(String::new, |name| format!("{name}/"));
        let (kind, group) = (&object.api.kind, &object.api.group);
        let group = if group.is_empty() {
            String::new()
        } else {
            format!(".{group}")
        };
        (format!("{kind}{group} {namespace}{}", object.name), object.value)
    });
    Ok(named.collect())
}
