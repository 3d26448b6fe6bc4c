//! `Chart.yaml`.

mod decode;
mod lock;

use std::collections::BTreeMap;

pub use lock::Lock;

pub(crate) use decode::{Decode, Object, decode, document};
pub(crate) use lock::read_lock;
use steersman_yaml::{Content, Node};

use crate::version;

/// The contents of `Chart.yaml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// `web`, as in the name of the archive, `web-1.2.3.tgz`; never a path.
    pub name: String,
    /// The project's page.
    pub home: String,
    /// Addresses of its code, for people.
    pub sources: Vec<String>,
    /// `1.2.3`, by the rules of semantic versions.
    pub version: String,
    /// What the chart is, in one sentence.
    pub description: String,
    /// Words to find the chart by.
    pub keywords: Vec<String>,
    /// Who keeps the chart.
    pub maintainers: Vec<Maintainer>,
    /// The address of a picture.
    pub icon: String,
    /// `v1` or `v2`.
    pub api_version: String,
    /// Read from `Chart.yaml` but without effect there.
    pub condition: String,
    /// Read from `Chart.yaml` but without effect there.
    pub tags: String,
    /// The version of the application inside.
    pub app_version: String,
    /// Whether the chart is no longer kept.
    pub deprecated: bool,
    /// Anything else.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Which versions of Kubernetes the chart supports.
    pub kube_version: String,
    /// The charts it depends on.
    pub dependencies: Vec<Dependency>,
    /// `application`, `library` or empty.
    pub chart_type: String,
}

/// Someone who keeps a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// A person, a team or an account; `helm lint` wants one.
    pub name: String,
    /// The address for mail.
    pub email: String,
    /// The address of a page about them.
    pub url: String,
}

/// A chart that another depends on, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name in the dependency's `Chart.yaml`.
    pub name: String,
    /// A version or a range of them.
    pub version: String,
    /// Where the chart comes from.
    pub repository: String,
    /// Paths of values that turn it on or off, separated by commas.
    pub condition: String,
    /// Names under `tags:` that turn it on or off.
    pub tags: Vec<String>,
    /// As written; rendering decides by condition and tags.
    pub enabled: bool,
    /// Values of the dependency that the parent takes over.
    pub import_values: Vec<serde_json::Value>,
    /// The name under which the parent knows it.
    pub alias: String,
    /// Other dependencies, by their names here, that are ready before this one is applied, as Helm's HIP-0025 has it. What is
    /// no list of names is none: Helm passes over it.
    pub depends_on: Vec<String>,
}

impl Metadata {
    /// Whether this is a library, which has no objects of its own.
    pub(crate) fn is_library(&self) -> bool {
        self.chart_type.eq_ignore_ascii_case("library")
    }

    /// Checks what Helm checks, and takes out of the texts what cannot be printed.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ]
        .into_iter()
        .chain(&mut self.sources)
        .chain(&mut self.keywords)
        {
            make_printable(text);
        }
        self.check_identity()
            .map_err(|message| format!("validation: {message}"))?;
        for maintainer in &mut self.maintainers {
            for text in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
                make_printable(text);
            }
        }
        let mut names: Vec<String> = Vec::new();
        for dependency in &mut self.dependencies {
            dependency
                .check()
                .map_err(|message| format!("validation: {message}"))?;
            let name = dependency.local_name();
            if names.iter().any(|known| known == name) {
                return Err(format!(
                    "validation: more than one dependency with name or alias {name:?}"
                ));
            }
            names.push(name.to_owned());
        }
        Ok(())
    }

    /// Reads the metadata of a chart from YAML or JSON that was parsed already, such as an entry of a repository's index.
    ///
    /// ```
    /// use steersman_chart::Metadata;
    ///
    /// let node = steersman_yaml::parse("{apiVersion: v2, name: web, version: 1.0.0, type: library}").unwrap();
    /// let metadata = Metadata::read(&node)?;
    /// assert_eq!((metadata.name.as_str(), metadata.chart_type.as_str()), ("web", "library"));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// A field has another type than it should, or what is required is missing; the text is Helm's.
    pub fn read(node: &Node) -> Result<Self, String> {
        let mut metadata = Self::default();
        read_node_into(&mut metadata, node)?;
        if metadata.api_version.is_empty() {
            "v1".clone_into(&mut metadata.api_version);
        }
        metadata.check()?;
        Ok(metadata)
    }

    fn check_identity(&self) -> Result<(), String> {
        let Self {
            name,
            version,
            api_version,
            chart_type,
            ..
        } = self;
        if api_version.is_empty() {
            return Err("chart.metadata.apiVersion is required".to_owned());
        }
        if name.is_empty() {
            return Err("chart.metadata.name is required".to_owned());
        }
        if name == "." || name == ".." {
            return Err(format!("chart.metadata.name {name:?} is not allowed"));
        }
        if name.contains('/') {
            return Err(format!("chart.metadata.name {name:?} is invalid"));
        }
        if version.is_empty() {
            return Err("chart.metadata.version is required".to_owned());
        }
        if !version::is_version(version) {
            return Err(format!("chart.metadata.version {version:?} is invalid"));
        }
        if !matches!(chart_type.as_str(), "" | "application" | "library") {
            return Err("chart.metadata.type must be application or library".to_owned());
        }
        Ok(())
    }
}

impl Dependency {
    /// The name under which the parent knows the chart.
    pub fn local_name(&self) -> &str {
        if self.alias.is_empty() {
            &self.name
        } else {
            &self.alias
        }
    }

