//! Which subcharts take part in a rendering, under which names and with which defaults.
//!
//! The rules are those of Helm's `pkg/chart/v2/util/dependencies.go`. Everything but the choice
//! itself follows from the chart alone, so that a [`Tree`](crate::values::Tree) of enabled
//! charts is made once per choice.

use std::sync::Arc;

use serde_json::Value as Json;
use steersman_gotemplate::{Map, MapType, Value};

use crate::error::ValuesError;
use crate::load::{File, Source};
use crate::metadata::Dependency;
use crate::notice::Notice;
use crate::values::{self, Defaults, Tree};
use crate::version;

/// A chart that takes part, with the name that its parent gives it.
#[derive(Clone, Debug)]
pub(crate) struct Enabled {
    pub(crate) source: Arc<Source>,
    pub(crate) name: String,
    /// What is left of `dependencies` in `Chart.yaml`: the enabled ones, by their local names.
    pub(crate) declared: Vec<Dependency>,
    pub(crate) defaults: Arc<Defaults>,
    pub(crate) dependencies: Vec<Enabled>,
}

impl Tree for Enabled {
    fn name(&self) -> &str {
        &self.name
    }

    fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    fn dependencies(&self) -> &[Self] {
        &self.dependencies
    }
}

impl Enabled {
    /// The chart with everything that lies in its `charts/`, before any choice.
    pub(crate) fn everything(source: &Arc<Source>) -> Self {
        Self {
            source: Arc::clone(source),
            name: source.metadata.name.clone(),
            declared: source.metadata.dependencies.clone(),
            defaults: Arc::clone(&source.defaults),
            dependencies: source.dependencies.iter().map(Self::everything).collect(),
        }
    }

    /// The templates of this chart alone; of a library, those without output.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &File> {
        let is_library = self.source.metadata.is_library();
        let is_partial = |name: &str| name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        self.source
            .templates
            .iter()
            .filter(move |file| !is_library || is_partial(&file.name))
    }

    /// Names the charts that take part, apart from others that would take part with other
    /// values.
    pub(crate) fn choice(&self) -> String {
        let mut text = self.name.clone();
        if !self.dependencies.is_empty() {
            let inner: Vec<String> = self.dependencies.iter().map(Self::choice).collect();
            text.push('(');
            text.push_str(&inner.join(","));
            text.push(')');
        }
        text
    }

    /// Drops the charts that tags and conditions in `given` turn off, and gives the others their
    /// local names.
    pub(crate) fn choose(
        &mut self,
        given: &Map,
        path: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ValuesError> {
        if self.declared.is_empty() {
            return Ok(());
        }
        let mut charts: Vec<Self> = Vec::new();
        for chart in &self.dependencies {
            let is_declared = self.declared.iter().any(|declared| {
                declared.name == chart.name && version::satisfies(&declared.version, chart.version())
            });
            if !is_declared {
                charts.push(chart.clone());
            }
        }
        for declared in &mut self.declared {
            let found = self.dependencies.iter().find(|chart| {
                chart.name == declared.name && version::satisfies(&declared.version, chart.version())
            });
            if let Some(chart) = found {
                let mut chart = chart.clone();
                declared.local_name().clone_into(&mut chart.name);
                charts.push(chart);
            }
            declared.name = declared.local_name().to_owned();
            declared.enabled = true;
        }
        self.dependencies = charts;

        let coalesced = given.deep_copy();
        values::coalesce(self, &coalesced, notices)?;
        apply_tags(&mut self.declared, &coalesced, notices);
        apply_conditions(&mut self.declared, &coalesced, path, notices);
        let disabled: Vec<&str> = self
            .declared
            .iter()
            .filter(|declared| !declared.enabled)
            .map(|declared| declared.name.as_str())
            .collect();
        self.dependencies
            .retain(|chart| !disabled.contains(&chart.name.as_str()));
        let disabled: Vec<String> = disabled.into_iter().map(str::to_owned).collect();
        self.declared
            .retain(|declared| !disabled.contains(&declared.name));
        for chart in &mut self.dependencies {
            let path = format!("{path}{}.", chart.name);
            chart.choose(&coalesced, &path, notices)?;
        }
        Ok(())
    }

    /// Takes values of dependencies over into their parents (`import-values`), the innermost
    /// first.
    pub(crate) fn import_values(&mut self, notices: &mut Vec<Notice>) -> Result<(), ValuesError> {
        for chart in &mut self.dependencies {
            chart.import_values(notices)?;
        }
        if self.declared.is_empty() {
            return Ok(());
        }
        let merged = Map::new(MapType::Any);
        values::merge(self, &merged, notices)?;
        let imported = Map::new(MapType::Any);
        for declared in &mut self.declared {
            let mut pairs = Vec::new();
            for import in &declared.import_values {
                let (child, parent) = match import {
                    Json::Object(pair) => {
                        let text = |key| pair.get(key).map_or_else(|| "<nil>".to_owned(), plain_text);
                        (text("child"), text("parent"))
                    }
                    Json::String(export) => (format!("exports.{export}"), ".".to_owned()),
                    _ => continue,
                };
                pairs.push(serde_json::json!({"child": child, "parent": parent}));
                let path = format!("{}.{child}", declared.name);
                match table(&merged, &path) {
                    Some(table) => values::merge_tables(&imported, &nested(&parent, table), notices),
                    None => notices.push(missing_table(import, &declared.name, &merged, &path)),
                }
            }
            declared.import_values = pairs;
        }
        let merged = merged.deep_copy();
        values::merge_tables(&merged, &imported, notices);
        self.defaults = Arc::new(Defaults::new(&values::from_map(&merged)));
        Ok(())
    }

    fn version(&self) -> &str {
        &self.source.metadata.version
    }
}

