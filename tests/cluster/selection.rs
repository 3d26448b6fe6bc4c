//! Which custom resources are released, and what becomes of those that no longer match.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE, wait_for_line};

const SELECTOR: &str = "  selector: {matchLabels: {team: a}}\n";

fn watch(bench: &Bench, more: &str) -> String {
    let group = &bench.group;
    format!("- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{more}")
}

async fn label(bench: &Bench, name: &str, team: Value) {
    bench
        .patch_web(name, json!({"metadata": {"labels": {"team": team}}}))
        .await;
}

fn is_held(web: &Value) -> bool {
    web["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty())
}

/// Waits until the resource is let go, and gives it.
async fn wait_let_go(bench: &Bench, name: &str) -> Value {
    bench
        .wait("the end of the hold", &bench.webs(), name, |web| {
            (web["metadata"]["name"] == name && !is_held(web)).then(|| web.clone())
        })
        .await
}

async fn map_of(bench: &Bench, name: &str) -> Option<DynamicObject> {
    let name = format!("{name}-config");
    bench.config_maps().get_opt(&name).await.unwrap()
}

#[tokio::test]
async fn a_resource_that_stops_matching_is_let_go_and_taken_up_again() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.apply_web("witness", json!({})).await;
    label(&bench, "witness", "a".into()).await;
    bench.wait_revision("witness", 1).await;
    let shop = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert!(!is_held(&shop) && shop.get("status").is_none(), "{shop:#}");

    label(&bench, "shop", "a".into()).await;
    let shop = bench.wait_revision("shop", 1).await;
    assert_eq!(
        shop["metadata"]["annotations"]["steersman.dev/selector"],
        "team=a"
    );

    label(&bench, "shop", Value::Null).await;
    let shop = wait_let_go(&bench, "shop").await;
    assert_eq!(
        shop["metadata"]["annotations"].get("steersman.dev/selector"),
        None
    );
    let map = map_of(&bench, "shop").await.unwrap();
    assert_eq!(
        map.metadata.owner_references.unwrap()[0].uid,
        shop["metadata"]["uid"].as_str().unwrap()
    );
    // Nobody looks after it. The last word of it is an event, which comes by itself.
    bench.wait_event("ReleaseLetGo").await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .config_maps()
        .delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    bench.apply_web("shop", json!({"message": "later"})).await;
    bench.apply_web("witness", json!({"message": "later"})).await;
    bench.wait_revision("witness", 2).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let touched = audit
        .by_user(bench.user.name())
        .writes()
        .filter(|request| request.name.starts_with("shop") || request.name.contains(".shop."));
    assert!(touched.is_empty(), "{touched}");
    assert!(map_of(&bench, "shop").await.is_none());

    label(&bench, "shop", "a".into()).await;
    bench.wait_revision("shop", 2).await;
    let map = map_of(&bench, "shop").await.unwrap();
    assert_eq!(map.data["data"]["message"], "later");

    // What is let go can be deleted without the operator.
    label(&bench, "shop", Value::Null).await;
    wait_let_go(&bench, "shop").await;
    operator.stop().await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
}

#[tokio::test]
async fn a_resource_that_stopped_matching_while_nobody_watched_is_let_go_at_the_start() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    label(&bench, "shop", "a".into()).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    label(&bench, "shop", "b".into()).await;

    let operator = bench.operator_with(&["--dry-run"]).await;
    wait_for_line(&operator, "dry run: would let go of the release").await;
    operator.stop().await.unwrap();
    let shop = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert!(is_held(&shop), "{shop:#}");

    let operator = bench.ready_operator().await;
    wait_let_go(&bench, "shop").await;
    assert!(map_of(&bench, "shop").await.is_some());
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_operator_with_another_selector_takes_over_what_it_selects() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let other = tempfile::tempdir().unwrap();
    crate::bench::copy(&bench.folder.path().join("web"), &other.path().join("web"));
    let text = watch(&bench, &SELECTOR.replace("team: a", "team: b"));
    std::fs::write(other.path().join("watches.yaml"), text).unwrap();
    let first = bench.ready_operator().await;
    let second = bench.operator_in(other.path(), &[]);
    second.wait_until_ready(PATIENCE).await.unwrap();

    bench.apply_web("shop", json!({})).await;
    label(&bench, "shop", "a".into()).await;
    bench.wait_revision("shop", 1).await;
    for team in ["b", "a", "b"] {
        label(&bench, "shop", team.into()).await;
        let selector = format!("team={team}");
        bench
            .wait("the other hold", &bench.webs(), "shop", |web| {
                let held_under = &web["metadata"]["annotations"]["steersman.dev/selector"];
                (is_held(web) && *held_under == selector).then_some(())
            })
            .await;
    }
    first.stop().await.unwrap();
    let role = format!("clusterrole/{}-shop", bench.namespace);
    bench.cluster.kubectl(&["get", &role]).await.unwrap();
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(
        bench.cluster.kubectl(&["get", &role]).await.is_err(),
        "{role} is left"
    );
    second.stop().await.unwrap();
}

#[tokio::test]
async fn the_selector_is_honoured_however_many_namespaces_are_watched() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let one = bench.namespace.clone();
    let many = format!("kube-public,{one}");
    for (turn, namespaces) in [String::new(), one, many].into_iter().enumerate() {
        let operator = bench.operator_in(bench.folder.path(), &[("WATCH_NAMESPACE", &namespaces)]);
        operator.wait_until_ready(PATIENCE).await.unwrap();
        let (shop, witness) = (format!("shop-{turn}"), format!("witness-{turn}"));
        bench.apply_web(&shop, json!({})).await;
        bench.apply_web(&witness, json!({})).await;
        label(&bench, &witness, "a".into()).await;
        bench.wait_revision(&witness, 1).await;
        let web = serde_json::to_value(bench.webs().get(&shop).await.unwrap()).unwrap();
        assert!(!is_held(&web), "{namespaces}: {web:#}");
        label(&bench, &shop, "a".into()).await;
        bench.wait_revision(&shop, 1).await;
        label(&bench, &shop, "c".into()).await;
        wait_let_go(&bench, &shop).await;
        operator.stop().await.unwrap();
    }
}

