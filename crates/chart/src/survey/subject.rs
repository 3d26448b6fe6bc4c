//! The chart that is surveyed: its subcharts, all switched on, their values, files and schemas.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use super::enumerated::{Comments, enumerated};
use super::value::{MAX_OPTIONS, dotted, printed};
use crate::context::Glob;
use crate::dependencies::Enabled;
use crate::values::Values;

/// How much of a schema is walked through for one value.
const MAX_SCHEMA_STEPS: usize = 200;

/// A chart with all of its subcharts, and what their templates can see of them.
pub(super) struct Subject<'a> {
    charts: Vec<Member<'a>>,
    /// The defaults of all charts, under those of their parents.
    values: Json,
}

struct Member<'a> {
    chart: &'a Enabled,
    /// Such as `web/charts/database`.
    path: String,
    /// Where its values are in those of the whole chart.
    prefix: Vec<String>,
    schema: Option<Json>,
    comments: Option<Comments<'a>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(chart: &'a Enabled, values: Values) -> Self {
        let mut charts = Vec::new();
        collect(chart, chart.name.clone(), Vec::new(), &mut charts);
        Self {
            charts,
            values: Json::Object(values),
        }
    }

    /// The number of the chart that a template belongs to.
    pub(super) fn chart_of(&self, template: &str) -> Option<usize> {
        let belongs = |member: &Member<'_>| {
            template
                .strip_prefix(member.path.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let found = self
            .charts
            .iter()
            .enumerate()
            .filter(|(_, member)| belongs(member));
        found
            .max_by_key(|(_, member)| member.path.len())
            .map(|(index, _)| index)
    }

    pub(super) fn name(&self, chart: usize) -> &str {
        self.charts.get(chart).map_or("", |member| &member.path)
    }

    pub(super) fn prefix(&self, chart: usize) -> Rc<[String]> {
        let prefix = self.charts.get(chart).map(|member| member.prefix.clone());
        prefix.unwrap_or_default().into()
    }

    pub(super) fn base_path(&self, chart: usize) -> String {
        format!("{}/templates", self.name(chart))
    }

    pub(super) fn metadata(&self, chart: usize) -> Json {
        let Some(member) = self.charts.get(chart) else {
            return Json::Null;
        };
        let metadata = &member.chart.source.metadata;
        serde_json::json!({
            "Name": member.chart.name,
            "Version": metadata.version,
            "AppVersion": metadata.app_version,
            "Type": metadata.chart_type,
            "Description": metadata.description,
            "Annotations": metadata.annotations,
            "IsRoot": chart == 0,
        })
    }

    /// The text of a file that is no template; empty where there is none.
    pub(super) fn file(&self, chart: usize, name: &str) -> String {
        let files = self.charts.get(chart).map(|member| &member.chart.source.files);
        let file = files.and_then(|files| files.iter().find(|file| file.name == name));
        file.map_or_else(String::new, |file| {
            String::from_utf8_lossy(&file.content).into_owned()
        })
    }

    /// The files whose names match a pattern, with their texts.
    pub(super) fn files(&self, chart: usize, pattern: &str) -> Json {
        let glob = Glob::new(pattern);
        let files = self
            .charts
            .get(chart)
            .map(|member| member.chart.source.files.iter());
        let matching = files
            .into_iter()
            .flatten()
            .filter(|file| glob.matches(&file.name));
        let entry = |file: &crate::source::File| {
            let text = String::from_utf8_lossy(&file.content).into_owned();
            (file.name.clone(), Json::String(text))
        };
        Json::Object(matching.map(entry).collect())
    }

    /// The default at a place in the values.
    pub(super) fn default(&self, path: &[String]) -> Option<&Json> {
        path.iter().try_fold(&self.values, |value, key| value.get(key))
    }

    /// The keys of the default at a place in the values; numbers for a list.
    pub(super) fn keys(&self, path: &[String]) -> Vec<String> {
        match self.default(path) {
            Some(Json::Object(entries)) => entries.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// What the value at a place can be: the default, what the schema allows, what templates compare it with; and,
    /// unless the schema names all, that it is for the user to say.
    pub(super) fn options(
        &self,
        path: &[String],
        compared: Option<&BTreeSet<String>>,
    ) -> (Vec<Json>, Option<Rc<str>>) {
        let allowed = self.allowed(path);
        let mut options: Vec<Json> = self.default(path).cloned().into_iter().collect();
        for text in allowed.iter().flatten().chain(compared.into_iter().flatten()) {
            let known = |option: &Json| printed(option).as_deref() == Some(text);
            if !options.iter().any(known) && options.len() < MAX_OPTIONS {
                options.push(Json::String(text.clone()));
            }
        }
        let open = allowed.is_none().then(|| Rc::from(dotted(path)));
        (options, open)
    }

    /// The words that the comments of the value at a place, as templates name it, enumerate together with one of `known`.
    pub(super) fn enumerated(
        &self,
        place: &str,
        known: &BTreeSet<&str>,
        is_word: impl Fn(char) -> bool + Copy,
    ) -> BTreeSet<String> {
        let Some(place) = place.strip_prefix(".Values.") else {
            return BTreeSet::new();
        };
        let path: Vec<String> = place.split('.').map(str::to_owned).collect();
        let comments = |member: &Member<'_>| {
            let rest = path.strip_prefix(member.prefix.as_slice())?;
            Some(member.comments.as_ref()?.of(rest))
        };
        let texts = self.charts.iter().filter_map(comments).flatten();
        texts.flat_map(|text| enumerated(&text, known, is_word)).collect()
    }

    /// The texts that the schema of the chart, or of the subchart whose value it is, allows.
    fn allowed(&self, path: &[String]) -> Option<Vec<String>> {
        self.charts.iter().find_map(|member| {
            let rest = path.strip_prefix(member.prefix.as_slice())?;
            let root = member.schema.as_ref()?;
            let mut steps = MAX_SCHEMA_STEPS;
            let mut schema = follow(root, root, &mut steps)?;
            for key in rest {
                schema = follow(root, schema.get("properties")?.get(key)?, &mut steps)?;
            }
            if let Some(only) = schema.get("const") {
                return Some(vec![printed(only)?]);
            }
            schema.get("enum")?.as_array()?.iter().map(printed).collect()
        })
    }
}

/// The schema that a local reference points to.
fn follow<'j>(root: &'j Json, mut schema: &'j Json, steps: &mut usize) -> Option<&'j Json> {
    while let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        *steps = steps.checked_sub(1)?;
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    Some(schema)
}

fn collect<'a>(chart: &'a Enabled, path: String, prefix: Vec<String>, charts: &mut Vec<Member<'a>>) {
    let schema: Option<&Arc<[u8]>> = chart.source.schema.as_ref();
    charts.push(Member {
        chart,
        path: path.clone(),
        prefix: prefix.clone(),
        schema: schema.and_then(|text| serde_json::from_slice(text).ok()),
        comments: chart.source.values_file.as_deref().map(Comments::new),
    });
    for dependency in &chart.dependencies {
        let path = format!("{path}/charts/{}", dependency.name);
        let mut prefix = prefix.clone();
        prefix.extend(dependency.name.split('.').map(str::to_owned));
        collect(dependency, path, prefix, charts);
    }
}
