//! Gates before what a chart looks up.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::gates::{PLAIN, SERVICE, wait_kept_out};
use super::values::{map, with_procedures};
use super::{awaited, end_pod, jobs, released, runs, wait_job};
use crate::bench::Bench;

const OLD: &str = "data: {message";
const LOOKED_UP: &str = "data: {seen: '{{ ((lookup \"v1\" \"ConfigMap\" .Release.Namespace \"settings\").data | default dict).mode }}', message";

/// A release whose map has what another map says.
async fn site(test: &str, kind: &str, procedure: &str) -> Option<Bench> {
    let bench = with_procedures(test, &[kind], procedure).await?;
    bench.edit("map.yaml", OLD, LOOKED_UP);
    let watches = std::fs::read_to_string(bench.folder.path().join("watches.yaml")).unwrap();
    bench.watches(&format!("{watches}  reconcilePeriod: 1s\n"));
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"mode": "first"}});
    bench.create(&bench.config_maps(), settings).await;
    Some(bench)
}

/// Has the operator look at the release much more often than it looks things up.
async fn rouse(bench: &Bench) {
    for number in 0..20 {
        let patch = json!({"metadata": {"annotations": {"rouse": number.to_string()}}});
        bench.patch_web("shop", patch).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn set_mode(bench: &Bench, mode: &str) {
    let patch = Patch::Merge(json!({"data": {"mode": mode}}));
    let (maps, parameters) = (bench.config_maps(), PatchParams::default());
    maps.patch("settings", &parameters, &patch).await.unwrap();
}

async fn wait_seen(bench: &Bench, mode: &str) {
    bench
        .wait("what is looked up", &bench.config_maps(), "shop-map", |map| {
            (map["data"]["seen"] == mode).then_some(())
        })
        .await;
}

#[tokio::test]
async fn what_is_looked_up_waits_for_one_backup_each_time_it_matters() {
    let Some(bench) = site("procedurelookup", "WebBackup", PLAIN).await else {
        return;
    };
    let operator = released(&bench).await;
    wait_seen(&bench, "first").await;
    let mut former = String::new();
    for (number, mode) in ["second", "first", "second"].into_iter().enumerate() {
        let before = map(&bench).await;
        set_mode(&bench, mode).await;
        let run = awaited(&bench, &former).await;
        let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
        rouse(&bench).await;
        assert_eq!(map(&bench).await, before, "{run}");
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_seen(&bench, mode).await;
        rouse(&bench).await;
        let all = runs(&bench, "WebBackup");
        let made = all.list(&Default::default()).await.unwrap().items.len();
        assert_eq!(made, number + 1, "runs");
        former = run;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_of_a_step_bring_nothing_that_is_looked_up_before_its_gate() {
    let Some(bench) = site("procedurefinds", "WebService", SERVICE).await else {
        return;
    };
    let operator = released(&bench).await;
    wait_seen(&bench, "first").await;
    set_mode(&bench, "second").await;
    let run = awaited(&bench, "").await;
    wait_kept_out(&bench, &run).await;
    assert_eq!(map(&bench).await["seen"], "first");
    // What was found before the step is not forgotten over it, and waits for the same run.
    rouse(&bench).await;
    let all = runs(&bench, "WebService")
        .list(&Default::default())
        .await
        .unwrap();
    assert_eq!(all.items.len(), 1, "{all:#?}");
    wait_kept_out(&bench, &run).await;
    operator.stop().await.unwrap();
}

const HOOK: &str = r#"apiVersion: batch/v1
kind: Job
metadata: {name: shop-hook, annotations: {"helm.sh/hook": pre-upgrade}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
"#;

#[tokio::test]
async fn a_run_lets_one_revision_through_whatever_is_found_meanwhile() {
    let Some(bench) = site("procedureonce", "WebBackup", PLAIN).await else {
        return;
    };
    bench.add_template("hook.yaml", HOOK);
    let operator = released(&bench).await;
    set_mode(&bench, "second").await;
    let first = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    bench
        .wait("the hook", &jobs(&bench), "shop-hook", |job| {
            job.pointer("/metadata/uid").map(|_| ())
        })
        .await;
    set_mode(&bench, "third").await;
    end_pod(&bench, "shop-hook", "Succeeded", "").await;
    wait_seen(&bench, "second").await;
    let second = awaited(&bench, &first).await;
    wait_job(&bench, "WebBackup", &second, "job", 1).await;
    // Nor does the next process take the former run for another one.
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(awaited(&bench, "").await, second);
    assert_eq!(map(&bench).await["seen"], "second");
    end_pod(&bench, &job, "Succeeded", "").await;
    let hook = jobs(&bench).get("shop-hook").await.unwrap().metadata.uid;
    bench
        .wait("the next hook", &jobs(&bench), "shop-hook", |job| {
            let uid = job.pointer("/metadata/uid")?.as_str();
            (uid != hook.as_deref()).then_some(())
        })
        .await;
    end_pod(&bench, "shop-hook", "Succeeded", "").await;
    wait_seen(&bench, "third").await;
    operator.stop().await.unwrap();
}
