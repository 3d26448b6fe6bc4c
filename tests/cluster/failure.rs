//! What does not work is said where people look, and what runs goes on running.

use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE, condition, has_ended};

#[tokio::test]
async fn a_chart_that_cannot_be_rendered_leaves_the_objects_and_says_where() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"broken": true})).await;
    let web = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "Stalled").map(|_| web.clone())
        })
        .await;
    for kind in ["ReleaseFailed", "Irreconcilable", "Stalled", "Ready"] {
        let (_, reason, message) = condition(&web, kind).unwrap();
        assert!(
            message.contains("web/templates/configmap.yaml:20:3")
                && message.contains("the chart was told to fail"),
            "{kind} {reason}: {message}"
        );
    }
    assert_eq!(condition(&web, "Ready").unwrap().0, "False");
    assert_eq!(condition(&web, "Deployed").unwrap().0, "True");
    bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    // What runs is still looked after.
    bench
        .config_maps()
        .delete("shop-config", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    bench
        .wait("the object", &bench.config_maps(), "shop-config", |map| {
            map.get("data").map(|_| ())
        })
        .await;

    bench
        .apply_web("shop", json!({"broken": false, "message": "fine"}))
        .await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(condition(&web, "Stalled"), None);
    assert_eq!(condition(&web, "ReleaseFailed"), None);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_trouble_of_one_watch_stops_no_other() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    bench.define("Broken", "brokens").await;
    let group = &bench.group;
    let watches = ["Absent", "Broken", "Web"]
        .map(|kind| format!("- {{group: {group}, version: v1, kind: {kind}, chart: web}}\n"))
        .concat();
    std::fs::write(bench.folder.path().join("watches.yaml"), watches).unwrap();
    let operator = bench.operator();
    bench
        .apply_cr("Broken", "brokens", "bad", json!({"broken": true}))
        .await;
    let brokens = bench.kind_api("Broken", "brokens");
    bench
        .wait("the failure", &brokens, "bad", |broken| {
            condition(broken, "ReleaseFailed")
        })
        .await;

    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "changed"})).await;
    bench.wait_revision("shop", 2).await;
    let readiness = operator.probe("/readyz?verbose").await.unwrap();
    assert!(
        readiness.contains("Absent") && readiness.contains("waiting for its CustomResourceDefinition"),
        "{readiness}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_object_of_somebody_else_is_named_and_taken_when_it_is_free() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-config"}, "data": {"x": "y"}});
    let theirs: kube::api::DynamicObject = serde_json::from_value(theirs).unwrap();
    bench
        .config_maps()
        .create(&Default::default(), &theirs)
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let web = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "ReleaseFailed").map(|_| web.clone())
        })
        .await;
    let (_, reason, message) = condition(&web, "ReleaseFailed").unwrap();
    assert_eq!(reason, "InstallError");
    assert!(
        message.contains("shop-config exists and cannot be imported"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 failed"]);
    assert_eq!(
        bench.config_maps().get("shop-config").await.unwrap().data["data"],
        json!({"x": "y"})
    );

    bench
        .config_maps()
        .delete("shop-config", &Default::default())
        .await
        .unwrap();
    bench.wait_revision("shop", 1).await;
    assert_eq!(
        bench.revisions().await,
        ["1 deployed"],
        "the same revision is brought into effect"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_crash_in_the_middle_is_recovered_from() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    // As soon as the revision is written down.
    let is_there = |secret: &Value| secret.is_object().then_some(());
    bench
        .wait(
            "the revision",
            &bench.secrets(),
            "sh.helm.release.v1.shop.v1",
            is_there,
        )
        .await;
    operator.kill().await.unwrap();
    // The objects of the dead installation are no longer wanted.
    bench.apply_web("shop", json!({"extra": false})).await;
    let operator = bench.ready_operator().await;
    let web = bench
        .wait("a deployed revision", &bench.webs(), "shop", |web| {
            let is_so = web.pointer("/status/revision").is_some() && has_ended(web);
            is_so.then(|| web.clone())
        })
        .await;
    assert_eq!(condition(&web, "ReleaseFailed"), None);
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    let deployed = bench
        .revisions()
        .await
        .iter()
        .filter(|revision| revision.ends_with(" deployed"))
        .count();
    assert_eq!(deployed, 1);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_definition_that_was_deleted_comes_back_with_its_objects() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    // A definition of this test's own, as others use the one in the chart.
    let file = bench.folder.path().join("web/crds/gadgets.yaml");
    let crd = std::fs::read_to_string(&file)
        .unwrap()
        .replace("fixtures.example.com", &format!("g.{}", bench.group));
    std::fs::write(&file, crd).unwrap();
    let file = bench.folder.path().join("web/templates/gadget.yaml");
    let gadget = std::fs::read_to_string(&file)
        .unwrap()
        .replace("fixtures.example.com", &format!("g.{}", bench.group));
    std::fs::write(&file, gadget).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"gadget": true})).await;
    bench.wait_revision("shop", 1).await;
    let gadgets = bench.api(&format!("g.{}", bench.group), "v1", "Gadget", "gadgets");
    let before = gadgets.get("shop").await.unwrap().metadata.uid;
    bench
        .delete_definition(&format!("gadgets.g.{}", bench.group))
        .await;
    bench
        .wait("another one", &gadgets, "shop", |gadget| {
            let uid = gadget.pointer("/metadata/uid")?.as_str();
            (uid != before.as_deref()).then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn crashes_at_many_moments_lose_and_double_nothing() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    // Each round another object comes and the one before goes; each round the operator dies a
    // little later into its work.
    for round in 0..12_u64 {
        let operator = bench.ready_operator().await;
        let spec =
            json!({"extra": round % 2 == 0, "gadget": round % 2 == 1, "message": format!("round {round}")});
        bench.apply_web("shop", spec).await;
        tokio::time::sleep(std::time::Duration::from_millis(round * 15)).await;
        operator.kill().await.unwrap();
    }
    let operator = bench.ready_operator().await;
    bench
        .wait("the last round", &bench.config_maps(), "shop-config", |map| {
            (map["data"]["message"] == "round 11").then_some(())
        })
        .await;
    bench
        .wait("readiness", &bench.webs(), "shop", |web| {
            let is_so = condition(web, "Deployed")?.0 == "True" && has_ended(web);
            is_so.then_some(())
        })
        .await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    bench
        .api("fixtures.example.com", "v1", "Gadget", "gadgets")
        .get("shop")
        .await
        .unwrap();
    let revisions = bench.revisions().await;
    let deployed = revisions
        .iter()
        .filter(|revision| revision.ends_with(" deployed"))
        .count();
    assert_eq!(deployed, 1, "{revisions:?}");
    assert!(revisions.len() <= 10, "{revisions:?}");
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(bench.revisions().await, [""; 0]);
    bench
        .wait_gone(
            &bench.api("fixtures.example.com", "v1", "Gadget", "gadgets"),
            "shop",
        )
        .await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_name_that_is_too_long_for_a_release_is_told() {
    let Some(bench) = Bench::with_kind("failure").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    for length in [54, 253] {
        let name = "a".repeat(length);
        bench.apply_web(&name, json!({})).await;
        let (status, _, message) = bench
            .wait("the condition", &bench.webs(), &name, |web| {
                condition(web, "Stalled")
            })
            .await;
        assert_eq!(status, "True");
        assert!(message.contains("53"), "{message}");
        let begun = std::time::Instant::now();
        loop {
            let fields = format!("involvedObject.name={name},reason=ReleaseStalled");
            let arguments = [
                "get",
                "events",
                "-n",
                &bench.namespace,
                "--field-selector",
                &fields,
                "-o",
                "name",
            ];
            if !bench.cluster.kubectl(&arguments).await.unwrap().is_empty() {
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "no event about a name of {length} letters"
            );
        }
        // Nothing holds it.
        bench.delete_web(&name).await;
        bench.wait_gone(&bench.webs(), &name).await;
    }
    operator.stop().await.unwrap();
}
