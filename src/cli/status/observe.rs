//! Everything that is to be said about a release, read from the cluster.

use std::sync::Arc;

use anyhow::anyhow;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Served;
use steersman_model::{
    ApiKind, ObjectId, ReleaseName, ReleaseStatus, RenderedObject, chain, objects_of_manifest,
};
use steersman_operator::release::{History, Signer, Stored, namespace_of};
use steersman_operator::status::{Health, UNSEEN, checked, health};
use steersman_watches::{HealthCheck, Watches};

use super::view::{Condition, ObjectView, ReleaseView, RevisionView, StageView, Verdict};
use super::workload::{add_children, describe_pod};
use crate::cli::Failure;
use crate::cli::cluster::{Cluster, Named, failed};

/// So many objects are read at a time.
pub(super) const PARALLEL: usize = 8;

/// An object of the release: what is printed of it, and the live object.
#[derive(Debug)]
pub(super) struct ObservedObject {
    pub(super) view: ObjectView,
    pub(super) live: Option<DynamicObject>,
}

/// Reads a resource, the newest revision of its release, and all objects of that, which are judged as `watches` says.
pub(super) async fn observe(
    cluster: &Cluster,
    named: &Named,
    watches: Option<&Watches>,
) -> Result<ReleaseView, Failure> {
    let served = cluster.discovery.served().await.map_err(failed)?;
    let (api, resource) = Cluster::kind(&served, &named.kind, |_| false)?;
    let object = cluster.get(&api, &resource, &named.name).await?;
    let revisions = revisions(cluster, &object, &api.api_version(), &api.kind).await?;
    // What runs is the deployed revision; where there is none yet, what is being installed.
    let shown = revisions
        .iter()
        .rfind(|stored| stored.record.info.status == ReleaseStatus::Deployed)
        .or(revisions.last());
    let checks = checks_of(watches, &api);
    let mut seen = match shown {
        Some(stored) => objects(cluster, &served, stored, checks).await?,
        None => Vec::new(),
    };
    // Who may read a release need not be allowed to read pods.
    let below = add_children(cluster, &mut seen).await;
    let objects = seen.into_iter().map(|seen| seen.view).collect();
    let mut view = view(&api.kind, &object, revisions.last(), objects);
    if let Err(error) = below {
        view.unknown
            .push(format!("the pods can't be listed: {}", chain(&error)));
    }
    Ok(view)
}

/// The health checks for what a kind of resources is released as; of several versions of it, those of this one first.
fn checks_of<'w>(watches: Option<&'w Watches>, api: &ApiKind) -> &'w [HealthCheck] {
    let of_kind = watches.into_iter().flatten().filter(|watch| {
        let gvk = &watch.gvk;
        (&gvk.group, &gvk.kind) == (&api.group, &api.kind)
    });
    let watch = of_kind.min_by_key(|watch| watch.gvk.version != api.version);
    watch.map_or(&[], |watch| &watch.health_checks)
}

async fn revisions(
    cluster: &Cluster,
    object: &DynamicObject,
    api_version: &str,
    kind: &str,
) -> Result<Vec<Stored>, Failure> {
    let metadata = &object.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let release = ReleaseName::new(name.clone()).map_err(failed)?;
    let uid = metadata.uid.clone().unwrap_or_default();
    let namespace = match &metadata.namespace {
        Some(namespace) => Some(namespace.clone()),
        None => namespace_of(cluster.client.clone(), &release, &uid)
            .await
            .map_err(|error| {
                Failure::failed(
                    anyhow!(error).context(format!("failed to look for release {release}")),
                    None,
                )
            })?,
    };
    let Some(namespace) = namespace else {
        return Ok(Vec::new());
    };
    let owner = OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name,
        uid,
        ..OwnerReference::default()
    };
    let signer = Arc::new(Signer::unchecked());
    let history = History::new(cluster.client.clone(), release, &namespace, owner, signer);
    history.load().await.map_err(failed)
}

