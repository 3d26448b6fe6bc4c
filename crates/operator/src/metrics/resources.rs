//! The numbers of each custom resource and its release.
//!
//! The library keeps name, help and all labels with every value; here there are a few values for each resource, which
//! are all that is kept, and become families when somebody asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::core::GroupVersionKind;
use prometheus::core::{Collector, Desc, Describer as _};
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Opts, Registry};

use super::conditions::{self, Condition, FAMILY};

const LABELS: [&str; 5] = ["group", "kind", "name", "namespace", "version"];

/// Each family's name and help, and where its value comes from; `None` leaves a resource out. What counts is called so, by
/// `_total`.
const FAMILIES: [(&str, &str, Value); 5] = [
    (
        "resource_created_at_seconds",
        "Timestamp at which a resource was created",
        |numbers| numbers.created,
    ),
    (
        "steersman_release_revision",
        "Revision of the release that is deployed for a resource",
        |numbers| numbers.release.map(|(revision, _)| f64::from(revision)),
    ),
    (
        "steersman_release_objects",
        "Number of objects of the revision that is deployed for a resource",
        |numbers| numbers.release.map(|(_, objects)| f64::from(objects)),
    ),
    (
        "steersman_release_waiting_since_seconds",
        "Timestamp since which a revision of a resource waits for its objects, or for somebody's word",
        |numbers| numbers.waits_since,
    ),
    (
        "steersman_release_drift_corrections_total",
        "Total number of objects of a release set right after somebody changed or deleted them",
        |numbers| (numbers.corrected > 0).then_some(numbers.corrected as f64),
    ),
];

type Value = fn(&Numbers) -> Option<f64>;

/// What is known of one custom resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// When it was created, in seconds since 1970.
    pub(super) created: Option<f64>,
    /// The revision that is deployed, and how many objects it has.
    pub(super) release: Option<(u32, u32)>,
    /// Since when its newest revision waits at a gate, in seconds since 1970.
    pub(super) waits_since: Option<f64>,
    /// How many objects were set right.
    pub(super) corrected: u64,
    pub(super) conditions: Box<[Condition]>,
}

/// The custom resources of all kinds.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    descriptions: Arc<[Desc]>,
    kinds: Arc<Mutex<Kinds>>,
}

/// By kind, then by namespace and name.
type Kinds = BTreeMap<[Box<str>; 3], BTreeMap<(Box<str>, Box<str>), Numbers>>;

impl Resources {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let labels: Vec<String> = LABELS.map(str::to_owned).to_vec();
        let describe = |(name, help, _): &(&str, &str, Value)| {
            Opts::new(*name, *help).variable_labels(labels.clone()).describe()
        };
        let conditions =
            Opts::new(FAMILY.0, FAMILY.1).variable_labels(conditions::LABELS.map(str::to_owned).to_vec());
        let all = FAMILIES.iter().map(describe).chain([conditions.describe()]);
        let descriptions = all.collect::<Result<Arc<[_]>, _>>()?;
        let resources = Self {
            descriptions,
            kinds: Arc::default(),
        };
        registry.register(Box::new(resources.clone()))?;
        Ok(resources)
    }

    /// Changes what is known of a resource, which begins with nothing.
    pub(super) fn note(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Numbers),
    ) {
        let mut kinds = self.lock();
        let resources = kinds.entry(kind(gvk)).or_default();
        change(resources.entry((namespace.into(), name.into())).or_default());
    }

    /// Forgets a resource, if it is known.
    pub(super) fn forget(&self, gvk: &GroupVersionKind, namespace: &str, name: &str) {
        if let Some(resources) = self.lock().get_mut(&kind(gvk)) {
            resources.remove(&(namespace.into(), name.into()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kinds> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Resources {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let kinds = self.lock();
        let resources = || {
            kinds.iter().flat_map(|([group, kind, version], resources)| {
                resources.iter().map(move |((namespace, name), numbers)| {
                    let labels = [group, kind, name, namespace, version].map(|label| &**label);
                    (labels, numbers)
                })
            })
        };
        let families = FAMILIES.iter().map(|(name, help, value)| {
            let metrics = resources().filter_map(|(labels, numbers)| {
                let labels: Vec<_> = LABELS.into_iter().zip(labels).collect();
                let value = value(numbers)?;
                Some(if is_counter(name) {
                    counted(&labels, value)
                } else {
                    metric(&labels, value)
                })
            });
            family(name, help, metrics.collect())
        });
        let conditions = resources().flat_map(|(labels, numbers)| {
            let conditions = numbers.conditions.iter();
            conditions.map(move |condition| condition.metric(labels))
        });
        families
            .chain([family(FAMILY.0, FAMILY.1, conditions.collect())])
            .filter(|family| !family.get_metric().is_empty())
            .collect()
    }
}

fn kind(gvk: &GroupVersionKind) -> [Box<str>; 3] {
    [&gvk.group, &gvk.kind, &gvk.version].map(|word| word.as_str().into())
}

fn is_counter(family: &str) -> bool {
    family.ends_with("_total")
}

pub(super) fn metric(labels: &[(&str, &str)], value: f64) -> Metric {
    let mut metric = labelled(labels);
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    metric.set_gauge(gauge);
    metric
}

fn counted(labels: &[(&str, &str)], value: f64) -> Metric {
    let mut metric = labelled(labels);
    let mut counter = Counter::default();
    counter.set_value(value);
    metric.set_counter(counter);
    metric
}

fn labelled(labels: &[(&str, &str)]) -> Metric {
    let labels = labels.iter().map(|(name, value)| {
        let mut label = LabelPair::default();
        label.set_name((*name).to_owned());
        label.set_value((*value).to_owned());
        label
    });
    Metric::from_label(labels.collect())
}

fn family(name: &str, help: &str, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(if is_counter(name) {
        MetricType::COUNTER
    } else {
        MetricType::GAUGE
    });
    family.set_metric(metrics);
    family
}
