//! Families that roles make with the module `osdk_metric`, one value each.
//!
//! Whoever runs beside the operator can send values, so what they add up to is bounded, and nothing that is sent changes a
//! family of the operator's own.

mod request;
mod summary;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus::core::Collector;
use prometheus::proto::MetricType;
use prometheus::{Counter, Gauge, Histogram, HistogramOpts, Registry};
use request::{Change, GaugeChange, Request};
use summary::Summary;

/// More are refused, as nobody takes one away.
const MOST_FAMILIES: usize = 200;
/// In bytes.
const LONGEST_NAME: usize = 200;
/// In bytes.
const LONGEST_HELP: usize = 1000;
/// What the lines of a histogram or summary end in, behind its name.
const SUFFIXES: [&str; 3] = ["_bucket", "_count", "_sum"];

/// Why a value is not taken.
#[derive(Debug, thiserror::Error)]
pub enum RoleMetricError {
    /// It is not what `osdk_metric` sends.
    #[error("failed to read the value of a metric: {0}")]
    Json(#[from] serde_json::Error),
    /// It is for none, or for several.
    #[error("expected one of `counter`, `gauge`, `histogram` and `summary`, found {0}")]
    Kinds(usize),
    /// Prometheus takes letters, digits, `_` and `:`.
    #[error(
        "{0:?} is not the name of a metric: at most {LONGEST_NAME} letters, digits, `_` and `:`, of which no digit comes first"
    )]
    Name(String),
    /// The help text is too long.
    #[error("the description of `{name}` is longer than {LONGEST_HELP} bytes")]
    Help {
        /// As the role has sent it.
        name: String,
    },
    /// It is of another kind than the values before it.
    #[error("`{name}` is a {kind}, and stays one")]
    OtherKind {
        /// As the role has sent it.
        name: String,
        /// Counter, gauge, histogram or summary.
        kind: &'static str,
    },
    /// A counter can't go down.
    #[error("`{name}` is a counter, from which nothing can be taken")]
    Decrease {
        /// As the role has sent it.
        name: String,
    },
    /// The operator has a metric of this name, or one whose lines would be taken for those of this.
    #[error("there is a metric of the name `{name}` already, or one whose lines are called so")]
    Taken {
        /// The name that can't be had.
        name: String,
    },
    /// There are enough.
    #[error("there are {MOST_FAMILIES} metrics of roles already, which is the most")]
    TooMany,
}

/// The families by name.
#[derive(Clone, Debug)]
pub(super) struct RoleMetrics {
    registry: Registry,
    families: Arc<Mutex<BTreeMap<String, Family>>>,
}

#[derive(Clone, Debug)]
enum Family {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
    Summary(Summary),
}

impl RoleMetrics {
    /// Families will be registered where the operator's are.
    pub(super) fn new(registry: Registry) -> Self {
        Self {
            registry,
            families: Arc::default(),
        }
    }

    pub(super) fn take(&self, body: &[u8]) -> Result<(), RoleMetricError> {
        let request: Request = serde_json::from_slice(body)?;
        let change = request.change()?;
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(family) = families.get(&request.name) {
            return family.apply(&request.name, change);
        }
        if families.len() >= MOST_FAMILIES {
            return Err(RoleMetricError::TooMany);
        }
        let family = self.register(&request, change)?;
        tracing::info!(metric = request.name, "Registering");
        families.insert(request.name, family);
        Ok(())
    }

    /// A new family with its first value.
    fn register(&self, request: &Request, change: Change) -> Result<Family, RoleMetricError> {
        let name = &request.name;
        if name.len() > LONGEST_NAME {
            let start: String = name.chars().take(LONGEST_NAME).collect();
            return Err(RoleMetricError::Name(start));
        }
        // The library knows no family without help.
        let help = request
            .description
            .as_deref()
            .filter(|help| !help.is_empty())
            .unwrap_or(name);
        if help.len() > LONGEST_HELP {
            return Err(RoleMetricError::Help { name: name.clone() });
        }
        let family = Family::new(name, help, change).map_err(|_| RoleMetricError::Name(name.clone()))?;
        family.apply(name, change)?;
        let is_compound = matches!(family, Family::Histogram(_) | Family::Summary(_));
        if self.collides(name, is_compound) || self.registry.register(family.collector()).is_err() {
            return Err(RoleMetricError::Taken { name: name.clone() });
        }
        Ok(family)
    }

    /// Whether a line of one family would be called as a line of another.
    fn collides(&self, name: &str, is_compound: bool) -> bool {
        let base = |name: &str| {
            SUFFIXES
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix).map(str::to_owned))
        };
        let base_of_name = base(name);
        self.registry.gather().iter().any(|family| {
            let other_is_compound = matches!(
                family.get_field_type(),
                MetricType::HISTOGRAM | MetricType::SUMMARY
            );
            let is_line_of_other = other_is_compound && base_of_name.as_deref() == Some(family.name());
            is_line_of_other || is_compound && base(family.name()).as_deref() == Some(name)
        })
    }
}

impl Family {
    fn new(name: &str, help: &str, change: Change) -> Result<Self, prometheus::Error> {
        Ok(match change {
            Change::Count(_) => Self::Counter(Counter::new(name, help)?),
            Change::Gauge(_) => Self::Gauge(Gauge::new(name, help)?),
            Change::Bucket(_) => Self::Histogram(Histogram::with_opts(HistogramOpts::new(name, help))?),
            Change::Sum(_) => Self::Summary(Summary::new(name, help)?),
        })
    }

    /// As in ansible-operator, histograms and summaries take each other's values.
    fn apply(&self, name: &str, change: Change) -> Result<(), RoleMetricError> {
        match (self, change) {
            // The library would panic.
            (Self::Counter(_), Change::Count(number)) if number < 0.0 => {
                return Err(RoleMetricError::Decrease {
                    name: name.to_owned(),
                });
            }
            (Self::Counter(counter), Change::Count(number)) => counter.inc_by(number),
            (Self::Gauge(gauge), Change::Gauge(change)) => match change {
                GaugeChange::Add(number) => gauge.add(number),
                GaugeChange::Set(number) => gauge.set(number),
                GaugeChange::Stay => {}
            },
            (Self::Histogram(histogram), Change::Bucket(number) | Change::Sum(number)) => {
                histogram.observe(number);
            }
            (Self::Summary(summary), Change::Bucket(number) | Change::Sum(number)) => summary.observe(number),
            _ => {
                let (name, kind) = (name.to_owned(), self.kind());
                return Err(RoleMetricError::OtherKind { name, kind });
            }
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
            Self::Summary(_) => "summary",
        }
    }

    fn collector(&self) -> Box<dyn Collector> {
        match self.clone() {
            Self::Counter(counter) => Box::new(counter),
            Self::Gauge(gauge) => Box::new(gauge),
            Self::Histogram(histogram) => Box::new(histogram),
            Self::Summary(summary) => Box::new(summary),
        }
    }
}

#[cfg(test)]
mod tests;
