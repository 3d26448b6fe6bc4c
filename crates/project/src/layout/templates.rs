//! The texts of the files, with names in the place of `%name%`.

use super::{Files, Plugin, Project, ansible};
use crate::CustomKind;

/// Texts by path, of a folder beside this file.
macro_rules! texts {
    (in $folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!($folder, "/", $path)))),*]
    };
}
pub(super) use texts;

/// The files of every project, by their path.
const PROJECT: &[(&str, &str)] = texts![in "files":
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
    "config/prometheus/rules.yaml",
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
];

/// Those of a project of charts.
const HELM: &[(&str, &str)] = texts![in "files": "Dockerfile", "watches.yaml"];

/// What the operator of charts may use, in its Deployment.
const HELM_RESOURCES: &str = "        # What is requested is measured: docs/operator-benchmarks.md of Steersman. The limit is divided among what resources
        # and charts may take at a time; its docs/how-to/deploy.md says how much each may.
        resources:
          limits:
            cpu: 500m
            memory: 128Mi
          requests:
            cpu: 10m
            memory: 32Mi
        volumeMounts: []
      volumes: []
";

/// The roles for people who work with resources of a kind.
const ROLES: &[(&str, &str)] = &[
    ("admin", include_str!("files/config/rbac/admin_role.yaml")),
    ("editor", include_str!("files/config/rbac/editor_role.yaml")),
    ("viewer", include_str!("files/config/rbac/viewer_role.yaml")),
];

/// What differs from one plugin to the other in files that both have.
pub(super) struct Differences {
    /// The targets of the Makefile that make images.
    pub(super) build: &'static str,
    /// Whether the Makefile needs a container engine.
    pub(super) container_tool: &'static str,
    /// The port of the probes.
    pub(super) probes: &'static str,
    /// Variables of the operator's environment.
    pub(super) variables: &'static str,
    /// What the operator may use, and where it writes.
    pub(super) resources: &'static str,
}

const OF_HELM: Differences = Differences {
    build: include_str!("files/helm.mk"),
    container_tool: "None is needed.",
    probes: "8081",
    variables: "",
    resources: HELM_RESOURCES,
};

pub(super) fn project(project: &Project, plugin: Plugin, base_rules: &str) -> Files {
    let (own, differences) = match plugin {
        Plugin::Helm => (HELM, OF_HELM),
        Plugin::Ansible => (ansible::PROJECT, ansible::DIFFERENCES),
    };
    let values = [
        ("build", differences.build),
        ("container-tool", differences.container_tool),
        ("probes", differences.probes),
        ("variables", differences.variables),
        ("resources", differences.resources),
        ("plugin", plugin.word()),
        // A project of Ansible has no chart yet.
        ("charts", ""),
        ("base", base_rules.trim_end()),
    ];
    let mut files: Files = PROJECT
        .iter()
        .chain(own)
        .map(|(path, text)| ((*path).to_owned(), named(&filled(text, &values), project)))
        .collect();
    files.insert(
        ".gitignore".to_owned(),
        include_str!("files/gitignore").to_owned(),
    );
    files
}

pub(super) fn named(text: &str, project: &Project) -> String {
    filled(
        text,
        &[
            ("project", &project.name),
            ("domain", &project.domain),
            ("version", concat!("v", env!("CARGO_PKG_VERSION"))),
        ],
    )
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
    use super::{HELM, PROJECT, project};
    use crate::layout::{Plugin, Project};
    use crate::rbac::{leader_election_rules, metrics_rules, signing_rules, write};

    /// A backslash at the end of a line of Rust takes the spaces of the next one.
    #[test]
    fn comments_stand_where_what_they_are_about_stands() {
        let shop = Project {
            name: "shop".to_owned(),
            domain: "example.com".to_owned(),
        };
        for plugin in [Plugin::Helm, Plugin::Ansible] {
            let files = project(&shop, plugin, "");
            let mut comments = 0;
            let mut lines = files["config/manager/manager.yaml"].lines().peekable();
            while let Some(line) = lines.next() {
                let Some(next) = lines.peek().filter(|_| line.trim_start().starts_with('#')) else {
                    continue;
                };
                let indent = |line: &str| line.len() - line.trim_start().len();
                assert_eq!(indent(line), indent(next), "{line}\n{next}");
                comments += 1;
            }
            assert!(comments > 10, "{comments}");
        }
    }

    /// The roles in the files grant what the operator asks for, and no more.
    #[test]
    fn fixed_roles_are_those_that_the_operator_needs() {
        let files = project(
            &Project {
                name: "shop".to_owned(),
                domain: "example.com".to_owned(),
            },
            Plugin::Helm,
            "",
        );
        assert_eq!(files.len(), PROJECT.len() + HELM.len() + 1);
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
