//! What commands that look at roles and playbooks share.

mod syntax;

use std::path::{Path, PathBuf};

use steersman_model::Environment;
use steersman_project::rbac::{ActsAs, Follows, Known, TaskOptions};
use steersman_project::tasks::{Content, Search};
use steersman_project::{CustomKind, Scope};
use steersman_watches::{AnsibleContent, AnsiblePaths, AnsibleWatch};
pub(super) use syntax::Ansible;

/// Where what tasks name is looked for, in the project of the working directory.
pub(super) fn search(environment: &Environment) -> Search {
    let AnsiblePaths { roles, collections } = AnsiblePaths::of(environment);
    Search {
        root: absolute(Path::new(".")),
        roles,
        collections,
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Without the point at its end.
    absolute.components().collect()
}

/// What runs for an entry: for each change, and for a deletion.
pub(super) fn contents(watch: &AnsibleWatch) -> Vec<Content> {
    let of_finalizer = watch.finalizer.as_ref();
    let of_finalizer = of_finalizer.and_then(|finalizer| finalizer.content.as_ref());
    let all = std::iter::once(&watch.content).chain(of_finalizer);
    all.map(|content| match content {
        AnsibleContent::Role(path) => Content::Role(path.clone()),
        AnsibleContent::Playbook(path) => Content::Playbook(path.clone()),
    })
    .collect()
}

/// The kind of an entry, with the names that its definition gives it, where that is known.
pub(super) fn kind(watch: &AnsibleWatch, known: &Known) -> CustomKind {
    let gvk = &watch.gvk;
    let mut kind = CustomKind::new(&gvk.group, &gvk.version, &gvk.kind);
    let of_kubernetes = Known::of_kubernetes();
    let name = known.get(&gvk.group, &gvk.kind);
    if let Some(name) = name.or_else(|| of_kubernetes.get(&gvk.group, &gvk.kind)) {
        kind.plural.clone_from(&name.plural);
        kind.scope = if name.is_namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        };
    }
    kind
}

/// What the permissions for an entry depend on, besides its tasks.
pub(super) fn task_options(watch: &AnsibleWatch, known: Known) -> TaskOptions {
    let listed = watch.blacklist.iter();
    TaskOptions {
        manages_status: watch.manage_status,
        has_finalizer: watch.finalizer.is_some(),
        deletes_dependents: watch.delete_dependents,
        follows: match (watch.watch_dependents, watch.watch_cluster_scoped) {
            (false, _) => Follows::Nothing,
            (true, false) => Follows::Namespaced,
            (true, true) => Follows::All,
        },
        blacklist: listed.map(|gvk| (gvk.group.clone(), gvk.kind.clone())).collect(),
        acts_as: watch.service_account.clone().map(ActsAs::Account),
        known,
        ..TaskOptions::default()
    }
}
