//! The Go helm-operator and this one hand a release to each other. `HELM_OPERATOR` names its binary; where it
//! names none, these tests say that they have judged nothing.

use std::path::{Path, PathBuf};

use kube::api::{DynamicObject, ListParams};
use serde_json::json;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess, helm_operator_or_say};

use crate::bench::{Bench, PATIENCE, condition, wait_for_line};
use crate::takeover::{VARIABLE, add_variable, managers};

/// A bench with a chart that renders to the same text at each revision, and the Go operator's binary.
async fn bench(test: &str) -> Option<(Bench, PathBuf)> {
    let binary = helm_operator_or_say(test)?;
    let bench = Bench::with_kind(test).await?;
    // The Go operator would release this chart again in each period.
    let key = "  revision: {{ .Release.Revision | quote }}\n";
    bench.edit("configmap.yaml", key, "");
    add_variable(&bench);
    Some((bench, binary))
}

pub(crate) async fn go_operator(bench: &Bench, binary: &Path) -> OperatorProcess {
    let folder = bench.folder.path();
    let name = tempfile::NamedTempFile::new_in(folder).unwrap();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary,
        folder,
        kubeconfig: bench.user.kubeconfig(),
        arguments: &["--reconcile-period=2s"],
        environment: &[],
        log: name.path(),
    })
    .unwrap();
    // The file stays for as long as the folder.
    name.keep().unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    operator
}

/// Each object of the release and each pod of its Deployment: what tells it from another one of its name, and whether
/// its spec was written.
async fn incarnations(bench: &Bench) -> Vec<String> {
    let pods = bench.api("", "v1", "Pod", "pods");
    let sets = bench.api("apps", "v1", "ReplicaSet", "replicasets");
    let roles = bench.cluster_roles();
    let mut found = Vec::new();
    for (api, names) in [
        (bench.config_maps(), vec!["shop-config"]),
        (bench.services(), vec!["shop"]),
        (bench.secrets(), vec!["shop-secret"]),
        (bench.deployments(), vec!["shop"]),
    ] {
        for name in names {
            found.push(api.get(name).await.unwrap());
        }
    }
    let role = format!("{}-shop", bench.namespace);
    found.push(roles.get(&role).await.unwrap());
    for api in [sets, pods] {
        found.extend(api.list(&ListParams::default()).await.unwrap());
    }
    let described = found.into_iter().map(|object| {
        let DynamicObject { metadata, .. } = object;
        let text = |text: Option<String>| text.unwrap_or_default();
        let generation = metadata.generation.unwrap_or_default();
        format!("{} {} {generation}", text(metadata.name), text(metadata.uid))
    });
    let mut described: Vec<String> = described.collect();
    described.sort();
    described
}

/// Waits until the Deployment's controllers have made a pod of what it says now. No pod ever runs here.
async fn wait_for_pod(bench: &Bench) {
    let deployments = bench.deployments();
    bench
        .wait("a pod", &deployments, "shop", |found| {
            let is_seen = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            (is_seen && found["status"]["updatedReplicas"] == 1).then_some(())
        })
        .await;
}

