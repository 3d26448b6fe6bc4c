//! Who may write Secrets in a namespace gets nothing applied, run or restored.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::{Forgery, SIGNATURE, overwrite, packed, record_in, secret_of};
use crate::bench::{Bench, wait_for_line};

#[tokio::test]
async fn a_revision_that_others_have_added_is_not_brought_into_effect() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let forgery = Forgery::of(&bench);
    let operator = bench.released(json!({"password": "canary"})).await;
    operator.stop().await.unwrap();

    // A failed revision that is made of what the resource says now, with the signature of another one.
    let mut secret = bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    let mut record = record_in(&secret);
    record["version"] = 2.into();
    record["info"]["status"] = "failed".into();
    forgery.add_to(&mut record);
    secret.metadata = serde_json::from_value(json!({"name": secret_of("shop", 2), "labels":
        {"owner": "helm", "name": "shop", "version": "2", "status": "failed"}}))
    .unwrap();
    secret.data["data"]["release"] = packed(&record).into();
    assert!(secret.data["data"].get(SIGNATURE).is_some());
    bench
        .secrets()
        .create(&Default::default(), &secret)
        .await
        .unwrap();

    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(
        bench.revisions().await,
        ["1 superseded", "2 failed", "3 deployed"]
    );
    forgery.assert_absent(&bench).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(bench.revisions().await, [""; 0]);
    forgery.assert_absent(&bench).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn drift_is_not_corrected_from_a_revision_that_others_have_changed() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let forgery = Forgery::of(&bench);
    let operator = bench.released(json!({"password": "canary"})).await;
    let secret = bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    let mut record = record_in(&secret);
    let manifest = record["manifest"].as_str().unwrap();
    record["manifest"] = manifest.replace("hello", "forged").into();
    forgery.add_to(&mut record);
    overwrite(&bench, &secret_of("shop", 1), &record).await;

    let maps = bench.config_maps();
    maps.delete("shop-config", &Default::default()).await.unwrap();
    bench.wait_revision("shop", 2).await;
    let map = maps.get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "hello");
    forgery.assert_absent(&bench).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn no_hook_runs_from_a_revision_that_others_have_changed() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let forgery = Forgery::of(&bench);
    let operator = bench.released(json!({"password": "canary"})).await;
    let role = format!("{}-shop", bench.namespace);
    bench.cluster_roles().get(&role).await.unwrap();
    operator.stop().await.unwrap();
    forgery.add_to_first(&bench).await;

    // It is deleted before the operator could compare it with what the chart renders.
    bench.delete_web("shop").await;
    let operator = bench.ready_operator().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    forgery.assert_absent(&bench).await;
    assert_eq!(bench.revisions().await, [""; 0]);
    assert!(bench.deployments().get_opt("shop").await.unwrap().is_none());
    assert!(bench.cluster_roles().get_opt(&role).await.unwrap().is_none());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_failed_upgrade_does_not_go_back_to_a_revision_that_others_have_changed() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    let forgery = Forgery::of(&bench);
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    forgery.add_to_first(&bench).await;

    let bad = json!({"password": "canary", "app": "other"});
    bench.apply_web("shop", bad).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.ends_with("; revision 1 is not applied again, as the operator has not written it"),
        "{message}"
    );
    forgery.assert_absent(&bench).await;
    operator.stop().await.unwrap();
}

/// A revision of another resource of the same name, as it was signed, is no revision of this one.
#[tokio::test]
async fn a_revision_that_was_copied_is_not_believed() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let operator = bench
        .released(json!({"password": "canary", "message": "first"}))
        .await;
    let secret = bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();

    let copy = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": secret.data["data"],
        "metadata": {"name": secret_of("shop", 1), "labels": secret.metadata.labels}});
    bench.create(&bench.secrets(), copy).await;
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"password": "canary", "message": "second"}))
        .await;
    bench.wait_revision("shop", 2).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "second");
    let log = operator.log_text();
    assert!(
        log.contains("it was changed or copied since it was signed"),
        "{log}"
    );
    operator.stop().await.unwrap();
}

/// A developer's operator that does not have the keys of the one in the cluster.
#[tokio::test]
async fn an_operator_outside_of_a_cluster_leaves_revisions_alone_that_another_key_signed() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let theirs = bench.cluster.unique_namespace("keys").await.unwrap();
    let operator = bench
        .operator_with(&[&format!("--leader-election-namespace={theirs}")])
        .await;
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let before = bench.secrets().get(&secret_of("shop", 1)).await.unwrap();

    let other = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"password": "canary", "message": "new"}))
        .await;
    let (reason, message) = bench.wait_stalled("shop").await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(message.contains("which this process does not have"), "{message}");
    other.stop().await.unwrap();
    let after = bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);

    let operator = bench
        .operator_with(&[&format!("--leader-election-namespace={theirs}")])
        .await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
}

/// An operator whose role is from before there were keys.
#[tokio::test]
async fn an_operator_that_may_not_keep_its_keys_works_with_one_of_its_own() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    let nowhere = "--leader-election-namespace=nowhere-to-be-found";
    let operator = bench.operator_with(&[nowhere]).await;
    let log = operator.log_text();
    assert!(log.contains("with a key that ends with this process"), "{log}");
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();

    let password =
        async || bench.secrets().get("shop-secret").await.unwrap().data["data"]["password"].clone();
    let before = password().await;
    let operator = bench.operator_with(&[nowhere]).await;
    wait_for_line(&operator, "Signed the revision").await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    assert_eq!(password().await, before);
    operator.stop().await.unwrap();
}

/// With `reuseValues` a resource without values has those of its last revision.
#[tokio::test]
async fn values_that_others_have_written_are_not_reused() {
    let Some(bench) = Bench::with_kind("forged").await else {
        return;
    };
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, chart: web, reuseValues: true}}\n",
        bench.group
    ));
    let operator = bench
        .released(json!({"password": "canary", "message": "mine"}))
        .await;
    bench.patch_web("shop", json!({"spec": null})).await;
    operator.stop().await.unwrap();
    let name = secret_of("shop", 1);
    let (secrets, maps) = (bench.secrets(), bench.config_maps());
    let record = record_in(&secrets.get(&name).await.unwrap());

    // Nobody vouches for them, and they render what is live.
    overwrite(&bench, &name, &record).await;
    let patch = json!({"data": {SIGNATURE: null}});
    secrets
        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    bench
        .wait("the signature", &secrets, &name, |secret| {
            secret["data"].get(SIGNATURE).map(drop)
        })
        .await;
    operator.stop().await.unwrap();
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    // They render what is in the record, and that is not live.
    let mut forged = record.clone();
    forged["config"]["message"] = "forged".into();
    let manifest = record["manifest"].as_str().unwrap();
    forged["manifest"] = manifest.replace("mine", "forged").into();
    overwrite(&bench, &name, &forged).await;
    let operator = bench.ready_operator().await;
    let (reason, message) = bench.wait_stalled("shop").await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(
        message.contains("the values of revision 1 of release shop are not reused"),
        "{message}"
    );
    let map = maps.get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "mine");
    bench.apply_web("shop", json!({"message": "given"})).await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
}
