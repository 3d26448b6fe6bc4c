//! A release waits for what it depends on.

use std::time::Duration;

use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::{keepers, say, small_chart, wait_not_ready, watches, with_keepers};
use crate::bench::{Bench, condition};

/// Who waits is watched for so long.
const WINDOW: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_release_is_begun_when_its_dependency_is_ready_and_waits_without_a_request() {
    let Some(bench) = with_keepers("dependency_late").await else {
        return;
    };
    // Looking again and again is no reason to ask again.
    let operator = bench.operator_with(&["--reconcile-period=1s"]).await;
    let secret = "hunter2canary";
    bench
        .apply_web("shop", json!({"keeper": "zk", "password": secret}))
        .await;
    let webs = bench.webs();
    let web = wait_not_ready(&bench, &webs, "shop", "zk: it is not there").await;
    let (status, reason, _) = condition(&web, "Ready").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "DependencyNotReady")
    );
    assert_eq!(web.pointer("/metadata/finalizers"), None, "nothing is written");
    assert_eq!(bench.revisions().await, Vec::<String>::new());

    tokio::time::sleep(Duration::from_secs(2)).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    tokio::time::sleep(WINDOW).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    let others = audit.filter(|request| request.verb != "watch" && request.resource != "leases");
    assert!(others.is_empty(), "{others}");

    let keeper =
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Keeper", "metadata": {"name": "zk"}});
    bench.create(&keepers(&bench), keeper).await;
    wait_not_ready(&bench, &webs, "shop", "zk: its status says nothing yet").await;
    say(&bench, "zk", "False", &format!("1 of 3 say {secret}")).await;
    let web = wait_not_ready(&bench, &webs, "shop", "Quorum: 1 of 3 say").await;
    assert!(
        !web.to_string()
            .replace(&web["spec"].to_string(), "")
            .contains(secret)
    );
    assert_eq!(bench.revisions().await, Vec::<String>::new());
    say(&bench, "zk", "True", "3 of 3").await;
    bench.wait_revision("shop", 1).await;

    // What it depends on is not looked at any longer.
    let mark = bench.cluster.audit_mark().await.unwrap();
    say(&bench, "zk", "False", "2 of 3").await;
    tokio::time::sleep(WINDOW).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).resource("keepers");
    assert!(
        audit.filter(|request| request.verb == "get").is_empty(),
        "{audit}"
    );
    assert!(!operator.log_text().contains(secret));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_upgrade_waits_and_what_is_deployed_is_healed_meanwhile() {
    let Some(bench) = with_keepers("dependency_unready_again").await else {
        return;
    };
    small_chart(&bench);
    let keeper = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Keeper", "metadata": {"name": "keeper"}});
    bench.create(&keepers(&bench), keeper).await;
    say(&bench, "keeper", "True", "3 of 3").await;
    let operator = bench.released(json!({})).await;
    say(&bench, "keeper", "False", "2 of 3").await;
    bench.apply_web("shop", json!({"message": "second"})).await;
    wait_not_ready(&bench, &bench.webs(), "shop", "2 of 3").await;
    let maps = bench.config_maps();
    maps.delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    let message = |map: &Value| map["data"]["message"].as_str().map(str::to_owned);
    let back = bench.wait("the object", &maps, "shop-config", message).await;
    assert_eq!(back, "hello");
    wait_not_ready(&bench, &bench.webs(), "shop", "2 of 3").await;

    // A process that is killed while it waits leaves nothing behind that would be needed.
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    wait_not_ready(&bench, &bench.webs(), "shop", "2 of 3").await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    say(&bench, "keeper", "True", "3 of 3").await;
    bench.wait_revision("shop", 2).await;
    let is_second = |map: &Value| (map["data"]["message"] == "second").then_some(());
    bench.wait("the upgrade", &maps, "shop-config", is_second).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_kind_that_is_not_served_yet_is_waited_for() {
    let Some(bench) = Bench::with_kind("dependency_kind").await else {
        return;
    };
    small_chart(&bench);
    watches(&bench, super::DEPENDS_ON);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    wait_not_ready(&bench, &bench.webs(), "shop", "the API server does not serve").await;
    bench.define("Keeper", "keepers").await;
    wait_not_ready(&bench, &bench.webs(), "shop", "keeper: it is not there").await;
    let keeper = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Keeper", "metadata": {"name": "keeper"}});
    bench.create(&keepers(&bench), keeper).await;
    say(&bench, "keeper", "True", "").await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_name_that_is_none_is_said_and_a_changed_spec_mends_it() {
    let Some(bench) = with_keepers("dependency_name").await else {
        return;
    };
    small_chart(&bench);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"keeper": "Not A Name"})).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(
        message.contains("dependsOn[0]") && message.contains("`Not A Name` can't be the name"),
        "{message}"
    );
    bench.apply_web("shop", json!({"keeper": "zk"})).await;
    wait_not_ready(&bench, &bench.webs(), "shop", "zk: it is not there").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn many_that_wait_share_connections_and_each_is_woken_by_its_own() {
    let Some(bench) = with_keepers("dependency_many").await else {
        return;
    };
    small_chart(&bench);
    let operator = bench.operator_with(&[]).await;
    let names: Vec<String> = (0..40).map(|number| format!("web-{number}")).collect();
    for name in &names {
        bench
            .apply_web(name, json!({"keeper": format!("{name}-keeper")}))
            .await;
    }
    let webs = bench.webs();
    for name in &names {
        wait_not_ready(&bench, &webs, name, "it is not there").await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    for name in ["web-3-keeper", "web-39-keeper"] {
        let keeper = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Keeper", "metadata": {"name": name}});
        bench.create(&keepers(&bench), keeper).await;
        say(&bench, name, "True", "").await;
    }
    bench.wait_revision("web-3", 1).await;
    bench.wait_revision("web-39", 1).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let read = audit.by_user(bench.user.name()).resource("keepers").verb("get");
    let others = read.filter(|request| !["web-3-keeper", "web-39-keeper"].contains(&request.name.as_str()));
    assert!(others.is_empty(), "{others}");
    assert_eq!(bench.revisions().await.len(), 2);
    let found = bench.config_maps().list(&ListParams::default()).await.unwrap();
    let made = found.items.iter().filter_map(|map| map.metadata.name.as_deref());
    assert_eq!(made.filter(|name| name.starts_with("web-")).count(), 2);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused_and_not_read() {
    let Some(bench) = with_keepers("dependency_bounds").await else {
        return;
    };
    small_chart(&bench);
    let entry = super::DEPENDS_ON.replace("name: \"", "namespace: \"{{ .Values.elsewhere }}\", name: \"");
    watches(&bench, &format!("{entry}  confine: {{}}\n"));
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"elsewhere": "kube-system"})).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(
        message.contains("kube-system/keeper") && message.contains("`confine.namespaces`"),
        "{message}"
    );
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let asked = audit.by_user(bench.user.name()).resource("keepers");
    assert!(asked.is_empty(), "{asked}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_account_without_the_right_to_look_is_told_so() {
    let Some(bench) = with_keepers("dependency_account").await else {
        return;
    };
    small_chart(&bench);
    watches(
        &bench,
        &format!("{}  serviceAccountName: deployer\n", super::DEPENDS_ON),
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let words = format!("system:serviceaccount:{}:deployer", bench.namespace);
    let web = wait_not_ready(&bench, &bench.webs(), "shop", &words).await;
    let (_, _, message) = condition(&web, "Reconciling").unwrap();
    assert!(
        message.contains("can't be read") && message.contains("cannot get"),
        "{message}"
    );
    operator.stop().await.unwrap();
}