async fn wait_deployed_by_go(bench: &Bench, message: &str) {
    bench
        .wait("the Go operator's release", &bench.webs(), "shop", |web| {
            let (status, ..) = condition(web, "Deployed")?;
            let manifest = web.pointer("/status/deployedRelease/manifest")?.as_str()?;
            (status == "True" && manifest.contains(message)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn the_go_operator_hands_a_release_over_and_takes_it_back() {
    let Some((bench, binary)) = bench("go_operator").await else {
        return;
    };
    let go = go_operator(&bench, &binary).await;
    let spec = json!({"password": "canary", "message": "from-go"});
    bench.apply_web("shop", spec).await;
    wait_deployed_by_go(&bench, "from-go").await;
    wait_for_pod(&bench).await;
    go.stop().await.unwrap();
    let before = incarnations(&bench).await;
    assert_eq!(before.len(), 7, "{before:#?}");
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    // Over: nothing is written anew, and the fields change hands.
    let operator = bench.ready_operator().await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(web["status"]["deployedRelease"], json!({"name": "shop"}));
    wait_for_line(&operator, "Reconciled release").await;
    assert_eq!(incarnations(&bench).await, before);
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    for object in [
        bench.config_maps().get("shop-config").await.unwrap(),
        bench.services().get("shop").await.unwrap(),
        bench.secrets().get("shop-secret").await.unwrap(),
        bench.deployments().get("shop").await.unwrap(),
    ] {
        let managers = managers(&object);
        assert!(
            managers.contains(&"steersman Apply".to_owned())
                && !managers
                    .iter()
                    .any(|manager| manager.starts_with("helm-operator")),
            "{managers:?}"
        );
    }
    bench.edit("workload.yaml", VARIABLE, "");
    bench.wait_revision("shop", 2).await;
    let deployment = bench.deployments().get("shop").await.unwrap();
    let variable = "/spec/template/spec/containers/0/env";
    assert_eq!(deployment.data.pointer(variable), None, "what is dropped goes");
    wait_for_pod(&bench).await;
    operator.stop().await.unwrap();
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);

    // Back: no object is written anew. Helm 3 lays the text of the same objects out in another way than Helm 4, so
    // there is a revision more; and it keeps no history.
    let settled = incarnations(&bench).await;
    let go = go_operator(&bench, &binary).await;
    wait_for_line(&go, "Reconciled release").await;
    assert_eq!(incarnations(&bench).await, settled);
    assert_eq!(bench.revisions().await, ["3 deployed"]);
    let spec = json!({"password": "canary", "message": "again-from-go", "extra": true});
    bench.apply_web("shop", spec).await;
    wait_for_line(&go, "Upgraded release").await;
    wait_deployed_by_go(&bench, "again-from-go").await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"], json!({"message": "again-from-go"}));
    let uids = |incarnations: &[String]| -> Vec<String> {
        let words = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
        incarnations.iter().map(words).collect()
    };
    assert_eq!(uids(&incarnations(&bench).await), uids(&settled));
    go.stop().await.unwrap();

    // And over once more; what the Go operator has added goes with the value.
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 4).await;
    bench
        .apply_web("shop", json!({"password": "canary", "message": "ours"}))
        .await;
    bench.wait_revision("shop", 5).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    assert_eq!(uids(&incarnations(&bench).await), uids(&settled));
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let role = format!("{}-shop", bench.namespace);
    assert!(bench.cluster_roles().get_opt(&role).await.unwrap().is_none());
    assert_eq!(bench.revisions().await, [""; 0]);
    assert!(!operator.log_text().contains("canary"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_go_operator_uninstalls_what_this_one_has_installed() {
    let Some((bench, binary)) = bench("go_operator").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let spec = json!({"password": "canary", "message": "ours"});
    bench.apply_web("shop", spec.clone()).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();

    let go = go_operator(&bench, &binary).await;
    wait_for_line(&go, "Reconciled release").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    for (api, name) in [
        (bench.config_maps(), "shop-config"),
        (bench.services(), "shop"),
        (bench.deployments(), "shop"),
        (bench.secrets(), "shop-secret"),
    ] {
        bench.wait_gone(&api, name).await;
    }
    assert_eq!(bench.revisions().await, [""; 0]);
    go.stop().await.unwrap();
}

/// The hook's Job never ends, as no pod runs here.
async fn wait_pending(bench: &Bench, pending: &str) {
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench
        .wait("the hook", &jobs, "shop-job", |job| {
            (!job.is_null()).then_some(())
        })
        .await;
    let revisions = bench.revisions().await;
    assert_eq!(revisions.last().map(String::as_str), Some(pending));
}

#[tokio::test]
async fn what_the_go_operator_left_half_installed_is_finished() {
    let Some((bench, binary)) = bench("go_operator").await else {
        return;
    };
    let go = go_operator(&bench, &binary).await;
    bench
        .apply_web("shop", json!({"password": "canary", "hooks": true}))
        .await;
    wait_pending(&bench, "1 pending-install").await;
    go.kill().await.unwrap();

    bench.apply_web("shop", json!({"password": "canary"})).await;
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    wait_for_line(&operator, "Installed release").await;
    bench.deployments().get("shop").await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench.wait_gone(&jobs, "shop-job").await;
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_this_operator_left_half_upgraded_the_go_operator_finishes() {
    let Some((bench, binary)) = bench("go_operator").await else {
        return;
    };
    bench.edit("hooks.yaml", "pre-install,pre-delete", "pre-upgrade");
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    wait_for_pod(&bench).await;
    let before = incarnations(&bench).await;
    bench
        .apply_web(
            "shop",
            json!({"password": "canary", "message": "next", "hooks": true}),
        )
        .await;
    wait_pending(&bench, "2 pending-upgrade").await;
    operator.kill().await.unwrap();

    bench
        .apply_web("shop", json!({"password": "canary", "message": "next"}))
        .await;
    let go = go_operator(&bench, &binary).await;
    wait_for_line(&go, "Upgraded release").await;
    wait_deployed_by_go(&bench, "next").await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"], json!({"message": "next"}));
    let mut after = incarnations(&bench).await;
    after.retain(|line| !line.starts_with("shop-job"));
    assert_eq!(after, before);
    go.stop().await.unwrap();
}
