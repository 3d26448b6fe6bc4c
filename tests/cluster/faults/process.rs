//! What happens to the process and not to its requests.

use std::process::Command;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, FaultProxy, OperatorCommand, OperatorProcess};

use super::lane::Lane;
use crate::bench::{Bench, PATIENCE, wait_for_line, wait_until};
use crate::leader::replica;

pub(crate) async fn signal(process: &OperatorProcess, name: &str) {
    let id = process.id().await.unwrap().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// The acting replica stands still until another one acts, and wakes up with work to do.
#[tokio::test]
async fn a_leader_that_was_stopped_writes_nothing_when_it_wakes_up() {
    let Some(mut bench) = Bench::with_kind("a_leader_that_was_stopped").await else {
        return;
    };
    let user = bench.user.clone();
    let proxy = FaultProxy::start(bench.cluster, &user).await.unwrap();
    bench.user = proxy.user().clone();
    let first = replica(&bench, "first.log");
    wait_for_line(&first, "Watching resource").await;
    bench.user = user;
    let second = replica(&bench, "second.log");
    wait_for_line(&second, "Attempting to acquire leader lease").await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;

    signal(&first, "-STOP").await;
    wait_for_line(&second, "Watching resource").await;
    bench.apply_web("shop", json!({"message": "bye"})).await;
    bench.wait_revision("shop", 2).await;
    let before = proxy.trace().len();
    bench.apply_web("other", json!({})).await;
    signal(&first, "-CONT").await;
    wait_for_line(&first, "lost the lease").await;
    bench.wait_revision("other", 1).await;
    let trace = proxy.trace();
    let late: Vec<_> = trace[before..]
        .iter()
        .filter(|call| call.is_write() && call.resource != "leases")
        .collect();
    assert!(late.is_empty(), "{late:#?}");
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_lease_that_is_deleted_or_refused_for_a_moment_is_kept() {
    let Some(mut bench) = Bench::with_kind("a_lease_that_is_deleted").await else {
        return;
    };
    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    bench.user = proxy.user().clone();
    let operator = replica(&bench, "operator.log");
    wait_for_line(&operator, "Watching resource").await;
    let throttled = proxy.inject(Fault::on("update", "leases").times(2).refuse_for(429, 1));
    wait_until("the fault", || proxy.struck(throttled) == 2).await;
    let leases = bench.api("coordination.k8s.io", "v1", "Lease", "leases");
    leases.delete("the-lease", &Default::default()).await.unwrap();
    bench
        .wait("the lease", &leases, "the-lease", |lease: &Value| {
            lease.is_object().then_some(())
        })
        .await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

/// Ten changes a second: the last one counts, and not each is a revision.
#[tokio::test]
async fn of_changes_in_quick_succession_the_last_one_is_released() {
    let Some(lane) = Lane::ready("of_changes_in_quick_succession").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let slow = lane.proxy.inject(
        Fault::on("patch", "configmaps")
            .always()
            .delay(Duration::from_millis(500)),
    );
    for number in 0..50 {
        lane.bench
            .apply_web("shop", json!({"message": format!("change {number}")}))
            .await;
    }
    lane.bench
        .wait(
            "the last change",
            &lane.bench.config_maps(),
            "shop-config",
            |map| (map["data"]["message"] == "change 49").then_some(()),
        )
        .await;
    lane.proxy.take_back(slow);
    let web = lane
        .bench
        .wait("the report", &lane.bench.webs(), "shop", |web| {
            (web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation")
                && web["metadata"]["generation"] == 51)
                .then(|| web.clone())
        })
        .await;
    let revision = web["status"]["revision"].as_u64().unwrap();
    assert!(revision < 40, "{revision} revisions");
    lane.stop().await;
}

/// Many resources at once, and their end at once.
#[tokio::test]
async fn a_hundred_resources_come_and_go_together() {
    let Some(lane) = Lane::ready("a_hundred_resources_come_and_go").await else {
        return;
    };
    let names: Vec<String> = (0..100).map(|number| format!("shop-{number:03}")).collect();
    for name in &names {
        lane.bench.apply_web(name, json!({"replicas": 0})).await;
    }
    for name in &names {
        lane.bench.wait_revision(name, 1).await;
    }
    for name in &names {
        lane.bench.delete_web(name).await;
    }
    for name in &names {
        lane.bench.wait_gone(&lane.bench.webs(), name).await;
    }
    assert_eq!(lane.bench.revisions().await, [""; 0]);
    lane.stop().await;
}

/// Next to no files may be open, and none can be written but the log.
#[tokio::test]
async fn an_operator_with_few_descriptors_and_no_room_for_files_works() {
    let Some(bench) = Bench::with_kind("an_operator_with_few_descriptors").await else {
        return;
    };
    let starter = bench.folder.path().join("starter.sh");
    let program = env!("CARGO_BIN_EXE_steersman");
    std::fs::write(
        &starter,
        format!("#!/bin/sh\nulimit -n 64 && ulimit -f 2048 && exec {program} \"$@\"\n"),
    )
    .unwrap();
    assert!(
        Command::new("chmod")
            .arg("+x")
            .arg(&starter)
            .status()
            .unwrap()
            .success()
    );
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: &starter,
        folder: bench.folder.path(),
        kubeconfig: bench.user.kubeconfig(),
        arguments: &["--zap-log-level=info"],
        environment: &[("TMPDIR", "/nonexistent"), ("HOME", "/nonexistent")],
        log: &bench.folder.path().join("limited.log"),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    for number in 0..30 {
        bench
            .apply_web(&format!("shop-{number}"), json!({"replicas": 0}))
            .await;
    }
    for number in 0..30 {
        bench.wait_revision(&format!("shop-{number}"), 1).await;
    }
    operator.stop().await.unwrap();
}

/// A chart that is written anew while it is being released is released as it was, or as it is then.
#[tokio::test]
async fn a_chart_that_changes_during_a_release_is_never_half_of_each() {
    let Some(lane) = Lane::new("a_chart_that_changes_during_a_release").await else {
        return;
    };
    for name in ["first", "second"] {
        let template = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}\ndata:\n  edition: old\n"
        );
        lane.bench.add_template(&format!("{name}.yaml"), &template);
    }
    lane.start().await;
    let slow = lane.proxy.inject(
        Fault::on("create", "secrets")
            .part("sh.helm.release.v1.shop.v1")
            .delay(Duration::from_secs(1)),
    );
    lane.bench.apply_web("shop", json!({})).await;
    wait_until("the release", || lane.proxy.struck(slow) == 1).await;
    for name in ["first.yaml", "second.yaml"] {
        lane.bench.edit(name, "edition: old", "edition: new");
    }
    let maps = lane.bench.config_maps();
    for name in ["shop-first", "shop-second"] {
        lane.bench
            .wait("the new chart", &maps, name, |map| {
                (map.pointer("/data/edition")? == "new").then_some(())
            })
            .await;
    }
    // The objects may be those of two revisions meanwhile, as the first may be interrupted; a revision is of one chart.
    let editions = async |revision: &[&str]| {
        let shop = ["get", "manifest", "shop", "--namespace", &lane.bench.namespace];
        let manifest = lane
            .bench
            .cluster
            .helm(&[&shop[..], revision].concat())
            .await
            .unwrap();
        ["old", "new"].map(|edition| manifest.matches(&format!("edition: {edition}")).count())
    };
    assert_eq!(editions(&["--revision", "1"]).await, [2, 0]);
    assert_eq!(editions(&[]).await, [0, 2]);
    lane.stop().await;
}

/// An event that is never told is made up for by the next list.
#[tokio::test]
async fn what_a_watch_leaves_out_is_found_by_its_next_list() {
    use futures::StreamExt as _;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::watcher::{self, Event};
    use steersman_operator::schedule::resynced;

    let Some(bench) = Bench::new("what_a_watch_leaves_out").await else {
        return;
    };
    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    for name in ["kept", "lost"] {
        bench
            .config_maps()
            .patch(name, &PatchParams::apply("test"), &Patch::Apply(map(name)))
            .await
            .unwrap();
    }
    let unseen = proxy.inject(
        Fault::on("watch", "configmaps")
            .name("lost")
            .skip_event("DELETED"),
    );
    let api: kube::Api<ConfigMap> =
        kube::Api::namespaced(proxy.user().client().await.unwrap(), &bench.namespace);
    let mut events = std::pin::pin!(resynced(api, watcher::Config::default(), Duration::from_secs(2)));
    let mut listed = Vec::new();
    let begun = std::time::Instant::now();
    loop {
        assert!(begun.elapsed() < PATIENCE, "{listed:?} are listed");
        match events.next().await.unwrap() {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(map)) => listed.push(map.metadata.name.unwrap()),
            Ok(Event::InitDone) if listed.iter().any(|name| name == "lost") => {
                let _ = bench.config_maps().delete("lost", &Default::default()).await;
            }
            Ok(Event::InitDone) => break,
            Ok(Event::Delete(map)) => panic!("{map:?} was to be left out"),
            _ => {}
        }
    }
    assert!(listed.contains(&"kept".to_owned()), "{listed:?}");
    assert_eq!(proxy.struck(unseen), 1);
}
