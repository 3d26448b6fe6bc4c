//! `.Chart`: the contents of `Chart.yaml` under the names that Go's struct has for them.

use std::collections::BTreeMap;

use steersman_gotemplate::{Map, MapType, Value};

use crate::dependencies::Enabled;
use crate::metadata::{Dependency, Maintainer};
use crate::values::to_value;

/// `.Chart`: the fields of `Chart.yaml` under Go's names, and `IsRoot`.
pub(super) fn map(chart: &Enabled, is_root: bool) -> Map {
    let metadata = &chart.source.metadata;
    let text = |text: &String| Value::from(text.as_str());
    let texts = |texts: &[String]| Value::list(texts.iter().map(text).collect());
    let dependencies = chart.declared.iter().map(dependency).collect();
    let maintainers = metadata.maintainers.iter().map(maintainer).collect();
    Map::from_entries(
        MapType::Any,
        [
            ("APIVersion", text(&metadata.api_version)),
            ("Annotations", string_map(metadata.annotations.as_ref())),
            ("AppVersion", text(&metadata.app_version)),
            ("Condition", text(&metadata.condition)),
            ("Dependencies", Value::list(dependencies)),
            ("Deprecated", Value::Bool(metadata.deprecated)),
            ("Description", text(&metadata.description)),
            ("Home", text(&metadata.home)),
            ("Icon", text(&metadata.icon)),
            ("IsRoot", Value::Bool(is_root)),
            ("Keywords", texts(&metadata.keywords)),
            ("KubeVersion", text(&metadata.kube_version)),
            ("Maintainers", Value::list(maintainers)),
            ("Name", text(&chart.name)),
            ("Sources", texts(&metadata.sources)),
            ("Tags", text(&metadata.tags)),
            ("Type", text(&metadata.chart_type)),
            ("Version", text(&metadata.version)),
        ],
    )
}

fn maintainer(maintainer: &Maintainer) -> Value {
    Value::map([
        ("Email", Value::from(maintainer.email.as_str())),
        ("Name", Value::from(maintainer.name.as_str())),
        ("URL", Value::from(maintainer.url.as_str())),
    ])
}

fn dependency(dependency: &Dependency) -> Value {
    let text = |text: &String| Value::from(text.as_str());
    let imports = dependency.import_values.iter().map(to_value).collect();
    Value::map([
        ("Alias", text(&dependency.alias)),
        ("Condition", text(&dependency.condition)),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::list(imports)),
        ("Name", text(&dependency.name)),
        ("Repository", text(&dependency.repository)),
        ("Tags", Value::list(dependency.tags.iter().map(text).collect())),
        ("Version", text(&dependency.version)),
    ])
}

fn string_map(entries: Option<&BTreeMap<String, String>>) -> Value {
    let Some(entries) = entries else {
        return Map::nil(MapType::String).into();
    };
    let entries = entries
        .iter()
        .map(|(key, value)| (key.as_str(), Value::from(value.as_str())));
    Value::Map(Map::from_entries(MapType::String, entries))
}
