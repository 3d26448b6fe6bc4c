//! Which families there are: names, labels and help, as of helm-operator and controller-runtime.

use prometheus::{Gauge, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::names::ControllerNames;
use super::procedures::ProcedureFamilies;
use super::process::ProcessMetrics;
use super::registering::Registering;
use super::resources::Resources;
use super::work_queue::WorkQueues;

/// The bounds that controller-runtime uses for the length of a reconcile.
const RECONCILE_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// Bounds for the length of a stage or a hook: from what is ready at once to an hour.
const STAGE_SECONDS: [f64; 12] = [
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
];

/// The families, as they are registered.
#[derive(Debug)]
pub(super) struct Families {
    pub(super) controllers: ControllerNames,
    pub(super) reconcile_total: IntCounterVec,
    pub(super) reconcile_errors: IntCounterVec,
    pub(super) reconcile_panics: IntCounterVec,
    pub(super) terminal_errors: IntCounterVec,
    pub(super) reconcile_time: HistogramVec,
    pub(super) work_queues: WorkQueues,
    pub(super) requests: IntCounterVec,
    pub(super) active_workers: IntGaugeVec,
    pub(super) max_concurrent: IntGaugeVec,
    pub(super) resources: Resources,
    pub(super) drift_corrections: IntCounterVec,
    pub(super) stage_time: HistogramVec,
    pub(super) hook_time: HistogramVec,
    pub(super) procedures: ProcedureFamilies,
    pub(super) leader: IntGaugeVec,
    pub(super) process: ProcessMetrics,
}

impl Families {
    /// Registers all families; two of one name are an error.
    pub(super) fn register(
        registry: &Registry,
        controllers: ControllerNames,
    ) -> Result<Self, prometheus::Error> {
        let families = Registering(registry);
        register_build_info(registry)?;
        Ok(Self {
            controllers,
            reconcile_total: families.counter(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
            )?,
            reconcile_errors: families.counter(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                &["controller"],
            )?,
            reconcile_panics: families.counter(
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                &["controller"],
            )?,
            terminal_errors: families.counter(
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
                &["controller"],
            )?,
            reconcile_time: families.histogram(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                &["controller"],
                &RECONCILE_SECONDS,
            )?,
            stage_time: families.histogram(
                "steersman_stage_duration_seconds",
                "Length of time from the apply of a stage until it was ready or passed over",
                &["controller", "stage"],
                &STAGE_SECONDS,
            )?,
            hook_time: families.histogram(
                "steersman_hook_duration_seconds",
                "Length of time of Jobs and Pods of hooks",
                &["controller", "event", "result"],
                &STAGE_SECONDS,
            )?,
            work_queues: WorkQueues::register(registry)?,
            requests: families.counter(
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "host", "method"],
            )?,
            active_workers: families.gauge(
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                &["controller"],
            )?,
            max_concurrent: families.gauge(
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                &["controller"],
            )?,
            resources: Resources::register(registry)?,
            drift_corrections: families.counter(
                "steersman_drift_corrections_total",
                "Total number of objects set right after somebody changed or deleted them",
                &["controller"],
            )?,
            procedures: ProcedureFamilies::register(registry)?,
            leader: families.gauge(
                "leader_election_master_status",
                "Whether this process holds the lease (1) or waits for it (0)",
                &["name"],
            )?,
            process: ProcessMetrics::register(registry)?,
        })
    }
}

fn register_build_info(registry: &Registry) -> Result<(), prometheus::Error> {
    let options = Opts::new(
        "helm_operator_build_info",
        "Build information for the helm-operator binary",
    )
    .const_label("commit", steersman_model::version::COMMIT)
    .const_label("version", steersman_model::version::VERSION);
    let info = Gauge::with_opts(options)?;
    info.set(1.0);
    registry.register(Box::new(info))
}
