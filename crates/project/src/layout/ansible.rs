//! What is Ansible's in a project: the files of roles, playbooks and molecule, and what a project of charts lacks for them.

use super::templates::{Differences, filled, named, texts};
use super::{Files, Plugin, Project, new_project};
use crate::CustomKind;

/// The files of a project of Ansible that a project of charts has not, or has with another text.
pub(super) const PROJECT: &[(&str, &str)] = texts![in "files/ansible":
    "Dockerfile",
    "config/testing/debug_logs_patch.yaml",
    "config/testing/kustomization.yaml",
    "config/testing/manager_image.yaml",
    "config/testing/pull_policy/Always.yaml",
    "config/testing/pull_policy/IfNotPresent.yaml",
    "config/testing/pull_policy/Never.yaml",
    "molecule/default/converge.yml",
    "molecule/default/create.yml",
    "molecule/default/destroy.yml",
    "molecule/default/kustomize.yml",
    "molecule/default/molecule.yml",
    "molecule/default/prepare.yml",
    "molecule/default/verify.yml",
    "molecule/kind/converge.yml",
    "molecule/kind/create.yml",
    "molecule/kind/destroy.yml",
    "molecule/kind/molecule.yml",
    "molecule/local/converge.yml",
    "molecule/local/destroy.yml",
    "molecule/local/molecule.yml",
    "molecule/local/prepare.yml",
    "playbooks/.placeholder",
    "requirements.yml",
    "roles/.placeholder",
    "watches.yaml",
];

/// The files of a role, in its folder.
const ROLE: &[(&str, &str)] = texts![in "files/ansible/role":
    "README.md",
    "defaults/main.yml",
    "files/.placeholder",
    "handlers/main.yml",
    "meta/main.yml",
    "tasks/main.yml",
    "templates/.placeholder",
    "vars/main.yml",
];

const PLAYBOOK: &str = include_str!("files/ansible/playbook.yml");
const TEST: &str = include_str!("files/ansible/molecule/resource_test.yml");

/// The line that puts charts into the image.
const CHARTS: &str = "COPY helm-charts  ${HOME}/helm-charts\n";
const DOCKERFILE: &str = include_str!("files/ansible/Dockerfile");

pub(super) const DIFFERENCES: Differences = Differences {
    build: include_str!("files/ansible.mk"),
    container_tool: "That of the operator needs one, docker by default.",
    probes: "6789",
    variables: "        # No run asks its host for facts unless it says so.
        - name: ANSIBLE_GATHERING
          value: explicit
",
    resources:
        "        # Each run is a tree of processes of Python; the limit decides how many there are at a time.
        resources:
          limits:
            cpu: 500m
            memory: 768Mi
          requests:
            cpu: 10m
            memory: 256Mi
        # Runs write here, and nowhere else.
        volumeMounts:
        - name: runs
          mountPath: /tmp
        - name: ansible
          mountPath: /opt/ansible/.ansible
      volumes:
      - name: runs
        emptyDir: {}
      - name: ansible
        emptyDir: {}
",
};

/// The files of a project that a role can't do with: another image, more memory, folders to write in.
const SWITCHED: &[&str] = &[
    "Dockerfile",
    "Makefile",
    "config/manager/manager.yaml",
    "config/network-policy/allow-metrics-traffic.yaml",
];

/// A file that a project of charts has, and that has to be another one when it gets a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    /// Its path in the project.
    pub path: &'static str,
    /// Its text where nobody has edited it.
    pub before: String,
    /// Its text for charts and roles.
    pub after: String,
}

/// `roles/KIND`, in lower case, as operator-sdk calls it.
pub fn role_folder(kind: &CustomKind) -> String {
    format!("roles/{}", kind.singular())
}

/// The file of a kind's playbook.
pub fn playbook_path(kind: &CustomKind) -> String {
    format!("playbooks/{}.yml", kind.singular())
}

/// A role to begin with, which does nothing yet.
///
/// ```
/// use steersman_project::CustomKind;
/// use steersman_project::layout::starter_role;
///
/// let files = starter_role(&CustomKind::new("cache.example.com", "v1", "Memcached"));
/// assert!(files["roles/memcached/tasks/main.yml"].contains("ansible_operator_meta"));
/// ```
#[must_use]
pub fn starter_role(kind: &CustomKind) -> Files {
    let folder = role_folder(kind);
    ROLE.iter()
        .map(|(path, text)| (format!("{folder}/{path}"), of_kind(text, kind)))
        .collect()
}

