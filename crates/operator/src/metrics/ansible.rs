//! The families of ansible-operator: what comes of runs.

use std::time::Duration;

use kube::core::GroupVersionKind;
use prometheus::{Gauge, HistogramVec, IntGaugeVec, Opts, Registry};

use super::registering::Registering;

/// The bounds of ansible-operator, which are the library's own, and longer ones: a run takes seconds to minutes.
const RUN_SECONDS: [f64; 18] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0,
    3600.0,
];
const SUCCEEDED: &str = "succeeded";
const FAILED: &str = "failed";

#[derive(Debug)]
pub(super) struct AnsibleFamilies {
    results: IntGaugeVec,
    durations: HistogramVec,
}

impl AnsibleFamilies {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        register_build_info(registry)?;
        let families = Registering(registry);
        Ok(Self {
            results: families.gauge(
                "ansible_operator_reconcile_result",
                "Gauge of reconciles and their results.",
                &["GVK", "result"],
            )?,
            durations: families.histogram(
                "ansible_operator_reconciles",
                "How long in seconds a reconcile takes.",
                &["GVK"],
                &RUN_SECONDS,
            )?,
        })
    }

    /// Shows a kind with zeros before anything is run for it.
    pub(super) fn start(&self, gvk: &GroupVersionKind) {
        let kind = kind_label(&gvk.api_version(), &gvk.kind);
        for result in [SUCCEEDED, FAILED] {
            let _ = self.results.with_label_values(&[kind.as_str(), result]);
        }
        let _ = self.durations.with_label_values(&[&kind]);
    }

    pub(super) fn run_ended(&self, api_version: &str, kind: &str, has_succeeded: bool, took: Duration) {
        let kind = kind_label(api_version, kind);
        let result = if has_succeeded { SUCCEEDED } else { FAILED };
        self.results.with_label_values(&[kind.as_str(), result]).inc();
        self.durations
            .with_label_values(&[&kind])
            .observe(took.as_secs_f64());
    }
}

/// A kind as Go prints it: `cache.example.com/v1, Kind=Memcached`, and `/v1, Kind=ConfigMap`.
fn kind_label(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

fn register_build_info(registry: &Registry) -> Result<(), prometheus::Error> {
    let options = Opts::new(
        "ansible_operator_build_info",
        "Build information for the ansible-operator binary",
    )
    .const_label("commit", steersman_model::version::COMMIT)
    .const_label("version", steersman_model::version::VERSION);
    let info = Gauge::with_opts(options)?;
    info.set(1.0);
    registry.register(Box::new(info))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use kube::core::GroupVersionKind;

    use crate::metrics::Metrics;

    fn lines(metrics: &Metrics) -> String {
        let text = String::from_utf8(metrics.encode().unwrap()).unwrap();
        let own = |line: &&str| line.starts_with("ansible_operator_re") && !line.contains("_bucket");
        text.lines().filter(own).flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn runs_are_counted_under_the_names_of_ansible_operator() {
        let metrics = Metrics::new([]).unwrap();
        assert_eq!(lines(&metrics), "", "there are no entries with a role");
        metrics.run_ended("cache.example.com/v1", "Memcached", true, Duration::ZERO);
        let kinds = [
            GroupVersionKind::gvk("cache.example.com", "v1", "Memcached"),
            GroupVersionKind::gvk("", "v1", "ConfigMap"),
        ];
        metrics.start_ansible(&kinds).unwrap();
        metrics.run_ended("cache.example.com/v1", "Memcached", true, Duration::from_secs(8));
        metrics.run_ended("cache.example.com/v1", "Memcached", false, Duration::from_secs(2));
        metrics.start_ansible(&kinds).unwrap();
        expect![[r#"
            ansible_operator_reconcile_result{GVK="/v1, Kind=ConfigMap",result="failed"} 0
            ansible_operator_reconcile_result{GVK="/v1, Kind=ConfigMap",result="succeeded"} 0
            ansible_operator_reconcile_result{GVK="cache.example.com/v1, Kind=Memcached",result="failed"} 1
            ansible_operator_reconcile_result{GVK="cache.example.com/v1, Kind=Memcached",result="succeeded"} 1
            ansible_operator_reconciles_sum{GVK="/v1, Kind=ConfigMap"} 0
            ansible_operator_reconciles_count{GVK="/v1, Kind=ConfigMap"} 0
            ansible_operator_reconciles_sum{GVK="cache.example.com/v1, Kind=Memcached"} 10
            ansible_operator_reconciles_count{GVK="cache.example.com/v1, Kind=Memcached"} 2
        "#]]
        .assert_eq(&lines(&metrics));
        let text = String::from_utf8(metrics.encode().unwrap()).unwrap();
        assert!(text.contains("\nansible_operator_build_info{commit="), "{text}");
        assert!(text.contains("Kind=Memcached\",le=\"3600\"} 2\n"), "{text}");
    }
}
