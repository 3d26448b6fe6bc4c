//! The Visitors Site once as a chart, once as roles.

use std::collections::BTreeMap;
use std::path::Path;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, PATIENCE, RUN_PATIENCE, condition, copy, has_ended};

/// Kinds of what controllers make of the objects, and what the cluster itself keeps in a namespace.
const OF_OTHERS: [&str; 9] = [
    "controllerrevisions.apps",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "events",
    "events.events.k8s.io",
    "leases.coordination.k8s.io",
    "persistentvolumeclaims",
    "pods",
    "replicasets.apps",
];

/// How labels and annotations begin that Helm, the operator or a controller adds.
const ADDED: &[&str] = &[
    "app.kubernetes.io/managed-by",
    "deployment.kubernetes.io/",
    "helm.sdk.",
    "helm.sh/",
    "meta.helm.sh/",
    "operator-sdk/",
    "steersman.dev/",
];

/// An operator for the sites of a namespace.
struct Side<'a> {
    bench: &'a Bench,
    namespace: String,
    operator: OperatorProcess,
}

impl<'a> Side<'a> {
    /// The operator of a folder in the repository, of which these paths are taken.
    async fn start(
        bench: &'a Bench,
        namespace: &str,
        folder: &str,
        paths: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let to = bench.folder.path().join(namespace);
        for path in paths {
            copy(&from.join(path), &to.join(path));
        }
        let watches = std::fs::read_to_string(from.join("watches.yaml")).unwrap();
        let watches = watches.replace("group: example.com", &format!("group: {}", bench.group));
        std::fs::write(to.join("watches.yaml"), watches).unwrap();
        let environment = [&[("WATCH_NAMESPACE", namespace)], environment].concat();
        let operator = bench.start(&to, &["--zap-log-level=debug"], &environment);
        operator.wait_until_ready(PATIENCE).await.unwrap();
        Self {
            bench,
            namespace: namespace.to_owned(),
            operator,
        }
    }

    fn sites(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(&self.bench.group, "v1alpha1", "VisitorsSite");
        let resource = ApiResource::from_gvk_with_plural(&kind, "visitorssites");
        Api::namespaced_with(self.bench.client.clone(), &self.namespace, &resource)
    }

    async fn apply(&self, name: &str, spec: &Value) {
        let site = json!({
            "apiVersion": format!("{}/v1alpha1", self.bench.group), "kind": "VisitorsSite",
            "metadata": {"name": name}, "spec": spec,
        });
        let parameters = PatchParams::apply("test").force();
        self.sites()
            .patch(name, &parameters, &Patch::Apply(&site))
            .await
            .unwrap();
    }

    /// Waits until what the site says now has been made. No pod runs, so a release does not become ready.
    async fn wait_made(&self, name: &str) {
        let made = |site: &Value| {
            let is_deployed = condition(site, "Deployed").is_some_and(|(status, ..)| status == "True");
            let has_run = condition(site, "Running").is_some_and(|(_, reason, _)| reason == "Successful");
            let has_failed = ["ReleaseFailed", "Failure"]
                .iter()
                .any(|kind| condition(site, kind).is_some_and(|(status, ..)| status == "True"));
            (has_ended(site) && !has_failed && (is_deployed || has_run)).then_some(())
        };
        let what = format!("the site in {}", self.namespace);
        self.bench
            .wait_within(RUN_PATIENCE, &what, &self.sites(), name, made)
            .await;
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        let arguments = [&["-n", &self.namespace], arguments].concat();
        self.bench.cluster.kubectl(&arguments).await.unwrap()
    }

    /// What the operator has made, by kind and name, without what differs from one namespace to another.
    async fn objects(&self) -> BTreeMap<String, Value> {
        let served = self
            .kubectl(&["api-resources", "--namespaced", "--verbs=list", "-o", "name"])
            .await;
        let kinds: Vec<&str> = served
            .lines()
            .filter(|kind| !kind.ends_with(".example.com") && !OF_OTHERS.contains(kind))
            .collect();
        let found = self.kubectl(&["get", &kinds.join(","), "-o", "json"]).await;
        let mut found: Value = serde_json::from_str(&found).unwrap();
        let items = found["items"].as_array_mut().unwrap();
        let objects = items.iter_mut().filter(|object| !is_of_others(object));
        let objects = objects.map(|object| {
            let name = object["metadata"]["name"].as_str().unwrap();
            let name = format!("{}/{name}", object["kind"].as_str().unwrap());
            strip(object);
            (name, object.take())
        });
        let mut objects: BTreeMap<String, Value> = objects.collect();
        // How many pods there are is the autoscaler's.
        let scaled = objects
            .keys()
            .filter_map(|name| name.strip_prefix("HorizontalPodAutoscaler/"));
        for name in scaled
            .map(|name| format!("Deployment/{name}"))
            .collect::<Vec<_>>()
        {
            remove(&mut objects.get_mut(&name).unwrap()["spec"], &["replicas"]);
        }
        objects
    }
}

/// Whether the object is the cluster's, or holds releases or keys.
fn is_of_others(object: &Value) -> bool {
    let is_kept = object["type"]
        .as_str()
        .is_some_and(|kind| ["helm.sh/release.v1", "steersman.dev/signing-keys"].contains(&kind));
    let name = object["metadata"]["name"].as_str().unwrap();
    is_kept || ["default", "kube-root-ca.crt"].contains(&name)
}

