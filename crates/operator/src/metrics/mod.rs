//! The numbers that `/metrics` shows, under the names of helm-operator, ansible-operator and controller-runtime.

mod ansible;
mod conditions;
mod families;
mod names;
mod procedures;
mod process;
mod registering;
mod resources;
mod roles;
mod work_queue;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ansible::AnsibleFamilies;
use families::Families;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use names::ControllerNames;
use prometheus::{Encoder, IntCounterVec, Registry, TextEncoder};
pub use roles::RoleMetricError;
use roles::RoleMetrics;

use crate::apply::HookEnd;

/// The label `result` of `controller_runtime_reconcile_total`: how a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLabel {
    /// Everything is as it should be, and nothing is planned.
    Success,
    /// Everything is as it should be; the next look comes after the period.
    RequeueAfter,
    /// Something is unfinished, and the next step follows at once.
    Requeue,
    /// The reconcile failed.
    Error,
    /// The reconcile failed, and only a change can cure it.
    TerminalError,
    /// The reconcile came to an unexpected end.
    Panic,
}

/// The numbers that `/metrics` shows. Clones share them.
///
/// ```
/// use std::time::Duration;
///
/// use kube::core::GroupVersionKind;
/// use steersman_operator::metrics::{Metrics, ResultLabel};
///
/// let site = GroupVersionKind::gvk("example.com", "v1", "Site");
/// let metrics = Metrics::new([(&site, 2)])?;
/// let worker = metrics.reconcile_started(&site, Duration::ZERO);
/// metrics.reconcile_finished(&site, ResultLabel::Success, Duration::from_millis(20));
/// drop(worker);
///
/// let page = String::from_utf8(metrics.encode()?).unwrap();
/// let line = r#"controller_runtime_reconcile_total{controller="site-controller",result="success"} 1"#;
/// assert!(page.lines().any(|found| found == line));
/// # Ok::<(), prometheus::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    families: Arc<Families>,
    /// Once there are entries with a role or playbook.
    ansible: Arc<OnceLock<AnsibleFamilies>>,
    roles: RoleMetrics,
}

impl Metrics {
    /// The numbers of an operator that watches these kinds, each with how many are reconciled at a time.
    ///
    /// # Errors
    /// Two families have one name, which is a mistake in this module.
    pub fn new<'a>(
        watched: impl IntoIterator<Item = (&'a GroupVersionKind, usize)>,
    ) -> Result<Self, prometheus::Error> {
        let watched: Vec<_> = watched.into_iter().collect();
        let registry = Registry::new();
        let names = ControllerNames::new(watched.iter().map(|(gvk, _)| *gvk));
        let families = Families::register(&registry, names)?;
        let metrics = Self {
            roles: RoleMetrics::new(registry.clone()),
            registry,
            families: Arc::new(families),
            ansible: Arc::default(),
        };
        for (gvk, limit) in watched {
            metrics.start_controller(gvk, limit);
        }
        Ok(metrics)
    }

    /// Shows the families of a controller with zeros before it does anything, as controller-runtime does: a rate
    /// over a counter that appears with 1 misses the first event.
    pub fn start_controller(&self, gvk: &GroupVersionKind, limit: usize) {
        self.families.controllers.add(gvk);
        let (families, controller) = (&self.families, self.controller(gvk));
        let controller = controller.as_str();
        for result in [
            ResultLabel::Success,
            ResultLabel::RequeueAfter,
            ResultLabel::Requeue,
            ResultLabel::Error,
        ] {
            families
                .reconcile_total
                .with_label_values(&[controller, result.as_str()])
                .reset();
        }
        for family in [
            &families.reconcile_errors,
            &families.reconcile_panics,
            &families.terminal_errors,
        ] {
            family.with_label_values(&[controller]).reset();
        }
        families.work_queues.start(controller);
        families.reconcile_time.with_label_values(&[controller]);
        families.active_workers.with_label_values(&[controller]).set(0);
        families
            .max_concurrent
            .with_label_values(&[controller])
            .set(limit as i64);
        families
            .drift_corrections
            .with_label_values(&[controller])
            .reset();
    }

