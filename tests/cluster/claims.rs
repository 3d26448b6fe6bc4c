//! Claim templates that ask for another size (`expandClaims`).
//!
//! There is no driver that would make a volume larger: what is shown is what is asked for, in which order, and that nothing
//! is lost.

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, AuditMark};

use crate::bench::{Bench, condition, has_ended};
use crate::developer::{Developer, contains_all};

/// A set with two templates, one of which keeps its size.
const SET: &str = r#"apiVersion: apps/v1
kind: StatefulSet
metadata: {name: {{ .Release.Name }}}
spec:
  serviceName: store
  replicas: {{ .Values.pods | default 2 }}
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: store, image: "store:{{ .Values.tag | default 1 }}"}]}
  volumeClaimTemplates:
  {{- range $name, $storage := dict "data" (.Values.storage | default "1Gi") "logs" "1Gi" }}
  - metadata: {name: {{ $name }}}
    spec:
      storageClassName: {{ $.Release.Namespace }}
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: "{{ $storage }}"}}
  {{- end }}
{{- with .Values.broken }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: {{ $.Release.Name }}}
spec: {defaultBackend: {service: {name: "Not A Name", port: {number: 80}}}}
{{- end }}
"#;

/// Claims of sets of a chart, with volumes for them.
pub(crate) struct Claims<'a> {
    bench: &'a Bench,
}

impl<'a> Claims<'a> {
    /// A chart of one set, and a class of claims that `expands` them or not.
    pub(crate) async fn of(bench: &'a Bench, expands: bool) -> Self {
        bench.remove_templates();
        bench.add_template("set.yaml", SET);
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": bench.namespace},
            "provisioner": "example.com/nobody", "allowVolumeExpansion": expands,
        });
        let claims = Self { bench };
        let classes = claims.of_cluster("storage.k8s.io", "StorageClass", "storageclasses");
        bench.create(&classes, class).await;
        claims
    }

    /// The same where chart and class are there.
    pub(crate) fn in_place(bench: &'a Bench) -> Self {
        Self { bench }
    }

    pub(crate) fn api(&self) -> Api<DynamicObject> {
        self.bench
            .api("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
    }

    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        self.bench.api("apps", "v1", "StatefulSet", "statefulsets")
    }

    pub(crate) fn pods(&self) -> Api<DynamicObject> {
        self.bench.api("", "v1", "Pod", "pods")
    }

    fn of_cluster(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::all_with(self.bench.client.clone(), &resource)
    }

    /// Waits until these claims are there, gives each a volume, and returns when they are bound.
    pub(crate) async fn bind(&self, names: &[String]) {
        let namespace = &self.bench.namespace;
        let volumes = self.of_cluster("", "PersistentVolume", "persistentvolumes");
        for name in names {
            let volume = json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("{namespace}-{name}")},
                "spec": {
                    "storageClassName": namespace, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                    "hostPath": {"path": "/nowhere"}, "claimRef": {"namespace": namespace, "name": name},
                },
            });
            self.bench.create(&volumes, volume).await;
        }
        for name in names {
            let is_bound = |claim: &Value| (claim["status"]["phase"] == "Bound").then_some(());
            self.bench.wait("its volume", &self.api(), name, is_bound).await;
        }
    }

    /// What a claim asks for.
    pub(crate) async fn size(&self, name: &str) -> String {
        let claim = self.api().get(name).await.unwrap();
        claim.data["spec"]["resources"]["requests"]["storage"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The UIDs of objects.
    pub(crate) async fn uids(&self, api: &Api<DynamicObject>, names: &[String]) -> Vec<Option<String>> {
        let mut uids = Vec::new();
        for name in names {
            uids.push(api.get(name).await.unwrap().metadata.uid);
        }
        uids
    }

    /// What the set's template of data asks for.
    pub(crate) async fn template(&self, set: &str) -> String {
        let set = self.sets().get(set).await.unwrap();
        set.data["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// An entry of watches.yaml that lets claims grow.
pub(crate) fn entry(bench: &Bench) -> Value {
    json!({"group": bench.group, "version": "v1", "kind": "Web", "chart": "web", "reconcilePeriod": "10h",
        "expandClaims": true})
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The operator's writes to sets and claims since `mark`, as `verb resource name`; what was only tried is left out.
pub(crate) async fn written(bench: &Bench, mark: AuditMark) -> Vec<String> {
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    kept(&audit, bench.user.name())
}

fn kept(audit: &AuditLog, user: &str) -> Vec<String> {
    let writes = audit.by_user(user).writes().filter(|request| {
        ["statefulsets", "persistentvolumeclaims"].contains(&request.resource.as_str())
            && !request.uri.contains("dryRun=All")
            && request.code.is_some_and(|code| code < 300)
    });
    let mut requests = writes.requests;
    requests.sort_by(|a, b| a.received.cmp(&b.received));
    requests
        .iter()
        .map(|request| format!("{} {} {}", request.verb, request.resource, request.name))
        .collect()
}

#[tokio::test]
async fn claims_grow_and_the_set_comes_back_to_its_pods() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"pods": 3})).await;
    bench.wait_revision("shop", 1).await;
    let all = names(&["data-shop-0", "data-shop-1", "data-shop-2", "logs-shop-0"]);
    claims.bind(&all).await;
    // One is left over, which its pod has again when the set is scaled up.
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&claims.pods(), "shop-2").await;
    let pods = names(&["shop-0", "shop-1"]);
    let before = (
        claims.uids(&claims.api(), &all).await,
        claims.uids(&claims.pods(), &pods).await,
    );
    let set = claims.sets().get("shop").await.unwrap().metadata.uid;

    let developer = Developer::of(&bench).await;
    let grown = json!({"storage": "2Gi"});
    developer.write_resource(&grown);
    let mark = bench.cluster.audit_mark().await.unwrap();
    let shown = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &shown,
        &[
            "recreated  StatefulSet NS/shop",
            "  expands claim data-shop-0 from 1Gi to 2Gi\n  expands claim data-shop-1 from 1Gi to 2Gi\n  expands claim \
             data-shop-2 from 1Gi to 2Gi\n",
        ],
    );
    assert!(!developer.has_written(mark).await);

    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", grown).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(
        written(&bench, mark).await,
        [
            "patch persistentvolumeclaims data-shop-0",
            "patch persistentvolumeclaims data-shop-1",
            "patch persistentvolumeclaims data-shop-2",
            "delete statefulsets shop",
            "patch statefulsets shop",
        ]
    );
    for (name, size) in all.iter().zip(["2Gi", "2Gi", "2Gi", "1Gi"]) {
        assert_eq!(claims.size(name).await, size, "{name}");
    }
    assert_eq!(claims.template("shop").await, "2Gi");
    let second = claims.sets().get("shop").await.unwrap().metadata.uid;
    assert_ne!(second, set);
    for pod in &pods {
        let of_second = |pod: &Value| {
            let owner = pod.pointer("/metadata/ownerReferences/0/uid")?.as_str();
            (owner == second.as_deref()).then_some(())
        };
        bench.wait("the new set", &claims.pods(), pod, of_second).await;
    }
    assert_eq!(claims.uids(&claims.api(), &all).await, before.0);
    assert_eq!(claims.uids(&claims.pods(), &pods).await, before.1);
    let events = bench.events().await;
    contains_all(
        &events,
        &[
            "ClaimExpanded",
            "expands claim data-shop-2 from 1Gi to 2Gi",
            "ObjectRecreated",
        ],
    );

    // Nothing is left to do, and a set of the same size costs no request more.
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"storage": "2048Mi", "tag": 2}))
        .await;
    bench.wait_revision("shop", 4).await;
    assert_eq!(written(&bench, mark).await, ["patch statefulsets shop"]);
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let asked = audit
        .by_user(bench.user.name())
        .filter(|request| request.resource == "persistentvolumeclaims");
    assert!(asked.is_empty(), "{asked}");
    operator.stop().await.unwrap();
}

