//! The order that a chart's own annotations say, in the words of Helm's HIP-0025, of Argo CD or of nelm.

use std::collections::BTreeMap;

use serde_json::Value;
use steersman_chart::{Chart, Rendered};
use steersman_model::RenderedObject;

use super::levels::Graph;
use super::resource_groups;
use crate::post_render::PostRenderError;

const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
const WEIGHT: &str = "werf.io/weight";
/// Begins what nelm calls a dependency; the rest is any name.
const DEPLOY_DEPENDENCY: &str = "werf.io/deploy-dependency-";

/// So many stages annotations may make.
const MOST_STAGES: usize = 200;

/// Whose words say the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// HIP-0025: groups of objects, and charts that depend on subcharts.
    Helm,
    /// Sync waves.
    ArgoCd,
    /// Weights and deploy dependencies.
    Nelm,
}

/// The annotations of a chart say no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationError {
    /// What is to be a number is none.
    #[error("annotation {annotation} of {object} is no whole number")]
    Number {
        /// Its key.
        annotation: &'static str,
        /// Such as `Service web`.
        object: String,
    },
    /// What is to be a list of names is none.
    #[error("annotation {annotation} of {object} is no list of names")]
    List {
        /// Its key.
        annotation: &'static str,
        /// Such as `Service web`, or `chart web`.
        object: String,
    },
    /// What comes before each other.
    #[error("{} depend on each other", .0.join(", "))]
    Circle(Vec<String>),
    /// Each is written down with the revision when it is ready, and told in the status.
    #[error("the annotations make {0} stages, of which there may be {MOST_STAGES}")]
    TooMany(usize),
}

/// A stage, and the places of its objects.
pub type Level = (String, Vec<usize>);

impl Convention {
    /// The stages of the objects of a release of `chart`, in their order; none of them is empty.
    ///
    /// ```
    /// use steersman_chart::Chart;
    /// use steersman_model::objects_of_manifest;
    /// use steersman_watches::order::Convention;
    ///
    /// let chart = Chart::from_files([("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice())])?;
    /// let objects = objects_of_manifest(
    ///     "---\n# Source: web/templates/a.yaml\n{apiVersion: v1, kind: Service, metadata: {name: a}}\n\
    ///      ---\n# Source: web/templates/b.yaml\n{apiVersion: v1, kind: Secret, metadata: {name: b, annotations: \
    ///      {argocd.argoproj.io/sync-wave: '-1'}}}\n",
    /// )?;
    /// let stages = Convention::ArgoCd.stages(&chart, &objects)?;
    /// assert_eq!(stages, [("wave--1".to_owned(), vec![1]), ("wave-0".to_owned(), vec![0])]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An annotation can't be read, something comes before itself, or there are more than 200.
    pub fn stages(self, chart: &Chart, objects: &[RenderedObject]) -> Result<Vec<Level>, AnnotationError> {
        let stages = match self {
            Self::Helm => resource_groups::stages(chart, objects),
            Self::ArgoCd => of_numbers("wave", SYNC_WAVE, objects),
            Self::Nelm => of_nelm(objects),
        }?;
        if stages.len() > MOST_STAGES {
            return Err(AnnotationError::TooMany(stages.len()));
        }
        Ok(stages)
    }

    /// Whether it has annotations that are not to reach an API server.
    pub fn has_own_annotations(self) -> bool {
        self == Self::Helm
    }

    /// What was rendered without these.
    ///
    /// # Errors
    /// An object can't be written down again.
    pub fn bare(self, rendered: Rendered) -> Result<Rendered, Box<PostRenderError>> {
        if self.has_own_annotations() {
            resource_groups::bare(rendered)
        } else {
            Ok(rendered)
        }
    }
}

pub(super) fn annotation<'a>(object: &'a RenderedObject, key: &str) -> Option<&'a Value> {
    object.value.get("metadata")?.get("annotations")?.get(key)
}

