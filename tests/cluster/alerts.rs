//! What goes wrong fires the alert that is for it, and no other one, by a real Prometheus that scrapes an operator.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::prometheus::PrometheusPrograms;

use crate::bench::{Bench, condition};
use crate::dashboard::{BACKUP, GATE, MAP, Watched};
use crate::hooks::finish_job_of;
use crate::procedures::{begin, define_runs, end_pod, wait_job, wait_phase};

const JOB: &str = "{{ if .Values.job }}
apiVersion: batch/v1
kind: Job
metadata: {name: '{{ .Release.Name }}-job'}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
{{ end }}
";
/// Kinds with stages, one of which gives up soon, and with a schedule.
const ENTRIES: &str = "
- group: GROUP
  version: v1
  kind: Web
  chart: web
  stages: [{name: map, objects: [{kind: ConfigMap}]}, {name: gate, objects: [{kind: Ingress}]}]
  procedures: [{name: backup, job: backup.yaml}]
- group: GROUP
  version: v1
  kind: Shop
  chart: web
  stages: [{name: gate, objects: [{kind: Ingress}], timeout: 2s}]
- group: GROUP
  version: v1
  kind: Store
  chart: web
  procedures: [{name: dump, job: backup.yaml, schedule: {cron: '* * * * *'}}]
";

async fn site(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    for (name, text) in [("map.yaml", MAP), ("gate.yaml", GATE), ("job.yaml", JOB)] {
        bench.add_template(name, text);
    }
    std::fs::write(bench.folder.path().join("web/backup.yaml"), BACKUP).unwrap();
    bench.watches(&ENTRIES.replace("GROUP", &bench.group));
    define_runs(&bench, &["WebBackup", "Shop", "Store"]).await;
    Some(bench)
}

/// Somebody changes an object of a release, and the operator puts it back.
async fn change(bench: &Bench, name: &str) {
    let maps = bench.config_maps();
    let map = format!("{name}-map");
    let other = Patch::Merge(json!({"data": {"message": "elsewhere"}}));
    maps.patch(&map, &PatchParams::default(), &other).await.unwrap();
    bench
        .wait("the correction", &maps, &map, |map| {
            (map["data"]["message"] == "here").then_some(())
        })
        .await;
}

/// A revision of a release that nobody can read.
fn unreadable(release: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "stringData": {"release": "none"},
        "metadata": {"name": format!("sh.helm.release.v1.{release}.v1"),
            "labels": {"owner": "helm", "name": release, "status": "deployed", "version": "1"}}})
}

#[tokio::test]
async fn what_goes_wrong_fires_its_alert_and_no_other() {
    let Some(programs) = PrometheusPrograms::find_or_skip() else {
        return;
    };
    let Some(bench) = site("what_goes_wrong_fires_its_alert").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let watched = Watched::start(&programs, &operator);
    bench.apply_cr("Store", "stores", "late", json!({})).await;
    bench.apply_web("shop", json!({})).await;
    bench.apply_web("slow", json!({"gate": true})).await;
    bench.apply_web("broken", json!({"broken": true})).await;
    bench
        .apply_cr("Shop", "shops", "unready", json!({"job": true}))
        .await;
    let is_ready = |shop: &Value| (condition(shop, "Ready")?.0 == "True").then_some(());
    let shops = bench.kind_api("Shop", "shops");
    bench.wait("Ready", &shops, "unready", is_ready).await;
    finish_job_of(&bench, "unready", "Failed").await;
    bench
        .apply_cr("Shop", "shops", "failed", json!({"gate": true}))
        .await;
    bench.create(&bench.secrets(), unreadable("stalled")).await;
    bench.apply_cr("Shop", "shops", "stalled", json!({})).await;

    bench.apply_web("changed", json!({})).await;
    bench.wait_revision("changed", 1).await;
    // What appears with a first number has not grown: Prometheus has to have seen that before the next.
    change(&bench, "changed").await;
    watched.answer("steersman_release_drift_corrections_total").await;
    for _ in 0..2 {
        change(&bench, "changed").await;
    }
    bench.wait_revision("shop", 1).await;
    begin(&bench, "WebBackup", "shop", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "shop", "job", 1).await;
    end_pod(&bench, &job, "Failed", "no room").await;
    wait_phase(&bench, "WebBackup", "shop", "Failed").await;

    let of_operator = [
        "SteersmanReconcilesSlow",
        "SteersmanQueueGrows",
        "SteersmanMemoryHigh",
    ];
    let of_releases = format!("alertname!~\"{}\"", of_operator.join("|"));
    let expected = [
        ("SteersmanReleaseFailed", "broken"),
        ("SteersmanReleaseFailed", "failed"),
        ("SteersmanResourceStalled", "stalled"),
        ("SteersmanResourceNotReady", "unready"),
        ("SteersmanStageStuck", "slow"),
        ("SteersmanDriftRecurring", "changed"),
        ("SteersmanProcedureLate", "late"),
        ("SteersmanProcedureFailing", "backup"),
    ];
    watched.fires(&of_releases, &expected).await;
    for alert in of_operator {
        let firing = format!("ALERTS{{alertstate=\"firing\",alertname=\"{alert}\"}}");
        watched.answer(&firing).await;
    }
    operator.stop().await.unwrap();
}
