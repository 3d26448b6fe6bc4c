//! Objects that are no operator's.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::candidate::{AT_ONCE, Kind};
use crate::cluster::Rig;

/// How many bytes each object carries.
const SIZE: usize = 10_000;

pub(crate) const SECRET: Kind = kind("Secret", "secrets");
pub(crate) const CONFIG_MAP: Kind = kind("ConfigMap", "configmaps");
pub(crate) const DEPLOYMENT: Kind = kind("Deployment", "deployments");

const fn kind(kind: &'static str, plural: &'static str) -> Kind {
    Kind { kind, plural }
}

/// Makes so many objects of each of these kinds, in a namespace of their own.
pub(crate) async fn make(rig: &Rig, kinds: &[Kind], count: usize) -> Result<()> {
    let namespace = rig.cluster.unique_namespace("others").await?;
    let payload = "x".repeat(SIZE);
    for Kind { kind, plural } in kinds {
        rig.say("others", &format!("{count} {plural}"));
        let group = if *kind == DEPLOYMENT.kind { "apps" } else { "" };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        let objects: Api<DynamicObject> = Api::namespaced_with(rig.client.clone(), &namespace, &resource);
        let template = object(kind, &resource.api_version, &payload);
        futures::stream::iter(0..count)
            .map(|number| create(&objects, &template, number))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
    }
    Ok(())
}

async fn create(objects: &Api<DynamicObject>, template: &Value, number: usize) -> Result<()> {
    let mut object: DynamicObject = serde_json::from_value(template.clone())?;
    object.metadata.name = Some(format!("other-{number}"));
    objects.create(&PostParams::default(), &object).await?;
    Ok(())
}

fn object(kind: &str, api_version: &str, payload: &str) -> Value {
    let labels = json!({"app": "other"});
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"labels": labels}});
    match kind {
        "Secret" => object["stringData"] = json!({"payload": payload}),
        "ConfigMap" => object["data"] = json!({"payload": payload}),
        // Paused, so that the control plane makes no ReplicaSets of them.
        _ => {
            object["spec"] = json!({
                "paused": true, "replicas": 0, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": {"payload": payload}},
                    "spec": {"containers": [{"name": "other", "image": "other"}]},
                },
            });
        }
    }
    object
}
