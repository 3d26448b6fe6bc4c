//! `PROJECT`: what operator-sdk and kubebuilder know of a project.

use serde_json::{Value, json};
use steersman_yaml::Style;

use super::{Plugin, Project};

const HEADER: &str = "\
# Written by programs: `steersman create api` and operator-sdk enter here what they have made.
# More info: https://book.kubebuilder.io/reference/project-config.html
";

/// Why a `PROJECT` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// The text is not YAML.
    #[error("PROJECT is not YAML")]
    Yaml(#[source] steersman_yaml::Error),
    /// The project is one of neither charts nor roles.
    #[error("PROJECT has the layout {found}, not `{}` or `{}`", Plugin::Helm.layout(), Plugin::Ansible.layout())]
    Layout {
        /// The `layout` that it has, as JSON.
        found: String,
    },
    /// A field is missing.
    #[error("PROJECT has no `{0}`")]
    Missing(&'static str),
}

/// A kind of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The group without the domain.
    pub group: String,
    /// What follows the group: `example.com` of `cache.example.com`.
    pub domain: String,
    /// Of the API, not of the operator: `v1alpha1`.
    pub version: String,
    /// As in manifests: `Memcached`.
    pub kind: String,
    /// The plural, where it is not the regular one.
    pub plural: Option<String>,
}

impl Resource {
    /// Whether both are the same kind, whatever their plurals.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.group, &self.version, &self.kind) == (&other.group, &other.version, &other.kind)
    }
}

/// The content of a `PROJECT`; what is not known here is kept.
///
/// ```
/// use steersman_project::layout::{Plugin, Project, ProjectFile, Resource};
///
/// let project = Project { name: "web-operator".to_owned(), domain: "example.com".to_owned() };
/// let mut file = ProjectFile::new(&project, Plugin::Helm);
/// file.add(&Resource {
///     group: "apps".to_owned(),
///     domain: "example.com".to_owned(),
///     version: "v1alpha1".to_owned(),
///     kind: "Web".to_owned(),
///     plural: None,
/// });
/// let again = ProjectFile::parse(&file.to_text())?;
/// assert_eq!(again.resources()[0].kind, "Web");
/// # Ok::<(), steersman_project::layout::ProjectFileError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectFile(Value);

impl ProjectFile {
    /// That of a project without kinds.
    pub fn new(project: &Project, plugin: Plugin) -> Self {
        Self(json!({
            "domain": project.domain,
            "layout": [plugin.layout()],
            "plugins": {
                "manifests.sdk.operatorframework.io/v2": {},
                "scorecard.sdk.operatorframework.io/v2": {},
            },
            "projectName": project.name,
            "version": "3",
        }))
    }

    /// Reads a `PROJECT`.
    ///
    /// # Errors
    ///
    /// It is not YAML, or that of another layout.
    pub fn parse(text: &str) -> Result<Self, ProjectFileError> {
        let file = Self(steersman_yaml::to_json(text).map_err(ProjectFileError::Yaml)?);
        if file.found_plugin().is_none() {
            return Err(ProjectFileError::Layout {
                found: file.0["layout"].to_string(),
            });
        }
        Ok(file)
    }

    /// What the project was begun for.
    pub fn plugin(&self) -> Plugin {
        self.found_plugin().unwrap_or_default()
    }

    fn found_plugin(&self) -> Option<Plugin> {
        let layout = &self.0["layout"];
        Plugin::ALL.into_iter().find(|plugin| match layout {
            Value::Array(items) => items.iter().any(|item| item == plugin.layout()),
            Value::String(text) => text == plugin.layout(),
            _ => false,
        })
    }

    /// YAML with sorted keys, below a comment on who writes it.
    pub fn to_text(&self) -> String {
        let yaml = steersman_yaml::marshal(&self.0, Style::V2).unwrap_or_default();
        format!("{HEADER}{yaml}")
    }

