//! What a role sends.

use jiff::Timestamp;
use serde::Deserialize;

use super::RoleMetricError;

/// What `osdk_metric` sends. Fields that are not known are left alone, as ansible-operator does.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) name: String,
    pub(super) description: Option<String>,
    counter: Option<CounterRequest>,
    gauge: Option<GaugeRequest>,
    histogram: Option<Observation>,
    summary: Option<Observation>,
}

#[derive(Debug, Deserialize)]
struct CounterRequest {
    increment: Option<bool>,
    add: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct GaugeRequest {
    set: Option<f64>,
    increment: Option<bool>,
    decrement: Option<bool>,
    add: Option<f64>,
    subtract: Option<f64>,
    set_to_current_time: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Observation {
    observe: Option<f64>,
}

/// A change of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    Count(f64),
    Gauge(GaugeChange),
    /// For a histogram.
    Bucket(f64),
    /// For a summary.
    Sum(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GaugeChange {
    Add(f64),
    Set(f64),
    /// Only the family is to be there.
    Stay,
}

impl Request {
    pub(super) fn change(&self) -> Result<Change, RoleMetricError> {
        let observed = |observation: &Observation| observation.observe.unwrap_or_default();
        let changes = [
            self.counter
                .as_ref()
                .map(|counter| Change::Count(counter.change())),
            self.gauge.as_ref().map(|gauge| Change::Gauge(gauge.change())),
            self.histogram
                .as_ref()
                .map(|histogram| Change::Bucket(observed(histogram))),
            self.summary
                .as_ref()
                .map(|summary| Change::Sum(observed(summary))),
        ];
        let changes: Vec<Change> = changes.into_iter().flatten().collect();
        match changes[..] {
            [change] => Ok(change),
            _ => Err(RoleMetricError::Kinds(changes.len())),
        }
    }
}

impl CounterRequest {
    fn change(&self) -> f64 {
        match self.increment {
            Some(true) => 1.0,
            _ => self.add.unwrap_or_default(),
        }
    }
}

impl GaugeRequest {
    /// Where several are asked for, the first counts in the order of ansible-operator. Zeros there count as absent; here a gauge
    /// can be set to zero.
    fn change(&self) -> GaugeChange {
        if self.increment == Some(true) {
            return GaugeChange::Add(1.0);
        }
        if self.decrement == Some(true) {
            return GaugeChange::Add(-1.0);
        }
        let is_something = |number: &f64| *number != 0.0;
        if let Some(number) = self.add.filter(is_something) {
            return GaugeChange::Add(number);
        }
        if let Some(number) = self.subtract.filter(is_something) {
            return GaugeChange::Add(-number);
        }
        if let Some(number) = self.set {
            return GaugeChange::Set(number);
        }
        match self.set_to_current_time {
            Some(true) => GaugeChange::Set(Timestamp::now().as_microsecond() as f64 / 1e6),
            _ => GaugeChange::Stay,
        }
    }
}
