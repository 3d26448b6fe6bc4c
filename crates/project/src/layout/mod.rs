//! The files of a project, laid out as operator-sdk's helm plugin does: names, keys and markers are those that
//! operator-sdk, kubebuilder and existing kustomizations look for.
//!
//! ```text
//! new_project    a name and a domain -> the files of a project without kinds
//! api_files      a kind and its chart -> the files that are the kind's own
//! register       the same, entered into the files that all kinds share
//! ```
//!
//! All of it is texts by path; nothing here reads or writes a file.

mod names;
mod operator_sdk;
mod project_file;
mod sample;
mod shared;
mod starter;
mod templates;

use std::collections::BTreeMap;

use crate::CustomKind;

pub use names::{
    check_domain, check_group, check_kind, check_project_name, check_version, kind_of_chart, project_name_of,
};
pub use operator_sdk::is_bare_definition;
pub use project_file::{ProjectFile, ProjectFileError, Resource};
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

/// A kind of the project, and what follows from its chart.
#[derive(Debug, Clone)]
pub struct Api<'a> {
    /// The kind, its group with the domain.
    pub kind: &'a CustomKind,
    /// The group without the domain.
    pub group: &'a str,
    /// The folder of the chart in `helm-charts/`.
    pub chart: &'a str,
    /// The text of the chart's `values.yaml`.
    pub values: &'a str,
    /// The `CustomResourceDefinition` as YAML, for a file of its own.
    pub definition: &'a str,
    /// What the operator may do for this kind: items of a list of rules as YAML, under the heading that names the kind.
    pub rules: &'a str,
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
/// use steersman_project::layout::{Project, new_project};
///
/// let project = Project { name: "web-operator".to_owned(), domain: "example.com".to_owned() };
/// let files = new_project(&project, "");
/// assert!(files["PROJECT"].contains("projectName: web-operator\n"));
/// assert!(files.contains_key("config/default/kustomization.yaml"));
/// ```
pub fn new_project(project: &Project, base_rules: &str) -> Files {
    let mut files = templates::project(project, base_rules);
    files.insert("PROJECT".to_owned(), ProjectFile::new(project).to_text());
    files
}

/// The files that are a kind's own: its definition, its sample, and roles for people.
///
/// ```
/// use steersman_project::CustomKind;
/// use steersman_project::layout::{Api, Project, api_files, new_project, register};
///
/// let project = Project { name: "web-operator".to_owned(), domain: "example.com".to_owned() };
/// let kind = CustomKind::new("apps.example.com", "v1alpha1", "Web");
/// let api = Api {
///     kind: &kind,
///     group: "apps",
///     chart: "web",
///     values: "replicas: 2\n",
///     definition: "kind: CustomResourceDefinition\n",
///     rules: "",
/// };
/// let mut files = new_project(&project, "");
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
    files
}