/// Brings a set into being whose claims can't grow, has them grow, and gives what the status says of that. Nothing is
/// written.
async fn refusal(bench: &Bench, claims: &Claims<'_>, bound: &[String]) -> String {
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    claims.bind(bound).await;
    let set = claims.sets().get("shop").await.unwrap().metadata.uid;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(written(bench, mark).await, [""; 0]);
    assert_eq!(claims.sets().get("shop").await.unwrap().metadata.uid, set);
    for name in bound {
        assert_eq!(claims.size(name).await, "1Gi", "{name}");
    }
    operator.stop().await.unwrap();
    message.replace(&bench.namespace, "NS")
}

#[tokio::test]
async fn a_class_that_expands_nothing_is_named_and_nothing_is_written() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, false).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let bound = names(&["data-shop-0", "data-shop-1"]);
    let message = refusal(&bench, &claims, &bound).await;
    contains_all(
        &message,
        &[
            "failed to apply StatefulSet NS/shop, which stays as it is with its pods and claims",
            "PersistentVolumeClaim NS/data-shop-0 can't be expanded from 1Gi to 2Gi, as storage class `NS` does not allow it",
        ],
    );
    let web = bench.webs().get("shop").await.unwrap();
    let web = serde_json::to_value(web).unwrap();
    assert_eq!(condition(&web, "Stalled").unwrap().0, "True");
}

