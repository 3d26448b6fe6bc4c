//! An operator for some namespaces, with Roles in these.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, OperatorCommand, OperatorProcess, Request};

use super::{define_shops, generated, rbac, refused};
use crate::bench::{Bench, PATIENCE, wait_until};

/// A namespace that is watched.
struct Place<'b> {
    bench: &'b Bench,
    namespace: &'b str,
    /// Where else its releases have something that is known to them.
    far: Option<&'b str>,
}

impl Place<'_> {
    fn api(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.bench.client.clone(), self.namespace, &resource)
    }

    fn kinds(&self) -> [(&'static str, Api<DynamicObject>); 2] {
        let group = &self.bench.group;
        [
            ("Shop", self.api(group, "Shop", "shops")),
            ("Wide", self.api(group, "Wide", "wides")),
        ]
    }

    /// Has a release of each kind say something, in this revision.
    async fn say(&self, message: &str, revision: u64) {
        for (kind, api) in self.kinds() {
            let name = kind.to_lowercase();
            let object = json!({"apiVersion": format!("{}/v1", self.bench.group), "kind": kind,
                "metadata": {"name": name}, "spec": {"message": message}});
            let parameters = PatchParams::apply("test").force();
            api.patch(&name, &parameters, &Patch::Apply(&object))
                .await
                .unwrap();
        }
        for (kind, api) in self.kinds() {
            let name = kind.to_lowercase();
            self.bench
                .wait("the revision", &api, &name, |found| {
                    let seen =
                        found.pointer("/status/observedGeneration") == found.pointer("/metadata/generation");
                    let deployed =
                        found.pointer("/status/revision").and_then(Value::as_u64) == Some(revision);
                    (seen && deployed).then_some(())
                })
                .await;
        }
    }

    /// Takes an object away, and changes another one; the operator brings both back.
    async fn disturb(&self) {
        let maps = self.api("", "ConfigMap", "configmaps");
        maps.delete("shop", &DeleteParams::default()).await.unwrap();
        let deployments = self.api("apps", "Deployment", "deployments");
        let image =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "shop", "image": "other"}]}}}});
        deployments
            .patch("shop", &PatchParams::default(), &Patch::Strategic(image))
            .await
            .unwrap();
        self.bench
            .wait("the object", &maps, "shop", |found| {
                (!found.is_null()).then_some(())
            })
            .await;
        self.bench
            .wait("the image", &deployments, "shop", |found| {
                let image = found.pointer("/spec/template/spec/containers/0/image")?;
                (image == "registry.example.com/shop:1").then_some(())
            })
            .await;
    }

    /// Makes all revisions unreadable.
    async fn damage(&self) {
        let secrets = self.api("", "Secret", "secrets");
        let owned = ListParams::default().labels("owner=helm");
        let broken = Patch::Merge(json!({"data": {"release": "YnJva2Vu"}}));
        let found = secrets.list_metadata(&owned).await.unwrap().items;
        assert!(!found.is_empty());
        for secret in found {
            let name = secret.metadata.name.unwrap();
            secrets
                .patch(&name, &PatchParams::default(), &broken)
                .await
                .unwrap();
        }
    }

    /// Removes the resources; nothing of their releases is left where it can be found.
    async fn remove(&self) {
        for (kind, api) in self.kinds() {
            api.delete(&kind.to_lowercase(), &DeleteParams::default())
                .await
                .unwrap();
        }
        for (kind, api) in self.kinds() {
            self.bench.wait_gone(&api, &kind.to_lowercase()).await;
        }
        let of_release = [
            ("", "ConfigMap", "configmaps"),
            ("apps", "Deployment", "deployments"),
            ("rbac.authorization.k8s.io", "Role", "roles"),
            ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
        ];
        for (group, kind, plural) in of_release {
            self.bench.wait_gone(&self.api(group, kind, plural), "shop").await;
        }
        if let Some(far) = self.far {
            let there = Place {
                namespace: far,
                ..*self
            };
            let name = format!("{}-shop", self.namespace);
            self.bench
                .wait_gone(&there.api("", "ConfigMap", "configmaps"), &name)
                .await;
        }
        let wide = format!("{}-wide", self.namespace);
        self.bench.wait_gone(&self.bench.cluster_roles(), &wide).await;
    }
}

