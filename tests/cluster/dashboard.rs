//! The dashboard and the alerts, by a real Prometheus that scrapes an operator.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;
use steersman_testkit::prometheus::{Prometheus, PrometheusPrograms};

use crate::bench::{self, Bench, condition};
use crate::hooks::finish_job_of;
use crate::procedures::{begin, define_runs, end_pod, wait_job, wait_phase};

/// How long Prometheus has until it has scraped and reckoned what is there.
const PATIENCE: Duration = Duration::from_mins(1);

/// The row of panels that only operators with roles fill.
const OF_ROLES: &str = "Roles and playbooks";

/// The queries of the dashboard, each with the titles of its row and its panel, as Grafana would send them.
fn queries() -> Vec<(String, String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/dashboard.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let (mut row, mut found) = (String::new(), Vec::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        if panel["type"] == "row" {
            title.clone_into(&mut row);
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            let query = query.replace("$__rate_interval", "1m");
            let query = query.replace("$kind", ".*").replace("$namespace", ".*");
            assert!(!query.contains('$'), "{query}");
            found.push((row.clone(), title.to_owned(), query));
        }
    }
    found
}

/// What is long, much or slow for an alert, and what is in these tests. That the alerts wait until then is promtool's to tell.
const SOONER: &[(&str, &str, &str)] = &[
    ("SteersmanStageStuck", "> 3600", "> 1"),
    ("SteersmanDriftRecurring", "> 5", "> 1"),
    ("SteersmanProcedureLate", "> 3600", "> 1"),
    ("SteersmanReconcilesSlow", "> 30", "> 0"),
    ("SteersmanQueueGrows", "> 0", ">= 0"),
    ("SteersmanMemoryHigh", "> 0.9", "> 0"),
];

fn fire_at_once(rule: &mut Value) {
    let waits = rule.as_object_mut().unwrap().remove("for");
    assert!(waits.is_some(), "{rule}");
    let sooner = SOONER.iter().find(|(alert, ..)| rule["alert"] == *alert);
    if let Some((_, from, to)) = sooner {
        let condition = rule["expr"].as_str().unwrap().replacen(from, to, 1);
        assert_ne!(rule["expr"], *condition);
        rule["expr"] = json!(condition);
    }
}

/// A Prometheus that scrapes an operator.
pub(crate) struct Watched {
    prometheus: Prometheus,
    // It keeps its files there.
    _folder: tempfile::TempDir,
}

impl Watched {
    pub(crate) fn start(programs: &PrometheusPrograms, operator: &OperatorProcess) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/rules.yaml");
        let mut rules = steersman_yaml::to_json(&std::fs::read_to_string(file).unwrap()).unwrap();
        for rule in rules["spec"]["groups"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .flat_map(|group| group["rules"].as_array_mut().unwrap())
        {
            fire_at_once(rule);
        }
        std::fs::write(folder.path().join("rules.yaml"), rules["spec"].to_string()).unwrap();
        let prometheus = programs.start(folder.path(), operator.metrics_port());
        Self {
            prometheus,
            _folder: folder,
        }
    }