fn apply_tags(declared: &mut [Dependency], given: &Map, notices: &mut Vec<Notice>) {
    let Some(Value::Map(tags)) = given.get(b"tags") else {
        return;
    };
    for dependency in declared {
        let mut known = Vec::new();
        for tag in &dependency.tags {
            match tags.get(tag.as_bytes()) {
                Some(Value::Bool(value)) => known.push(value),
                Some(_) => notices.push(not_bool("tag", tag, &dependency.name)),
                None => {}
            }
        }
        dependency.enabled = known.is_empty() || known.contains(&true);
    }
}

fn apply_conditions(declared: &mut [Dependency], given: &Map, path: &str, notices: &mut Vec<Notice>) {
    for dependency in declared {
        let conditions = dependency.condition.trim();
        for condition in conditions.split(',').filter(|condition| !condition.is_empty()) {
            match at_path(given, &format!("{path}{condition}")) {
                Some(Value::Bool(enabled)) => {
                    dependency.enabled = enabled;
                    break;
                }
                Some(_) => notices.push(not_bool("path", condition, &dependency.name)),
                None => {}
            }
        }
    }
}

fn not_bool(kind: &'static str, name: &str, chart: &str) -> Notice {
    Notice::warning("returned non-bool value")
        .with(kind, name)
        .with("chart", chart)
}

/// What Helm says about values to import that are not there.
fn missing_table(import: &Json, chart: &str, merged: &Map, path: &str) -> Notice {
    let key = first_missing(merged, path);
    let error = format!("\"{key}\" is not a table");
    match import {
        Json::String(_) => Notice::warning("ImportValues missing table").with("error", error),
        _ => Notice::warning("ImportValues missing table from chart")
            .with("chart", chart)
            .with("error", error),
    }
}

/// The value at a path of keys, unless it is a map.
fn at_path(given: &Map, path: &str) -> Option<Value> {
    let holder = match path.rsplit_once('.') {
        Some((holder, _)) => table(given, holder)?,
        None => given.clone(),
    };
    let value = holder.get(path.rsplit('.').next()?.as_bytes())?;
    (!matches!(value, Value::Map(_))).then_some(value)
}

/// The map at a path of keys.
fn table(given: &Map, path: &str) -> Option<Map> {
    path.split('.')
        .try_fold(given.clone(), |map, key| match map.get(key.as_bytes()) {
            Some(Value::Map(inner)) => Some(inner),
            _ => None,
        })
}

/// The first key of a path that leads to no map.
fn first_missing<'a>(given: &Map, path: &'a str) -> &'a str {
    let mut map = given.clone();
    for key in path.split('.') {
        match map.get(key.as_bytes()) {
            Some(Value::Map(inner)) => map = inner,
            _ => return key,
        }
    }
    ""
}

/// `table` under a path of keys; the path `.` is no key at all.
fn nested(path: &str, table: Map) -> Map {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, key| {
        Map::from_entries(MapType::Any, [(key, Value::Map(inner))])
    })
}

fn plain_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