fn number(object: &RenderedObject, key: &'static str) -> Result<i64, AnnotationError> {
    let said = match annotation(object, key) {
        None | Some(Value::Null) => return Ok(0),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_i64(),
    };
    said.ok_or_else(|| AnnotationError::Number {
        annotation: key,
        object: named(object),
    })
}

pub(super) fn named(object: &RenderedObject) -> String {
    format!("{} {}", object.api.kind, object.name)
}

fn of_numbers(
    what: &str,
    key: &'static str,
    objects: &[RenderedObject],
) -> Result<Vec<Level>, AnnotationError> {
    let mut waves: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, object) in objects.iter().enumerate() {
        waves.entry(number(object, key)?).or_default().push(place);
    }
    let stages = waves.into_iter();
    Ok(stages
        .map(|(wave, places)| (format!("{what}-{wave}"), places))
        .collect())
}

/// What has a dependency comes behind that alone, and all else behind what has less weight.
fn of_nelm(objects: &[RenderedObject]) -> Result<Vec<Level>, AnnotationError> {
    let needed: Vec<Vec<Wanted<'_>>> = objects.iter().map(wanted).collect();
    if needed.iter().all(Vec::is_empty) {
        return of_numbers("weight", WEIGHT, objects);
    }
    let mut graph = Graph::default();
    let nodes: Vec<usize> = objects.iter().map(|_| graph.add()).collect();
    let mut weights: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for ((object, node), wanted) in objects.iter().zip(&nodes).zip(&needed) {
        if wanted.is_empty() {
            weights.entry(number(object, WEIGHT)?).or_default().push(*node);
        }
        for (other, before) in objects.iter().zip(&nodes) {
            if wanted.iter().any(|wanted| wanted.is(other)) {
                graph.order(*node, *before);
            }
        }
    }
    let mut lighter = None;
    for nodes in weights.into_values() {
        let joint = graph.add_joint();
        for node in nodes {
            if let Some(lighter) = lighter {
                graph.order(node, lighter);
            }
            graph.order(joint, node);
        }
        lighter = Some(joint);
    }
    let levels = graph.levels().map_err(|circle| {
        let objects = circle.iter().filter_map(|&node| objects.get(node));
        AnnotationError::Circle(objects.map(named).collect())
    })?;
    Ok(numbered(&levels, objects.len()))
}

/// An object that a dependency of nelm's is about.
#[derive(Default)]
struct Wanted<'a> {
    kind: Option<&'a str>,
    group: Option<&'a str>,
    version: Option<&'a str>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

impl Wanted<'_> {
    fn is(&self, object: &RenderedObject) -> bool {
        let fits = |said: Option<&str>, found: &str| said.is_none_or(|said| said == found);
        fits(self.kind, &object.api.kind)
            && fits(self.group, &object.api.group)
            && fits(self.version, &object.api.version)
            && fits(self.name, &object.name)
            && object
                .namespace
                .as_deref()
                .is_none_or(|found| fits(self.namespace, found))
    }
}

fn wanted(object: &RenderedObject) -> Vec<Wanted<'_>> {
    let annotations = object
        .value
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let said = annotations.into_iter().flatten();
    let said = said.filter(|(key, _)| key.starts_with(DEPLOY_DEPENDENCY));
    let texts = said.filter_map(|(_, value)| value.as_str());
    let wanted = texts.map(|text| {
        let mut wanted = Wanted::default();
        for (key, value) in text.split(',').filter_map(|part| part.split_once('=')) {
            let value = Some(value.trim());
            match key.trim() {
                "kind" => wanted.kind = value,
                "group" => wanted.group = value,
                "version" => wanted.version = value,
                "namespace" => wanted.namespace = value,
                "name" => wanted.name = value,
                _ => {}
            }
        }
        wanted
    });
    wanted.collect()
}

/// Stages by level, each of which has a number for its name.
fn numbered(levels: &[usize], objects: usize) -> Vec<Level> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, level) in levels.iter().take(objects).enumerate() {
        places.entry(*level).or_default().push(place);
    }
    let stages = places.into_values().enumerate();
    stages
        .map(|(number, places)| (format!("level-{}", number + 1), places))
        .collect()
}
