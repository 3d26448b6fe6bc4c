//! The files of a project, laid out as operator-sdk's plugins for Helm and Ansible do: names, keys and markers are those that
//! operator-sdk, kubebuilder and existing kustomizations look for.
//!
//! ```text
//! new_project    a name, a domain, a plugin -> the files of a project without kinds
//! api_files      a kind and what makes it -> the files that are the kind's own
//! register       the same, entered into the files that all kinds share
//! add_procedure  a procedure -> watches.yaml with it in the entry of its kind
//! add_runs       the kind of a procedure's runs: all of its files, and its entries in the others
//! additions      what a project of charts lacks for its first role; switched: what has to be another file
//! ```
//!
//! All of it is texts by path; nothing here reads or writes a file.

mod ansible;
mod entry;
mod names;
mod new_procedure;
mod operator_sdk;
mod plugin;
mod project_file;
mod runs;
mod sample;
mod shared;
mod starter;
mod templates;

use std::collections::BTreeMap;

use crate::CustomKind;

pub use ansible::{
    Switched, additions, dockerfile_with_charts, playbook_path, role_folder, starter_playbook, starter_role,
    switched,
};
pub use entry::{EntryError, FoundEntry, WantedEntry, add_procedure, find_entry};
pub use names::{
    check_domain, check_group, check_kind, check_procedure_name, check_project_name, check_version,
    kind_of_chart, project_name_of,
};
pub use new_procedure::{NewProcedure, NewSchedule};
pub use operator_sdk::is_bare_definition;
pub use plugin::Plugin;
pub use project_file::{ProjectFile, ProjectFileError, Resource};
pub use runs::add_runs;
pub use shared::{LayoutError, SHARED, register, replace_rules, rules_of};
pub use starter::starter_chart;

/// Texts by their path in the project, with `/` between folders.
pub type Files = BTreeMap<String, String>;

/// What a project is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The name, such as `memcached-operator`: a part of all names in the cluster.
    pub name: String,
    /// What the groups of its kinds end in, such as `example.com`.
    pub domain: String,
}

/// A kind of the project, and what follows from what makes it.
#[derive(Debug, Clone)]
pub struct Api<'a> {
    /// The kind, its group with the domain.
    pub kind: &'a CustomKind,
    /// The group without the domain.
    pub group: &'a str,
    /// What makes the objects of a resource.
    pub content: Content<'a>,
    /// The `CustomResourceDefinition` as YAML, for a file of its own.
    pub definition: &'a str,
    /// What the operator may do for this kind: items of a list of rules as YAML, under the heading that names the kind.
    pub rules: &'a str,
}

/// What makes the objects of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// It is in `helm-charts/NAME`.
    Chart {
        /// Its folder in `helm-charts/`.
        name: &'a str,
        /// The text of its `values.yaml`.
        values: &'a str,
    },
    /// The role that is called as the kind, in small letters.
    Role {
        /// Its defaults, as the spec of a resource.
        values: &'a str,
    },
    /// The playbook that is called as the kind, in small letters.
    Playbook {
        /// The defaults of its role, as the spec of a resource.
        values: &'a str,
    },
    /// A role or playbook that somebody will name in watches.yaml.
    Open,
}

impl Content<'_> {
    /// Whether it is Ansible that runs.
    pub fn is_ansible(&self) -> bool {
        !matches!(self, Self::Chart { .. })
    }
}

impl Api<'_> {
    /// `config/crd/bases/GROUP_PLURAL.yaml`, with the whole group.
    pub fn definition_path(&self) -> String {
        format!("config/crd/bases/{}", self.definition_file())
    }

    fn definition_file(&self) -> String {
        format!("{}_{}.yaml", self.kind.group, self.kind.plural)
    }

    /// `config/samples/cache_v1alpha1_memcached.yaml`: the group is without its domain.
    pub fn sample_path(&self) -> String {
        format!("config/samples/{}", self.sample_file())
    }

    fn sample_file(&self) -> String {
        let group = if self.group.is_empty() {
            String::new()
        } else {
            format!("{}_", self.group)
        };
        format!("{group}{}_{}.yaml", self.kind.version, self.kind.singular())
    }
}

/// The files of a project without kinds. `base_rules` are what the operator may do whatever it watches: the items of a
/// list of rules, as YAML, under their heading.
///
/// ```
/// use steersman_project::layout::{Plugin, Project, new_project};
///
/// let project = Project { name: "web-operator".to_owned(), domain: "example.com".to_owned() };
/// let files = new_project(&project, Plugin::Helm, "");
/// assert!(files["PROJECT"].contains("projectName: web-operator\n"));
/// assert!(files.contains_key("config/default/kustomization.yaml"));
/// ```
pub fn new_project(project: &Project, plugin: Plugin, base_rules: &str) -> Files {
    let mut files = templates::project(project, plugin, base_rules);
    files.insert("PROJECT".to_owned(), ProjectFile::new(project, plugin).to_text());
    files
}

/// The files that are a kind's own: its definition, its sample, roles for people, and its test where Ansible runs.
///
/// ```
/// use steersman_project::CustomKind;
/// use steersman_project::layout::{Api, Content, Plugin, Project, api_files, new_project, register};
///
/// let project = Project { name: "web-operator".to_owned(), domain: "example.com".to_owned() };
/// let kind = CustomKind::new("apps.example.com", "v1alpha1", "Web");
/// let api = Api {
///     kind: &kind,
///     group: "apps",
///     content: Content::Chart { name: "web", values: "replicas: 2\n" },
///     definition: "kind: CustomResourceDefinition\n",
///     rules: "",
/// };
/// let mut files = new_project(&project, Plugin::Helm, "");
/// register(&mut files, &project, &api)?;
/// files.extend(api_files(&project, &api));
/// assert!(files["watches.yaml"].contains("chart: helm-charts/web\n"));
/// assert!(files["config/samples/apps_v1alpha1_web.yaml"].contains("replicas: 2\n"));
/// # Ok::<(), steersman_project::layout::LayoutError>(())
/// ```
pub fn api_files(project: &Project, api: &Api<'_>) -> Files {
    let mut files = templates::roles(project, api.kind);
    files.insert(api.definition_path(), api.definition.to_owned());
    files.insert(api.sample_path(), sample::sample(api));
    if api.content.is_ansible() {
        let (path, text) = ansible::resource_test(api.kind, &api.sample_file());
        files.insert(path, text);
    }
    files
}