    fn check(&mut self) -> Result<(), String> {
        for text in [
            &mut self.name,
            &mut self.version,
            &mut self.repository,
            &mut self.condition,
        ]
        .into_iter()
        .chain(&mut self.tags)
        {
            make_printable(text);
        }
        let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
        if !self.alias.chars().all(allowed) {
            return Err(format!(
                "dependency {:?} has disallowed characters in the alias",
                self.name
            ));
        }
        Ok(())
    }
}

fn make_printable(text: &mut String) {
    if text
        .chars()
        .all(|character| character == ' ' || character.is_ascii_graphic())
    {
        return;
    }
    *text = text
        .chars()
        .filter_map(|character| {
            if character.is_whitespace() {
                Some(' ')
            } else {
                Some(character).filter(|character| !character.is_control())
            }
        })
        .collect();
}

/// Reads `Chart.yaml` or `requirements.yaml` into `metadata`: keys that are there replace what
/// was known.
pub(crate) fn read_into(metadata: &mut Metadata, content: &[u8]) -> Result<(), String> {
    match document(content)? {
        Some(node) => read_node_into(metadata, &node),
        None => Ok(()),
    }
}

/// As [`read_into`], from what was parsed already.
pub(crate) fn read_node_into(metadata: &mut Metadata, node: &Node) -> Result<(), String> {
    let decoded = decode(metadata, node, "Metadata");
    if decoded
        .as_ref()
        .is_err_and(|message| message.starts_with("validation: "))
    {
        // Go looks for nulls in lists when everything is read, and finds wrong types before.
        let mut without = node.clone();
        remove_nulls(&mut without, "maintainers");
        remove_nulls(&mut without, "dependencies");
        decode(&mut Metadata::default(), &without, "Metadata")?;
    }
    decoded
}

/// Takes the nulls out of the list under a key, and tells whether there were any.
pub(crate) fn remove_nulls(node: &mut Node, key: &str) -> bool {
    let Content::Mapping(pairs) = &mut node.value else {
        return false;
    };
    let mut removed = false;
    for (name, value) in pairs {
        if let (Some(name), Content::Sequence(items)) = (name.as_str(), &mut value.value)
            && name.eq_ignore_ascii_case(key)
        {
            let before = items.len();
            items.retain(|item| !matches!(item.value, Content::Null));
            removed |= items.len() != before;
        }
    }
    removed
}

impl Decode for Metadata {
    const GO_TYPE: &'static str = "v2.Metadata";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("annotations", &mut self.annotations)?;
        object.field("apiVersion", &mut self.api_version)?;
        object.field("appVersion", &mut self.app_version)?;
        object.field("condition", &mut self.condition)?;
        object.field("dependencies", &mut self.dependencies)?;
        object.field("deprecated", &mut self.deprecated)?;
        object.field("description", &mut self.description)?;
        object.field("home", &mut self.home)?;
        object.field("icon", &mut self.icon)?;
        object.field("keywords", &mut self.keywords)?;
        object.field("kubeVersion", &mut self.kube_version)?;
        object.field("maintainers", &mut self.maintainers)?;
        object.field("name", &mut self.name)?;
        object.field("sources", &mut self.sources)?;
        object.field("tags", &mut self.tags)?;
        object.field("type", &mut self.chart_type)?;
        object.field("version", &mut self.version)
    }
}

impl Decode for Maintainer {
    const GO_TYPE: &'static str = "v2.Maintainer";
    const NULL: Option<&'static str> = Some("maintainers must not contain empty or null nodes");

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("email", &mut self.email)?;
        object.field("name", &mut self.name)?;
        object.field("url", &mut self.url)
    }
}

impl Decode for Dependency {
    const GO_TYPE: &'static str = "v2.Dependency";
    const NULL: Option<&'static str> = Some("dependencies must not contain empty or null nodes");

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("alias", &mut self.alias)?;
        object.field("condition", &mut self.condition)?;
        let mut depends_on = Vec::new();
        if object.field("depends-on", &mut depends_on).is_ok() {
            self.depends_on = depends_on;
        }
        object.field("enabled", &mut self.enabled)?;
        object.field("import-values", &mut self.import_values)?;
        object.field("name", &mut self.name)?;
        object.field("repository", &mut self.repository)?;
        object.field("tags", &mut self.tags)?;
        object.field("version", &mut self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let mut metadata = Metadata::default();
        let result = read_into(&mut metadata, text.as_bytes())
            .and_then(|()| metadata.check())
            .map(|()| format!("{} {} {}", metadata.name, metadata.version, metadata.app_version));
        assert_eq!(result.as_deref().map_err(String::as_str), expect);
    }

    #[test]
    fn numbers_where_text_is_wanted_become_text() {
        check(
            "apiVersion: v1\nname: web\nversion: 1.2\nappVersion: 1.10\n",
            Ok("web 1.2 1.1"),
        );
    }

    #[test]
    fn other_types_where_text_is_wanted_are_errors() {
        check(
            "apiVersion: v1\nname: {a: b}\n",
            Err(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go struct field Metadata.name of type string",
            ),
        );
    }

    #[test]
    fn mistakes_in_lists_name_the_struct_there() {
        check(
            "apiVersion: v2\nname: web\ndependencies: [{import-values: {a: b}, alias: [x]}]\n",
            Err(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field Dependency.dependencies.alias of type string",
            ),
        );
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        check(
            "apiVersion: v2\nname: ../x\nversion: 1.0.0\n",
            Err("validation: chart.metadata.name \"../x\" is invalid"),
        );
    }

    #[test]
    fn nothing_where_a_dependency_is_expected_is_refused() {
        check(
            "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [null]\n",
            Err("validation: dependencies must not contain empty or null nodes"),
        );
    }
}
