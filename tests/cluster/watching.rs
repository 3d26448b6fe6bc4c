//! Which namespaces, scopes, groups and versions are watched.

use std::path::Path;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::MemoryGroup;

use crate::bench::{Bench, MEMORY_LIMIT, PATIENCE, condition, copy};
use crate::records::{packed, record_in, secret_of};

/// Custom resources of any kind, in a namespace or in the whole cluster.
fn resources(
    bench: &Bench,
    group: &str,
    version: &str,
    plural: &str,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(group, version, "Web");
    let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(bench.client.clone(), namespace, &resource),
        None => Api::all_with(bench.client.clone(), &resource),
    }
}

async fn apply(api: &Api<DynamicObject>, api_version: &str, name: &str, spec: Value) {
    let object = json!({"apiVersion": api_version, "kind": "Web", "metadata": {"name": name}, "spec": spec});
    let parameters = PatchParams::apply("test").force();
    api.patch(name, &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
}

async fn wait_revision(bench: &Bench, api: &Api<DynamicObject>, name: &str, revision: u64) {
    bench
        .wait("the revision", api, name, |web| {
            let current = web["status"]["observedGeneration"] == web["metadata"]["generation"];
            (current && web["status"]["revision"] == revision).then_some(())
        })
        .await;
}

#[tokio::test]
async fn listed_namespaces_are_watched_whether_they_exist_or_come_or_go() {
    let Some(bench) = Bench::with_kind("watching").await else {
        return;
    };
    let here = bench.namespace.as_str();
    let going = bench.cluster.unique_namespace("going").await.unwrap();
    let unwatched = bench.cluster.unique_namespace("unwatched").await.unwrap();
    let coming = format!("{here}-coming");
    let api_version = format!("{}/v1", bench.group);
    let webs = |namespace: &str| resources(&bench, &bench.group, "v1", "webs", Some(namespace));
    // What others hold keeps a namespace in its end when the operator starts.
    let ending = bench.cluster.unique_namespace("ending").await.unwrap();
    let held = json!({"apiVersion": api_version, "kind": "Web", "metadata": {"name": "held", "finalizers": ["example.com/held"]}});
    let held: DynamicObject = serde_json::from_value(held).unwrap();
    webs(&ending).create(&PostParams::default(), &held).await.unwrap();
    let delete = ["delete", "namespace", &ending, "--wait=false"];
    bench.cluster.kubectl(&delete).await.unwrap();
    bench
        .wait("the deletion", &webs(&ending), "held", |web| {
            web.pointer("/metadata/deletionTimestamp").map(|_| ())
        })
        .await;
    let list = format!(" {here} ,{coming},{going},\t{ending} , {here},,");
    let operator = bench.operator_in(bench.folder.path(), &[("WATCH_NAMESPACE", &list)]);
    operator.wait_until_ready(PATIENCE).await.unwrap();

    apply(&webs(&unwatched), &api_version, "shop", json!({})).await;
    for namespace in [here, &going] {
        apply(&webs(namespace), &api_version, "shop", json!({})).await;
        wait_revision(&bench, &webs(namespace), "shop", 1).await;
    }
    bench
        .cluster
        .kubectl(&["create", "namespace", &coming])
        .await
        .unwrap();
    apply(&webs(&coming), &api_version, "shop", json!({})).await;
    wait_revision(&bench, &webs(&coming), "shop", 1).await;
    let ignored = webs(&unwatched).get("shop").await.unwrap();
    assert_eq!(ignored.metadata.finalizers, None);

    let held = webs(&ending).get("held").await.unwrap();
    assert_eq!(
        held.metadata.finalizers,
        Some(vec!["example.com/held".to_owned()])
    );
    let let_go = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    webs(&ending)
        .patch("held", &PatchParams::default(), &let_go)
        .await
        .unwrap();
    bench.wait_gone(&webs(&ending), "held").await;
    let log = operator.log_text();
    assert!(!log.contains("\"level\":\"error\""), "{log}");

    // A namespace that is being deleted waits for its release, and ends.
    bench
        .cluster
        .kubectl(&["delete", "namespace", &going, "--timeout=60s"])
        .await
        .unwrap();
    let role = format!("clusterrole/{going}-shop");
    assert!(
        bench.cluster.kubectl(&["get", &role]).await.is_err(),
        "{role} is left"
    );
    apply(&webs(here), &api_version, "shop", json!({"message": "later"})).await;
    wait_revision(&bench, &webs(here), "shop", 2).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_scoped_resource_has_its_release_in_the_namespace_of_its_watch() {
    let Some(bench) = Bench::new("watching").await else {
        return;
    };
    let (group, namespace) = (&bench.group, bench.namespace.as_str());
    bench.define_as(group, "Cluster", "Web", "webs", &["v1"]).await;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, releaseNamespace: {namespace}}}\n"
    ));
    // Kinds of the whole cluster are watched whatever the namespaces.
    let operator = bench.operator_in(bench.folder.path(), &[("WATCH_NAMESPACE", namespace)]);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let webs = resources(&bench, group, "v1", "webs", None);
    let name = format!("{namespace}-site");
    apply(&webs, &format!("{group}/v1"), &name, json!({"message": "hi"})).await;
    wait_revision(&bench, &webs, &name, 1).await;
    let config = format!("{name}-config");
    let map = bench.config_maps().get(&config).await.unwrap();
    let owner = map.metadata.owner_references.unwrap().remove(0);
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("Web", name.as_str()));
    let list = bench
        .cluster
        .helm(&["list", "--namespace", namespace, "--short"])
        .await
        .unwrap();
    assert_eq!(list.trim(), name);

    bench
        .config_maps()
        .delete(&config, &Default::default())
        .await
        .unwrap();
    bench
        .wait("the object", &bench.config_maps(), &config, |map| {
            map.get("data").map(|_| ())
        })
        .await;
    webs.delete(&name, &Default::default()).await.unwrap();
    bench.wait_gone(&webs, &name).await;
    assert!(bench.config_maps().get_opt(&config).await.unwrap().is_none());
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}

