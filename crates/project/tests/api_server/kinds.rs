//! The table of Kubernetes' own kinds, compared with what the API server serves.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::Value;
use steersman_project::rbac::{Known, ResourceName};
use steersman_testkit::cluster::TestCluster;

use crate::server::Server;

/// What roles let an operator do with objects.
const VERBS: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];

/// Questions and commands, of which there are no objects.
const NO_OBJECTS: [&str; 8] = [
    "Binding",
    "ComponentStatus",
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
    "TokenReview",
];

#[tokio::test]
async fn the_table_of_kinds_is_what_the_server_serves() {
    let Some(cluster) = TestCluster::shared_or_skip("the table of kinds") else {
        return;
    };
    let server = Server::new(cluster.client().await.unwrap());
    let table = Known::of_kubernetes();
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut wrong = Vec::new();
    for (group, path) in group_versions(&server).await {
        for resource in server.get(&path).await.unwrap()["resources"].as_array().unwrap() {
            let text = |key: &str| resource[key].as_str().unwrap_or_default();
            if text("name").contains('/') {
                continue;
            }
            let found = ResourceName {
                plural: text("name").to_owned(),
                is_namespaced: resource["namespaced"] == true,
            };
            let kind = text("kind");
            if table.get(&group, kind) != Some(&found) {
                wrong.push(format!(
                    "{path}: {kind} is {found:?}, and {:?} in the table",
                    table.get(&group, kind)
                ));
            }
            let verbs: BTreeSet<&str> = resource["verbs"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let has_objects = VERBS.iter().all(|verb| verbs.contains(verb));
            if has_objects == NO_OBJECTS.contains(&kind) {
                wrong.push(format!("{path}: {kind} has the verbs {verbs:?}"));
            }
            seen.insert((group.clone(), kind.to_owned()));
        }
    }
    let rows: BTreeSet<(String, String)> = table
        .iter()
        .map(|(group, kind, _)| (group.to_owned(), kind.to_owned()))
        .collect();
    // What is off by default cannot be asked for.
    let off: Vec<String> = rows
        .difference(&seen)
        .map(|(group, kind)| format!("{kind}.{group}\n"))
        .collect();
    println!("{} kinds served, {} more in the table", seen.len(), off.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    expect![[r"
        ClusterTrustBundle.certificates.k8s.io
        PodCertificateRequest.certificates.k8s.io
        LeaseCandidate.coordination.k8s.io
        StorageVersion.internal.apiserver.k8s.io
        DeviceTaintRule.resource.k8s.io
        ResourcePoolStatusRequest.resource.k8s.io
        PodGroup.scheduling.k8s.io
        Workload.scheduling.k8s.io
        StorageVersionMigration.storagemigration.k8s.io
    "]]
    .assert_eq(&off.concat());
}

/// The groups of Kubernetes, with the path of each version that is served.
async fn group_versions(server: &Server) -> Vec<(String, String)> {
    let mut found = vec![(String::new(), "/api/v1".to_owned())];
    let groups = server.get("/apis").await.unwrap();
    for group in groups["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        // Groups of definitions that other tests have made.
        if name.contains("example.com") {
            continue;
        }
        for version in group["versions"].as_array().unwrap() {
            let path = format!("/apis/{}", version["groupVersion"].as_str().unwrap());
            found.push((name.to_owned(), path));
        }
    }
    found
}
