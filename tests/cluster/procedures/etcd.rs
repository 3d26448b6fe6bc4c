//! `examples/etcd` on the control plane: members come one by one, and no other version comes before a backup.

use std::fs;
use std::path::Path;

use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::end_pod;
use crate::bench::{Bench, PATIENCE, condition, copy};
use crate::node::run_pods;

/// Makes `west` be like this.
async fn apply(bench: &Bench, spec: Value) {
    let object = json!({"apiVersion": format!("{}/v1alpha1", bench.group), "kind": "EtcdCluster",
        "metadata": {"name": "west"}, "spec": spec});
    let clusters = bench.api(&bench.group, "v1alpha1", "EtcdCluster", "etcdclusters");
    let parameters = PatchParams::apply("test").force();
    clusters
        .patch("west", &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
}

/// Ends the next Job of a run of this kind, and gives its arguments.
async fn end_next(bench: &Bench, kind: &str, step: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let api = bench.api(&bench.group, "v1alpha1", kind, &plural);
    let begun = std::time::Instant::now();
    let job = loop {
        let found = api.list(&ListParams::default()).await.unwrap().items;
        let job = found.iter().find_map(|run| {
            let steps = run.data.pointer("/status/steps")?.as_array()?;
            let open = steps
                .iter()
                .find(|found| found["state"] == "Running" && found["name"] == step)?;
            open["job"].as_str().map(str::to_owned)
        });
        if let Some(job) = job {
            break job;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "no step {step} of a {kind}: {found:#?}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    };
    let made = bench.api("batch", "v1", "Job", "jobs").get(&job).await.unwrap();
    let command = made
        .data
        .pointer("/spec/template/spec/containers/0/command")
        .unwrap();
    let words: Vec<String> = serde_json::from_value(command.clone()).unwrap();
    end_pod(bench, &job, "Succeeded", "{}").await;
    words.join(" ")
}

#[tokio::test]
async fn etcd_comes_member_by_member_and_is_backed_up_before_another_version() {
    let Some(bench) = Bench::new("etcd").await else {
        return;
    };
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/etcd"),
        bench.folder.path(),
    );
    let file = bench.folder.path().join("watches.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("etcd.example.com", &bench.group)).unwrap();
    super::define_runs(&bench, &["EtcdCluster"]).await;
    let pods = bench.api("", "v1", "Pod", "pods");
    let node = tokio::spawn(async move { run_pods(pods, "app.kubernetes.io/name=etcd").await });
    let operator = bench.start(bench.folder.path(), &[], &[("WATCH_NAMESPACE", &bench.namespace)]);
    operator.wait_until_ready(PATIENCE).await.unwrap();

    let spec =
        |size: u64, version: &str| json!({"size": size, "version": version, "image": {"tools": "tools"}});
    apply(&bench, spec(1, "3.6.0")).await;
    let clusters = bench.api(&bench.group, "v1alpha1", "EtcdCluster", "etcdclusters");
    let has = |members: i64| {
        move |cluster: &Value| {
            let is_ready = condition(cluster, "Ready")?.0 == "True";
            (is_ready && cluster["status"]["members"] == members).then_some(())
        }
    };
    bench.wait("one member", &clusters, "west", has(1)).await;

    apply(&bench, spec(2, "3.6.0")).await;
    let added = end_next(&bench, "EtcdResize", "add").await;
    assert_eq!(added, "sh /scripts/member.sh add 1");
    end_next(&bench, "EtcdResize", "promote").await;
    bench.wait("two members", &clusters, "west", has(2)).await;

    let sets = bench.api("apps", "v1", "StatefulSet", "statefulsets");
    let image = |set: &Value| {
        set.pointer("/spec/template/spec/containers/0/image")
            .unwrap()
            .to_string()
    };
    apply(&bench, spec(2, "3.7.0")).await;
    let backup = end_next(&bench, "EtcdBackup", "job").await;
    assert!(backup.starts_with("sh /scripts/backup.sh"), "{backup}");
    bench
        .wait("the other version", &sets, "west", |set| {
            image(set).contains("3.7.0").then_some(())
        })
        .await;
    bench.wait("two members", &clusters, "west", has(2)).await;
    operator.stop().await.unwrap();
    node.abort();
}
