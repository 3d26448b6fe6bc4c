//! What the releases of a watch need.

use steersman_project::rbac::{ActsAs, Known, Options, Referred, ReferredPlace, ResourceName};
use steersman_project::{
    AddedColumn, AddedField, AddedStatus, CustomKind, Parameter, Procedure, ScalePaths, Scope,
};
use steersman_watches::procedure::{self, Work};
use steersman_watches::{NameTemplate, SourceKind, Watch};

use crate::discovery::{Resource, Served};

/// The kind of a watch, with the names that its definition gives it, where that is known.
pub fn custom_kind(watch: &Watch, known: &Known) -> CustomKind {
    let gvk = &watch.gvk;
    let mut kind = CustomKind::new(&gvk.group, &gvk.version, &gvk.kind);
    if let Some(name) = known.get(&gvk.group, &gvk.kind) {
        kind.plural.clone_from(&name.plural);
        kind.scope = if name.is_namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        };
    } else if watch.release_namespace.is_some() {
        kind.scope = Scope::Cluster;
    }
    kind
}

/// What the permissions for the releases of a watch depend on, besides its chart.
pub fn options(watch: &Watch, known: Known, allow_escalation: bool) -> Options {
    Options {
        allow_escalation,
        ignores_dependents: !watch.watch_dependents,
        expands_claims: watch.expand_claims,
        runs_tests: watch.tests.is_some(),
        acts_as: watch.service_account.clone().map(ActsAs::Account),
        references: references(watch),
        procedures: procedures(watch, &custom_kind(watch, &known), &known),
        known,
    }
}

/// The procedures of a watch, whose own kind is `of`. Their runs are as its resources: in namespaces, or of the whole cluster.
pub fn procedures(watch: &Watch, of: &CustomKind, known: &Known) -> Vec<Procedure> {
    let procedure = |procedure: &procedure::Procedure| {
        let mut runs = CustomKind::new(&of.group, &of.version, &procedure.run_kind);
        runs.scope = of.scope;
        if let Some(name) = known.get(&runs.group, &runs.kind) {
            runs.plural.clone_from(&name.plural);
        }
        let mut steps = procedure.steps.iter().chain(&procedure.finally);
        Procedure {
            name: procedure.name.clone(),
            runs,
            parameters: procedure.parameters.iter().map(parameter).collect(),
            makes_jobs: steps.any(|step| matches!(step.work, Work::Job(_))),
        }
    };
    watch.procedures.iter().map(procedure).collect()
}

fn parameter(parameter: &procedure::Parameter) -> Parameter {
    Parameter {
        name: parameter.name.clone(),
        type_name: parameter.r#type.as_str(),
        required: parameter.required,
        default: parameter.default.clone(),
        description: parameter.description.clone(),
        allowed: parameter.allowed.clone(),
    }
}

/// What a watch adds to the status of its resources.
pub fn added_status(watch: &Watch) -> AddedStatus {
    let fields = watch.status.fields.iter().map(|field| AddedField {
        name: field.name.clone(),
        type_name: field.r#type.as_str(),
        description: field.description.clone(),
    });
    let columns = watch.status.columns.iter().map(|column| AddedColumn {
        name: column.name.clone(),
        field: column.field.clone(),
        priority: column.priority,
    });
    AddedStatus {
        fields: fields.collect(),
        columns: columns.collect(),
        scale: watch.scale.as_ref().map(|scale| ScalePaths {
            spec: scale.spec.clone(),
            status: scale.status.clone(),
            selector: scale.selector.clone(),
        }),
    }
}

/// What the resources of a watch refer to outside of their releases.
pub fn references(watch: &Watch) -> Vec<Referred> {
    let fixed = |name: &NameTemplate| name.fixed().map(str::to_owned);
    let dependencies = watch.depends_on.iter().map(|dependency| Referred {
        field: "dependsOn",
        group: dependency.api.group.clone(),
        kind: dependency.api.kind.clone(),
        name: fixed(&dependency.name),
        place: match &dependency.namespace {
            None => ReferredPlace::Release,
            Some(namespace) => fixed(namespace).map_or(ReferredPlace::Any, ReferredPlace::Named),
        },
    });
    let sources = watch.values_from.sources.iter().map(|source| Referred {
        field: "valuesFrom",
        group: String::new(),
        kind: source.kind.as_str().to_owned(),
        name: fixed(&source.name),
        place: ReferredPlace::Release,
    });
    let of_resources = [SourceKind::Secret, SourceKind::ConfigMap]
        .into_iter()
        .filter(|_| watch.values_from.from_resources)
        .map(|kind| Referred {
            field: "valuesFrom",
            group: String::new(),
            kind: kind.as_str().to_owned(),
            name: None,
            place: ReferredPlace::Release,
        });
    dependencies.chain(sources).chain(of_resources).collect()
}

/// What the resources of all kinds are called that a server serves.
pub fn known_to(served: &Served) -> Known {
    let mut known = Known::new();
    for Resource { api, namespaced, .. } in served.kinds() {
        let name = ResourceName {
            plural: api.plural.clone(),
            is_namespaced: *namespaced,
        };
        known.insert(&api.group, &api.kind, name);
    }
    known
}
