//! What a resource says, down to nothing, and what Helm says of the releases that come of it.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

#[tokio::test]
async fn no_spec_and_an_empty_one_mean_the_defaults() {
    let Some(bench) = Bench::with_kind("specs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let bare =
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {"name": "shop"}});
    let bare: DynamicObject = serde_json::from_value(bare).unwrap();
    bench.webs().create(&Default::default(), &bare).await.unwrap();
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(condition(&web, "Deployed").unwrap().0, "True");
    let message = async || {
        let map = bench.config_maps().get("shop-config").await.unwrap();
        map.data["data"]["message"].clone()
    };
    assert_eq!(message().await, "hello");

    bench
        .apply_web("shop", json!({"message": "mine", "extra": true}))
        .await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(message().await, "mine");
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(message().await, "hello");
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;

    let nothing =
        Patch::Json::<()>(serde_json::from_value(json!([{"op": "remove", "path": "/spec"}])).unwrap());
    bench
        .webs()
        .patch("shop", &PatchParams::default(), &nothing)
        .await
        .unwrap();
    let web = bench.wait_revision("shop", 3).await;
    assert_eq!(web.get("spec"), None);
    let revisions = ["1 superseded", "2 superseded", "3 deployed"];
    assert_eq!(
        bench.revisions().await,
        revisions,
        "nothing is what an empty spec is"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn helm_tells_each_revision_from_the_others() {
    let Some(bench) = Bench::with_kind("specs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    for (message, revision) in ["one", "two"].into_iter().zip(1..) {
        bench.apply_web("shop", json!({"message": message})).await;
        bench.wait_revision("shop", revision).await;
    }
    bench
        .apply_web("shop", json!({"message": "three", "port": 99_999}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    operator.stop().await.unwrap();

    let helm = async |arguments: &[&str]| {
        let arguments = [arguments, &["--namespace", &bench.namespace]].concat();
        bench.cluster.helm(&arguments).await.unwrap()
    };
    let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let history = json(helm(&["history", "shop", "-o", "json"]).await);
    let told: Vec<String> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}",
                one["revision"], one["status"], one["chart"], one["app_version"]
            )
            .replace('"', "")
        })
        .collect();
    let expected = ["1 superseded", "2 deployed", "3 failed"].map(|one| format!("{one} web-1.2.3 4.5"));
    assert_eq!(told, expected);
    assert_eq!(history[0]["description"], "Install complete");
    assert_eq!(history[1]["description"], "Upgrade complete");
    let failure = history[2]["description"].as_str().unwrap();
    assert!(
        failure.contains("Service") && failure.contains("spec.ports[0].port"),
        "{failure}"
    );

    for (revision, message) in [("1", "one"), ("2", "two"), ("3", "three")] {
        let of = ["shop", "--revision", revision];
        let values = json(helm(&[&["get", "values"], &of[..], &["-o", "json"]].concat()).await);
        assert_eq!(values["message"], message);
        let all = json(helm(&[&["get", "values", "--all"], &of[..], &["-o", "json"]].concat()).await);
        assert_eq!((&all["message"], &all["replicas"]), (&message.into(), &1.into()));
        let notes = helm(&[&["get", "notes"], &of[..]].concat()).await;
        assert!(notes.contains(&format!("shop says {message}")), "{notes}");
        let manifest = helm(&[&["get", "manifest"], &of[..]].concat()).await;
        assert!(
            manifest.contains(&format!("message: \"{message}\"")),
            "{manifest}"
        );
        let everything = helm(&[&["get", "all"], &of[..]].concat()).await;
        for part in [
            "USER-SUPPLIED VALUES",
            "COMPUTED VALUES",
            "MANIFEST",
            manifest.trim(),
        ] {
            assert!(everything.contains(part), "{part} is missing:\n{everything}");
        }
        let status = json(helm(&[&["status"], &of[..], &["-o", "json"]].concat()).await);
        assert_eq!(status["version"].to_string(), revision);
    }
    let list = json(helm(&["list", "-o", "json"]).await);
    assert_eq!(
        (&list[0]["revision"], &list[0]["status"]),
        (&"3".into(), &"failed".into())
    );

    // Back by Helm's own hand, to objects as they were.
    helm(&["rollback", "shop", "1", "--force-conflicts"]).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "one");
}
