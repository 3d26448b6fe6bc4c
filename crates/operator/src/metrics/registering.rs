//! Families as they are made: registered, by their names, helps and labels.

use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

/// Makes families in a registry. Two of one name are an error.
#[derive(Clone, Copy)]
pub(super) struct Registering<'a>(pub(super) &'a Registry);

impl Registering<'_> {
    pub(super) fn counter(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn gauge(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn histogram(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> Result<HistogramVec, prometheus::Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.add(HistogramVec::new(options, labels)?)
    }

    /// Registers a family of any sort.
    pub(super) fn add<F: Collector + Clone + 'static>(self, family: F) -> Result<F, prometheus::Error> {
        self.0.register(Box::new(family.clone()))?;
        Ok(family)
    }
}
