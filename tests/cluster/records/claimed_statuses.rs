//! Who may write Secrets says of a revision that something else has become of it than has.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use super::{SIGNATURE, disown, packed, record_in, secret_of};
use crate::bench::{Bench, condition, has_ended};
use crate::hooks::finish_job;
use crate::node::finish_jobs;

const FLAGS: [&str; 2] = ["--rollback-on-failure", "--hook-timeout=3s"];

/// Words of Helm's, and one that is none.
const STATUSES: [&str; 9] = [
    "deployed",
    "superseded",
    "failed",
    "pending-install",
    "pending-upgrade",
    "pending-rollback",
    "uninstalling",
    "uninstalled",
    "later",
];

/// A bench whose Job is gone when it has succeeded, so that it alone does not tell that it has run.
async fn bench() -> Option<Bench> {
    let bench = Bench::with_kind("claimed").await?;
    let weight = "helm.sh/hook-weight: \"5\"";
    let gone = format!("{weight}\n    helm.sh/hook-delete-policy: hook-succeeded");
    bench.edit("hooks.yaml", weight, &gone);
    bench.edit("hooks.yaml", "pre-install,pre-delete", "pre-install");
    Some(bench)
}

/// Writes another status into the first revision of a release, as Helm's record and label have it.
async fn claim(bench: &Bench, release: &str, status: &str) {
    let (secrets, name) = (bench.secrets(), secret_of(release, 1));
    let mut record = record_in(&secrets.get(&name).await.unwrap());
    record["info"]["status"] = status.into();
    let patch = json!({"metadata": {"labels": {"status": status}}, "data": {"release": packed(&record)}});
    secrets
        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// Has a resource read anew and dealt with, and gives it.
async fn deal_with(bench: &Bench, name: &str) -> Value {
    let again = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "later"}}});
    bench.patch_web(name, again).await;
    bench
        .wait("the end of a reconcile", &bench.webs(), name, |web| {
            let is_handled = web.pointer("/status/lastHandledReconcileAt") == Some(&json!("later"));
            (is_handled && has_ended(web)).then(|| web.clone())
        })
        .await
}

/// What of the release `shop` is lost for good when it is deleted.
async fn precious(bench: &Bench) -> [Option<String>; 2] {
    let uid = |found: Option<DynamicObject>| found.and_then(|object| object.metadata.uid);
    let role = format!("{}-shop", bench.namespace);
    [
        uid(bench.secrets().get_opt("shop-secret").await.unwrap()),
        uid(bench.cluster_roles().get_opt(&role).await.unwrap()),
    ]
}

/// The release `shop` with its hooks, by an operator that undoes what fails.
async fn deployed(bench: &Bench) -> OperatorProcess {
    let operator = bench.operator_with(&FLAGS).await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    finish_job(bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    operator
}

#[tokio::test]
async fn a_revision_that_was_deployed_stays_deployed_whatever_its_record_says() {
    let Some(bench) = bench().await else {
        return;
    };
    let operator = bench.operator_with(&FLAGS).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let node = tokio::spawn(finish_jobs(jobs.clone()));
    for status in STATUSES {
        bench.apply_web(status, json!({"hooks": true})).await;
    }
    let mut before = Vec::new();
    for status in STATUSES {
        bench.wait_revision(status, 1).await;
        let map = bench.config_maps().get(&format!("{status}-config")).await;
        before.push(map.unwrap().metadata.uid);
    }
    node.abort();
    operator.stop().await.unwrap();
    for status in STATUSES {
        claim(&bench, status, status).await;
    }

    let operator = bench.operator_with(&FLAGS).await;
    for (status, uid) in STATUSES.iter().zip(before) {
        let web = deal_with(&bench, status).await;
        assert_eq!(condition(&web, "ReleaseFailed"), None, "{status}");
        assert_eq!(web["status"]["revision"], 1, "{status}");
        let map = bench.config_maps().get(&format!("{status}-config")).await;
        assert_eq!(map.unwrap().metadata.uid, uid, "{status}");
        let second = bench.secrets().get_opt(&secret_of(status, 2)).await.unwrap();
        assert!(second.is_none(), "{status}");
        let job = jobs.get_opt(&format!("{status}-job")).await.unwrap();
        assert!(job.is_none(), "{status}: the hook runs again");
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_revision_that_has_failed_is_not_deployed_whatever_its_record_says() {
    let Some(bench) = bench().await else {
        return;
    };
    for status in STATUSES {
        let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": status},
            "spec": {"ports": [{"port": 1}]}});
        bench.create(&bench.services(), theirs).await;
    }
    let operator = bench.ready_operator().await;
    for status in STATUSES {
        bench.apply_web(status, json!({})).await;
    }
    for status in STATUSES {
        bench.wait_failed(status, "ReleaseFailed").await;
    }
    operator.stop().await.unwrap();
    for status in STATUSES {
        claim(&bench, status, status).await;
    }

    let operator = bench.ready_operator().await;
    for status in STATUSES {
        let web = deal_with(&bench, status).await;
        let (_, _, message) = condition(&web, "ReleaseFailed").unwrap();
        assert!(message.contains("cannot be imported"), "{status}: {message}");
        assert_eq!(condition(&web, "Ready").unwrap().0, "False", "{status}");
        let second = bench.secrets().get_opt(&secret_of(status, 2)).await.unwrap();
        assert!(second.is_none(), "{status}");
    }
    operator.stop().await.unwrap();
}

/// The install hook runs once more, and what there was `before` it fails is there after it.
async fn nothing_is_removed(bench: &Bench, before: &[Option<String>; 2]) {
    let operator = bench.operator_with(&FLAGS).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("is not done after 3 s"), "{message}");
    assert!(!message.contains("removed"), "{message}");
    assert_eq!(precious(bench).await, *before);
    operator.stop().await.unwrap();
}

