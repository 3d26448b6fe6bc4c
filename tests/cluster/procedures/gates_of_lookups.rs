//! Gates before what a chart looks up.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::gates::PLAIN;
use super::values::{map, with_procedures};
use super::{awaited, end_pod, released, runs, wait_job};
use crate::bench::Bench;

const OLD: &str = "data: {message";
const LOOKED_UP: &str = "data: {seen: '{{ ((lookup \"v1\" \"ConfigMap\" .Release.Namespace \"settings\").data | default dict).mode }}', message";

/// A release whose map has what another map says.
async fn site() -> Option<Bench> {
    let bench = with_procedures("procedurelookup", &["WebBackup"], PLAIN).await?;
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

async fn wait_seen(bench: &Bench, mode: &str) {
    bench
        .wait("what is looked up", &bench.config_maps(), "shop-map", |map| {
            (map["data"]["seen"] == mode).then_some(())
        })
        .await;
}

#[tokio::test]
async fn what_is_looked_up_waits_for_one_backup_each_time_it_matters() {
    let Some(bench) = site().await else {
        return;
    };
    let operator = released(&bench).await;
    wait_seen(&bench, "first").await;
    let mut former = String::new();
    for (number, mode) in ["second", "first", "second"].into_iter().enumerate() {
        let before = map(&bench).await;
        let patch = Patch::Merge(json!({"data": {"mode": mode}}));
        let maps = bench.config_maps();
        maps.patch("settings", &PatchParams::default(), &patch)
            .await
            .unwrap();
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
