//! What the releases of a watch need.

use steersman_project::rbac::{ActsAs, Known, Options, ResourceName};
use steersman_project::{CustomKind, Scope};
use steersman_watches::Watch;

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
        known,
    }
}

/// What the resources of all kinds are called that a server serves.
pub fn known_to(served: &Served) -> Known {
    let mut known = Known::new();
    for Resource { api, namespaced } in served.kinds() {
        let name = ResourceName {
            plural: api.plural.clone(),
            is_namespaced: *namespaced,
        };
        known.insert(&api.group, &api.kind, name);
    }
    known
}