/// Without a signature Helm's status is all there is, and it is no reason to delete anything.
#[tokio::test]
async fn nothing_is_removed_for_the_status_of_a_revision_that_is_not_signed() {
    let Some(bench) = bench().await else {
        return;
    };
    let operator = deployed(&bench).await;
    let before = precious(&bench).await;
    assert!(before.iter().all(Option::is_some), "{before:?}");
    operator.stop().await.unwrap();
    claim(&bench, "shop", "failed").await;
    let unsigned = Patch::Merge(json!({"data": {SIGNATURE: null}}));
    let (secrets, name) = (bench.secrets(), secret_of("shop", 1));
    secrets
        .patch(&name, &PatchParams::default(), &unsigned)
        .await
        .unwrap();
    // Nor does the resource say that anything was deployed.
    let forgotten = Patch::Merge(json!({"status": {"deployedRelease": null}}));
    let webs = bench.webs();
    webs.patch_status("shop", &PatchParams::default(), &forgotten)
        .await
        .unwrap();

    nothing_is_removed(&bench, &before).await;
}

/// What the operator has signed while it installed is true of that moment.
#[tokio::test]
async fn nothing_is_removed_for_a_record_that_somebody_has_put_back() {
    let Some(bench) = bench().await else {
        return;
    };
    let operator = bench.operator_with(&FLAGS).await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    let (secrets, name) = (bench.secrets(), secret_of("shop", 1));
    let pending = bench
        .wait("the record", &secrets, &name, |secret| {
            secret.is_object().then(|| secret["data"].clone())
        })
        .await;
    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    let before = precious(&bench).await;
    assert!(before.iter().all(Option::is_some), "{before:?}");
    operator.stop().await.unwrap();
    let put_back = Patch::Merge(json!({ "data": pending }));
    secrets
        .patch(&name, &PatchParams::default(), &put_back)
        .await
        .unwrap();

    nothing_is_removed(&bench, &before).await;
}

/// The garbage collector takes its owner off a revision that a deletion with `--cascade=orphan` leaves, and off the objects.
/// Who may write Secrets can do the one.
#[tokio::test]
async fn a_revision_that_has_lost_its_owner_leaves_no_object_behind() {
    let Some(bench) = bench().await else {
        return;
    };
    // One hook that the operator never runs, and one that has not run: somebody else has an object of its name.
    bench.add_template(
        "hooks-of-others.yaml",
        "{{- range list \"test\" \"pre-rollback\" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ $.Release.Name \
         }}-{{ . }}, annotations: {helm.sh/hook: {{ . }}}}\n{{- end }}\n",
    );
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-pre-rollback"}});
    bench.create(&bench.config_maps(), theirs).await;
    let operator = bench.released(json!({})).await;
    let role = format!("{}-shop", bench.namespace);
    bench.cluster_roles().get(&role).await.unwrap();
    // Longer than one look at what is being deleted.
    let held = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let (maps, parameters) = (bench.config_maps(), PatchParams::default());
    let finalizer = held(json!(["example.com/held"]));
    maps.patch("shop-config", &parameters, &finalizer).await.unwrap();
    disown(&bench.secrets(), &secret_of("shop", 1)).await;
    bench.delete_web("shop").await;
    let waits = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions.contains("shop-config").then_some(())
    };
    bench.wait("the deletion", &bench.webs(), "shop", waits).await;
    maps.patch("shop-config", &parameters, &held(Value::Null))
        .await
        .unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.cluster_roles(), &role).await;
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}