/// Another namespace in the watch would leave the release behind, running.
#[tokio::test]
async fn a_release_stays_where_it_is_and_says_so_when_its_watch_names_another_namespace() {
    let Some(bench) = Bench::new("another_release_namespace").await else {
        return;
    };
    let (group, namespace) = (&bench.group, bench.namespace.as_str());
    bench.define_as(group, "Cluster", "Web", "webs", &["v1"]).await;
    let watches = |namespace: &str| {
        let entry =
            format!("group: {group}, version: v1, kind: Web, chart: web, releaseNamespace: {namespace}");
        bench.watches(&format!("- {{{entry}}}\n"));
    };
    watches(namespace);
    let operator = bench.ready_operator().await;
    let webs = resources(&bench, group, "v1", "webs", None);
    let name = format!("{namespace}-site");
    apply(&webs, &format!("{group}/v1"), &name, json!({})).await;
    wait_revision(&bench, &webs, &name, 1).await;
    operator.stop().await.unwrap();

    // A release of Helm's of this name there tells nothing of where ours is.
    let secret = secret_of(&name, 1);
    let record = record_in(&bench.secrets().get(&secret).await.unwrap());
    let of_helm = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": secret, "namespace": "kube-public", "labels": {"owner": "helm", "name": name}},
        "data": {"release": packed(&record)}});
    bench.cluster.apply_object(&of_helm).await.unwrap();
    watches("kube-public");
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    let refused = |web: &Value| {
        let (_, _, message) = condition(web, "Stalled")?;
        message
            .contains(&format!("is in namespace {namespace}"))
            .then_some(())
    };
    bench.wait("the refusal", &webs, &name, refused).await;
    webs.delete(&name, &Default::default()).await.unwrap();
    let deleting = |web: &Value| {
        let is_said = web
            .pointer("/status/conditions")?
            .to_string()
            .contains("is in namespace");
        let seen = web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
        (is_said && seen && web.pointer("/metadata/deletionTimestamp").is_some()).then_some(())
    };
    bench.wait("the refusal", &webs, &name, deleting).await;
    operator.stop().await.unwrap();
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let of_release = |resource: &str| ["secrets", "configmaps", "deployments"].contains(&resource);
    let writes = audit.by_user(bench.user.name()).writes();
    let writes = writes.filter(|request| of_release(&request.resource) && request.name.contains("site"));
    assert!(writes.is_empty(), "{writes}");

    watches(namespace);
    let operator = bench.ready_operator().await;
    bench.wait_gone(&webs, &name).await;
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}