    /// What the project is called.
    ///
    /// # Errors
    ///
    /// The file does not say so.
    pub fn project(&self) -> Result<Project, ProjectFileError> {
        let text = |field: &'static str| match self.0[field].as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(ProjectFileError::Missing(field)),
        };
        Ok(Project {
            name: text("projectName")?,
            domain: text("domain")?,
        })
    }

    /// Whether kinds may be in several groups.
    pub fn is_multigroup(&self) -> bool {
        self.0["multigroup"] == true
    }

    /// The kinds in the order of the file; what an entry lacks is empty.
    pub fn resources(&self) -> Vec<Resource> {
        let text = |resource: &Value, field: &str| resource[field].as_str().unwrap_or_default().to_owned();
        self.0["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|resource| Resource {
                group: text(resource, "group"),
                domain: text(resource, "domain"),
                version: text(resource, "version"),
                kind: text(resource, "kind"),
                plural: Some(text(resource, "plural")).filter(|plural| !plural.is_empty()),
            })
            .collect()
    }

    /// Adds a kind.
    pub fn add(&mut self, resource: &Resource) {
        let mut entry = json!({
            "api": {"crdVersion": "v1", "namespaced": true},
            "domain": resource.domain,
            "kind": resource.kind,
            "version": resource.version,
        });
        if !resource.group.is_empty() {
            entry["group"] = Value::from(resource.group.as_str());
        }
        if let Some(plural) = &resource.plural {
            entry["plural"] = Value::from(plural.as_str());
        }
        match &mut self.0["resources"] {
            Value::Array(resources) => resources.push(entry),
            other => *other = Value::Array(vec![entry]),
        }
    }

    /// The digest of a chart's files when they came into the project, by the chart's folder.
    pub fn chart_digest(&self, chart: &str) -> Option<&str> {
        self.0["plugins"][PLUGIN]["charts"][chart]["digest"].as_str()
    }

    /// Remembers the digest of a chart's files, and its version.
    pub fn set_chart(&mut self, chart: &str, version: &str, digest: &str) {
        self.0["plugins"][PLUGIN]["charts"][chart] = json!({"digest": digest, "version": version});
    }
}

/// What Steersman remembers is under this name.
const PLUGIN: &str = "steersman/v1";

#[cfg(test)]
mod tests {
    use super::{ProjectFile, Resource};
    use crate::layout::{Plugin, Project};

    #[test]
    fn what_others_have_written_is_kept() {
        let text = "domain: example.com\nlayout:\n- helm.sdk.operatorframework.io/v1\nmultigroup: true\n\
                    projectName: shop\nplugins:\n  other/v1: {a: b}\nversion: \"3\"\n";
        let mut file = ProjectFile::parse(text).unwrap();
        assert!(file.is_multigroup());
        file.add(&Resource {
            group: "cache".to_owned(),
            domain: "example.com".to_owned(),
            version: "v1".to_owned(),
            kind: "Memcached".to_owned(),
            plural: Some("memcached".to_owned()),
        });
        file.set_chart("memcached", "1.0.0", "sha256:00");
        let text = file.to_text();
        assert!(text.contains("other/v1:\n    a: b\n"), "{text}");
        assert!(
            text.contains(
                "resources:\n- api:\n    crdVersion: v1\n    namespaced: true\n  domain: example.com\n  group: cache\n  \
                 kind: Memcached\n  plural: memcached\n  version: v1\nversion: \"3\"\n"
            ),
            "{text}"
        );
        let again = ProjectFile::parse(&text).unwrap();
        assert_eq!(again, file);
        assert_eq!(again.chart_digest("memcached"), Some("sha256:00"));
        assert_eq!(again.resources()[0].plural.as_deref(), Some("memcached"));
        assert_eq!(
            again.project().unwrap(),
            Project {
                name: "shop".to_owned(),
                domain: "example.com".to_owned()
            }
        );
    }

    #[test]
    fn other_layouts_are_refused() {
        let error = ProjectFile::parse("layout: [go.kubebuilder.io/v4]\n").unwrap_err();
        let expect = r#"["go.kubebuilder.io/v4"], not `helm.sdk.operatorframework.io/v1` or `ansible."#;
        assert!(error.to_string().contains(expect), "{error}");
        ProjectFile::parse("{").unwrap_err();
    }

    #[test]
    fn the_layout_says_what_the_project_was_begun_for() {
        for (layout, expect) in [
            ("[ansible.sdk.operatorframework.io/v1]", Plugin::Ansible),
            ("ansible.sdk.operatorframework.io/v1", Plugin::Ansible),
            ("[helm.sdk.operatorframework.io/v1]", Plugin::Helm),
        ] {
            let file = ProjectFile::parse(&format!("layout: {layout}\n")).unwrap();
            assert_eq!(file.plugin(), expect, "{layout}");
        }
    }
}
