//! Gates before what comes from other objects.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::gates::{SERVICE, wait_kept_out};
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, wait_job};
use crate::bench::Bench;

const MODE: &str = "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true, changed: [mode]}}\n";

/// A release that has its mode from a map of somebody else's.
async fn site(test: &str, kind: &str, procedures: &str) -> Option<Bench> {
    let from = "  valuesFrom: [{kind: ConfigMap, name: settings, valuesKey: mode, targetPath: mode}]\n";
    let bench = with_procedures(test, &[kind], &format!("{procedures}{from}")).await?;
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"mode": "first"}});
    bench.create(&bench.config_maps(), settings).await;
    Some(bench)
}

async fn set_mode(bench: &Bench, mode: &str) {
    let patch = Patch::Merge(json!({"data": {"mode": mode}}));
    bench
        .config_maps()
        .patch("settings", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_another_object_has_waits_for_a_backup_each_time_it_changes() {
    let Some(bench) = site("procedurefrom", "WebBackup", MODE).await else {
        return;
    };
    let operator = released(&bench).await;
    wait_map(&bench, "mode", "first").await;
    let mut former = String::new();
    for mode in ["second", "first", "second"] {
        let before = map(&bench).await;
        set_mode(&bench, mode).await;
        let run = awaited(&bench, &former).await;
        let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
        assert_eq!(map(&bench).await, before, "{run}");
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_map(&bench, "mode", mode).await;
        former = run;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_of_a_step_bring_nothing_else_before_its_gate() {
    let service = SERVICE
        .replace("mode:", "size:")
        .replace("{size: down}", "{size: 7}");
    let Some(bench) = site("procedurebrings", "WebService", &service).await else {
        return;
    };
    let operator = released(&bench).await;
    wait_map(&bench, "mode", "first").await;
    set_mode(&bench, "second").await;
    let run = awaited(&bench, "").await;
    wait_kept_out(&bench, &run).await;
    assert_eq!(map(&bench).await["mode"], "first");
    operator.stop().await.unwrap();
}
