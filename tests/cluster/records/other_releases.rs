//! Releases of the same name, and what is left of lost ones.

use serde_json::json;

use super::secret_of;
use crate::bench::Bench;

/// Installs a release of Helm's from a chart of another name, with a hook that runs when it goes.
async fn install_other(bench: &Bench) {
    let chart = bench.folder.path().join("other");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(chart.join(file), text).unwrap();
    write("Chart.yaml", "apiVersion: v2\nname: other\nversion: 1.0.0\n");
    write(
        "templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\n---\napiVersion: v1\nkind: ConfigMap\n\
         metadata: {name: their-hook, annotations: {helm.sh/hook: pre-delete}}\n",
    );
    bench.helm_install("shop", "other").await;
}

#[tokio::test]
async fn a_release_of_another_chart_is_refused_and_outlives_the_resource() {
    let Some(bench) = Bench::with_kind("other").await else {
        return;
    };
    install_other(&bench).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (reason, message) = bench.wait_stalled("shop").await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(
        message.contains("was made from chart other, not from web")
            && message.contains("steersman.dev/adopt-chart: other"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    bench.config_maps().get("theirs").await.unwrap();

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.config_maps().get("theirs").await.unwrap();
    bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    assert!(bench.config_maps().get_opt("their-hook").await.unwrap().is_none());
    operator.stop().await.unwrap();
}

/// With values that can't be rendered nothing is taken over, whatever the chart.
#[tokio::test]
async fn a_release_that_was_never_taken_over_outlives_the_resource() {
    let Some(bench) = Bench::with_kind("other").await else {
        return;
    };
    bench.helm_install("shop", "web").await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"broken": true})).await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.deployments().get("shop").await.unwrap();
    bench.secrets().get(&secret_of("shop", 1)).await.unwrap();
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_release_of_another_chart_is_taken_over_where_the_resource_asks_for_it() {
    let Some(bench) = Bench::with_kind("other").await else {
        return;
    };
    install_other(&bench).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_stalled("shop").await;
    let annotation = json!({"metadata": {"annotations": {"steersman.dev/adopt-chart": "other"}}});
    bench.patch_web("shop", annotation).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "theirs").await;
    operator.stop().await.unwrap();
}

/// The only revision is gone, with all that it says of what was installed.
#[tokio::test]
async fn an_installation_over_what_a_lost_revision_has_made_is_not_undone() {
    let Some(bench) = Bench::with_kind("lost").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    bench.add_template(
        "init.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-init\n  annotations: {helm.sh/hook: \
         pre-install}\n",
    );
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let maps = bench.config_maps();
    let hook = maps.get("shop-init").await.unwrap();
    let deployment = bench.deployments().get("shop").await.unwrap();
    let secret = secret_of("shop", 1);
    bench
        .secrets()
        .delete(&secret, &Default::default())
        .await
        .unwrap();

    bench
        .apply_web("shop", json!({"password": "canary", "app": "other"}))
        .await;
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("can't be changed") && !message.contains("is removed"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 failed"]);
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.metadata.uid, deployment.metadata.uid);
    let same = maps.get("shop-init").await.unwrap();
    assert_eq!(same.metadata.uid, hook.metadata.uid, "the hook has run again");

    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 2).await;
    let same = maps.get("shop-init").await.unwrap();
    assert_eq!(same.metadata.uid, hook.metadata.uid, "the hook has run again");
    operator.stop().await.unwrap();
}