#[tokio::test]
async fn a_claim_without_a_volume_is_waited_for() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let message = refusal(&bench, &claims, &names(&["data-shop-0"])).await;
    let said = "PersistentVolumeClaim NS/data-shop-1 is not bound to a volume yet";
    contains_all(&message, &[said]);
    // The next try finds it.
    let operator = bench.ready_operator().await;
    claims.bind(&names(&["data-shop-1"])).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(claims.size("data-shop-1").await, "2Gi");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_claim_that_is_the_sets_by_its_name_alone_is_left_alone() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    for name in ["data-shop-1", "data-shop-7"] {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"storageClassName": bench.namespace, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
        });
        bench.create(&claims.api(), claim).await;
    }
    let bound = names(&["data-shop-0", "data-shop-1", "data-shop-7"]);
    let message = refusal(&bench, &claims, &bound).await;
    let said = "PersistentVolumeClaim NS/data-shop-1 has the name of one of the set's, but it has not the labels of the set's \
                selector";
    contains_all(&message, &[said]);
    // Once somebody has vouched for it, it grows; what no pod uses is nobody's business.
    let operator = bench.ready_operator().await;
    let labels = Patch::Merge(json!({"metadata": {"labels": {"app": "shop"}}}));
    claims
        .api()
        .patch("data-shop-1", &PatchParams::default(), &labels)
        .await
        .unwrap();
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}}),
        )
        .await;
    bench.wait_revision("shop", 2).await;
    for (name, size) in bound.iter().zip(["2Gi", "2Gi", "1Gi"]) {
        assert_eq!(claims.size(name).await, size, "{name}");
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn nothing_shrinks_be_it_asked_for_or_rolled_back() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let bound = names(&["data-shop-0", "data-shop-1"]);
    claims.bind(&bound).await;
    let rollback = json!({"metadata": {"annotations": {"steersman.dev/rollback-on-failure": "true"}}});
    bench.patch_web("shop", rollback).await;

    // The set grows before what comes after it fails, and goes back to its former pods, not to its former size.
    bench
        .apply_web("shop", json!({"storage": "2Gi", "tag": 2, "broken": true}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    let message = bench.wait_event("ClaimKept").await;
    assert!(
        message.contains("keeps 2Gi for claims (data-shop-0 to data-shop-1), as these do not shrink"),
        "{message}"
    );
    let image = |set: &Value| {
        let image = set.pointer("/spec/template/spec/containers/0/image")?;
        (image == "store:1").then_some(())
    };
    bench
        .wait("its former image", &claims.sets(), "shop", image)
        .await;
    assert_eq!(claims.template("shop").await, "2Gi");
    for name in &bound {
        assert_eq!(claims.size(name).await, "2Gi", "{name}");
    }
    let set = claims.sets().get("shop").await.unwrap().metadata.uid;

    // What others change is put back beside it.
    let drift = Patch::Merge(json!({"spec": {"replicas": 5}}));
    claims
        .sets()
        .patch("shop", &PatchParams::default(), &drift)
        .await
        .unwrap();
    let replicas = |set: &Value| (set["spec"]["replicas"] == 2).then_some(());
    bench.wait("its replicas", &claims.sets(), "shop", replicas).await;

    // Asked for, it is refused, and a size that is there is taken.
    let force = json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/upgrade-force": "true",
        "steersman.dev/rollback-on-failure": null}}});
    bench.patch_web("shop", force).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"tag": 3})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    let said = "claim template `data` asks for 1Gi instead of 2Gi, and claims (data-shop-0 to data-shop-1) do not shrink; ask \
                for no less than 2Gi";
    contains_all(&message, &[said]);
    let deleted = written(&bench, mark).await;
    assert!(
        deleted.iter().all(|line| !line.starts_with("delete")),
        "{deleted:?}"
    );
    assert_eq!(claims.sets().get("shop").await.unwrap().metadata.uid, set);
    bench.apply_web("shop", json!({"tag": 3, "storage": "2Gi"})).await;
    bench
        .wait("the release", &bench.webs(), "shop", |web| {
            (has_ended(web) && condition(web, "ReleaseFailed").is_none()).then_some(())
        })
        .await;
    assert_eq!(claims.sets().get("shop").await.unwrap().metadata.uid, set);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn claims_grow_only_where_the_watch_says_so() {
    let Some(bench) = Bench::with_kind("claims").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    let bound = names(&["data-shop-0", "data-shop-1"]);
    let message = refusal(&bench, &claims, &bound).await;
    contains_all(
        &message,
        &[
            "spec can't be changed in place",
            "`expandClaims: true` in the watch",
        ],
    );
    // On request the set is replaced as ever, and its claims are left.
    let operator = bench.ready_operator().await;
    let force = json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/upgrade-force": "true"}}});
    bench.patch_web("shop", force).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(claims.template("shop").await, "2Gi");
    assert_eq!(claims.size("data-shop-0").await, "1Gi");
    let found = claims.api().list(&ListParams::default()).await.unwrap();
    assert_eq!(found.items.len(), 4);
    operator.stop().await.unwrap();
}
