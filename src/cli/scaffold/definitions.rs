//! The definitions that follow from watches.yaml, and those that the project has.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use steersman_cluster::permissions::{added_status, custom_kind, procedures};
use steersman_model::Environment;
use steersman_project::definition::{self, Definition, distinguish};
use steersman_project::rbac::{Known, ResourceName};
use steersman_project::{CustomKind, Procedure, Scope};
use steersman_watches::{AnsibleWatch, Watch, Watches};

use super::ansible::{is_of_kubernetes, options_of, roles_of};
use crate::cli::{Failure, files};

/// Where definitions are that were written for people to edit, as `steersman crd --output-dir` does.
const DEFINITIONS: &str = "config/crd/bases";

/// A definition of the project's own.
pub(in crate::cli) struct OwnDefinition {
    /// Its path in the project.
    pub(in crate::cli) path: String,
    group: String,
    kind: String,
    name: ResourceName,
    pub(in crate::cli) text: String,
}

impl OwnDefinition {
    pub(in crate::cli) fn is_of(&self, kind: &CustomKind) -> bool {
        self.group == kind.group && self.kind == kind.kind
    }
}

pub(in crate::cli) fn own_definitions() -> anyhow::Result<Vec<OwnDefinition>> {
    let folder = Path::new(DEFINITIONS);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut own = Vec::new();
    for (name, text) in files::read_all(folder)? {
        if Path::new(&name).extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let value =
            steersman_yaml::to_json(&text).with_context(|| format!("`{DEFINITIONS}/{name}` is no YAML"))?;
        let field = |pointer: &str| {
            let text = value.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        own.push(OwnDefinition {
            path: format!("{DEFINITIONS}/{name}"),
            group: field("/spec/group"),
            kind: field("/spec/names/kind"),
            name: ResourceName {
                plural: field("/spec/names/plural"),
                is_namespaced: field("/spec/scope") != "Cluster",
            },
            text,
        });
    }
    Ok(own)
}

/// What the definitions call the resources of their kinds.
pub(in crate::cli) fn known_by(own: &[OwnDefinition]) -> Known {
    let mut known = Known::new();
    for own in own {
        known.insert(&own.group, &own.kind, own.name.clone());
    }
    known
}

/// An entry whose kind needs a definition.
pub(super) enum Entry<'a> {
    Chart(&'a Watch),
    Ansible(&'a AnsibleWatch),
}

pub(super) fn entries(watches: &Watches) -> impl Iterator<Item = Entry<'_>> {
    let of_ansible = watches.ansible().iter().filter(|watch| !is_of_kubernetes(watch));
    watches
        .iter()
        .map(Entry::Chart)
        .chain(of_ansible.map(Entry::Ansible))
}

impl Entry<'_> {
    pub(super) fn kind(&self, known: &Known) -> CustomKind {
        match self {
            Self::Chart(watch) => custom_kind(watch, known),
            Self::Ansible(watch) => {
                let gvk = &watch.gvk;
                let mut kind = CustomKind::new(&gvk.group, &gvk.version, &gvk.kind);
                if let Some(name) = known.get(&gvk.group, &gvk.kind) {
                    kind.plural.clone_from(&name.plural);
                    kind.scope = if name.is_namespaced {
                        Scope::Namespaced
                    } else {
                        Scope::Cluster
                    };
                }
                kind
            }
        }
    }

    fn procedures(&self, kind: &CustomKind, known: &Known) -> Vec<Procedure> {
        match self {
            Self::Chart(watch) => procedures(watch, kind, known),
            Self::Ansible(_) => Vec::new(),
        }
    }

    fn definition(&self, kind: &CustomKind, environment: &Environment) -> Result<Definition, Failure> {
        let definition = match self {
            Self::Chart(watch) => {
                let options = definition::Options {
                    given: watch.values.alone(),
                    has_procedures: !watch.procedures.is_empty(),
                    status: added_status(watch),
                    ..definition::Options::default()
                };
                Definition::of(kind, &watch.chart, &options)
            }
            Self::Ansible(watch) => {
                let roles = roles_of(watch, environment)?;
                Definition::of_roles(kind, &roles, &options_of(watch, false))
            }
        };
        definition.map_err(|error| Failure::usage(error, None))
    }
}

/// What follows from an entry.
pub(super) struct Made {
    /// The text of that of its kind.
    pub(super) definition: String,
    /// Beside each of its procedures the text of that of the runs.
    pub(super) runs: Vec<(Procedure, String)>,
}

pub(super) fn definitions(
    watches: &Watches,
    kinds: &[CustomKind],
    known: &Known,
    environment: &Environment,
) -> Result<Vec<Made>, Failure> {
    let mut definitions = Vec::new();
    let mut procedures = Vec::new();
    for (entry, kind) in entries(watches).zip(kinds) {
        definitions.push(entry.definition(kind, environment)?);
        let own = entry.procedures(kind, known);
        for procedure in &own {
            let definition = Definition::of_procedure(kind, procedure);
            definitions.push(definition.map_err(|error| Failure::usage(error, None))?);
        }
        procedures.push(own);
    }
    distinguish(&mut definitions);
    let mut texts = definitions.iter().map(Definition::to_yaml);
    let made = procedures.into_iter().map(|procedures| Made {
        definition: texts.next().unwrap_or_default(),
        runs: procedures.into_iter().zip(texts.by_ref()).collect(),
    });
    Ok(made.collect())
}

/// Each definition that follows from watches.yaml with its kind, all told apart: as `steersman crd` writes them.
pub(in crate::cli) fn all_definitions(
    watches: &Watches,
    known: &Known,
    environment: &Environment,
) -> Result<Vec<(CustomKind, String)>, Failure> {
    let kinds: Vec<CustomKind> = entries(watches).map(|entry| entry.kind(known)).collect();
    let made = definitions(watches, &kinds, known, environment)?;
    let with_kinds = kinds.into_iter().zip(made).flat_map(|(kind, made)| {
        let runs = made.runs.into_iter();
        let runs = runs.map(|(procedure, text)| (procedure.runs, text));
        std::iter::once((kind, made.definition)).chain(runs)
    });
    Ok(with_kinds.collect())
}
