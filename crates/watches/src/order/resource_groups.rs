//! Helm's HIP-0025: groups of objects that depend on each other, and charts that depend on subcharts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use steersman_chart::{Chart, Rendered, Revised};
use steersman_model::RenderedObject;
use steersman_yaml::{Style, marshal};

use super::annotations::{AnnotationError, Level, annotation, named};
use super::levels::Graph;
use crate::post_render::PostRenderError;

/// Which group of its chart an object is in, as HIP-0025 has it.
const GROUP: &str = "helm.sh/resource-group";
/// Which groups come before it.
const NEEDED_GROUPS: &str = "helm.sh/depends-on/resource-groups";
/// Which subcharts come before a chart, in its `Chart.yaml`.
const NEEDED_CHARTS: &str = "helm.sh/depends-on/subcharts";
/// Annotations for Helm alone. A key with two slashes is none for an API server.
const OF_HELM_ALONE: [&str; 3] = [
    NEEDED_GROUPS,
    "helm.sh/readiness-success",
    "helm.sh/readiness-failure",
];
/// The longest name of a stage that is made of what is in it.
const LONGEST_NAME: usize = 63;

/// The chart that a template is in: `web/charts/db` of `web/charts/db/templates/set.yaml`.
fn chart_of(source: &str) -> &str {
    source.split_once("/templates/").map_or("", |(chart, _)| chart)
}

/// The parts of a chart that are applied together: its groups, and all that is in none.
#[derive(Default)]
struct Parts<'a> {
    groups: BTreeMap<&'a str, Group>,
    rest: Vec<usize>,
    /// It comes behind those of all groups.
    rest_node: usize,
}

#[derive(Default)]
struct Group {
    objects: Vec<usize>,
    needs: BTreeSet<String>,
    node: usize,
}

/// The stages of the objects of a release of `chart`.
pub(super) fn stages(chart: &Chart, objects: &[RenderedObject]) -> Result<Vec<Level>, AnnotationError> {
    let mut charts: BTreeMap<&str, Parts<'_>> = BTreeMap::new();
    for (place, object) in objects.iter().enumerate() {
        let parts = charts.entry(chart_of(&object.source)).or_default();
        match annotation(object, GROUP).and_then(Value::as_str) {
            Some(name) if !name.is_empty() => {
                let group = parts.groups.entry(name).or_default();
                group.objects.push(place);
                group.needs.extend(needed_groups(object)?);
            }
            _ => parts.rest.push(place),
        }
    }
    for parts in charts.values_mut() {
        parts.leave_out_what_is_alone();
    }
    let mut graph = Graph::default();
    let mut names = Vec::new();
    let mut whole: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, parts) in &mut charts {
        let joint = parts.join(path, &mut graph, &mut names);
        whole.insert(path, joint);
    }
    order_charts(chart, &charts, &whole, &mut graph)?;
    let levels = graph.levels().map_err(|circle| {
        let names = circle
            .iter()
            .filter_map(|node| names.iter().find(|(known, _)| known == node));
        AnnotationError::Circle(names.map(|(_, name)| name.clone()).collect())
    })?;
    Ok(stages_of_charts(&charts, &levels))
}

fn needed_groups(object: &RenderedObject) -> Result<Vec<String>, AnnotationError> {
    match annotation(object, NEEDED_GROUPS) {
        None => Ok(Vec::new()),
        Some(said) => names(said).ok_or_else(|| AnnotationError::List {
            annotation: NEEDED_GROUPS,
            object: named(object),
        }),
    }
}

/// The names of a list, or of one that is written as a text.
fn names(said: &Value) -> Option<Vec<String>> {
    match said {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Value::String(text) => names_of_text(text),
        _ => None,
    }
}

fn names_of_text(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

impl Parts<'_> {
    /// Groups that depend on one that is not there, and those that nothing else is about, come behind all others, as what is in
    /// none.
    fn leave_out_what_is_alone(&mut self) {
        loop {
            let known: BTreeSet<String> = self.groups.keys().map(|name| (*name).to_owned()).collect();
            let needed: BTreeSet<String> = self
                .groups
                .values()
                .flat_map(|group| group.needs.clone())
                .collect();
            let alone = self.groups.iter().find(|(name, group)| {
                let is_alone = group.needs.is_empty() && !needed.contains(**name);
                is_alone || !group.needs.is_subset(&known)
            });
            let Some(name) = alone.map(|(name, _)| *name) else {
                break;
            };
            if let Some(group) = self.groups.remove(name) {
                self.rest.extend(group.objects);
            }
        }
        self.rest.sort_unstable();
    }

    /// Puts the parts into the graph; the node that is given stands for all of them. `names` is for people.
    fn join(&mut self, path: &str, graph: &mut Graph, names: &mut Vec<(usize, String)>) -> usize {
        let joint = graph.add_joint();
        self.rest_node = graph.add();
        names.push((self.rest_node, format!("the rest of {path}")));
        graph.order(joint, self.rest_node);
        for (name, group) in &mut self.groups {
            group.node = graph.add();
            names.push((group.node, format!("resource group {name} of {path}")));
        }
        let nodes: BTreeMap<String, usize> = self
            .groups
            .iter()
            .map(|(name, group)| ((*name).to_owned(), group.node))
            .collect();
        for group in self.groups.values() {
            for other in group.needs.iter().filter_map(|name| nodes.get(name)) {
                graph.order(group.node, *other);
            }
            graph.order(self.rest_node, group.node);
            graph.order(joint, group.node);
        }
        joint
    }

    fn nodes(&self) -> Vec<usize> {
        let groups = self.groups.values().map(|group| group.node);
        groups.chain([self.rest_node]).collect()
    }
}