#[tokio::test]
async fn two_operators_that_select_the_same_resource_do_not_write_over_each_other_for_ever() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let other = tempfile::tempdir().unwrap();
    crate::bench::copy(&bench.folder.path().join("web"), &other.path().join("web"));
    let text = watch(
        &bench,
        "  selector: {matchExpressions: [{key: team, operator: Exists}]}\n",
    );
    std::fs::write(other.path().join("watches.yaml"), text).unwrap();
    bench.apply_web("shop", json!({})).await;
    label(&bench, "shop", "a".into()).await;
    let first = bench.ready_operator().await;
    let second = bench.operator_in(other.path(), &[]);
    second.wait_until_ready(PATIENCE).await.unwrap();
    let begun = std::time::Instant::now();
    let line = "the selector of another operator matches the resource, too";
    while ![&first, &second]
        .iter()
        .any(|operator| operator.log_text().contains(line))
    {
        assert!(begun.elapsed() < PATIENCE, "nobody gives way");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"message": "later"})).await;
    bench.wait_revision("shop", 2).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let written = audit
        .by_user(bench.user.name())
        .writes()
        .filter(|request| request.resource == "webs" && request.subresource.is_empty());
    assert!(written.is_empty(), "{written}");
    first.stop().await.unwrap();
    second.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_narrower_selector_no_longer_matches_is_let_go() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    let both = "  selector: {matchLabels: {team: a, stage: live}}\n";
    let namespace = format!("--leader-election-namespace={}", bench.namespace);
    let flags = [
        "--leader-elect",
        "--leader-election-id=web-operator",
        namespace.as_str(),
    ];
    bench.watches(&watch(&bench, ""));
    let operator = bench.operator_with(&flags).await;
    for (name, labels) in [
        ("none", json!({})),
        ("team", json!({"team": "a"})),
        ("both", json!({"team": "a", "stage": "live"})),
    ] {
        bench.apply_web(name, json!({})).await;
        bench
            .patch_web(name, json!({"metadata": {"labels": labels}}))
            .await;
        bench.wait_revision(name, 1).await;
    }
    // While the file is followed.
    bench.watches(&watch(&bench, SELECTOR));
    wait_let_go(&bench, "none").await;
    for name in ["team", "both"] {
        bench
            .wait("the hold", &bench.webs(), name, |web| {
                let held_under = &web["metadata"]["annotations"]["steersman.dev/selector"];
                (is_held(web) && *held_under == "team=a").then_some(())
            })
            .await;
    }
    operator.stop().await.unwrap();

    // With a start in between. Another operator knows nothing of the former selector.
    let operator = bench.operator_with(&flags).await;
    wait_for_line(&operator, "Successfully acquired lease").await;
    operator.stop().await.unwrap();
    bench.watches(&watch(&bench, both));
    let stranger = bench.operator_with(&[namespace.as_str()]).await;
    bench
        .wait("the new hold", &bench.webs(), "both", |web| {
            let held_under = web["metadata"]["annotations"]["steersman.dev/selector"].as_str()?;
            (is_held(web) && held_under.contains("stage=live")).then_some(())
        })
        .await;
    stranger.stop().await.unwrap();
    let team = serde_json::to_value(bench.webs().get("team").await.unwrap()).unwrap();
    assert!(is_held(&team), "{team:#}");

    let operator = bench.operator_with(&flags).await;
    wait_let_go(&bench, "team").await;
    for name in ["none", "team", "both"] {
        assert!(map_of(&bench, name).await.is_some(), "{name}");
    }
    let both = serde_json::to_value(bench.webs().get("both").await.unwrap()).unwrap();
    assert!(is_held(&both), "{both:#}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_carries_the_uid_of_a_resource_that_is_selected_later_goes_with_it() {
    let Some(bench) = Bench::with_kind("selection").await else {
        return;
    };
    bench.watches(&watch(&bench, SELECTOR));
    let operator = bench.ready_operator().await;
    for name in ["shop", "witness"] {
        bench.apply_web(name, json!({})).await;
    }
    label(&bench, "witness", "a".into()).await;
    bench.wait_revision("witness", 1).await;
    let shop = bench.webs().get("shop").await.unwrap();
    let labels = json!({"steersman.dev/owner-uid": shop.metadata.uid.unwrap(),
        "helm.sdk.operatorframework.io/chart": "web"});
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-shop", "labels": labels}});
    let parameters = PatchParams::apply("steersman");
    let maps = bench.config_maps();
    maps.patch("of-shop", &parameters, &Patch::Apply(&map))
        .await
        .unwrap();
    // The watch tells of a later change of the same kind, so it has told of this one.
    let uid = async || map_of(&bench, "witness").await.and_then(|map| map.metadata.uid);
    let first = uid().await;
    maps.delete("witness-config", &DeleteParams::default())
        .await
        .unwrap();
    bench
        .wait("another map", &maps, "witness-config", |map| {
            let uid = map.pointer("/metadata/uid").and_then(Value::as_str);
            (uid.is_some() && uid != first.as_deref()).then_some(())
        })
        .await;

    label(&bench, "shop", "a".into()).await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&maps, "of-shop").await;
    operator.stop().await.unwrap();
}
