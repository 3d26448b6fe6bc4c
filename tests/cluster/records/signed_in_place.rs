//! Releases go on as they are when nobody vouches for their revisions any longer, or does not yet: no object changes, no hook
//! runs, no password is drawn anew, and no revision is added.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, OperatorProcess, number_of_releases};

use super::{SIGNATURE, secret_of};
use crate::bench::{Bench, PATIENCE};

/// As many as show it; `STEERSMAN_RELEASES=500` takes more.
const RELEASES: usize = 20;
/// So many requests of the test are on their way at a time.
const PARALLEL: usize = 8;
const KEYS: &str = "steersman-signing-keys";

/// Releases of a chart with random values, and an operator as in a cluster, which has its keys in a namespace of its own.
struct Fleet {
    bench: Bench,
    keys: String,
    count: usize,
}

/// What must stay: of each object its UID and what it says; of those that no controller writes the version, too.
type Dump = BTreeMap<String, Value>;

impl Fleet {
    async fn new(test: &str) -> Option<Self> {
        let bench = Bench::with_kind(test).await?;
        // Random beside the password: a name, and a line of a text.
        bench.add_template(
            "chance.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ randAlphaNum 6 | lower }}\ndata:\n  \
             file: |\n    color = blue\n    token = {{ randAlphaNum 12 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
             name: {{ .Release.Name }}-hook-{{ randAlphaNum 6 | lower }}\n  annotations: {helm.sh/hook: \
             \"pre-install,pre-upgrade,pre-delete\"}\n",
        );
        let keys = bench.cluster.unique_namespace("keys").await.unwrap();
        let fleet = Self {
            bench,
            keys,
            count: number_of_releases(RELEASES),
        };
        let operator = fleet.operator().await;
        for name in fleet.names() {
            fleet.bench.apply_web(&name, json!({"message": "hi"})).await;
        }
        for name in fleet.names() {
            fleet.wait_revision(&name, 1).await;
        }
        operator.stop().await.unwrap();
        Some(fleet)
    }

    fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|number| format!("shop-{number:03}"))
    }

    /// How long all of them may take.
    fn patience(&self) -> Duration {
        PATIENCE + Duration::from_millis(500) * u32::try_from(self.count).unwrap()
    }

    async fn operator(&self) -> OperatorProcess {
        let operator = self.start(&[]);
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    fn start(&self, flags: &[&str]) -> OperatorProcess {
        let keys = format!("--leader-election-namespace={}", self.keys);
        let flags = [&[keys.as_str(), "--zap-log-level=debug"], flags].concat();
        let in_pod = [("KUBERNETES_SERVICE_HOST", "127.0.0.1")];
        self.bench.start(self.bench.folder.path(), &flags, &in_pod)
    }

    async fn wait_revision(&self, name: &str, revision: u64) {
        let (patience, webs) = (self.patience(), self.bench.webs());
        let reached = |web: &Value| {
            let found = web.pointer("/status/revision").and_then(Value::as_u64);
            (found == Some(revision)).then_some(())
        };
        let what = format!("revision {revision}");
        self.bench
            .wait_within(patience, &what, &webs, name, reached)
            .await;
    }

    fn key_secrets(&self) -> Api<DynamicObject> {
        let kind = kube::core::GroupVersionKind::gvk("", "v1", "Secret");
        let resource = kube::core::ApiResource::from_gvk_with_plural(&kind, "secrets");
        Api::namespaced_with(self.bench.client.clone(), &self.keys, &resource)
    }

    async fn revisions(&self) -> Vec<DynamicObject> {
        let selector = ListParams::default().labels("owner=helm");
        self.bench.secrets().list(&selector).await.unwrap().items
    }

    /// The keys with which the newest revisions are signed, and how many by each.
    async fn signed_by(&self) -> BTreeMap<String, usize> {
        use base64::Engine as _;
        let mut newest: BTreeMap<String, (u32, String)> = BTreeMap::new();
        for secret in self.revisions().await {
            let labels = secret.metadata.labels.unwrap();
            let version = labels["version"].parse().unwrap();
            let signature = secret.data["data"][SIGNATURE].as_str().unwrap_or_default();
            let signature = base64::engine::general_purpose::STANDARD
                .decode(signature)
                .unwrap();
            let signature: Value = serde_json::from_slice(&signature).unwrap_or_default();
            let key = signature["key"].as_str().unwrap_or("nobody").to_owned();
            let slot = newest.entry(labels["name"].clone()).or_default();
            if version > slot.0 {
                *slot = (version, key);
            }
        }
        let mut counts = BTreeMap::new();
        for (_, key) in newest.into_values() {
            *counts.entry(key).or_default() += 1;
        }
        counts
    }

    /// Waits until all are signed by one key that is not `former`, and gives that.
    async fn wait_signed(&self, former: &str) -> String {
        let begun = Instant::now();
        loop {
            let signed = self.signed_by().await;
            if let Some((key, count)) = signed.first_key_value()
                && signed.len() == 1
                && *count == self.count
                && key != former
                && key != "nobody"
            {
                return key.clone();
            }
            assert!(begun.elapsed() < self.patience(), "{signed:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Takes the signatures away: what is left is what was written before there were any.
    async fn strip(&self) {
        let secrets = self.bench.secrets();
        let patch = json!({"data": {SIGNATURE: null}});
        let requests = self.revisions().await.into_iter().map(|secret| {
            let (secrets, patch) = (secrets.clone(), patch.clone());
            async move {
                let name = secret.metadata.name.unwrap();
                let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
                secrets.patch_metadata(&name, &parameters, &patch).await
            }
        });
        let done = futures::stream::iter(requests).buffer_unordered(PARALLEL);
        done.try_collect::<Vec<_>>().await.unwrap();
    }

    /// Everything of the releases but their revisions, whose number and state is there.
    async fn dump(&self) -> Dump {
        let bench = &self.bench;
        let mut dump = Dump::new();
        let namespaced = [
            bench.config_maps(),
            bench.services(),
            bench.deployments(),
            bench.secrets(),
        ];
        for api in namespaced.into_iter().chain([bench.cluster_roles()]) {
            for object in api.list(&ListParams::default()).await.unwrap() {
                let kind = api.resource_url().to_owned();
                let name = object.metadata.name.clone().unwrap();
                if !name.contains("shop-") {
                    continue;
                }
                let is_of_others = kind.contains("clusterroles") && !name.starts_with(&bench.namespace);
                if is_of_others {
                    continue;
                }
                dump.insert(format!("{kind} {name}"), reduced(object));
            }
        }
        dump
    }
}

fn reduced(object: DynamicObject) -> Value {
    let metadata = object.metadata;
    if object.data["type"] == "helm.sh/release.v1" {
        return json!([metadata.labels.unwrap()["status"], metadata.uid]);
    }
    let mut data = object.data;
    let data = data.as_object_mut().unwrap();
    // A Deployment's controller writes its status, and with it the version.
    let version = if data.remove("status").is_some() {
        None
    } else {
        metadata.resource_version
    };
    json!([metadata.uid, metadata.generation, version, data])
}

/// What an operator has written but events, leases and the status of resources.
fn changes(audit: &AuditLog, bench: &Bench) -> AuditLog {
    audit.by_user(bench.user.name()).writes().filter(|request| {
        !matches!(request.resource.as_str(), "events" | "leases") && request.subresource != "status"
    })
}

/// Starts an operator, and checks that it signs all revisions with another key than `former`, with a write for each and nothing
/// else.
async fn go_on(fleet: &Fleet, former: &str) -> String {
    let before = fleet.dump().await;
    let mark = fleet.bench.cluster.audit_mark().await.unwrap();
    let operator = fleet.operator().await;
    let key = fleet.wait_signed(former).await;
    operator.stop().await.unwrap();
    let audit = changes(
        &fleet.bench.cluster.audit_since(mark).await.unwrap(),
        &fleet.bench,
    );
    let is_trial = |uri: &str| uri.contains("dryRun=All");
    let written = audit.filter(|request| !is_trial(&request.uri) && request.name != KEYS);
    assert_eq!(written.len(), fleet.count, "{written}");
    assert_eq!(written.resource("secrets").len(), fleet.count, "{written}");
    let after = fleet.dump().await;
    assert_eq!(after, before);
    key
}

#[tokio::test]
async fn releases_from_before_signatures_and_with_lost_or_other_keys_go_on_as_they_are() {
    let Some(fleet) = Fleet::new("signed").await else {
        return;
    };
    let signed = fleet.signed_by().await;
    assert_eq!(signed.len(), 1, "{signed:?}");

    // As an operator from before there were signatures has left them.
    fleet.strip().await;
    let first = go_on(&fleet, "nobody").await;
    assert!(signed.contains_key(&first), "the key is the same");

    // The key is lost, and a new one made.
    let keys = fleet.key_secrets();
    keys.delete(KEYS, &DeleteParams::default()).await.unwrap();
    let second = go_on(&fleet, &first).await;
    assert_ne!(second, first);

    // Another key is added: what the first has signed is believed, and nothing is written.
    let patch = json!({"stringData": {"key-2": "0123456789abcdef0123456789abcdef"}});
    let parameters = PatchParams::default();
    keys.patch(KEYS, &parameters, &Patch::Merge(patch)).await.unwrap();
    let before = fleet.dump().await;
    let mark = fleet.bench.cluster.audit_mark().await.unwrap();
    let operator = fleet.operator().await;
    fleet.bench.apply_web("beacon", json!({})).await;
    fleet.wait_revision("beacon", 1).await;
    operator.stop().await.unwrap();
    let audit = changes(
        &fleet.bench.cluster.audit_since(mark).await.unwrap(),
        &fleet.bench,
    );
    let about_others = audit.filter(|request| !request.name.contains("beacon"));
    assert!(about_others.is_empty(), "{about_others}");
    assert_eq!(fleet.dump().await, before);
    let signed = fleet.signed_by().await;
    assert_eq!(signed.get(&second), Some(&fleet.count), "{signed:?}");
    assert_eq!(signed.len(), 2, "{signed:?}");
    let operator = fleet.operator().await;
    fleet.bench.delete_web("beacon").await;
    fleet.bench.wait_gone(&fleet.bench.webs(), "beacon").await;
    operator.stop().await.unwrap();

    // The first one is taken away.
    let patch = json!({"data": {"key-1": null}});
    keys.patch(KEYS, &parameters, &Patch::Merge(patch)).await.unwrap();
    let third = go_on(&fleet, &second).await;
    assert_ne!(third, second);
}

#[tokio::test]
async fn replicas_that_start_together_sign_with_the_same_key() {
    let Some(fleet) = Fleet::new("signed").await else {
        return;
    };
    fleet.strip().await;
    let keys = fleet.key_secrets();
    keys.delete(KEYS, &DeleteParams::default()).await.unwrap();
    let before = fleet.dump().await;
    let flags = ["--leader-elect", "--leader-election-id=shop"];
    let replicas = [fleet.start(&flags), fleet.start(&flags)];
    let key = fleet.wait_signed("nobody").await;
    let [first, second] = replicas;
    first.stop().await.unwrap();
    let mark = fleet.bench.cluster.audit_mark().await.unwrap();
    fleet.bench.apply_web("beacon", json!({})).await;
    // Whichever was left acts, or has acted from the start.
    fleet.wait_revision("beacon", 1).await;
    second.stop().await.unwrap();
    assert_eq!(fleet.wait_signed_with_one_more(&key).await, fleet.count + 1);
    let audit = changes(
        &fleet.bench.cluster.audit_since(mark).await.unwrap(),
        &fleet.bench,
    );
    let about_others = audit.filter(|request| !request.name.contains("beacon"));
    assert!(about_others.is_empty(), "{about_others}");
    let mut after = fleet.dump().await;
    after.retain(|id, _| !id.contains("beacon"));
    assert_eq!(after, before);

    // Without a lease, too, a key is made once.
    keys.delete(KEYS, &DeleteParams::default()).await.unwrap();
    let client = &fleet.bench.client;
    let opened = (0..8).map(|_| steersman_operator::release::Signer::open(client.clone(), &fleet.keys, true));
    for signer in futures::future::join_all(opened).await {
        let shown = format!("{:?}", signer.unwrap().keys());
        let secret = keys.get(KEYS).await.unwrap();
        let data = secret.data["data"].as_object().unwrap();
        assert_eq!(data.len(), 1);
        assert!(shown.contains(&id_of(data["key-1"].as_str().unwrap())), "{shown}");
    }
}

/// What a key is called in signatures.
fn id_of(key: &str) -> String {
    use base64::Engine as _;
    let key = base64::engine::general_purpose::STANDARD.decode(key).unwrap();
    steersman_model::Digest::of(&key).to_string()[..16].to_owned()
}

impl Fleet {
    async fn wait_signed_with_one_more(&self, key: &str) -> usize {
        let signed = self.signed_by().await;
        assert_eq!(signed.len(), 1, "{signed:?}");
        signed[key]
    }
}

/// Helm writes the whole Secret of a revision, and knows nothing of signatures.
#[tokio::test]
async fn a_rollback_by_hand_to_what_the_chart_renders_is_taken_over_as_it_is() {
    let Some(bench) = Bench::with_kind("signed").await else {
        return;
    };
    // The number of the revision would be a difference.
    bench.edit(
        "configmap.yaml",
        "  revision: {{ .Release.Revision | quote }}\n",
        "",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "hi"})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let secret = bench.secrets().get("shop-secret").await.unwrap();
    let map = bench.config_maps().get("shop-config").await.unwrap();
    let arguments = [
        "rollback",
        "shop",
        "1",
        "--force-conflicts",
        "--namespace",
        &bench.namespace,
    ];
    bench.cluster.helm(&arguments).await.unwrap();
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);

    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    let signed = bench.secrets().get(&secret_of("shop", 2)).await.unwrap();
    assert!(signed.data["data"].get(SIGNATURE).is_some());
    let now = bench.secrets().get("shop-secret").await.unwrap();
    assert_eq!(now.data, secret.data, "the password is the same");
    assert_eq!(now.metadata.uid, secret.metadata.uid);
    let now = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(now.data, map.data);
}

/// As backups restore them: without owners, and all UIDs are others.
#[tokio::test]
async fn a_restored_release_goes_on_as_it_is() {
    let Some(bench) = Bench::with_kind("signed").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "hi"})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let kept = [
        (bench.config_maps(), "shop-config".to_owned()),
        (bench.secrets(), "shop-secret".to_owned()),
        (bench.services(), "shop".to_owned()),
        (bench.deployments(), "shop".to_owned()),
        (bench.cluster_roles(), format!("{}-shop", bench.namespace)),
        (bench.secrets(), secret_of("shop", 1)),
    ];
    let mut saved = Vec::new();
    for (api, name) in &kept {
        saved.push(api.get(name).await.unwrap());
    }
    let web = bench.webs().get("shop").await.unwrap();
    let free = json!({"metadata": {"finalizers": null}});
    bench.patch_web("shop", free).await;
    bench.delete_web("shop").await;
    for (api, name) in &kept {
        let _ = api.delete(name, &DeleteParams::default()).await;
        bench.wait_gone(api, name).await;
    }
    let restored = |object: &DynamicObject| {
        let mut object = object.clone();
        let before = object.metadata;
        object.metadata = kube::core::ObjectMeta {
            name: before.name,
            labels: before.labels,
            annotations: before.annotations,
            finalizers: before.finalizers,
            ..Default::default()
        };
        if let Some(data) = object.data.as_object_mut() {
            data.remove("status");
            if let Some(spec) = data.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("clusterIP");
                spec.remove("clusterIPs");
            }
        }
        object
    };
    for ((api, _), object) in kept.iter().zip(&saved) {
        api.create(&Default::default(), &restored(object)).await.unwrap();
    }
    let created = bench
        .webs()
        .create(&Default::default(), &restored(&web))
        .await
        .unwrap();
    assert_ne!(created.metadata.uid, web.metadata.uid);
    let mut uids = Vec::new();
    for (api, name) in &kept {
        uids.push(api.get(name).await.unwrap().metadata.uid);
    }

    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    for (((api, name), before), uid) in kept.iter().zip(&saved).zip(uids) {
        let now = api.get(name).await.unwrap();
        assert_eq!(now.metadata.uid, uid, "{name}");
        if name != &secret_of("shop", 1) && !name.eq("shop") {
            assert_eq!(now.data, before.data, "{name}");
        }
    }
    // It is the resource's from here on.
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    for (api, name) in &kept {
        bench.wait_gone(api, name).await;
    }
    operator.stop().await.unwrap();
}