/// What `Chart.yaml` says of subcharts, of the chart and of those in its `charts/`.
fn order_charts(
    chart: &Chart,
    charts: &BTreeMap<&str, Parts<'_>>,
    whole: &BTreeMap<&str, usize>,
    graph: &mut Graph,
) -> Result<(), AnnotationError> {
    let root = chart.name();
    let within = |path: &str, ancestor: &str| {
        path.strip_prefix(ancestor)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("/charts/"))
    };
    let mut follow = |later: &dyn Fn(&str) -> bool, earlier: &str| {
        let behind = charts.iter().filter(|(path, _)| later(path));
        for node in behind.flat_map(|(_, parts)| parts.nodes()) {
            for (_, joint) in whole.iter().filter(|(path, _)| within(path, earlier)) {
                graph.order(node, *joint);
            }
        }
    };
    for needed in needed_charts(root, chart.metadata().annotations.as_ref())? {
        follow(&|path| path == root, &format!("{root}/charts/{needed}"));
    }
    for dependency in &chart.metadata().dependencies {
        let name = dependency.local_name();
        let path = format!("{root}/charts/{name}");
        for needed in &dependency.depends_on {
            follow(&|other| within(other, &path), &format!("{root}/charts/{needed}"));
        }
        let mut subcharts = chart.dependencies();
        if let Some(subchart) = subcharts.find(|metadata| metadata.name == dependency.name) {
            for needed in needed_charts(name, subchart.annotations.as_ref())? {
                follow(&|other| other == path, &format!("{path}/charts/{needed}"));
            }
        }
    }
    Ok(())
}

fn needed_charts(
    chart: &str,
    annotations: Option<&BTreeMap<String, String>>,
) -> Result<Vec<String>, AnnotationError> {
    let Some(said) = annotations.and_then(|annotations| annotations.get(NEEDED_CHARTS)) else {
        return Ok(Vec::new());
    };
    names_of_text(said).ok_or_else(|| AnnotationError::List {
        annotation: NEEDED_CHARTS,
        object: format!("chart {chart}"),
    })
}

/// Stages by level. Each is called by its groups, and by its charts for what is in none, where that is short and no other is.
fn stages_of_charts(charts: &BTreeMap<&str, Parts<'_>>, levels: &[usize]) -> Vec<Level> {
    let mut stages: BTreeMap<usize, (BTreeSet<String>, Vec<usize>)> = BTreeMap::new();
    let mut note = |node: usize, name: &str, objects: &[usize]| {
        if !objects.is_empty() {
            let level = levels.get(node).copied().unwrap_or_default();
            let (names, places) = stages.entry(level).or_default();
            names.insert(name.to_owned());
            places.extend_from_slice(objects);
        }
    };
    for (path, parts) in charts {
        let name = path.rsplit('/').next().unwrap_or(path);
        note(parts.rest_node, name, &parts.rest);
        for (name, group) in &parts.groups {
            note(group.node, name, &group.objects);
        }
    }
    let mut taken = BTreeSet::new();
    let stages = stages.into_values().enumerate();
    let stages = stages.map(|(number, (names, mut places))| {
        places.sort_unstable();
        let names: Vec<String> = names.into_iter().collect();
        let name = names.join("-");
        let is_plain = |name: &str| {
            name.chars()
                .all(|one| one.is_ascii_alphanumeric() || "-._".contains(one))
        };
        let is_usable = name.len() <= LONGEST_NAME
            && is_plain(&name)
            && !name.starts_with("level-")
            && taken.insert(name.clone());
        let number = format!("level-{}", number + 1);
        (if is_usable { name } else { number }, places)
    });
    stages.collect()
}

/// What was rendered without what is for Helm alone.
pub(super) fn bare(rendered: Rendered) -> Result<Rendered, Box<PostRenderError>> {
    rendered.revised(|manifest| {
        let mut document = manifest.object();
        if !take_out(&mut document) {
            return Ok(Revised::Same);
        }
        let text = marshal(&document, Style::V2).map_err(|source| PostRenderError::Write {
            origin: manifest.source.clone(),
            source,
        })?;
        Ok(Revised::Text(text.trim_end().to_owned()))
    })
}

/// Takes out of a document what is of Helm's order alone, and gives whether there was any.
fn take_out(document: &mut Value) -> bool {
    let metadata = document.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        return false;
    };
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    let Some(annotations) = annotations else {
        return false;
    };
    let before = annotations.len();
    annotations.retain(|key, _| !OF_HELM_ALONE.contains(&key.as_str()));
    let (is_less, is_empty) = (annotations.len() < before, annotations.is_empty());
    if is_less && is_empty {
        metadata.remove("annotations");
    }
    is_less
}
