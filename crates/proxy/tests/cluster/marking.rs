//! Whose the objects are that come out of requests.

use serde_json::{Value, json};
use steersman_cluster::{OWNER_UID_LABEL, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, PrimaryResource};
use steersman_proxy::{Marks, Run, Standing, Unowned};

use crate::world::{World, owner};

/// Whether an object has the reference of an owner and, as its label, the UID of one.
fn check_owned(object: &Value, owners: &[&PrimaryResource], label: &PrimaryResource) {
    let metadata = &object["metadata"];
    let references: Vec<Value> = owners.iter().map(|owner| owner.reference()).collect();
    assert_eq!(metadata["ownerReferences"], json!(references), "{metadata}");
    assert_eq!(
        metadata["labels"][OWNER_UID_LABEL],
        label.uid.as_str(),
        "{metadata}"
    );
    assert!(
        metadata["annotations"].get(PRIMARY_RESOURCE).is_none(),
        "{metadata}"
    );
}

fn check_unmarked(object: &Value) {
    let metadata = &object["metadata"];
    assert!(metadata.get("ownerReferences").is_none(), "{metadata}");
    assert!(metadata["labels"].get(OWNER_UID_LABEL).is_none(), "{metadata}");
    assert!(
        metadata["annotations"].get(PRIMARY_RESOURCE).is_none(),
        "{metadata}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_makes_is_the_owners() {
    let Some(world) = World::or_skip("what_kubectl_makes_is_the_owners").await else {
        return;
    };
    let client = world.client();
    client
        .kubectl(&["create", "-f", "-"], &world.map("created", json!({})))
        .await;
    client
        .kubectl(&["apply", "-f", "-"], &world.map("applied", json!({})))
        .await;
    client
        .kubectl(
            &["apply", "--server-side", "-f", "-"],
            &world.map("server", json!({})),
        )
        .await;
    for name in ["created", "applied", "server"] {
        check_owned(
            &world.live(&format!("configmap/{name}")).await,
            &[&world.owner],
            &world.owner,
        );
    }
    // A replacement takes nothing away, nor does a patch or an apply for the second time.
    client
        .kubectl(
            &["replace", "-f", "-"],
            &world.map("created", json!({"annotations": {"x": "y"}})),
        )
        .await;
    let label = ["label", "configmap/applied", "x=y"];
    client.kubectl(&label, &json!(null)).await;
    client
        .kubectl(&["apply", "-f", "-"], &world.map("applied", json!({})))
        .await;
    client
        .kubectl(
            &["apply", "--server-side", "-f", "-"],
            &world.map("server", json!({"labels": {"x": "y"}})),
        )
        .await;
    for name in ["created", "applied", "server"] {
        check_owned(
            &world.live(&format!("configmap/{name}")).await,
            &[&world.owner],
            &world.owner,
        );
    }
    client
        .kubectl(&["delete", "configmap/applied"], &json!(null))
        .await;
    assert_eq!(client.admission.finish().await, 0, "everything has its label");
    let lines = world.log.take();
    for expect in [
        "create configmaps 201",
        "proxy: get configmaps/server 404",
        "patch configmaps/server 201",
        "proxy: get configmaps/created 200",
        "update configmaps/created 200",
        "patch configmaps/applied 200",
        "delete configmaps/applied 200",
    ] {
        assert!(lines.iter().any(|line| line == expect), "{expect}: {lines:#?}");
    }
    let made = world.log.objects();
    let made = made
        .iter()
        .find(|object| object.metadata.name.as_deref() == Some("server"))
        .unwrap();
    assert_eq!(
        (made.api_version.as_str(), made.kind.as_str()),
        ("v1", "ConfigMap")
    );
    assert_eq!(made.standing, Standing::Owned { is_labelled: true });
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_have_a_manager_that_says_whose_they_are() {
    let Some(world) = World::or_skip("fields_have_a_manager_that_says_whose_they_are").await else {
        return;
    };
    let client = world.client();
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let json_type = "Content-Type: application/json";
    let body = world.map("unnamed", json!({})).to_string();
    let made = client
        .raw(
            &format!("POST {path}"),
            &[json_type, "User-Agent: OpenAPI-Generator/1.0"],
            &body,
        )
        .await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let body = world.map("named", json!({})).to_string();
    let made = client
        .raw(&format!("POST {path}?fieldManager=me"), &[json_type], &body)
        .await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    for (name, manager) in [("unnamed", "steersman-roles"), ("named", "me")] {
        let live = world.live(&format!("configmap/{name}")).await;
        assert_eq!(live["metadata"]["managedFields"][0]["manager"], manager);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_where_no_reference_may_be_are_annotated() {
    let Some(world) = World::or_skip("objects_where_no_reference_may_be_are_annotated").await else {
        return;
    };
    let client = world.client();
    let other = world.cluster.unique_namespace("elsewhere").await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": other}});
    client.kubectl(&["-n", &other, "create", "-f", "-"], &map).await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{other}-role")}, "rules": []});
    client
        .kubectl(&["apply", "--server-side", "-f", "-"], &role)
        .await;
    let space =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{other}-made")}});
    client.kubectl(&["create", "-f", "-"], &space).await;
    let primary = format!("{}/toys", world.namespace);
    for target in [
        "configmap/a".to_owned(),
        format!("clusterrole/{other}-role"),
        format!("namespace/{other}-made"),
    ] {
        let metadata = world.live_in(&other, &target).await["metadata"].clone();
        assert!(metadata.get("ownerReferences").is_none(), "{metadata}");
        assert_eq!(metadata["annotations"][PRIMARY_RESOURCE], primary.as_str());
        assert_eq!(metadata["annotations"][PRIMARY_RESOURCE_TYPE], "ConfigMap");
        assert_eq!(metadata["labels"][OWNER_UID_LABEL], world.owner.uid.as_str());
    }
    client
        .kubectl(
            &["delete", "namespace", &format!("{other}-made"), "--wait=false"],
            &json!(null),
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_of_the_whole_cluster_owns_by_reference_everywhere() {
    let Some(world) = World::or_skip("an_owner_of_the_whole_cluster_owns_by_reference_everywhere").await
    else {
        return;
    };
    let uid = world.live(&format!("namespace/{}", world.namespace)).await["metadata"]["uid"].clone();
    let owner = PrimaryResource {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: world.namespace.clone(),
        uid: uid.as_str().unwrap().to_owned(),
    };
    let client = world.client_of(Run::new(owner.clone(), None));
    client
        .kubectl(&["create", "-f", "-"], &world.map("a", json!({})))
        .await;
    check_owned(&world.live("configmap/a").await, &[&owner], &owner);
    let name = format!("{}-role", world.namespace);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}});
    client.kubectl(&["create", "-f", "-"], &role).await;
    check_owned(
        &world.live(&format!("clusterrole/{name}")).await,
        &[&owner],
        &owner,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_owner_has_stays_that_ones() {
    let Some(world) = World::or_skip("what_another_owner_has_stays_that_ones").await else {
        return;
    };
    let books = owner(world.cluster, &world.namespace, "books").await;
    let theirs = world.client_of(Run::new(books.clone(), None));
    theirs
        .kubectl(&["create", "-f", "-"], &world.map("a", json!({})))
        .await;
    let client = world.client();
    client
        .kubectl(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            &world.map("a", json!({})),
        )
        .await;
    check_owned(&world.live("configmap/a").await, &[&books], &books);
    client
        .kubectl(&["replace", "-f", "-"], &world.map("a", json!({})))
        .await;
    check_owned(&world.live("configmap/a").await, &[&books], &books);
    client
        .kubectl(&["label", "configmap/a", "x=y"], &json!(null))
        .await;
    assert_eq!(client.admission.finish().await, 0);
    check_owned(&world.live("configmap/a").await, &[&books], &books);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_object_keeps_both_owners() {
    let Some(world) = World::or_skip("a_shared_object_keeps_both_owners").await else {
        return;
    };
    let books = owner(world.cluster, &world.namespace, "books").await;
    let both = json!([books.reference(), world.owner.reference()]);
    world
        .make(world.map(
            "a",
            json!({"ownerReferences": both, "labels": {OWNER_UID_LABEL: books.uid}}),
        ))
        .await;
    let client = world.client();
    client
        .kubectl(&["replace", "-f", "-"], &world.map("a", json!({})))
        .await;
    check_owned(&world.live("configmap/a").await, &[&books, &world.owner], &books);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_owns_is_adopted_only_where_that_is_asked_for() {
    let Some(world) = World::or_skip("what_nobody_owns_is_adopted_only_where_that_is_asked_for").await else {
        return;
    };
    world.make(world.map("a", json!({}))).await;
    let client = world.client();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    client.kubectl(&apply, &world.map("a", json!({}))).await;
    client
        .kubectl(&["replace", "-f", "-"], &world.map("a", json!({})))
        .await;
    check_unmarked(&world.live("configmap/a").await);
    let run = Run {
        unowned: Unowned::Adopt,
        ..Run::new(world.owner.clone(), None)
    };
    world
        .client_of(run)
        .kubectl(&apply, &world.map("a", json!({})))
        .await;
    check_owned(&world.live("configmap/a").await, &[&world.owner], &world.owner);
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_can_be_left_out() {
    let Some(world) = World::or_skip("marks_can_be_left_out").await else {
        return;
    };
    let run = |marks| Run {
        marks,
        ..Run::new(world.owner.clone(), None)
    };
    world
        .client_of(run(Marks::None))
        .kubectl(&["create", "-f", "-"], &world.map("none", json!({})))
        .await;
    check_unmarked(&world.live("configmap/none").await);
    world
        .client_of(run(Marks::Label))
        .kubectl(&["create", "-f", "-"], &world.map("label", json!({})))
        .await;
    let labelled = world.live("configmap/label").await;
    assert!(labelled["metadata"].get("ownerReferences").is_none());
    assert_eq!(
        labelled["metadata"]["labels"][OWNER_UID_LABEL],
        world.owner.uid.as_str()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lacks_the_label_gets_it_when_the_run_is_over() {
    let Some(world) = World::or_skip("what_lacks_the_label_gets_it_when_the_run_is_over").await else {
        return;
    };
    let ours = json!({"ownerReferences": [world.owner.reference()]});
    let annotated =
        json!({"annotations": {PRIMARY_RESOURCE: world.owner.primary(), PRIMARY_RESOURCE_TYPE: "ConfigMap"}});
    for (name, marks) in [
        ("read", &ours),
        ("patched", &ours),
        ("unseen", &ours),
        ("annotated", &annotated),
        ("gone", &ours),
    ] {
        world.make(world.map(name, marks.clone())).await;
    }
    let client = world.client();
    for name in ["read", "annotated", "gone", "toys"] {
        client
            .kubectl(&["get", "configmap", name, "-o", "json"], &json!(null))
            .await;
    }
    client
        .kubectl(
            &[
                "patch",
                "configmap/patched",
                "--type=json",
                "-p",
                r#"[{"op":"add","path":"/data/c","value":"d"}]"#,
            ],
            &json!(null),
        )
        .await;
    client.kubectl(&["delete", "configmap/gone"], &json!(null)).await;
    let before = world.live("configmap/read").await;
    assert!(
        before["metadata"]["labels"].get(OWNER_UID_LABEL).is_none(),
        "not in the midst of a run"
    );
    assert_eq!(client.admission.finish().await, 3);
    for (name, is_labelled) in [
        ("read", true),
        ("patched", true),
        ("annotated", true),
        ("unseen", false),
        ("toys", false),
    ] {
        let live = world.live(&format!("configmap/{name}")).await;
        assert_eq!(
            live["metadata"]["labels"].get(OWNER_UID_LABEL).is_some(),
            is_labelled,
            "{name}"
        );
    }
    let lines = world.log.lines();
    assert!(
        lines.contains(&"proxy: patch configmaps/read 200".to_owned()),
        "{lines:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_objects_that_are_kept_are_marked() {
    let Some(world) = World::or_skip("only_objects_that_are_kept_are_marked").await else {
        return;
    };
    let client = world.client();
    // A review is not kept, and kubectl sends it as protobuf.
    let may = client
        .kubectl(&["auth", "can-i", "create", "pods"], &json!(null))
        .await;
    assert_eq!(may, "yes\n");
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": world.namespace},
        "involvedObject": {"kind": "ConfigMap", "name": "toys", "namespace": world.namespace}, "reason": "A", "type": "Normal"});
    client.kubectl(&["create", "-f", "-"], &event).await;
    check_unmarked(&world.live("event/e").await);
    // The owner itself.
    client
        .kubectl(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            &world.map("toys", json!({})),
        )
        .await;
    client
        .kubectl(&["replace", "-f", "-"], &world.map("toys", json!({})))
        .await;
    check_unmarked(&world.live("configmap/toys").await);
    // A subresource.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "namespace": world.namespace}});
    client.kubectl(&["create", "-f", "-"], &account).await;
    let path = format!(
        "POST /api/v1/namespaces/{}/serviceaccounts/s/token",
        world.namespace
    );
    let body = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}"#;
    let answer = client.raw(&path, &["Content-Type: application/json"], body).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let secrets = world.log.secrets();
    assert!(
        secrets
            .iter()
            .any(|token| !token.is_empty() && answer.contains(token)),
        "the token is told"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_runs_stay_dry_and_leave_no_trace() {
    let Some(world) = World::or_skip("dry_runs_stay_dry_and_leave_no_trace").await else {
        return;
    };
    let client = world.client();
    let shown = client
        .kubectl(
            &["create", "--dry-run=server", "-o", "json", "-f", "-"],
            &world.map("a", json!({})),
        )
        .await;
    check_owned(
        &serde_json::from_str(&shown).unwrap(),
        &[&world.owner],
        &world.owner,
    );
    let gone = client.refused(&["get", "configmap", "a"], &json!(null)).await;
    assert!(gone.contains("NotFound"), "{gone}");
    assert_eq!(client.admission.finish().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn yaml_is_marked_and_what_cannot_be_marked_is_refused() {
    let Some(world) = World::or_skip("yaml_is_marked_and_what_cannot_be_marked_is_refused").await else {
        return;
    };
    let client = world.client();
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata: {a: 'yes'}\n";
    let made = client
        .raw(
            &format!("POST {path}"),
            &["Content-Type: application/yaml"],
            &yaml.replace("NAME", "a"),
        )
        .await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let apply = ["Content-Type: application/apply-patch+yaml"];
    let made = client
        .raw(&format!("PATCH {path}/b"), &apply, &yaml.replace("NAME", "b"))
        .await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    for name in ["a", "b"] {
        check_owned(
            &world.live(&format!("configmap/{name}")).await,
            &[&world.owner],
            &world.owner,
        );
    }
    let typed = ["create", "configmap", "typed", "--from-literal=a=b"];
    let refused = client.refused(&typed, &json!(null)).await;
    assert!(
        refused.contains("objects of type `application/vnd.kubernetes.protobuf` can't be marked"),
        "{refused}"
    );
    let twice = r#"{"metadata":{"name":"c"},"metadata":{"name":"c"}}"#;
    let refused = client.raw(&format!("POST {path}"), &[], twice).await;
    assert!(
        refused.starts_with("HTTP/1.1 400") && refused.contains("is there twice"),
        "{refused}"
    );
}
