//! `steersman deploy` and `undeploy`, with kubectl beside them.

use std::fs;
use std::process::Command;

use kube::api::{Api, DynamicObject};
use serde_json::json;

use crate::bench::Bench;
use crate::developer::{Developer, contains_all};

/// A project in the folder of a bench, whose objects bear the names of the bench.
struct Project<'a> {
    bench: &'a Bench,
    developer: Developer<'a>,
    /// Where the operator is.
    system: String,
}

impl<'a> Project<'a> {
    async fn of(bench: &'a Bench) -> Self {
        let project = Self {
            bench,
            developer: Developer::of(bench).await,
            system: format!("{}-system", bench.namespace),
        };
        let group = &bench.group;
        project.write(
            "config/default/kustomization.yaml",
            &format!(
                "namespace: {0}\nnamePrefix: {1}-\nresources: [../crd, ../manager]\n",
                project.system, bench.namespace
            ),
        );
        project.write("config/crd/kustomization.yaml", "resources: [webs.yaml]\n");
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("webs.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": "Web", "listKind": "WebList", "plural": "webs", "singular": "web"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        });
        project.write("config/crd/webs.yaml", &definition.to_string());
        project.write("config/manager/kustomization.yaml", "resources: [manager.yaml]\n");
        project.write_manager("a");
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.bench.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The objects of the operator, which has a variable of this name.
    fn write_manager(&self, variable: &str) {
        let manager = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {system}, labels: {{app: manager}}}}\n---\n\
             apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: manager, namespace: {system}}}\nspec:\n  \
             selector: {{matchLabels: {{app: manager}}}}\n  template:\n    metadata: {{labels: {{app: manager}}}}\n    \
             spec:\n      serviceAccountName: manager\n      containers:\n      - name: manager\n        \
             image: controller:latest\n        args: [--leader-elect, --leader-election-id=shop-lease]\n        env: [{{name: {variable}, value: x}}]\n---\n\
             apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: manager, namespace: {system}}}\n",
            system = self.system
        );
        self.write("config/manager/manager.yaml", &manager);
    }

    fn manifests(&self) -> String {
        let printed = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .arg("manifests")
            .current_dir(self.bench.folder.path())
            .output()
            .unwrap();
        assert!(
            printed.status.success(),
            "{}",
            String::from_utf8_lossy(&printed.stderr)
        );
        String::from_utf8(printed.stdout).unwrap()
    }

    /// The Deployment of the operator as kubectl shows it.
    async fn get(&self, path: &str) -> String {
        let name = format!("{}-manager", self.bench.namespace);
        let path = format!("jsonpath={path}");
        let arguments = ["get", "deployment", &name, "-n", &self.system, "-o", &path];
        self.bench.cluster.kubectl(&arguments).await.unwrap()
    }

    /// The names of what kubectl finds of the operator, in any state.
    async fn left(&self) -> String {
        let names = [
            format!("namespace/{}", self.system),
            format!("customresourcedefinition/webs.{}", self.bench.group),
        ];
        let arguments = ["get", &names[0], &names[1], "--ignore-not-found", "-o", "name"];
        self.bench.cluster.kubectl(&arguments).await.unwrap()
    }
}

/// Makes a map that a resource owns in this version, and that is in no release, as roles and Jobs make it.
async fn own_a_map(bench: &Bench, (owner, version): (&str, &str), name: &str) {
    let owner = bench.webs().get(owner).await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": bench.namespace,
        "ownerReferences": [{"apiVersion": format!("{}/{version}", bench.group), "kind": "Web",
            "name": owner.metadata.name, "uid": owner.metadata.uid}]}});
    bench.cluster.apply_object(&map).await.unwrap();
}