async fn objects(
    cluster: &Cluster,
    served: &Served,
    stored: &Stored,
    checks: &[HealthCheck],
) -> Result<Vec<ObservedObject>, Failure> {
    let rendered = objects_of_manifest(&stored.record.manifest).map_err(failed)?;
    let reads: Vec<_> = rendered
        .into_iter()
        .map(|object| {
            async move {
                let mut id = ObjectId {
                    group: object.api.group.clone(),
                    kind: object.api.kind.clone(),
                    namespace: object.namespace.clone(),
                    name: object.name.clone(),
                };
                let Some(resource) = served.resource(&object.api) else {
                    return Ok(missing(id, "its kind is not served"));
                };
                if resource.namespaced && id.namespace.is_none() {
                    id.namespace = Some(stored.record.namespace.clone());
                }
                let api = cluster.api(resource, id.namespace.as_deref());
                match api.get_opt(&id.name).await.map_err(RequestError::from) {
                    Ok(Some(live)) => Ok(ObservedObject::of(id, &resource.api, live, checks)),
                    Ok(None) => Ok(absent(id, &object, stored)),
                    Err(error) if error.is_not_found() => Ok(absent(id, &object, stored)),
                    Err(error) => Err(failed(error)),
                }
            }
            .boxed()
        })
        .collect();
    futures::stream::iter(reads)
        .buffered(PARALLEL)
        .try_collect()
        .await
}

impl ObservedObject {
    fn of(id: ObjectId, api: &ApiResource, live: DynamicObject, checks: &[HealthCheck]) -> Self {
        let mut checks = checks.iter();
        let mut view = match checks.find(|check| check.is_for(&id.group, &id.kind)) {
            Some(check) => {
                let said = checked(check, api, &live);
                view_of(id, &live, Some(said))
            }
            None => judge(id, &live),
        };
        if (view.id.group.as_str(), view.id.kind.as_str()) == ("", "Pod") {
            describe_pod(&mut view, &live);
        }
        Self {
            view,
            live: Some(live),
        }
    }
}

fn missing(id: ObjectId, message: &str) -> ObservedObject {
    unread(id, Verdict::Missing, message)
}

/// What is said of an object that is not there: a Job may have done its work.
fn absent(id: ObjectId, object: &RenderedObject, stored: &Stored) -> ObservedObject {
    let is_job = (id.group.as_str(), id.kind.as_str()) == ("batch", "Job");
    if is_job && stored.snapshot.completed().any(|completed| *completed == id) {
        unread(id, Verdict::Ready, "it has done its work, and is gone")
    } else if is_job && object.value.pointer("/spec/ttlSecondsAfterFinished").is_some() {
        missing(id, "it goes by itself when it has ended")
    } else {
        missing(id, "")
    }
}

fn unread(id: ObjectId, health: Verdict, message: &str) -> ObservedObject {
    ObservedObject {
        view: ObjectView {
            id,
            health,
            message: message.to_owned(),
            pod: None,
            children: Vec::new(),
        },
        live: None,
    }
}

/// What is said of a live object: whether it does what it is there for, and if not, why.
pub(super) fn judge(id: ObjectId, live: &DynamicObject) -> ObjectView {
    let said = health(&id.group, &id.kind, live.metadata.generation, &live.data);
    view_of(id, live, said)
}

fn view_of(id: ObjectId, live: &DynamicObject, said: Option<Health>) -> ObjectView {
    let (verdict, message) = if live.metadata.deletion_timestamp.is_some() {
        (Verdict::Progressing, "it is being deleted".to_owned())
    } else {
        match said {
            None | Some(Health::Ready | Health::Unsaid) => (Verdict::Ready, String::new()),
            Some(Health::Unseen) => (Verdict::Progressing, UNSEEN.to_owned()),
            Some(Health::Progressing(message)) => (Verdict::Progressing, message),
            Some(Health::Failed(message)) => (Verdict::Failed, message),
        }
    };
    ObjectView {
        id,
        health: verdict,
        message,
        pod: None,
        children: Vec::new(),
    }
}