/// They have written Secrets with the names of releases, as many as there is memory for.
#[tokio::test]
async fn what_others_have_elsewhere_holds_up_no_release() {
    let test = "held_up_from_elsewhere";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let Some(memory) = MemoryGroup::new_or_say(test, MEMORY_LIMIT) else {
        return;
    };
    let (group, namespace) = (&bench.group, bench.namespace.as_str());
    bench.define_as(group, "Cluster", "Web", "webs", &["v1"]).await;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, releaseNamespace: {namespace}}}\n"
    ));
    bench.add_template(
        "bad.yaml",
        "{{ if .Values.bad }}{{ fail \"it is bad\" }}{{ end }}",
    );
    let operator = bench
        .operator_within(&memory, Path::new(env!("CARGO_BIN_EXE_steersman")))
        .await;
    let webs = resources(&bench, group, "v1", "webs", None);
    let names = ["mended", "gone"].map(|name| format!("{namespace}-{name}"));
    let is_bad = |web: &Value| condition(web, "Stalled").map(|_| ());
    let secrets: Api<DynamicObject> = Api::namespaced_with(
        bench.cluster.client().await.unwrap(),
        "kube-public",
        &ApiResource::erase::<Secret>(&()),
    );
    for name in &names {
        apply(&webs, &format!("{group}/v1"), name, json!({"bad": true})).await;
        bench.wait("the failure", &webs, name, is_bad).await;
        for revision in 1..=17 {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
                "metadata": {"name": secret_of(name, revision), "labels": {"owner": "helm", "name": name}},
                "stringData": {"release": "x".repeat(900_000)}});
            bench.create(&secrets, secret).await;
        }
    }
    apply(&webs, &format!("{group}/v1"), &names[0], json!({})).await;
    webs.delete(&names[1], &Default::default()).await.unwrap();
    wait_revision(&bench, &webs, &names[0], 1).await;
    bench.wait_gone(&webs, &names[1]).await;
    operator.stop().await.unwrap();
    for name in &names {
        let all = ListParams::default().labels(&format!("name={name}"));
        secrets
            .delete_collection(&Default::default(), &all)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn one_kind_in_two_groups_and_two_versions_has_one_release_for_each_resource() {
    let Some(bench) = Bench::new("watching").await else {
        return;
    };
    let group = &bench.group;
    let other = format!("other.{group}");
    bench
        .define_as(group, "Namespaced", "Web", "webs", &["v1", "v2"])
        .await;
    bench
        .define_as(&other, "Namespaced", "Web", "webs", &["v1"])
        .await;
    let newer = bench.folder.path().join("newer");
    copy(&bench.folder.path().join("web"), &newer);
    let values = newer.join("values.yaml");
    let text = std::fs::read_to_string(&values).unwrap();
    std::fs::write(&values, text.replace("message: hello", "message: newer")).unwrap();
    let watches = [
        (group.as_str(), "v1", "web"),
        (group, "v2", "newer"),
        (&other, "v1", "web"),
    ];
    let watches = watches.map(|(group, version, chart)| {
        format!("- {{group: {group}, version: {version}, kind: Web, chart: {chart}}}\n")
    });
    bench.watches(&watches.concat());
    let operator = bench.ready_operator().await;
    let namespace = Some(bench.namespace.as_str());
    let message_is = async |name: &str, expect: &str| {
        bench
            .wait(
                "the message",
                &bench.config_maps(),
                &format!("{name}-config"),
                |map| (map["data"]["message"] == expect).then_some(()),
            )
            .await;
    };
    for (group, version, name, expect) in [
        (group, "v1", "old", "hello"),
        (group, "v2", "new", "newer"),
        (&other, "v1", "foreign", "hello"),
    ] {
        let webs = resources(&bench, group, version, "webs", namespace);
        apply(&webs, &format!("{group}/{version}"), name, json!({})).await;
        wait_revision(&bench, &webs, name, 1).await;
        message_is(name, expect).await;
    }
    // Who writes the spec in another version moves the resource to that version's chart.
    let webs = resources(&bench, group, "v1", "webs", namespace);
    apply(&webs, &format!("{group}/v1"), "new", json!({"port": 81})).await;
    wait_revision(&bench, &webs, "new", 2).await;
    message_is("new", "hello").await;
    let history = bench.revisions().await;
    assert_eq!(
        history,
        ["1 deployed", "1 deployed", "1 superseded", "2 deployed"],
        "one release for each resource"
    );
    let log = operator.log_text();
    assert!(!log.contains("\"level\":\"error\""), "{log}");
    // A resource of the other group that has the name of one here is refused its release, and gets no object.
    let others = resources(&bench, &other, "v1", "webs", namespace);
    apply(&others, &format!("{other}/v1"), "old", json!({"message": "mine"})).await;
    let (_, _, message) = bench
        .wait("the refusal", &others, "old", |web| {
            condition(web, "Irreconcilable")
        })
        .await;
    assert!(message.contains("duplicate release name"), "{message}");
    message_is("old", "hello").await;
    others.delete("old", &Default::default()).await.unwrap();
    bench.wait_gone(&others, "old").await;
    message_is("old", "hello").await;
    webs.delete("new", &Default::default()).await.unwrap();
    bench.wait_gone(&webs, "new").await;
    operator.stop().await.unwrap();
}
