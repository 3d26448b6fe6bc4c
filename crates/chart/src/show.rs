//! What `helm show` prints of a chart.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::chart::Chart;
use crate::functions::to_yaml;
use crate::metadata::{Dependency, Lock, Maintainer, Metadata};
use crate::values::to_value;

/// The files that are taken for the chart's description, in any case.
const READMES: [&str; 3] = ["readme.md", "readme.txt", "readme"];

/// A part of a chart that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The others one after the other, as `helm show all`.
    All,
    /// `Chart.yaml`, as it was understood.
    Definition,
    /// `values.yaml`, as it is.
    Values,
    /// The description for people.
    Readme,
    /// The files of `crds/`.
    Crds,
}

/// The text that Helm shows of a part of the chart.
///
/// ```
/// use steersman_chart::{Chart, show::{Part, show}};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("values.yaml", b"replicas: 2 # at least\n"),
/// ])?;
/// assert_eq!(show(&chart, Part::Values), "replicas: 2 # at least\n\n");
/// # Ok::<(), steersman_chart::LoadError>(())
/// ```
pub fn show(chart: &Chart, part: Part) -> String {
    let wants = |other| part == Part::All || part == other;
    let mut text = String::new();
    if wants(Part::Definition) {
        let _ = writeln!(text, "{}", chart.metadata().to_yaml());
    }
    if wants(Part::Values)
        && let Some(values) = &chart.source().values_file
    {
        separate(&mut text, part);
        let _ = writeln!(text, "{}", String::from_utf8_lossy(values));
    }
    if wants(Part::Readme)
        && let Some(readme) = readme(chart)
    {
        separate(&mut text, part);
        let _ = writeln!(text, "{}", String::from_utf8_lossy(readme));
    }
    if wants(Part::Crds) {
        for crd in chart.crds() {
            if !crd.text.starts_with("---") {
                text.push_str("---\n");
            }
            let _ = writeln!(text, "{}", crd.text);
        }
    }
    text
}

/// Parts among others have a line between them.
fn separate(text: &mut String, part: Part) {
    if part == Part::All {
        text.push_str("---\n");
    }
}

fn readme(chart: &Chart) -> Option<&[u8]> {
    let is_readme = |name: &str| READMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    let file = chart.source().files.iter().find(|file| is_readme(&file.name));
    file.map(|file| &*file.content)
}

impl Metadata {
    /// The metadata as YAML, as Helm writes it: what is empty is left out.
    pub fn to_yaml(&self) -> String {
        yaml_of(&Value::Object(self.to_json()))
    }

    fn to_json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (key, text) in [
            ("name", &self.name),
            ("home", &self.home),
            ("version", &self.version),
            ("description", &self.description),
            ("icon", &self.icon),
            ("apiVersion", &self.api_version),
            ("condition", &self.condition),
            ("tags", &self.tags),
            ("appVersion", &self.app_version),
            ("kubeVersion", &self.kube_version),
            ("type", &self.chart_type),
        ] {
            put_text(&mut map, key, text);
        }
        put_list(&mut map, "sources", self.sources.iter().map(|text| json!(text)));
        put_list(&mut map, "keywords", self.keywords.iter().map(|text| json!(text)));
        put_list(
            &mut map,
            "maintainers",
            self.maintainers.iter().map(Maintainer::to_json),
        );
        put_list(
            &mut map,
            "dependencies",
            self.dependencies.iter().map(Dependency::to_json),
        );
        if self.deprecated {
            map.insert("deprecated".to_owned(), Value::Bool(true));
        }
        if let Some(annotations) = self.annotations.as_ref().filter(|map| !map.is_empty()) {
            map.insert("annotations".to_owned(), json!(annotations));
        }
        map
    }
}

impl Lock {
    /// The lock as YAML, as Helm writes it.
    pub fn to_yaml(&self) -> String {
        let dependencies: Vec<Value> = self.dependencies.iter().map(Dependency::to_json).collect();
        yaml_of(&json!({"dependencies": dependencies, "digest": self.digest, "generated": self.generated}))
    }
}

impl Maintainer {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "name", &self.name);
        put_text(&mut map, "email", &self.email);
        put_text(&mut map, "url", &self.url);
        Value::Object(map)
    }
}

impl Dependency {
    /// The dependency as Helm writes it: what is empty is left out, but for name and repository.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(self.name));
        put_text(&mut map, "version", &self.version);
        map.insert("repository".to_owned(), json!(self.repository));
        put_text(&mut map, "condition", &self.condition);
        put_list(&mut map, "tags", self.tags.iter().map(|tag| json!(tag)));
        if self.enabled {
            map.insert("enabled".to_owned(), Value::Bool(true));
        }
        put_list(&mut map, "import-values", self.import_values.iter().cloned());
        put_text(&mut map, "alias", &self.alias);
        Value::Object(map)
    }
}

/// JSON as YAML in the style of Helm, with a line break at its end.
pub fn yaml_of(value: &Value) -> String {
    let mut text = to_yaml(&to_value(value)).unwrap_or_default();
    text.push('\n');
    text
}

fn put_text(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), json!(text));
    }
}

fn put_list(map: &mut Map<String, Value>, key: &str, items: impl Iterator<Item = Value>) {
    let items: Vec<Value> = items.collect();
    if !items.is_empty() {
        map.insert(key.to_owned(), Value::Array(items));
    }
}