/// A playbook to begin with: one that runs the kind's role, or that does nothing yet.
#[must_use]
pub fn starter_playbook(kind: &CustomKind, runs_role: bool) -> String {
    let tasks = if runs_role {
        format!(
            "  tasks:\n    - import_role:\n        name: {}\n",
            kind.singular()
        )
    } else {
        "  tasks: []\n".to_owned()
    };
    format!("{PLAYBOOK}{tasks}")
}

/// The test of a kind, for all scenarios of molecule: its path and its text.
pub(super) fn resource_test(kind: &CustomKind, sample: &str) -> (String, String) {
    let path = format!("molecule/default/tasks/{}_test.yml", kind.singular());
    (path, filled(&of_kind(TEST, kind), &[("sample", sample)]))
}

fn of_kind(text: &str, kind: &CustomKind) -> String {
    let values = [
        ("kind", kind.kind.as_str()),
        ("group", &kind.group),
        ("singular", &kind.singular()),
    ];
    filled(text, &values)
}

/// The files that a project of charts has not yet when it gets its first role.
#[must_use]
pub fn additions(project: &Project) -> Files {
    let of_charts = new_project(project, Plugin::Helm, "");
    let mut files = new_project(project, Plugin::Ansible, "");
    files.retain(|path, _| !of_charts.contains_key(path));
    files
}

/// The files of a project of charts that have to be others when it gets a role.
#[must_use]
pub fn switched(project: &Project) -> Vec<Switched> {
    let mut of_charts = new_project(project, Plugin::Helm, "");
    let mut of_both = new_project(project, Plugin::Ansible, "");
    of_both.insert("Dockerfile".to_owned(), dockerfile(project, CHARTS));
    let files = SWITCHED.iter().map(|path| Switched {
        path,
        before: of_charts.remove(*path).unwrap_or_default(),
        after: of_both.remove(*path).unwrap_or_default(),
    });
    files.collect()
}

/// The Dockerfile of a project of Ansible that has to be another one when it gets a chart.
#[must_use]
pub fn dockerfile_with_charts(project: &Project) -> Switched {
    Switched {
        path: "Dockerfile",
        before: dockerfile(project, ""),
        after: dockerfile(project, CHARTS),
    }
}

fn dockerfile(project: &Project, charts: &str) -> String {
    named(&filled(DOCKERFILE, &[("charts", charts)]), project)
}

#[cfg(test)]
mod tests {
    use super::{Switched, additions, dockerfile_with_charts, starter_playbook, starter_role, switched};
    use crate::CustomKind;
    use crate::layout::{Plugin, Project, new_project};

    fn project() -> Project {
        Project {
            name: "shop-operator".to_owned(),
            domain: "example.com".to_owned(),
        }
    }

    #[test]
    fn what_both_plugins_have_and_roles_need_otherwise_is_switched() {
        let (charts, roles) = (
            new_project(&project(), Plugin::Helm, ""),
            new_project(&project(), Plugin::Ansible, ""),
        );
        let mut differing: Vec<&str> = roles
            .iter()
            .filter(|(path, text)| charts.get(*path).is_some_and(|other| other != *text))
            .map(|(path, _)| path.as_str())
            .collect();
        // The layout stays that of the plugin; watches.yaml differs in a comment.
        differing.retain(|path| !["PROJECT", "watches.yaml"].contains(path));
        let files = switched(&project());
        assert_eq!(files.iter().map(|file| file.path).collect::<Vec<_>>(), differing);
        for Switched { path, before, after } in &files {
            assert_eq!(charts[*path], *before);
            assert_ne!(before, after);
        }
        assert!(files[0].after.contains("\nCOPY helm-charts "));
        assert_eq!(dockerfile_with_charts(&project()).after, files[0].after);
        assert_eq!(dockerfile_with_charts(&project()).before, roles["Dockerfile"]);
        assert_eq!(charts.len() + additions(&project()).len(), roles.len());
    }

    #[test]
    fn starters_are_yaml_without_open_names() {
        let kind = CustomKind::new("shop.example.com", "v1", "WebShop");
        let mut files = starter_role(&kind);
        files.insert("playbook.yml".to_owned(), starter_playbook(&kind, true));
        files.insert("empty.yml".to_owned(), starter_playbook(&kind, false));
        for (path, text) in &files {
            assert!(!text.contains('%'), "{path}: {text}");
            if path.rsplit('.').next() == Some("yml") {
                steersman_yaml::parse_documents(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            }
        }
        let playbook = steersman_yaml::to_json(&files["playbook.yml"]).unwrap();
        assert_eq!(playbook[0]["tasks"][0]["import_role"]["name"], "webshop");
        let empty = steersman_yaml::to_json(&files["empty.yml"]).unwrap();
        assert_eq!(empty[0]["tasks"], serde_json::json!([]));
    }
}