#[tokio::test]
async fn an_operator_for_some_namespaces_runs_under_exactly_the_roles_in_these() {
    let Some(mut bench) = Bench::new("an_operator_for_some_namespaces").await else {
        return;
    };
    let far = bench.cluster.unique_namespace("far").await.unwrap();
    define_shops(&bench, &far).await;
    let other = bench.cluster.unique_namespace("op").await.unwrap();
    let own = bench.cluster.unique_namespace("own").await.unwrap();
    let namespaces = format!("{},{other}", bench.namespace);
    let name = format!("shops-{}", bench.namespace);
    bench.user = bench
        .cluster
        .user(&format!("system:serviceaccount:{own}:shops"), &[])
        .unwrap();
    let watched = ["--watch-namespace", namespaces.as_str()];
    let flags = [
        "--operator-namespace",
        &own,
        "--service-account",
        "shops",
        "--name",
        &name,
    ];
    let roles = generated(bench.folder.path(), &[&watched[..], &flags].concat());
    bench.cluster.apply(&roles).await.unwrap();

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = start(&bench, &namespaces, &own).await;
    let places = [bench.namespace.as_str(), other.as_str()];
    let mut places = places.map(|namespace| Place {
        bench: &bench,
        namespace,
        far: Some(&far),
    });
    for place in &places {
        place.say("one", 1).await;
        place.say("two", 2).await;
        place.disturb().await;
    }
    places[0].remove().await;
    operator.stop().await.unwrap();
    // What nothing names any more is found by its mark in the namespace of its release.
    places[1].damage().await;
    places[1].far = None;
    let operator = start(&bench, &namespaces, &own).await;
    places[1].remove().await;
    operator.stop().await.unwrap();

    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    assert_eq!(refused(&audit), [""; 0]);
    assert_eq!(outside(&audit, &[&bench.namespace, &other, &own, &far]), [""; 0]);
    let log = own_log(&bench);
    fs::write(bench.folder.path().join("roles.yaml"), &roles).unwrap();
    let audited = [
        "--role",
        "roles.yaml",
        "--audit-log",
        log.to_str().unwrap(),
        "--user",
        bench.user.name(),
    ];
    let checked = rbac("check", bench.folder.path(), &[&watched[..], &audited].concat());
    let said = String::from_utf8(checked.stdout).unwrap();
    // A custom resource is read where it changes while its finalizer is taken off, and an object where a deletion waits for it:
    // for what is found by its mark none does.
    let is_unused_read = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let may_be = words[1].ends_with(&bench.group) || words[2] == other;
        words[0] == "unused" && words[3] == "get" && may_be
    };
    let rest: Vec<&str> = said
        .lines()
        .skip(1)
        .filter(|line| !is_unused_read(line))
        .collect();
    assert_eq!(rest, [""; 0], "{}", String::from_utf8_lossy(&checked.stderr));
}

/// Starts the operator, and waits until it may do everything.
async fn start(bench: &Bench, namespaces: &str, own: &str) -> OperatorProcess {
    let folder = bench.folder.path();
    let lease = format!("--leader-election-namespace={own}");
    let number = fs::read_dir(folder).unwrap().count();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
        folder,
        kubeconfig: bench.user.kubeconfig(),
        arguments: &[
            "--leader-elect",
            "--leader-election-id=shops",
            &lease,
            "--zap-log-level=debug",
        ],
        environment: &[("WATCH_NAMESPACE", namespaces)],
        log: &folder.join(format!("operator-{number}.log")),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let has_all = || operator.log_text().matches("No permission is missing").count() == 2;
    wait_until("the comparison of the permissions", has_all).await;
    operator
}

/// What was asked for in other namespaces, or in all; of resources of the cluster only those of the chart may be.
fn outside(audit: &AuditLog, namespaces: &[&str]) -> Vec<String> {
    let is_inside = |request: &Request| match request.namespace.as_str() {
        "" => {
            request.resource.is_empty()
                || matches!(
                    request.resource.as_str(),
                    "clusterroles" | "selfsubjectrulesreviews"
                )
        }
        namespace => namespaces.contains(&namespace),
    };
    let outside = audit.requests.iter().filter(|request| !is_inside(request));
    outside
        .map(|request| format!("{} {}", request.verb, request.uri))
        .collect()
}

/// The lines of the audit log that are about the operator: others use the same server.
fn own_log(bench: &Bench) -> PathBuf {
    let path = bench.folder.path().join("audit.log");
    let mut own = File::create(&path).unwrap();
    let all = File::open(bench.cluster.folder().join("audit.log")).unwrap();
    for line in BufReader::new(all).lines() {
        let line = line.unwrap();
        if line.contains(bench.user.name()) {
            writeln!(own, "{line}").unwrap();
        }
    }
    path
}