    /// Shows the families of ansible-operator from now on, with zeros for these kinds.
    ///
    /// # Errors
    /// Two families have one name, which is a mistake in this module.
    pub fn start_ansible<'a>(
        &self,
        kinds: impl IntoIterator<Item = &'a GroupVersionKind>,
    ) -> Result<(), prometheus::Error> {
        if self.ansible.get().is_none() {
            // Who was faster has registered the same.
            let _ = self.ansible.set(AnsibleFamilies::register(&self.registry)?);
        }
        if let Some(families) = self.ansible.get() {
            kinds.into_iter().for_each(|gvk| families.start(gvk));
        }
        Ok(())
    }

    /// Counts a run of a role or playbook that has ended, for a resource of this kind.
    pub fn run_ended(&self, api_version: &str, kind: &str, has_succeeded: bool, took: Duration) {
        if let Some(families) = self.ansible.get() {
            families.run_ended(api_version, kind, has_succeeded, took);
        }
    }

    /// Takes a value that a role has for a metric of its own, as the module `osdk_metric` sends it.
    ///
    /// # Errors
    /// See [`RoleMetricError`]; nothing has changed then.
    pub fn take_role_metric(&self, body: &[u8]) -> Result<(), RoleMetricError> {
        self.roles.take(body)
    }

    /// Counts a worker as busy with a resource that was due for so long. It is idle again when the value is dropped,
    /// however the reconcile ends.
    pub fn reconcile_started(&self, gvk: &GroupVersionKind, waited: Duration) -> ActiveWorker {
        let controller = self.controller(gvk);
        let worker = self
            .families
            .active_workers
            .with_label_values(&[controller.as_str()]);
        worker.inc();
        ActiveWorker {
            worker,
            number: self.families.work_queues.taken(&controller, waited),
            families: Arc::clone(&self.families),
        }
    }

    /// Notes how many resources are due and wait for a worker.
    pub fn waiting(&self, gvk: &GroupVersionKind, number: usize) {
        self.families.work_queues.set_depth(&self.controller(gvk), number);
    }

    /// Counts a resource that is tried again after a pause.
    pub fn retried(&self, gvk: &GroupVersionKind) {
        self.families.work_queues.retried(&self.controller(gvk));
    }

    /// Counts an answer of the API server: a status or `<error>`, the method, and the server's host.
    pub fn answered(&self, code: &str, method: &str, host: &str) {
        self.families
            .requests
            .with_label_values(&[code, host, method])
            .inc();
    }

    /// Counts a reconcile that has ended.
    pub fn reconcile_finished(&self, gvk: &GroupVersionKind, result: ResultLabel, duration: Duration) {
        let (families, controller) = (&self.families, self.controller(gvk));
        let controller = controller.as_str();
        families
            .reconcile_total
            .with_label_values(&[controller, result.as_str()])
            .inc();
        families
            .reconcile_time
            .with_label_values(&[controller])
            .observe(duration.as_secs_f64());
        let count = |family: &IntCounterVec| family.with_label_values(&[controller]).inc();
        match result {
            ResultLabel::Success | ResultLabel::RequeueAfter | ResultLabel::Requeue => {}
            ResultLabel::Error => count(&families.reconcile_errors),
            ResultLabel::TerminalError => {
                count(&families.reconcile_errors);
                count(&families.terminal_errors);
            }
            ResultLabel::Panic => {
                count(&families.reconcile_errors);
                count(&families.reconcile_panics);
            }
        }
    }

    /// Notes a custom resource and when it was created, in seconds since 1970.
    pub fn resource_created(&self, gvk: &GroupVersionKind, namespace: &str, name: &str, created: f64) {
        let resources = &self.families.resources;
        resources.note(gvk, namespace, name, |numbers| numbers.created = Some(created));
    }

    /// Notes what the status of a custom resource says of its conditions.
    pub fn resource_conditions(&self, gvk: &GroupVersionKind, object: &DynamicObject) {
        let metadata = &object.metadata;
        let Some(name) = &metadata.name else {
            return;
        };
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let conditions = conditions::conditions_of(object);
        let resources = &self.families.resources;
        resources.note(gvk, namespace, name, |numbers| numbers.conditions = conditions);
    }

    /// Forgets a custom resource that is gone.
    pub fn resource_deleted(&self, gvk: &GroupVersionKind, namespace: &str, name: &str) {
        self.families.resources.forget(gvk, namespace, name);
    }

    /// Counts objects of a release whose drift was corrected.
    pub fn drift_corrected(&self, gvk: &GroupVersionKind, namespace: &str, name: &str, objects: usize) {
        let controller = self.controller(gvk);
        self.families
            .drift_corrections
            .with_label_values(&[controller.as_str()])
            .inc_by(objects as u64);
        let resources = &self.families.resources;
        resources.note(gvk, namespace, name, |numbers| {
            numbers.corrected = numbers.corrected.saturating_add(objects as u64);
        });
    }

    /// Notes how long the Job or Pod of a hook has run.
    pub fn hook_ended(&self, gvk: &GroupVersionKind, end: &HookEnd) {
        let controller = self.controller(gvk);
        let result = if end.has_succeeded { "succeeded" } else { "failed" };
        self.families
            .hook_time
            .with_label_values(&[controller.as_str(), end.event, result])
            .observe(end.took.as_secs_f64());
    }

    /// Notes how long a stage has taken. `stage` is one that watches.yaml names, or empty.
    pub fn stage_ended(&self, gvk: &GroupVersionKind, stage: &str, took: Duration) {
        let controller = self.controller(gvk);
        self.families
            .stage_time
            .with_label_values(&[controller.as_str(), stage])
            .observe(took.as_secs_f64());
    }

    /// Notes the revision that is deployed for a custom resource, and how many objects it has.
    pub fn release_deployed(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
        revision: u32,
        objects: usize,
    ) {
        let objects = u32::try_from(objects).unwrap_or(u32::MAX);
        let resources = &self.families.resources;
        resources.note(gvk, namespace, name, |numbers| {
            numbers.release = Some((revision, objects));
        });
    }

    /// Notes since when the newest revision of a custom resource waits at a gate, in seconds since 1970; `None` where it waits
    /// for nothing.
    pub fn release_waits(&self, gvk: &GroupVersionKind, namespace: &str, name: &str, since: Option<f64>) {
        let resources = &self.families.resources;
        resources.note(gvk, namespace, name, |numbers| numbers.waits_since = since);
    }

    /// Shows the runs of a procedure by these results with zeros, as [`Metrics::start_controller`] does with what it counts.
    pub fn start_procedure(&self, gvk: &GroupVersionKind, procedure: &str, results: &[&str]) {
        let (families, controller) = (&self.families.procedures, self.controller(gvk));
        for result in results {
            let counted = [controller.as_str(), procedure, result];
            families.runs.with_label_values(&counted).reset();
        }
    }

    /// Counts a run of a procedure that has come to this end, after so long.
    pub fn procedure_ended(&self, gvk: &GroupVersionKind, procedure: &str, result: &str, took: Duration) {
        let (families, controller) = (&self.families.procedures, self.controller(gvk));
        let labels = [controller.as_str(), procedure];
        let counted = [controller.as_str(), procedure, result];
        families.runs.with_label_values(&counted).inc();
        families
            .time
            .with_label_values(&labels)
            .observe(took.as_secs_f64());
    }

    /// Notes when a procedure has succeeded last for a resource, by its namespace, its name and the procedure: in seconds since
    /// 1970.
    pub fn procedure_succeeded(&self, gvk: &GroupVersionKind, of: (&str, &str, &str), at: i64) {
        let family = &self.families.procedures.last_success;
        family.with_label_values(&labels_of(gvk, of)).set(at);
    }

    /// Notes for which time of its schedule a procedure has to succeed next for a resource, in seconds since 1970; `None` where
    /// there is none.
    pub fn procedure_due(&self, gvk: &GroupVersionKind, of: (&str, &str, &str), at: Option<i64>) {
        let (family, labels) = (&self.families.procedures.due, labels_of(gvk, of));
        match at {
            Some(at) => family.with_label_values(&labels).set(at),
            // There need not have been one.
            None => drop(family.remove_label_values(&labels)),
        }
    }

    /// Forgets all of that of a resource that is gone.
    pub fn forget_procedure(&self, gvk: &GroupVersionKind, (namespace, name): (&str, &str), procedure: &str) {
        let of = (namespace, name, procedure);
        let family = &self.families.procedures.last_success;
        // It need not have succeeded.
        let _ = family.remove_label_values(&labels_of(gvk, of));
        self.procedure_due(gvk, of, None);
    }

    /// Notes whether this replica holds the lease.
    pub fn leader(&self, lease: &str, is_leader: bool) {
        self.families
            .leader
            .with_label_values(&[lease])
            .set(i64::from(is_leader));
    }

    /// The name of a kind's controller: helm-operator's, `memcached-controller`, where no other watched kind has
    /// the same.
    pub fn controller(&self, gvk: &GroupVersionKind) -> String {
        self.families.controllers.get(gvk)
    }

    /// All numbers in the text format of Prometheus, version 0.0.4.
    ///
    /// # Errors
    /// A family cannot be written, which is a mistake in this module.
    pub fn encode(&self) -> Result<Vec<u8>, prometheus::Error> {
        self.families.process.refresh();
        self.families.work_queues.refresh();
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

/// A worker that is busy as long as this value lives.
#[derive(Debug)]
pub struct ActiveWorker {
    worker: prometheus::IntGauge,
    number: u64,
    families: Arc<Families>,
}

impl Drop for ActiveWorker {
    fn drop(&mut self) {
        self.worker.dec();
        self.families.work_queues.ended(self.number);
    }
}

impl ResultLabel {
    /// As `/metrics` shows it; three ways to fail are one there.
    fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RequeueAfter => "requeue_after",
            Self::Requeue => "requeue",
            Self::Error | Self::TerminalError | Self::Panic => "error",
        }
    }
}

