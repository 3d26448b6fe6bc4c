//! What is counted of procedures.

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec, Registry};

use super::registering::Registering;

/// Bounds for the length of a run: from a moment to half a day.
const SECONDS: [f64; 12] = [
    1.0, 5.0, 15.0, 60.0, 180.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0,
];

/// The families, as they are registered.
#[derive(Debug)]
pub(super) struct ProcedureFamilies {
    pub(super) runs: IntCounterVec,
    pub(super) time: HistogramVec,
    pub(super) last_success: IntGaugeVec,
    pub(super) due: IntGaugeVec,
}

impl ProcedureFamilies {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let families = Registering(registry);
        Ok(Self {
            runs: families.counter(
                "steersman_procedure_runs_total",
                "Total number of runs of procedures that have come to an end",
                &["controller", "procedure", "result"],
            )?,
            time: families.histogram(
                "steersman_procedure_duration_seconds",
                "Length of time of runs of procedures",
                &["controller", "procedure"],
                &SECONDS,
            )?,
            last_success: families.gauge(
                "steersman_procedure_last_success_timestamp_seconds",
                "When a run of a procedure for a resource has succeeded last",
                &["group", "kind", "name", "namespace", "procedure", "version"],
            )?,
            due: families.gauge(
                "steersman_procedure_due_timestamp_seconds",
                "First time of the schedule of a procedure for a resource after its last success",
                &["group", "kind", "name", "namespace", "procedure", "version"],
            )?,
        })
    }
}
