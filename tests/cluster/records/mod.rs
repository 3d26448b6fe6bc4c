//! Stored revisions are believed when the operator has written them, and go on as they are when it can't tell.

mod claimed_statuses;
mod forged;
mod other_releases;
mod signed_in_place;

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_operator::release::ReleaseRecord;

use crate::bench::Bench;

/// The key of a Secret with the signature of its revision.
const SIGNATURE: &str = "steersman-signature";

/// The name of the Secret with a revision.
pub(crate) fn secret_of(release: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// What a Secret with a revision has, changed as whoever may write Secrets can.
pub(crate) fn changed(secret: &DynamicObject, change: impl FnOnce(&mut ReleaseRecord)) -> String {
    let stored = secret.data["data"]["release"].as_str().unwrap();
    let mut record = ReleaseRecord::decode(&STANDARD.decode(stored).unwrap()).unwrap();
    change(&mut record);
    STANDARD.encode(record.encode().unwrap())
}

/// Takes all owners off an object.
pub(crate) async fn disown(api: &Api<DynamicObject>, name: &str) {
    let disowned = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
    api.patch(name, &PatchParams::default(), &disowned).await.unwrap();
}

/// Helm's record in a Secret.
pub(crate) fn record_in(secret: &DynamicObject) -> Value {
    let stored = STANDARD
        .decode(secret.data["data"]["release"].as_str().unwrap())
        .unwrap();
    let packed = STANDARD.decode(stored).unwrap();
    let mut json = String::new();
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut json)
        .unwrap();
    serde_json::from_str(&json).unwrap()
}

/// A record as a Secret has it in its data; Helm reads it without compression, too.
pub(crate) fn packed(record: &Value) -> String {
    STANDARD.encode(STANDARD.encode(record.to_string()))
}

/// What somebody who may write Secrets adds to a revision: an object of another namespace, and hooks.
struct Forgery {
    namespace: &'static str,
    name: String,
}

impl Forgery {
    fn of(bench: &Bench) -> Self {
        Self {
            namespace: "kube-public",
            name: format!("{}-forged", bench.namespace),
        }
    }

    fn object(&self, suffix: &str) -> String {
        let Self { namespace, name } = self;
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{suffix}, namespace: {namespace}}}\n"
        )
    }

    /// Adds it to a record.
    fn add_to(&self, record: &mut Value) {
        let manifest = record["manifest"].as_str().unwrap_or_default();
        record["manifest"] = format!(
            "{manifest}---\n# Source: web/templates/x.yaml\n{}",
            self.object("")
        )
        .into();
        let events = [
            "pre-install",
            "post-install",
            "pre-upgrade",
            "post-upgrade",
            "pre-rollback",
            "pre-delete",
            "post-delete",
        ];
        record["hooks"] = json!([{"name": format!("{}-hook", self.name), "kind": "ConfigMap", "path": "web/templates/h.yaml",
            "manifest": self.object("-hook"), "events": events, "last_run": {"phase": ""}}]);
    }

    /// Adds it to the record of `shop`'s first revision.
    async fn add_to_first(&self, bench: &Bench) {
        let name = secret_of("shop", 1);
        let mut record = record_in(&bench.secrets().get(&name).await.unwrap());
        self.add_to(&mut record);
        overwrite(bench, &name, &record).await;
    }

    /// Nothing of it was applied.
    async fn assert_absent(&self, bench: &Bench) {
        let api: Api<DynamicObject> = Api::namespaced_with(
            bench.client.clone(),
            self.namespace,
            &kube::core::ApiResource::from_gvk_with_plural(
                &kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap"),
                "configmaps",
            ),
        );
        let found = api.list_metadata(&ListParams::default()).await.unwrap();
        let names = found.items.into_iter().filter_map(|object| object.metadata.name);
        let left: Vec<String> = names.filter(|name| name.starts_with(&self.name)).collect();
        assert_eq!(left, [""; 0]);
    }
}

/// Writes a record over that of a revision.
async fn overwrite(bench: &Bench, name: &str, record: &Value) {
    let patch = json!({"data": {"release": packed(record)}});
    bench
        .secrets()
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}
