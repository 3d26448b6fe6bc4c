//! Whether operators grow with objects that are not theirs.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::candidate::{AT_ONCE, Candidate, Running};
use crate::cluster::Rig;
use crate::phases::{Figures, WITHOUT_PERIOD, wait_quiet};

/// How many bytes each object carries.
const SIZE: usize = 10_000;

/// Measures all candidates at once, before and after so many objects of others were made, and started anew.
pub(crate) async fn measure(rig: &Rig, all: &mut [(Candidate, Figures)], count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut running = start_all(rig, all).await?;
    for (candidate, _) in all.iter() {
        candidate.create_settings(rig).await?;
        wait_quiet(rig, candidate).await?;
    }
    for ((_, figures), running) in all.iter_mut().zip(&running) {
        figures.resident_foreign.0 = running.usage()?.resident;
    }
    make(rig, count).await?;
    for ((candidate, figures), running) in all.iter_mut().zip(running.drain(..)) {
        wait_quiet(rig, candidate).await?;
        figures.resident_foreign.1 = running.usage()?.resident;
        running.stop().await?;
    }
    let running = start_all(rig, all).await?;
    for ((candidate, figures), running) in all.iter_mut().zip(running) {
        wait_quiet(rig, candidate).await?;
        let usage = running.usage()?;
        figures.restarted_foreign = (usage.resident, usage.peak);
        running.stop().await?;
    }
    Ok(())
}

async fn start_all(rig: &Rig, all: &[(Candidate, Figures)]) -> Result<Vec<Running>> {
    let mut running = Vec::new();
    for (candidate, _) in all {
        rig.say(candidate.name, "starts beside objects of others");
        running.push(candidate.start(&[WITHOUT_PERIOD]).await?);
        wait_quiet(rig, candidate).await?;
    }
    Ok(running)
}

async fn make(rig: &Rig, count: usize) -> Result<()> {
    let namespace = rig.cluster.unique_namespace("others").await?;
    let payload = "x".repeat(SIZE);
    for (group, kind, plural) in [
        ("", "Secret", "secrets"),
        ("", "ConfigMap", "configmaps"),
        ("apps", "Deployment", "deployments"),
    ] {
        rig.say("others", &format!("{count} {plural}"));
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