fn view(kind: &str, object: &DynamicObject, last: Option<&Stored>, objects: Vec<ObjectView>) -> ReleaseView {
    let metadata = &object.metadata;
    let conditions = conditions(&object.data);
    let is_true = |kind: &str| {
        let found = conditions.iter().find(|condition| condition.kind == kind);
        found.map(|condition| condition.status == "True")
    };
    let seen = object
        .data
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64);
    // helm-operator's status has neither.
    let observed = seen.is_none_or(|seen| Some(seen) == metadata.generation);
    let says_ready = is_true("Ready").or(is_true("Deployed")).unwrap_or(false);
    let healthy = objects.iter().all(|object| object.health == Verdict::Ready);
    ReleaseView {
        kind: kind.to_owned(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone().unwrap_or_default(),
        ready: observed && says_ready && healthy && metadata.deletion_timestamp.is_none(),
        deleting_since: metadata
            .deletion_timestamp
            .as_ref()
            .map(|time| time.0.to_string()),
        observed,
        conditions,
        stages: stages(&object.data),
        release: last.map(revision_view),
        objects,
        unknown: Vec::new(),
    }
}

fn conditions(data: &Value) -> Vec<Condition> {
    let found = data.pointer("/status/conditions").and_then(Value::as_array);
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let conditions = found.into_iter().flatten().map(|condition| Condition {
        kind: text(condition, "type"),
        status: text(condition, "status"),
        reason: text(condition, "reason"),
        message: text(condition, "message"),
    });
    conditions.collect()
}

fn stages(data: &Value) -> Vec<StageView> {
    let found = data.pointer("/status/stages").and_then(Value::as_array);
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let stages = found.into_iter().flatten().map(|stage| StageView {
        name: text(stage, "name"),
        revision: stage["revision"].as_u64().unwrap_or_default(),
        state: text(stage, "state"),
        since: text(stage, "since"),
        message: text(stage, "message"),
    });
    stages.collect()
}

fn revision_view(stored: &Stored) -> RevisionView {
    let record = &stored.record;
    let text = |key: &str| record.chart.metadata[key].as_str().unwrap_or_default().to_owned();
    RevisionView {
        name: record.name.clone(),
        namespace: record.namespace.clone(),
        revision: record.version.0,
        status: record.info.status.as_str(),
        description: record.info.description.clone(),
        chart: text("name"),
        chart_version: text("version"),
        app_version: text("appVersion"),
        last_deployed: (record.info.last_deployed)
            .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(generation: i64, status: Value, healths: &[Verdict], expect: bool) {
        let object = json!({"apiVersion": "a/v1", "kind": "Web",
            "metadata": {"name": "shop", "generation": generation}, "status": status});
        let objects = healths.iter().map(|health| ObjectView {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: None,
                name: "a".to_owned(),
            },
            health: *health,
            message: String::new(),
            pod: None,
            children: Vec::new(),
        });
        let view = view(
            "Web",
            &serde_json::from_value(object).unwrap(),
            None,
            objects.collect(),
        );
        assert_eq!(view.ready, expect, "{view:?}");
    }

    #[test]
    fn a_release_is_ready_when_the_operator_says_so_and_nothing_contradicts() {
        let with = |kind: &str, status: &str, seen: i64| json!({"observedGeneration": seen, "conditions": [{"type": kind, "status": status}]});
        check(2, with("Ready", "True", 2), &[Verdict::Ready], true);
        check(2, with("Ready", "True", 1), &[Verdict::Ready], false);
        check(2, with("Ready", "False", 2), &[Verdict::Ready], false);
        check(
            2,
            with("Ready", "True", 2),
            &[Verdict::Ready, Verdict::Missing],
            false,
        );
        check(2, with("Ready", "True", 2), &[Verdict::Progressing], false);
        check(
            2,
            json!({"conditions": [{"type": "Deployed", "status": "True"}]}),
            &[Verdict::Ready],
            true,
        );
        check(2, json!({}), &[], false);
    }
}
