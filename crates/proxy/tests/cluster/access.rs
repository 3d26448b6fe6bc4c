//! Who gets through, as whom, and until when.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use crate::world::{World, ask};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_through_without_a_credential() {
    let Some(world) = World::or_skip("nobody_gets_through_without_a_credential").await else {
        return;
    };
    for request in [
        "GET /version",
        "GET /api/v1/secrets",
        "GET /",
        "POST /api/v1/namespaces",
        "DELETE //x",
        "OPTIONS *",
    ] {
        for headers in [
            &[][..],
            &["Authorization: Bearer abc"],
            &["Authorization: Basic YTpi"],
        ] {
            let answer = ask(world.port, request, headers, "").await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{request}: {answer}");
            assert!(
                answer.contains(r#""kind":"Status""#) && answer.contains(r#""reason":"Unauthorized""#),
                "{answer}"
            );
        }
    }
    assert!(world.log.lines().is_empty(), "{:?}", world.log.lines());
    let client = world.client();
    assert!(
        client
            .raw("GET /version", &[], "")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let secret = client.admission.credential().secret().to_owned();
    let token = format!("Authorization: Bearer {secret}");
    drop(client.admission);
    let answer = ask(world.port, "GET /version", &[&token], "").await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(!answer.contains(&secret));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_with_its_run() {
    let Some(world) = World::or_skip("a_watch_ends_with_its_run").await else {
        return;
    };
    let client = world.client();
    let mut watching = client
        .command(&["get", "configmaps", "-w", "-o", "name"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    client
        .kubectl(&["create", "-f", "-"], &world.map("early", json!({})))
        .await;
    let next = timeout(SOON, async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "configmap/early" {
                return true;
            }
        }
        false
    });
    assert!(next.await.unwrap(), "the watch tells of what is made");
    // A connection that waits for its next request ends, too.
    let idle = tokio::net::TcpStream::connect(("127.0.0.1", world.port))
        .await
        .unwrap();
    let request = format!(
        "GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
        client.admission.credential().secret()
    );
    let (mut reader, mut writer) = idle.into_split();
    tokio::io::AsyncWriteExt::write_all(&mut writer, request.as_bytes())
        .await
        .unwrap();
    let mut begin = [0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut reader, &mut begin)
        .await
        .unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    drop(client.admission);
    let mut rest = Vec::new();
    timeout(SOON, tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut rest))
        .await
        .unwrap()
        .unwrap();
    world.make(world.map("late", json!({}))).await;
    let status = timeout(SOON, watching.wait())
        .await
        .expect("the watch has ended")
        .unwrap();
    let rest = timeout(SOON, async {
        let mut rest = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            rest.push(line);
        }
        rest
    });
    let rest = rest.await.unwrap();
    assert!(!rest.contains(&"configmap/late".to_owned()), "{status}: {rest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_its_own_rights_alone() {
    let Some(world) = World::or_skip("an_account_has_its_own_rights_alone").await else {
        return;
    };
    let space = &world.namespace;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "maps", "namespace": space},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "maps", "namespace": space},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": space}]});
    world.make(role).await;
    world.make(binding).await;
    let client = world.client_as("deployer");
    let made = client
        .kubectl(&["apply", "--server-side", "-f", "-"], &world.map("a", json!({})))
        .await;
    assert!(made.contains("serverside-applied"), "{made}");
    let refused = client.refused(&["get", "secrets"], &json!(null)).await;
    let user = format!("system:serviceaccount:{space}:deployer");
    assert!(
        refused.contains("Forbidden") && refused.contains(&user),
        "{refused}"
    );
    // A replacement is looked at first, which the account may; what it may not look at it can't replace.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": space}});
    let path = format!("PUT /api/v1/namespaces/{space}/secrets/s");
    let refused = client
        .raw(&path, &["Content-Type: application/json"], &secret.to_string())
        .await;
    assert!(
        refused.starts_with("HTTP/1.1 403") && refused.contains(&user),
        "{refused}"
    );
    let who = |client: &crate::world::Client<'_>| {
        client.command(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"])
    };
    let said = who(&client).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), user);
    let said = who(&world.client()).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "proxy-operator");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_say_who_it_is() {
    let Some(world) = World::or_skip("a_client_cannot_say_who_it_is").await else {
        return;
    };
    let review = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let request = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let spoofed = [
        "Content-Type: application/json",
        "Impersonate-User: admin",
        "Impersonate-Group: system:masters",
        "Impersonate-Extra-A: b",
        "X-Remote-User: admin",
        "X-Remote-Group: system:masters",
        "Connection: close, Authorization",
    ];
    for (client, user) in [
        (world.client(), "proxy-operator".to_owned()),
        (
            world.client_as("nobody"),
            format!("system:serviceaccount:{}:nobody", world.namespace),
        ),
    ] {
        let answer = client.raw(request, &spoofed, review).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        assert!(answer.contains(&format!(r#""username":"{user}""#)), "{answer}");
        assert!(!answer.contains("system:masters"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_without_the_lease() {
    let Some(world) = World::or_skip("nothing_is_written_without_the_lease").await else {
        return;
    };
    let client = world.client();
    client
        .kubectl(&["create", "-f", "-"], &world.map("a", json!({})))
        .await;
    world
        .make(world.map(
            "unlabelled",
            json!({"ownerReferences": [world.owner.reference()]}),
        ))
        .await;
    client
        .kubectl(&["get", "configmap", "unlabelled", "-o", "json"], &json!(null))
        .await;
    world.gate.close();
    world.log.take();
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let merge = "Content-Type: application/merge-patch+json";
    for (request, headers) in [
        (format!("POST {path}"), &[][..]),
        (format!("PUT {path}/a"), &[]),
        (format!("PATCH {path}/a"), &[merge]),
        (format!("DELETE {path}/a"), &[]),
        (
            format!("GET /api/v1/namespaces/{}/pods/p/exec?command=a", world.namespace),
            &["Connection: Upgrade, close", "Upgrade: websocket"],
        ),
    ] {
        let answer = client
            .raw(&request, headers, r#"{"metadata":{"name":"a"}}"#)
            .await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{request}: {answer}");
        assert!(answer.to_lowercase().contains("retry-after: 5"), "{answer}");
        assert!(answer.contains(r#""reason":"ServiceUnavailable""#), "{answer}");
    }
    client.kubectl(&["get", "configmap", "a"], &json!(null)).await;
    let is_write = |line: &String| !line.starts_with("get") && !line.starts_with("proxy: get");
    assert_eq!(client.admission.finish().await, 0);
    let lines = world.log.lines();
    assert!(!lines.iter().any(is_write), "{lines:#?}");
}
