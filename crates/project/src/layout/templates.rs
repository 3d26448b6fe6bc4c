//! The texts of the files, with names in the place of `%name%`.

use super::{Files, Project};
use crate::CustomKind;

macro_rules! texts {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("files/", $path)))),*]
    };
}

/// The files of a project, by their path.
const PROJECT: &[(&str, &str)] = texts![
    "Dockerfile",
    "Makefile",
    "config/crd/kustomization.yaml",
    "config/default/kustomization.yaml",
    "config/default/manager_metrics_patch.yaml",
    "config/default/metrics_service.yaml",
    "config/manager/kustomization.yaml",
    "config/manager/manager.yaml",
    "config/manager/pod_disruption_budget.yaml",
    "config/manifests/kustomization.yaml",
    "config/network-policy/allow-metrics-traffic.yaml",
    "config/network-policy/kustomization.yaml",
    "config/prometheus/kustomization.yaml",
    "config/prometheus/monitor.yaml",
    "config/rbac/kustomization.yaml",
    "config/rbac/leader_election_role.yaml",
    "config/rbac/leader_election_role_binding.yaml",
    "config/rbac/metrics_auth_role.yaml",
    "config/rbac/metrics_auth_role_binding.yaml",
    "config/rbac/metrics_reader_role.yaml",
    "config/rbac/role.yaml",
    "config/rbac/role_binding.yaml",
    "config/rbac/service_account.yaml",
    "config/rbac/signing_keys_role.yaml",
    "config/rbac/signing_keys_role_binding.yaml",
    "config/samples/kustomization.yaml",
    "config/scorecard/bases/config.yaml",
    "config/scorecard/kustomization.yaml",
    "config/scorecard/patches/basic.config.yaml",
    "config/scorecard/patches/olm.config.yaml",
    "watches.yaml",
];

/// The roles for people who work with resources of a kind.
const ROLES: &[(&str, &str)] = &[
    ("admin", include_str!("files/config/rbac/admin_role.yaml")),
    ("editor", include_str!("files/config/rbac/editor_role.yaml")),
    ("viewer", include_str!("files/config/rbac/viewer_role.yaml")),
];

pub(super) fn project(project: &Project, base_rules: &str) -> Files {
    let fill = |text: &str| {
        filled(
            text,
            &[
                ("project", &project.name),
                ("domain", &project.domain),
                ("version", concat!("v", env!("CARGO_PKG_VERSION"))),
                ("base", base_rules.trim_end()),
            ],
        )
    };
    let mut files: Files = PROJECT
        .iter()
        .map(|(path, text)| ((*path).to_owned(), fill(text)))
        .collect();
    files.insert(
        ".gitignore".to_owned(),
        include_str!("files/gitignore").to_owned(),
    );
    files
}

pub(super) fn roles(project: &Project, kind: &CustomKind) -> Files {
    let values = [
        ("project", project.name.as_str()),
        ("kind", &kind.kind),
        ("group", &kind.group),
        ("plural", &kind.plural),
        ("singular", &kind.singular()),
    ];
    ROLES
        .iter()
        .map(|(role, text)| (role_path(kind, role), filled(text, &values)))
        .collect()
}

fn role_path(kind: &CustomKind, role: &str) -> String {
    format!("config/rbac/{}", role_file(kind, role))
}

fn role_file(kind: &CustomKind, role: &str) -> String {
    format!("{}_{role}_role.yaml", kind.singular())
}

/// The files of the roles for people, in the order in which they are named.
pub(super) fn role_files(kind: &CustomKind) -> impl Iterator<Item = String> {
    ROLES.iter().map(|(role, _)| role_file(kind, role))
}

pub(super) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("%{name}%"), value)
    })
}

#[cfg(test)]
mod tests {
    use super::{PROJECT, project};
    use crate::layout::Project;
    use crate::rbac::{leader_election_rules, metrics_rules, signing_rules, write};

    /// The roles in the files grant what the operator asks for, and no more.
    #[test]
    fn fixed_roles_are_those_that_the_operator_needs() {
        let files = project(
            &Project {
                name: "shop".to_owned(),
                domain: "example.com".to_owned(),
            },
            "",
        );
        assert_eq!(files.len(), PROJECT.len() + 1);
        for (path, rules) in [
            ("config/rbac/leader_election_role.yaml", leader_election_rules()),
            ("config/rbac/metrics_auth_role.yaml", metrics_rules()),
            ("config/rbac/signing_keys_role.yaml", signing_rules()),
        ] {
            let role = steersman_yaml::to_json(&files[path]).unwrap();
            let expect = steersman_yaml::to_json(&write::items(&rules)).unwrap();
            assert_eq!(role["rules"], expect, "{path}");
        }
    }
}
