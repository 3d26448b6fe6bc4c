//! Which subcharts take part in a rendering, under which names and with which defaults.
//!
//! The rules are those of Helm's `pkg/chart/v2/util/dependencies.go`. Everything but the choice
//! itself follows from the chart alone, so that a [`Tree`] of enabled charts is made once per choice.

use std::sync::Arc;

use serde_json::Value as Json;
use steersman_gotemplate::{Map, MapType, Value};

use crate::error::ValuesError;
use crate::metadata::Dependency;
use crate::notice::Notice;
use crate::source::{File, Source};
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

/// A chart before any choice: all of the choice that follows from the chart alone.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// With its dependencies by their local names, and theirs as they are in the archive.
    chart: Enabled,
    /// Those dependencies again, if there is anything to choose between.
    dependencies: Vec<Candidates>,
}

/// What tags and conditions make of [`Candidates`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    /// For each declared dependency whether it is enabled.
    declared: Vec<bool>,
    /// For each dependency that is there what becomes of it, if it is enabled.
    dependencies: Vec<Option<Choice>>,
}

impl Candidates {
    /// Everything that lies in the `charts/` of a chart.
    pub(crate) fn new(source: &Arc<Source>) -> Self {
        Self::of(Enabled::everything(source))
    }

    fn of(mut chart: Enabled) -> Self {
        let mut dependencies = Vec::new();
        if !chart.declared.is_empty() {
            chart.match_declarations();
            dependencies.extend(chart.dependencies.iter().cloned().map(Self::of));
        }
        Self { chart, dependencies }
    }

    /// Decides which charts take part with these values.
    pub(crate) fn choose(&self, given: &Map, notices: &mut Vec<Notice>) -> Result<Choice, ValuesError> {
        self.choose_below(given, "", notices)
    }

    fn choose_below(
        &self,
        given: &Map,
        path: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<Choice, ValuesError> {
        let declared = &self.chart.declared;
        if declared.is_empty() {
            return Ok(Choice::default());
        }
        let coalesced = given.deep_copy();
        values::coalesce(&self.chart, &coalesced, notices)?;
        let mut switches = tag_switches(declared, &coalesced, notices);
        apply_conditions(&mut switches, declared, &coalesced, path, notices);
        let is_disabled =
            |name: &str| std::iter::zip(declared, &switches).any(|(known, on)| !on && known.name == name);
        let choose = |candidate: &Self| {
            let name = &candidate.chart.name;
            if is_disabled(name) {
                return Ok(None);
            }
            candidate
                .choose_below(&coalesced, &format!("{path}{name}."), notices)
                .map(Some)
        };
        Ok(Choice {
            declared: declared.iter().map(|known| !is_disabled(&known.name)).collect(),
            dependencies: self.dependencies.iter().map(choose).collect::<Result<_, _>>()?,
        })
    }

    /// The chart with its dependencies by their local names, and those again where there is a choice between them.
    pub(crate) fn parts(&self) -> (&Enabled, &[Candidates]) {
        (&self.chart, &self.dependencies)
    }

    /// The chart with all that can be enabled.
    pub(crate) fn everything(&self) -> Enabled {
        let mut chart = self.chart.clone();
        if !chart.declared.is_empty() {
            chart.dependencies = self.dependencies.iter().map(Self::everything).collect();
        }
        chart
    }

    /// The chart with what a choice leaves enabled.
    pub(crate) fn enabled(&self, choice: &Choice) -> Enabled {
        let mut chart = self.chart.clone();
        if !chart.declared.is_empty() {
            let mut stays = choice.declared.iter();
            chart
                .declared
                .retain(|_| stays.next().is_some_and(|stays| *stays));
            chart.dependencies = std::iter::zip(&self.dependencies, &choice.dependencies)
                .filter_map(|(candidate, choice)| Some(candidate.enabled(choice.as_ref()?)))
                .collect();
        }
        chart
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

    /// Drops the charts that are declared in another version only, and gives the others their
    /// local names.
    fn match_declarations(&mut self) {
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

/// Which of the declared dependencies their tags leave enabled.
fn tag_switches(declared: &[Dependency], given: &Map, notices: &mut Vec<Notice>) -> Vec<bool> {
    let Some(Value::Map(tags)) = given.get(b"tags") else {
        return vec![true; declared.len()];
    };
    let mut is_enabled = |dependency: &Dependency| {
        let mut known = Vec::new();
        for tag in &dependency.tags {
            match tags.get(tag.as_bytes()) {
                Some(Value::Bool(value)) => known.push(value),
                Some(_) => notices.push(not_bool("tag", tag, &dependency.name)),
                None => {}
            }
        }
        known.is_empty() || known.contains(&true)
    };
    declared.iter().map(&mut is_enabled).collect()
}

/// Lets conditions overrule tags.
fn apply_conditions(
    switches: &mut [bool],
    declared: &[Dependency],
    given: &Map,
    path: &str,
    notices: &mut Vec<Notice>,
) {
    for (switch, dependency) in std::iter::zip(switches, declared) {
        let conditions = dependency.condition.trim();
        for condition in conditions.split(',').filter(|condition| !condition.is_empty()) {
            match at_path(given, &format!("{path}{condition}")) {
                Some(Value::Bool(enabled)) => {
                    *switch = enabled;
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