/// Leaves what a chart or role has said of an object, but for what Helm adds, what is random, and what is a digest of the
/// text of a template.
fn strip(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    let mut labels = object["metadata"]["labels"].take();
    remove(&mut labels, ADDED);
    let mut annotations = object["metadata"]["annotations"].take();
    remove(&mut annotations, ADDED);
    object["metadata"] = json!({"name": name, "labels": labels, "annotations": annotations});
    object.as_object_mut().unwrap().remove("status");
    if let Some(digest) = object.pointer_mut("/spec/template/metadata/annotations/checksum~1config") {
        assert_eq!(digest.as_str().unwrap().len(), 64);
        *digest = json!("a digest");
    }
    if let Some(site) = object.pointer_mut("/data/siteId") {
        assert_eq!(site.as_str().unwrap().matches('-').count(), 4);
        *site = json!("a UUID");
    }
    // Addresses and ports that the server has chosen.
    if object["kind"] == "Service" && object["spec"]["clusterIP"] != "None" {
        remove(&mut object["spec"], &["clusterIP"]);
        remove(&mut object["spec"]["ports"][0], &["nodePort"]);
    }
}

/// Removes the keys that begin so; of a map without any left nothing stays.
fn remove(map: &mut Value, starts: &[&str]) {
    if let Some(fields) = map.as_object_mut() {
        fields.retain(|key, _| !starts.iter().any(|start| key.starts_with(start)));
        if fields.is_empty() {
            *map = Value::Null;
        }
    }
}

/// A site with a database of its own, and next to nothing said.
fn plain() -> Value {
    json!({"database": {"auth": {"password": "visitors", "rootPassword": "root"}}})
}

/// A site with everything that can be turned on.
fn full() -> Value {
    let scaled = json!({"enabled": true, "maxReplicas": 9, "targetMemoryUtilizationPercentage": 80,
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}});
    json!({
        "global": {"imageRegistry": "mirror.example.com:5000", "imagePullSecrets": [{"name": "mirror"}]},
        "title": "Tom & Jerry's <visitors>",
        "message": "Welcome to \"the\" museum: 100 %",
        "accentColor": "#CC0000",
        "frontend": {
            "image": {"digest": format!("sha256:{}", "0".repeat(64))},
            "service": {"type": "NodePort", "port": 8081},
            "autoscaling": scaled,
            "podDisruptionBudget": {"enabled": true},
            "podSecurityContext": {"runAsUser": null, "runAsGroup": null},
        },
        "backend": {
            "workers": 8,
            "latest": 25,
            "migration": {"mode": "none"},
            "podDisruptionBudget": {"enabled": true, "minAvailable": "50%"},
            "resources": {"requests": {"cpu": 1}, "limits": {"memory": "512Mi"}},
        },
        "ingress": {
            "enabled": true, "className": "nginx", "host": "visitors.example.com", "tls": {"enabled": true},
            "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "1m"},
        },
        "serviceAccount": {"annotations": {"example.com/team": "portal"}},
        "database": {"enabled": false},
        "externalDatabase": {"host": "mysql.databases.svc", "port": 3307, "password": "p@ss: 'word'"},
    })
}

#[tokio::test]
async fn the_visitors_site_is_the_same_by_its_chart_and_by_its_roles() {
    let test = "the_visitors_site_is_the_same_by_its_chart_and_by_its_roles";
    let Some(ansible) = Ansible::find_or_skip(test) else {
        return;
    };
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let (kind, plural) = ("VisitorsSite", "visitorssites");
    bench
        .define_as(&bench.group, "Namespaced", kind, plural, &["v1alpha1"])
        .await;
    let other = bench.cluster.unique_namespace("op").await.unwrap();
    let (path, collections) = (ansible.path(), ansible.collections());
    let variables = [
        ("PATH", path.as_str()),
        ("ANSIBLE_COLLECTIONS_PATH", collections.to_str().unwrap()),
        ("ANSIBLE_GATHERING", "explicit"),
    ];
    let by_chart = Side::start(&bench, &bench.namespace, ".", &["helm-charts"], &[]).await;
    let by_roles = Side::start(
        &bench,
        &other,
        "examples/visitors-ansible",
        &["roles"],
        &variables,
    )
    .await;

    // Then each becomes as the other was: what is no longer asked for goes.
    for (museum, gallery) in [(plain(), full()), (full(), plain())] {
        for side in [&by_chart, &by_roles] {
            side.apply("museum", &museum).await;
            side.apply("gallery.east", &gallery).await;
        }
        for side in [&by_chart, &by_roles] {
            side.wait_made("museum").await;
            side.wait_made("gallery.east").await;
        }
        let (expect, found) = (by_chart.objects().await, by_roles.objects().await);
        let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&expect), names(&found));
        for (name, object) in &expect {
            assert_eq!(
                object, &found[name],
                "{name}\nchart: {object:#}\nroles: {:#}",
                found[name]
            );
        }
        assert!(expect.len() > 20, "{:?}", names(&expect));
    }

    by_roles.operator.stop().await.unwrap();
    by_chart.operator.stop().await.unwrap();
    by_roles
        .kubectl(&["scale", "deployment/museum-backend", "--replicas=7"])
        .await;
    assert_ne!(by_chart.objects().await, by_roles.objects().await);
}
