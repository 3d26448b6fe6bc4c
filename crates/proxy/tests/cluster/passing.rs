//! What passes as it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_those_of_the_server() {
    let Some(world) = World::or_skip("reads_are_those_of_the_server").await else {
        return;
    };
    let client = world.client();
    for number in 0..3 {
        client
            .kubectl(
                &["create", "-f", "-"],
                &world.map(&format!("m{number}"), json!({})),
            )
            .await;
    }
    for arguments in [
        &["get", "configmap", "m0", "-o", "json"][..],
        &["get", "configmaps", "-l", "steersman.dev/owner-uid", "-o", "name"],
        &["get", "configmaps", "--chunk-size=1", "-o", "name"],
        &["get", "configmap", "m0", "-o", "wide", "--no-headers"],
        &["get", "--raw", "/version"],
        &["api-resources", "--api-group=apps", "-o", "name"],
    ] {
        let mut direct = vec!["-n", &world.namespace];
        direct.extend(arguments);
        let expect = world.cluster.kubectl(&direct).await.unwrap();
        let found = client.kubectl(arguments, &json!(null)).await;
        // A table says how old an object is.
        let same = found == expect || arguments.contains(&"wide");
        assert!(same, "{arguments:?}: {found} instead of {expect}");
    }
    let lines = world.log.lines();
    assert!(lines.contains(&"list configmaps 200".to_owned()), "{lines:#?}");
    let missing = client
        .refused(&["get", "configmap", "missing"], &json!(null))
        .await;
    assert!(
        missing.contains("(NotFound): configmaps \"missing\" not found"),
        "{missing}"
    );
    let invalid = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "No!"}});
    let refused = client.refused(&["create", "-f", "-"], &invalid).await;
    assert!(refused.contains("is invalid: metadata.name"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_asked_for_at_the_server() {
    let Some(world) = World::or_skip("a_session_is_asked_for_at_the_server").await else {
        return;
    };
    let client = world.client();
    // No pod can run here. The server's own answer to the request for a session says that it has got it.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": world.namespace},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.kubectl(&["create", "-f", "-"], &pod).await;
    for arguments in [
        &["exec", "p", "--", "true"][..],
        &["attach", "p"],
        &["port-forward", "p", "0:80"],
    ] {
        let through = client.refused(arguments, &json!(null)).await;
        let mut direct = vec!["-n", &world.namespace];
        direct.extend(arguments);
        let expect = world.cluster.kubectl(&direct).await.unwrap_err().to_string();
        let last = through.lines().last().unwrap();
        assert!(
            expect.contains(last),
            "{arguments:?}: {through} instead of {expect}"
        );
    }
    client.kubectl(&["logs", "-f", "p"], &json!(null)).await;
    let path = format!(
        "/api/v1/namespaces/{}/pods/p/exec?command=true&stdout=true",
        world.namespace
    );
    for (method, protocol) in [("POST", "SPDY/3.1"), ("GET", "websocket")] {
        let upgrade = format!("Upgrade: {protocol}");
        let key = [
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: v5.channel.k8s.io",
        ];
        let headers = ["Connection: Upgrade, close", &upgrade, key[0], key[1], key[2]];
        let answer = client.raw(&format!("{method} {path}"), &headers, "").await;
        assert!(
            answer.starts_with("HTTP/1.1 ") && answer.contains("pod p does not have a host assigned"),
            "{protocol}: {answer}"
        );
    }
    let lines = world.log.lines();
    assert!(
        lines.iter().any(|line| line.starts_with("create pods/p/exec 4")),
        "{lines:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_secrets_are_told_before_they_are_seen() {
    let Some(world) = World::or_skip("values_of_secrets_are_told_before_they_are_seen").await else {
        return;
    };
    let secret = |name: &str, value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": world.namespace},
            "data": {"a": STANDARD.encode(value)}})
    };
    for (name, value) in [("read", "of-get"), ("listed", "of-list")] {
        world.make(secret(name, value)).await;
    }
    let client = world.client();
    let told = |value: &str| world.log.secrets().iter().any(|known| known == value);
    client
        .kubectl(&["create", "-f", "-"], &secret("made", "of-create"))
        .await;
    assert!(told("of-create"));
    let mut plain = secret("plain", "x");
    plain["stringData"] = json!({"b": "of-string-data"});
    client
        .kubectl(&["apply", "--server-side", "-f", "-"], &plain)
        .await;
    assert!(told("of-string-data"));
    client
        .kubectl(&["get", "secret", "read", "-o", "name"], &json!(null))
        .await;
    assert!(told("of-get") && !told("of-list"));
    client
        .kubectl(
            &["patch", "secret/read", "-p", r#"{"stringData":{"c":"of-patch"}}"#],
            &json!(null),
        )
        .await;
    assert!(told("of-patch"));
    let path = format!("/api/v1/namespaces/{}/secrets", world.namespace);
    let json_only = ["Accept: application/json", "Accept-Encoding: gzip"];
    let list = client.raw(&format!("GET {path}"), &json_only, "").await;
    assert!(list.starts_with("HTTP/1.1 200") && told("of-list"), "{list}");
    world.make(secret("late", "of-watch")).await;
    let watch = format!(
        "GET {path}?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let events = client.raw(&watch, &json_only, "").await;
    assert!(events.starts_with("HTTP/1.1 200") && told("of-watch"), "{events}");
    let refused = client
        .raw(
            &format!("GET {path}"),
            &["Accept: application/vnd.kubernetes.protobuf"],
            "",
        )
        .await;
    assert!(refused.starts_with("HTTP/1.1 406"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_paths_reach_the_server_as_they_are() {
    let Some(world) = World::or_skip("odd_paths_reach_the_server_as_they_are").await else {
        return;
    };
    let client = world.client();
    let space = &world.namespace;
    let body = world.map("odd", json!({})).to_string();
    // None of them makes an object without the owner's marks: those that are another way to write a path are understood.
    for path in [
        format!("//api/v1/namespaces/{space}/configmaps"),
        format!("/api//v1/namespaces/{space}/configmaps"),
        format!("/api/v1/namespaces//{space}/configmaps"),
        format!("/api/v1/namespaces/{space}/x/../configmaps"),
        format!("/api/v1/namespaces/{space}/./configmaps"),
        format!("/api/v1/namespaces/{space}/configmaps/"),
        format!("/api/v1/namespaces/{space}/%63onfigmaps"),
        format!("/api/v1/namespaces/{space}%2Fconfigmaps"),
        format!("/api/v1/namespaces/{space}/configmaps%"),
        format!("/apis/v1/namespaces/{space}/configmaps"),
    ] {
        let answer = client
            .raw(
                &format!("POST {path}"),
                &["Content-Type: application/json"],
                &body,
            )
            .await;
        let found = world
            .cluster
            .kubectl(&["-n", space, "get", "configmaps", "-o", "json"])
            .await
            .unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        let made = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|map| map["metadata"]["name"] == "odd");
        if let Some(made) = made {
            let owner = &made["metadata"]["ownerReferences"][0]["uid"];
            assert_eq!(owner, world.owner.uid.as_str(), "{path}: {answer}");
            world
                .cluster
                .kubectl(&["-n", space, "delete", "configmap/odd"])
                .await
                .unwrap();
        } else {
            assert!(!answer.starts_with("HTTP/1.1 2"), "{path}: {answer}");
        }
    }
}
