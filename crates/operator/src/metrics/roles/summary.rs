//! Summaries, which the library does not have.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus::Opts;
use prometheus::core::{Collector, Desc, Describer as _};
use prometheus::proto::{Metric, MetricFamily, MetricType, Summary as SummaryValue};

/// A summary without quantiles, as ansible-operator makes them.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    description: Desc,
    value: Arc<Mutex<SummaryValue>>,
}

impl Summary {
    pub(super) fn new(name: &str, help: &str) -> Result<Self, prometheus::Error> {
        Ok(Self {
            description: Opts::new(name, help).describe()?,
            value: Arc::default(),
        })
    }

    pub(super) fn observe(&self, number: f64) {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, sum) = (value.sample_count(), value.sample_sum());
        value.set_sample_count(count.saturating_add(1));
        value.set_sample_sum(sum + number);
    }
}

impl Collector for Summary {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut metric = Metric::default();
        metric.set_summary(value);
        let mut family = MetricFamily::default();
        family.set_name(self.description.fq_name.clone());
        family.set_help(self.description.help.clone());
        family.set_field_type(MetricType::SUMMARY);
        family.set_metric(vec![metric]);
        vec![family]
    }
}
