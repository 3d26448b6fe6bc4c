//! The dot of templates: `.Values`, `.Release`, `.Chart`, `.Files`, `.Capabilities`,
//! `.Subcharts` and `.Template`.

mod capabilities;
mod chart;
mod files;
mod glob;
mod values;

use std::collections::BTreeMap;
use std::rc::Rc;

use steersman_gotemplate::{Map, MapType, Value};

use crate::capabilities::Capabilities;
use crate::dependencies::Enabled;
use crate::release::{Operation, ReleaseInfo};
use crate::values::to_value;

pub(crate) use glob::Glob;
use values::VALUES;

/// The dot of each template of a chart and its subcharts.
pub(crate) struct Contexts {
    /// By the path of the template, such as `web/charts/database/templates/service.yaml`.
    templates: BTreeMap<String, Context>,
}

struct Context {
    dot: Map,
    base_path: Rc<str>,
}

impl Contexts {
    /// Makes the dots for a rendering with these values.
    pub(crate) fn new(
        chart: &Enabled,
        values: &Map,
        release: &ReleaseInfo,
        capabilities: &Capabilities,
    ) -> Self {
        let shared = Shared {
            release: Value::Map(release_map(release)),
            capabilities: capabilities::value(capabilities),
        };
        let mut contexts = Self {
            templates: BTreeMap::new(),
        };
        contexts.add(chart, &chart.name, true, &values.retyped(VALUES), &shared);
        contexts
    }

    /// The dot of a template, with what it can know about itself.
    pub(crate) fn dot(&self, template: &str) -> Value {
        let Some(context) = self.templates.get(template) else {
            return Value::Nil;
        };
        let own = Map::from_entries(
            VALUES,
            [
                ("BasePath", Value::from(&*context.base_path)),
                ("Name", Value::from(template)),
            ],
        );
        context.dot.insert("Template", Value::Map(own));
        Value::Map(context.dot.retyped(VALUES))
    }

    /// The same with `more` in it, each below its name.
    pub(crate) fn dot_with(&self, template: &str, more: &[(&str, serde_json::Value)]) -> Value {
        let dot = self.dot(template);
        if let Value::Map(map) = &dot {
            for (name, value) in more {
                map.insert(*name, to_value(value));
            }
        }
        dot
    }

    fn add(&mut self, chart: &Enabled, path: &str, is_root: bool, values: &Map, shared: &Shared) -> Map {
        let subcharts = Map::new(MapType::Any);
        let dot = Map::from_entries(
            MapType::Any,
            [
                ("Capabilities", shared.capabilities.clone()),
                ("Chart", Value::Map(chart::map(chart, is_root))),
                ("Files", files::value(&chart.source.files)),
                ("Release", shared.release.clone()),
                ("Subcharts", Value::Map(subcharts.clone())),
                ("Values", Value::Map(values.clone())),
            ],
        );
        for dependency in &chart.dependencies {
            let values = below(values, &dependency.name);
            let path = format!("{path}/charts/{}", dependency.name);
            let inner = self.add(dependency, &path, false, &values, shared);
            subcharts.insert(dependency.name.as_str(), Value::Map(inner));
        }
        let base_path: Rc<str> = format!("{path}/templates").into();
        for template in chart.templates() {
            let context = Context {
                dot: dot.clone(),
                base_path: Rc::clone(&base_path),
            };
            self.templates
                .insert(format!("{path}/{}", template.name), context);
        }
        dot
    }
}

/// Templates can put a map into itself (`set .Values "root" $`); counting references alone
/// would keep the values of such a rendering for ever.
impl Drop for Contexts {
    fn drop(&mut self) {
        for context in self.templates.values() {
            Value::Map(context.dot.clone()).dismantle();
        }
    }
}

/// What all charts see alike.
struct Shared {
    release: Value,
    capabilities: Value,
}

/// The values of a subchart: the same map that its parent has, or none of its own. A dot in a
/// name divides it, as in Helm.
fn below(values: &Map, name: &str) -> Map {
    name.split('.')
        .try_fold(values.clone(), |map, key| match map.get(key.as_bytes()) {
            Some(Value::Map(inner)) => Some(inner),
            _ => None,
        })
        .map_or_else(|| Map::new(VALUES), |map| map.retyped(VALUES))
}

fn release_map(release: &ReleaseInfo) -> Map {
    let is_upgrade = release.operation == Operation::Upgrade;
    Map::from_entries(
        MapType::Any,
        [
            ("IsInstall", Value::Bool(release.operation == Operation::Install)),
            ("IsUpgrade", Value::Bool(is_upgrade)),
            ("Name", Value::from(release.name.as_str())),
            ("Namespace", Value::from(release.namespace.as_str())),
            ("Revision", Value::Int(i64::from(release.revision))),
            ("Service", Value::from("Helm")),
        ],
    )
}