/// The labels of a procedure for a resource, which is named by its namespace, its name and the procedure.
fn labels_of<'a>(
    gvk: &'a GroupVersionKind,
    (namespace, name, procedure): (&'a str, &'a str, &'a str),
) -> [&'a str; 6] {
    [&gvk.group, &gvk.kind, name, namespace, procedure, &gvk.version]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use kube::core::GroupVersionKind;

    use super::{Metrics, ResultLabel};
    use crate::apply::HookEnd;

    fn memcached(version: &str) -> GroupVersionKind {
        GroupVersionKind::gvk("cache.example.com", version, "Memcached")
    }

    fn lines(metrics: &Metrics, prefix: &str) -> String {
        let text = String::from_utf8(metrics.encode().unwrap()).unwrap();
        text.lines()
            .filter(|line| line.starts_with(prefix))
            .flat_map(|line| [line, "\n"])
            .collect()
    }

    #[test]
    fn families_have_the_names_and_labels_of_helm_operator() {
        let gvk = memcached("v1alpha1");
        let metrics = Metrics::new([(&gvk, 4)]).unwrap();
        metrics.resource_created(&gvk, "default", "memcached-sample", 1_767_366_245.0);
        metrics.reconcile_finished(&gvk, ResultLabel::Error, Duration::from_millis(20));
        metrics.drift_corrected(&gvk, "default", "memcached-sample", 2);
        metrics.release_deployed(&gvk, "default", "memcached-sample", 3, 5);
        metrics.release_waits(&gvk, "default", "memcached-sample", Some(1_767_366_250.0));
        expect![[r#"
            resource_created_at_seconds{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"} 1767366245
        "#]]
        .assert_eq(&lines(&metrics, "resource_created"));
        expect![[r#"
            controller_runtime_reconcile_total{controller="memcached-controller",result="error"} 1
            controller_runtime_reconcile_total{controller="memcached-controller",result="requeue"} 0
            controller_runtime_reconcile_total{controller="memcached-controller",result="requeue_after"} 0
            controller_runtime_reconcile_total{controller="memcached-controller",result="success"} 0
        "#]]
        .assert_eq(&lines(&metrics, "controller_runtime_reconcile_total"));
        expect![[r#"
            controller_runtime_max_concurrent_reconciles{controller="memcached-controller"} 4
        "#]]
        .assert_eq(&lines(&metrics, "controller_runtime_max"));
        expect![[r#"
            steersman_release_drift_corrections_total{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"} 2
            steersman_release_objects{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"} 5
            steersman_release_revision{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"} 3
            steersman_release_waiting_since_seconds{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"} 1767366250
        "#]]
        .assert_eq(&lines(&metrics, "steersman_release_"));
        assert_eq!(
            lines(&metrics, "steersman_drift"),
            "steersman_drift_corrections_total{controller=\"memcached-controller\"} 2\n"
        );
        metrics.release_waits(&gvk, "default", "memcached-sample", None);
        assert_eq!(lines(&metrics, "steersman_release_waiting"), "");
    }

    #[test]
    fn conditions_are_told_with_their_reasons_and_nothing_that_is_no_condition_of_ours() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        let say = |conditions: serde_json::Value| {
            let object = serde_json::json!({"apiVersion": "cache.example.com/v1", "kind": "Memcached",
                "metadata": {"name": "a", "namespace": "default"}, "status": {"conditions": conditions}});
            metrics.resource_conditions(&gvk, &serde_json::from_value(object).unwrap());
            lines(&metrics, "steersman_resource_condition")
        };
        let told = say(serde_json::json!([
            {"type": "Stalled", "status": "True", "reason": "RenderFailed"},
            {"type": "Ready", "status": "False", "reason": "RenderFailed"},
            {"type": "Ready", "status": "True", "reason": "Twice"},
            {"type": "Irreconcilable", "status": "False", "reason": "\"} 1"},
            {"type": "TestSuccess", "status": "Unknown", "reason": "TestsRun"},
            {"type": "Others", "status": "True"}, 7,
        ]));
        expect![[r#"
            steersman_resource_condition{condition="Irreconcilable",group="cache.example.com",kind="Memcached",name="a",namespace="default",reason="",version="v1"} 0
            steersman_resource_condition{condition="Ready",group="cache.example.com",kind="Memcached",name="a",namespace="default",reason="RenderFailed",version="v1"} 0
            steersman_resource_condition{condition="Stalled",group="cache.example.com",kind="Memcached",name="a",namespace="default",reason="RenderFailed",version="v1"} 1
        "#]]
        .assert_eq(&told);
        assert_eq!(say(serde_json::json!("none")), "");
    }

    #[test]
    fn a_stage_is_told_by_its_name_and_duration() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        metrics.stage_ended(&gvk, "database", Duration::from_secs(7));
        expect![[r#"
            steersman_stage_duration_seconds_sum{controller="memcached-controller",stage="database"} 7
        "#]]
        .assert_eq(&lines(&metrics, "steersman_stage_duration_seconds_sum"));
    }

    #[test]
    fn a_hook_is_told_by_its_event_and_how_it_has_ended() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        let mut end = HookEnd {
            event: "pre-upgrade",
            has_succeeded: true,
            took: Duration::from_secs(7),
        };
        metrics.hook_ended(&gvk, &end);
        end.has_succeeded = false;
        metrics.hook_ended(&gvk, &end);
        expect![[r#"
            steersman_hook_duration_seconds_sum{controller="memcached-controller",event="pre-upgrade",result="failed"} 7
            steersman_hook_duration_seconds_sum{controller="memcached-controller",event="pre-upgrade",result="succeeded"} 7
        "#]]
        .assert_eq(&lines(&metrics, "steersman_hook_duration_seconds_sum"));
    }

    #[test]
    fn what_a_schedule_asks_for_next_is_told_and_forgotten() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        let of = ("default", "a", "backup");
        let due = || lines(&metrics, "steersman_procedure_due_timestamp_seconds");
        metrics.procedure_due(&gvk, of, Some(1_767_366_250));
        expect![[r#"
            steersman_procedure_due_timestamp_seconds{group="cache.example.com",kind="Memcached",name="a",namespace="default",procedure="backup",version="v1"} 1767366250
        "#]]
        .assert_eq(&due());
        metrics.procedure_due(&gvk, of, None);
        assert_eq!(due(), "");
        metrics.procedure_due(&gvk, of, Some(7));
        metrics.forget_procedure(&gvk, ("default", "a"), "backup");
        assert_eq!(due(), "");
    }

    #[test]
    fn a_deleted_resource_leaves_nothing() {
        let gvk = memcached("v1alpha1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        metrics.resource_created(&gvk, "default", "a", 1.0);
        metrics.release_deployed(&gvk, "default", "a", 1, 1);
        metrics.resource_deleted(&gvk, "default", "a");
        metrics.resource_deleted(&gvk, "default", "never-seen");
        assert_eq!(
            lines(&metrics, "resource_created") + &lines(&metrics, "steersman_release"),
            ""
        );
    }

    #[test]
    fn a_worker_is_busy_until_its_reconcile_ends() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        let worker = metrics.reconcile_started(&gvk, Duration::from_millis(30));
        let busy = lines(&metrics, "controller_runtime_active_workers");
        let names = r#"{controller="memcached-controller",name="memcached-controller"}"#;
        let value = |family: &str| {
            let line = lines(&metrics, &format!("{family}{names}"));
            line.trim_end().rsplit(' ').next().unwrap_or_default().to_owned()
        };
        assert_ne!(value("workqueue_unfinished_work_seconds"), "0");
        assert_ne!(value("workqueue_longest_running_processor_seconds"), "0");
        assert_eq!(value("workqueue_queue_duration_seconds_sum"), "0.03");
        assert_eq!(value("workqueue_work_duration_seconds_count"), "0");
        drop(worker);
        assert_eq!(value("workqueue_unfinished_work_seconds"), "0");
        assert_eq!(value("workqueue_work_duration_seconds_count"), "1");
        metrics.retried(&gvk);
        metrics.waiting(&gvk, 7);
        assert_eq!(value("workqueue_retries_total"), "1");
        assert_eq!(value("workqueue_depth"), "7");
        assert_eq!(value("workqueue_adds_total"), "1");
        let idle = lines(&metrics, "controller_runtime_active_workers");
        assert!(busy.ends_with("} 1\n") && idle.ends_with("} 0\n"), "{busy}{idle}");
    }

    #[test]
    fn failures_are_told_apart() {
        let gvk = memcached("v1");
        let metrics = Metrics::new([(&gvk, 1)]).unwrap();
        for result in [
            ResultLabel::Success,
            ResultLabel::Error,
            ResultLabel::TerminalError,
            ResultLabel::Panic,
        ] {
            metrics.reconcile_finished(&gvk, result, Duration::ZERO);
        }
        metrics.answered("200", "GET", "10.0.0.1:443");
        expect![[r#"
            controller_runtime_reconcile_errors_total{controller="memcached-controller"} 3
            controller_runtime_reconcile_panics_total{controller="memcached-controller"} 1
            controller_runtime_terminal_reconcile_errors_total{controller="memcached-controller"} 1
            rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 1
        "#]]
        .assert_eq(
            &[
                lines(&metrics, "controller_runtime_reconcile_errors"),
                lines(&metrics, "controller_runtime_reconcile_panics"),
                lines(&metrics, "controller_runtime_terminal"),
                lines(&metrics, "rest_client"),
            ]
            .concat(),
        );
    }
}