const CONTAINER: &str =
    "{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[*].name}";

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_is_deployed_and_goes_when_its_resources_are_gone() {
    let Some(bench) = Bench::new("an_operator_is_deployed_and_goes").await else {
        return;
    };
    let project = Project::of(&bench).await;
    let said = project
        .developer
        .run(&["deploy", "--image", "shop:2", "--wait=false"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let order: Vec<&str> = said
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("created"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expect = [
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "Deployment",
    ];
    assert_eq!(order, expect, "{}", said.stderr);
    assert_eq!(project.get(CONTAINER).await, "shop:2 a");
    let said = project
        .developer
        .run(&["deploy", "--image", "shop:2", "--wait=false"]);
    assert_eq!(said.stderr.matches("unchanged").count(), 4, "{}", said.stderr);

    // No node runs here: the operator of the bench stands in for the one in the Deployment.
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    own_a_map(&bench, ("shop", "v1"), "shop-owned").await;
    own_a_map(&bench, ("shop", "v0"), "shop-stays").await;
    let said = project.developer.run(&["undeploy"]);
    assert_eq!(said.code, Some(1));
    contains_all(
        &said.stderr,
        &["1 resource of the operator's kinds", "shop", "--cascade"],
    );
    assert!(!said.stderr.contains("deleting"), "{}", said.stderr);
    assert_eq!(project.left().await.lines().count(), 2, "nothing is deleted");
    // Nor are the definitions alone, as `make uninstall` does it.
    let said = project
        .developer
        .run(&["undeploy", "--kustomize-dir", "config/crd"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert_eq!(project.left().await.lines().count(), 2, "nothing is deleted");

    let said = project.developer.run(&["undeploy", "--cascade"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(project.left().await, "");
    let left: Api<DynamicObject> = bench.config_maps();
    bench.wait_gone(&left, "shop-config").await;
    // The garbage collector knew its owner's kind for long enough, and never knew the version of the other.
    bench.wait_gone(&left, "shop-owned").await;
    contains_all(&said.stderr, &["left", "shop-stays: its owner is gone"]);
    assert!(left.get_opt("shop-stays").await.unwrap().is_some());
    assert_eq!(bench.revisions().await, [""; 0], "the release is uninstalled");
    let said = project.developer.run(&["undeploy"]);
    assert_eq!(
        (said.code, said.stderr.as_str()),
        (Some(0), ""),
        "nothing is there any more"
    );
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_without_an_operator_keep_everything_in_place() {
    let Some(bench) = Bench::new("resources_without_an_operator").await else {
        return;
    };
    let project = Project::of(&bench).await;
    project.developer.check(&["deploy", "--wait=false"], 0);
    let resource = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {
        "name": "shop", "namespace": bench.namespace, "finalizers": ["helm.sdk.operatorframework.io/uninstall-release"]}});
    bench.cluster.apply_object(&resource).await.unwrap();
    let said = project
        .developer
        .run(&["undeploy", "--cascade", "--timeout", "2s"]);
    assert_eq!(said.code, Some(1));
    contains_all(
        &said.stderr,
        &["not gone after 2 s", "shop", "the operator may not be running"],
    );
    assert_eq!(project.left().await.lines().count(), 2, "the operator stays");
    assert_eq!(project.get("{.metadata.deletionTimestamp}").await, "");
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    let kind = format!("webs.{}", bench.group);
    let arguments = [
        "patch",
        &kind,
        "shop",
        "-n",
        &bench.namespace,
        "--type=merge",
        "-p",
        patch,
    ];
    bench.cluster.kubectl(&arguments).await.unwrap();

    // What others have in the namespace of the operator stays, and so does the namespace.
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious", "namespace": project.system}});
    bench.cluster.apply_object(&map).await.unwrap();
    // The lease that the operator would have made is nobody's but its own.
    let lease = |name: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": project.system}});
    for name in ["shop-lease", "another"] {
        bench.cluster.apply_object(&lease(name)).await.unwrap();
    }
    let said = project.developer.run(&["undeploy"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    contains_all(&said.stderr, &["kept", "it has ConfigMap precious"]);
    let leases = ["get", "leases", "-n", &project.system, "-o", "name"];
    let leases = bench.cluster.kubectl(&leases).await.unwrap();
    assert_eq!(leases.trim(), "lease.coordination.k8s.io/another");
    assert_eq!(
        project.left().await.trim(),
        format!("namespace/{}", project.system)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_itself_that_it_is_kept_stays_when_the_operator_goes() {
    let Some(bench) = Bench::new("what_says_itself_that_it_is_kept").await else {
        return;
    };
    let project = Project::of(&bench).await;
    project.developer.check(&["deploy", "--wait=false"], 0);
    let keep = async |object: &[&str]| {
        let annotate = [&["annotate"], object, &["helm.sh/resource-policy=keep"]].concat();
        bench.cluster.kubectl(&annotate).await.unwrap();
    };
    let resource = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "shop", "namespace": bench.namespace}});
    bench.cluster.apply_object(&resource).await.unwrap();
    let kind = format!("webs.{}", bench.group);
    let shop = [kind.as_str(), "shop", "-n", &bench.namespace];
    keep(&shop).await;
    let said = project.developer.run(&["undeploy", "--cascade"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    contains_all(
        &said.stderr,
        &["the annotation helm.sh/resource-policy keeps", "shop"],
    );
    let found = bench
        .cluster
        .kubectl(&[&["get"], &shop[..], &["-o", "name"]].concat())
        .await;
    assert!(found.unwrap().contains("shop"));

    bench
        .cluster
        .kubectl(&[&["delete"], &shop[..]].concat())
        .await
        .unwrap();
    let definition = ["crd", kind.as_str()];
    keep(&definition).await;
    let said = project.developer.run(&["undeploy"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    contains_all(
        &said.stderr,
        &["kept", "its annotation helm.sh/resource-policy says so"],
    );
    assert!(project.left().await.contains(&kind), "{}", project.left().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_meanwhile_and_is_kept_is_said_at_once() {
    let Some(bench) = Bench::new("what_comes_meanwhile_and_is_kept").await else {
        return;
    };
    let project = Project::of(&bench).await;
    project.developer.check(&["deploy", "--wait=false"], 0);
    let resource = |name: &str, metadata: serde_json::Value| {
        let mut resource =
            json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": metadata});
        resource["metadata"]["name"] = name.into();
        resource["metadata"]["namespace"] = bench.namespace.as_str().into();
        resource
    };
    let stuck = resource("stuck", json!({"finalizers": ["example.com/theirs"]}));
    bench.cluster.apply_object(&stuck).await.unwrap();
    let come = async || {
        let webs = bench.webs();
        let is_going = |web: &serde_json::Value| web.pointer("/metadata/deletionTimestamp").map(|_| ());
        bench.wait("its deletion", &webs, "stuck", is_going).await;
        let kept = resource(
            "kept",
            json!({"annotations": {"helm.sh/resource-policy": "keep"}}),
        );
        bench.cluster.apply_object(&kept).await.unwrap();
    };
    let arguments = ["undeploy", "--cascade", "--timeout", "2m"];
    let said = std::thread::scope(|scope| {
        let undeploying = scope.spawn(|| project.developer.run(&arguments));
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(come()));
        undeploying.join().unwrap()
    });
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    contains_all(
        &said.stderr,
        &["the annotation helm.sh/resource-policy keeps", "kept"],
    );
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    let kind = format!("webs.{}", bench.group);
    let mend = [
        "patch",
        &kind,
        "stuck",
        "-n",
        &bench.namespace,
        "--type=merge",
        "-p",
        patch,
    ];
    bench.cluster.kubectl(&mend).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_has_deployed_is_taken_over() {
    let Some(bench) = Bench::new("what_kubectl_has_deployed").await else {
        return;
    };
    let project = Project::of(&bench).await;
    let printed = project.manifests();
    bench.cluster.apply(&printed).await.unwrap();
    assert_eq!(project.get(CONTAINER).await, "controller:latest a");
    project.write_manager("b");
    project.developer.check(&["deploy", "--wait=false"], 0);
    assert_eq!(
        project.get(CONTAINER).await,
        "controller:latest b",
        "what is dropped goes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_where_a_kind_is_not_served() {
    let Some(bench) = Bench::new("nothing_is_written_where_a_kind").await else {
        return;
    };
    let project = Project::of(&bench).await;
    project.write(
        "config/manager/kustomization.yaml",
        "resources: [manager.yaml, monitor.yaml]\n",
    );
    project.write(
        "config/manager/monitor.yaml",
        "apiVersion: nobody.example.com/v1\nkind: Monitor\nmetadata: {name: monitor}\n",
    );
    let said = project.developer.run(&["deploy"]);
    assert_eq!(said.code, Some(1));
    contains_all(
        &said.stderr,
        &["Monitor", "(nobody.example.com/v1)", "nothing was written"],
    );
    assert_eq!(project.left().await, "");
    // What is not served is not there to be taken out.
    project.developer.check(&["undeploy"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_does_not_run_is_said() {
    let Some(bench) = Bench::new("an_operator_that_does_not_run").await else {
        return;
    };
    let project = Project::of(&bench).await;
    let said = project.developer.run(&["deploy", "--timeout", "1s"]);
    assert_eq!(said.code, Some(1));
    contains_all(
        &said.stderr,
        &["waiting for", "is not available after 1 s: ", "--wait=false"],
    );
}