    /// Waits until a query has an answer that is a number, and gives all of it.
    pub(crate) async fn answer(&self, query: &str) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let found = self.prometheus.query(query);
            let found = found.unwrap_or_else(|error| panic!("{query}: {error}"));
            if found.iter().any(|series| series["value"][1] != "NaN") {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{query}: {found:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until these alerts, each with the resource or procedure that it is about, fire for what the labels choose, and
    /// no other one.
    pub(crate) async fn fires(&self, labels: &str, expected: &[(&str, &str)]) {
        let expected: BTreeSet<_> = expected
            .iter()
            .map(|(alert, about)| ((*alert).to_owned(), (*about).to_owned()))
            .collect();
        let begun = Instant::now();
        loop {
            let found = self.firing(labels);
            if found == expected {
                return;
            }
            assert!(begun.elapsed() < bench::PATIENCE, "{found:#?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn firing(&self, labels: &str) -> BTreeSet<(String, String)> {
        let query = format!("ALERTS{{alertstate=\"firing\",{labels}}}");
        let label = |series: &Value, name: &str| series["metric"][name].as_str().map(str::to_owned);
        let alert = |series: &Value| {
            let about = label(series, "name").or_else(|| label(series, "procedure"));
            (
                label(series, "alertname").unwrap_or_default(),
                about.unwrap_or_default(),
            )
        };
        self.prometheus.query(&query).unwrap().iter().map(alert).collect()
    }

    /// Waits until each panel of the row of roles, or of all others, has something to show.
    pub(crate) async fn fills_panels(&self, is_of_roles: bool) {
        let mut count = 0;
        for (row, _, query) in queries() {
            if (row == OF_ROLES) == is_of_roles {
                self.answer(&query).await;
                count += 1;
            }
        }
        assert!(count > 1, "{count}");
    }

    /// What a panel with one number shows.
    async fn number(&self, panel: &str) -> String {
        let found = queries()
            .into_iter()
            .find(|(_, title, _)| title == panel)
            .unwrap();
        let found = self.answer(&found.2).await;
        found[0]["value"][1].as_str().unwrap().to_owned()
    }
}

pub(crate) const MAP: &str = "{{ if .Values.broken }}{{ fail \"it is broken\" }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-map'}
data: {message: here}
";
pub(crate) const GATE: &str = "{{ if .Values.gate }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}-gate'}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
{{ end }}
";
const HOOK: &str = "{{ if .Values.hook }}
apiVersion: batch/v1
kind: Job
metadata: {name: '{{ .Release.Name }}-job', annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
{{ end }}
";
pub(crate) const BACKUP: &str = "
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
";

/// A bench whose releases have hooks, stages and backups.
async fn site(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    for (name, text) in [("map.yaml", MAP), ("gate.yaml", GATE), ("hook.yaml", HOOK)] {
        bench.add_template(name, text);
    }
    std::fs::write(bench.folder.path().join("web/backup.yaml"), BACKUP).unwrap();
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n  stages:\n  - {{name: map, objects: [{{kind: ConfigMap}}]}}\n  \
         - {{name: gate, objects: [{{kind: Ingress}}]}}\n  procedures:\n  - {{name: backup, job: backup.yaml, schedule: {{cron: '0 3 * * *'}}}}\n"
    ));
    define_runs(&bench, &["WebBackup"]).await;
    Some(bench)
}

/// A release with a hook, a run for the first one, and drift of that: what counts is counted once more.
async fn round(bench: &Bench, name: &str) {
    bench.apply_web(name, json!({"hook": true})).await;
    finish_job_of(bench, name, "Complete").await;
    bench.wait_revision(name, 1).await;
    begin(bench, "WebBackup", name, json!({})).await;
    let job = wait_job(bench, "WebBackup", name, "job", 1).await;
    end_pod(bench, &job, "Succeeded", "").await;
    wait_phase(bench, "WebBackup", name, "Succeeded").await;
    let maps = bench.config_maps();
    let other = Patch::Merge(json!({"data": {"message": "elsewhere"}}));
    maps.patch("shop-map", &PatchParams::default(), &other)
        .await
        .unwrap();
    bench
        .wait("the correction", &maps, "shop-map", |map| {
            (map["data"]["message"] == "here").then_some(())
        })
        .await;
}

#[tokio::test]
async fn each_panel_has_an_answer() {
    let Some(programs) = PrometheusPrograms::find_or_skip() else {
        return;
    };
    let Some(bench) = site("each_panel_has_an_answer").await else {
        return;
    };
    let namespace = format!("--leader-election-namespace={}", bench.namespace);
    let flags = [
        "--leader-elect",
        "--leader-election-id=watched",
        namespace.as_str(),
    ];
    let operator = bench.operator_with(&flags).await;
    let watched = Watched::start(&programs, &operator);
    bench.apply_web("slow", json!({"gate": true})).await;
    bench.apply_web("broken", json!({"broken": true})).await;
    round(&bench, "shop").await;
    // What appears with a first number has not grown: Prometheus has to have seen that before the next.
    for family in [
        "steersman_hook_duration_seconds_count",
        "steersman_stage_duration_seconds_count",
        "steersman_procedure_runs_total",
        "steersman_release_drift_corrections_total",
    ] {
        watched.answer(family).await;
    }
    round(&bench, "store").await;
    watched.fills_panels(false).await;

    // What the panels say is what kubectl would.
    let webs = bench.webs().list(&Default::default()).await.unwrap().items;
    let is_not_ready = |web: &&kube::api::DynamicObject| {
        condition(&serde_json::to_value(web).unwrap(), "Ready").is_some_and(|(status, ..)| status == "False")
    };
    let not_ready = webs.iter().filter(is_not_ready).count();
    assert_eq!(watched.number("Resources").await, webs.len().to_string());
    assert_eq!(watched.number("Not ready").await, not_ready.to_string());
    assert_eq!(watched.number("Failed or stalled").await, "1");
    assert_eq!(watched.number("Waiting at a gate").await, "1");
    operator.stop().await.unwrap();
}
