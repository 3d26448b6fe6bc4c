//! Helm's own commands while a revision waits at a gate.

use std::time::Duration;

use serde_json::{Value, json};
use steersman_testkit::cluster::helm_operator_or_say;

use super::{give_address, ingresses, install, shown_stages, site, stages, wait_stages};
use crate::bench::{Bench, PATIENCE, condition};
use crate::faults::process::signal;
use crate::go_operator::go_operator;

const PARTS: [&str; 2] = ["a", "b"];

async fn helm(bench: &Bench, arguments: &[&str]) -> Result<String, String> {
    let place = ["--namespace", bench.namespace.as_str()];
    let said = bench.cluster.helm(&[arguments, &place].concat()).await;
    said.map_err(|error| error.to_string())
}

/// Waits until the release is what its resource asks for, with an address for what has none. Which revision that is depends on
/// how much of the history Helm had deleted when the operator looked.
async fn wait_second(bench: &Bench, name: &str) {
    give_address(bench, &format!("{name}-a-2")).await;
    give_address(bench, &format!("{name}-b-1")).await;
    let is_deployed = |web: &Value| {
        let (ready, _, _) = condition(web, "Ready")?;
        let stages = shown_stages(web);
        let are_ready = !stages.is_empty() && stages.split(", ").all(|stage| stage.ends_with(" Ready"));
        (ready == "True" && are_ready).then_some(())
    };
    bench.wait("the release", &bench.webs(), name, is_deployed).await;
}

#[tokio::test]
async fn helms_commands_at_a_gate_leave_what_the_resource_asks_for() {
    let Some(bench) = site("gates-helm", &PARTS, &stages(&PARTS)).await else {
        return;
    };
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    let ingresses = ingresses(&bench);
    let operator = bench.operator_with(&[]).await;
    // What Helm does is seen as it goes on, or when it is over.
    let sights = ["seen", "unseen"];
    let names = |sight| ["up", "back", "forced", "gone"].map(|name| format!("{sight}-{name}"));
    for sight in sights {
        let names = names(sight);
        let [up, back, forced, gone] = &names;
        for name in &names {
            install(&bench, name, &PARTS).await;
            bench.apply_web(name, json!({"a": "2"})).await;
            wait_stages(&bench, name, "a 2 Progressing, b 2 Pending").await;
        }
        if sight == "unseen" {
            signal(&operator, "-STOP").await;
        }
        let refused = helm(&bench, &["upgrade", up, chart]).await.unwrap_err();
        assert!(refused.contains("another operation"), "{refused}");
        let refused = helm(&bench, &["rollback", back, "1"]).await.unwrap_err();
        assert!(refused.contains("conflict"), "{refused}");
        helm(&bench, &["rollback", forced, "1", "--force-conflicts"])
            .await
            .unwrap();
        helm(&bench, &["uninstall", gone]).await.unwrap();
        if sight == "unseen" {
            signal(&operator, "-CONT").await;
        }
        for name in &names {
            wait_second(&bench, name).await;
        }
        for name in [up, back, forced] {
            bench.wait_gone(&ingresses, &format!("{name}-a-1")).await;
        }
    }
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    for name in sights.into_iter().flat_map(names) {
        wait_second(&bench, &name).await;
        let history = helm(&bench, &["history", &name]).await.unwrap();
        let last = history.trim_end().lines().last().unwrap_or_default();
        assert!(
            last.contains("deployed") && last.contains(" complete"),
            "{history}"
        );
    }
    // What Helm has left of the revision before goes with the resource.
    for name in ["seen-gone", "unseen-gone"] {
        bench.delete_web(name).await;
        bench.wait_gone(&bench.webs(), name).await;
        bench.wait_gone(&ingresses, &format!("{name}-a-1")).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_go_operator_finishes_what_waits_at_a_gate_and_hands_it_back() {
    let Some(binary) = helm_operator_or_say("the_go_operator_finishes_what_waits") else {
        return;
    };
    let Some(bench) = site("gates-go", &PARTS, &stages(&PARTS)).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    install(&bench, "site", &PARTS).await;
    bench.apply_web("site", json!({"a": "2", "b": "2"})).await;
    wait_stages(&bench, "site", "a 2 Progressing, b 2 Pending").await;
    operator.kill().await.unwrap();

    // It knows of no stages, and deletes a revision that is not deployed.
    let go = go_operator(&bench, &binary).await;
    let ingresses = ingresses(&bench);
    for part in PARTS {
        give_address(&bench, &format!("site-{part}-2")).await;
        bench.wait_gone(&ingresses, &format!("site-{part}-1")).await;
    }
    let upgraded = async {
        while bench
            .revisions()
            .await
            .last()
            .is_none_or(|last| !last.ends_with(" deployed"))
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, upgraded).await.unwrap();
    go.stop().await.unwrap();

    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({"a": "2", "b": "3"})).await;
    wait_stages(&bench, "site", "a 3 Ready, b 3 Progressing").await;
    give_address(&bench, "site-b-3").await;
    bench.wait_revision("site", 3).await;
    bench.wait_gone(&ingresses, "site-b-2").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_release_of_helms_is_taken_over_past_its_stages_where_all_is_there() {
    let Some(bench) = site("gates-adopted", &PARTS, &stages(&PARTS)).await else {
        return;
    };
    for name in ["whole", "part"] {
        bench.helm_install(name, "web").await;
    }
    let ingresses = ingresses(&bench);
    ingresses.delete("part-b-1", &Default::default()).await.unwrap();
    let operator = bench.operator_with(&[]).await;
    for name in ["whole", "part"] {
        bench.apply_web(name, json!({})).await;
    }
    bench.wait_revision("whole", 1).await;
    wait_stages(&bench, "part", "a 2 Progressing, b 2 Pending").await;
    assert!(ingresses.get_opt("part-b-1").await.unwrap().is_none());
    operator.stop().await.unwrap();
}
