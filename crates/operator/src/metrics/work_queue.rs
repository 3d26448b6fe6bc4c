//! The queues of the controllers, under the names of client-go's work queues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, exponential_buckets};

use super::registering::Registering;

/// controller-runtime names the queue and its controller alike.
const LABELS: [&str; 2] = ["controller", "name"];

#[derive(Debug)]
pub(super) struct WorkQueues {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    controllers: Mutex<BTreeSet<String>>,
    running: Mutex<BTreeMap<u64, Running>>,
    started: AtomicU64,
}

#[derive(Debug)]
struct Running {
    controller: String,
    since: Instant,
}

impl WorkQueues {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let families = Registering(registry);
        let buckets = exponential_buckets(10e-9, 10.0, 12)?;
        let gauge = |name: &str, help: &str| families.add(GaugeVec::new(Opts::new(name, help), &LABELS)?);
        let counter = |name: &str, help: &str| families.counter(name, help, &LABELS);
        let histogram = |name: &str, help: &str| families.histogram(name, help, &LABELS, &buckets);
        Ok(Self {
            depth: families.gauge("workqueue_depth", "Current depth of workqueue", &LABELS)?,
            adds: counter(
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
            )?,
            retries: counter(
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
            )?,
            waited: histogram(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
            )?,
            worked: histogram(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
            )?,
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "How many seconds the items in work have been in work, all together",
            )?,
            longest: gauge(
                "workqueue_longest_running_processor_seconds",
                "How many seconds the item that is longest in work has been in work",
            )?,
            controllers: Mutex::default(),
            running: Mutex::default(),
            started: AtomicU64::default(),
        })
    }

    /// Shows a controller's queue with zeros before anything is in it.
    pub(super) fn start(&self, controller: &str) {
        self.lock_controllers().insert(controller.to_owned());
        let labels = [controller, controller];
        self.depth.with_label_values(&labels).set(0);
        self.adds.with_label_values(&labels).reset();
        self.retries.with_label_values(&labels).reset();
        self.waited.with_label_values(&labels);
        self.worked.with_label_values(&labels);
        self.unfinished.with_label_values(&labels).set(0.0);
        self.longest.with_label_values(&labels).set(0.0);
    }

    pub(super) fn set_depth(&self, controller: &str, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
        self.depth.with_label_values(&[controller, controller]).set(depth);
    }

    pub(super) fn retried(&self, controller: &str) {
        self.retries.with_label_values(&[controller, controller]).inc();
    }

    /// An item left the queue after it had waited so long; gives the number of the work on it.
    pub(super) fn taken(&self, controller: &str, waited: Duration) -> u64 {
        let labels = [controller, controller];
        self.adds.with_label_values(&labels).inc();
        self.waited
            .with_label_values(&labels)
            .observe(waited.as_secs_f64());
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let running = Running {
            controller: controller.to_owned(),
            since: Instant::now(),
        };
        self.lock().insert(number, running);
        number
    }

    pub(super) fn ended(&self, number: u64) {
        if let Some(running) = self.lock().remove(&number) {
            let labels = [running.controller.as_str(), &running.controller];
            self.worked
                .with_label_values(&labels)
                .observe(running.since.elapsed().as_secs_f64());
        }
    }

    /// Measures what is in work now.
    pub(super) fn refresh(&self) {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for controller in self.lock_controllers().iter() {
            sums.insert(controller.clone(), (0.0, 0.0));
        }
        for running in self.lock().values() {
            let lasted = running.since.elapsed().as_secs_f64();
            let (sum, longest) = sums.entry(running.controller.clone()).or_default();
            *sum += lasted;
            *longest = longest.max(lasted);
        }
        for (controller, (sum, longest)) in sums {
            let labels = [controller.as_str(), &controller];
            self.unfinished.with_label_values(&labels).set(sum);
            self.longest.with_label_values(&labels).set(longest);
        }
    }

    fn lock_controllers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
