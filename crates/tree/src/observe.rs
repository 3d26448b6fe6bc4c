//! Everything that is to be said about a release, read from the cluster.

use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::discovery::Served;
use steersman_cluster::{RequestError, is_too_large};
use steersman_model::{
    ApiKind, ObjectId, ReleaseName, ReleaseStatus, RenderedObject, chain, harmless, objects_of_manifest,
};
use steersman_operator::budget::{Budget, Share};
use steersman_operator::release::{History, HistoryError, Signer, Stored, namespace_of};
use steersman_watches::{HealthCheck, Watches};

use crate::error::TreeError;
use crate::object::{ObservedObject, PARALLEL, absent, denied, missing, unread};
use crate::view::{Condition, DriftView, ObjectView, ReleaseView, RevisionView, StageView};
use crate::workload::add_children;

/// Where resources and what belongs to them are read.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// With whose rights.
    pub client: &'a Client,
    /// The kinds that the server has.
    pub served: &'a Served,
}

impl std::fmt::Debug for Resources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resources")
            .field("served", self.served)
            .finish_non_exhaustive()
    }
}

impl Resources<'_> {
    /// Reads what belongs to a resource: the newest revision of its release, and all objects of that, which are judged by `checks`
    /// before anything else.
    ///
    /// # Errors
    /// Its revisions or its objects can't be read. Objects that may not be, and pods that can't, are said to be unknown.
    pub async fn observe(
        &self,
        api: &ApiKind,
        object: &DynamicObject,
        checks: &[HealthCheck],
    ) -> Result<ReleaseView, TreeError> {
        let share = Arc::new(Arc::new(Budget::default()).share(0));
        let revisions = self.revisions(api, object, &share).await?;
        self.judge(api, object, &revisions, checks).await
    }

    /// The same with the revisions of the release, as they were read.
    ///
    /// # Errors
    /// Its objects can't be read.
    pub async fn judge(
        &self,
        api: &ApiKind,
        object: &DynamicObject,
        revisions: &[Stored],
        checks: &[HealthCheck],
    ) -> Result<ReleaseView, TreeError> {
        // What runs is the deployed revision; where there is none yet, what is being installed.
        let said = object.data.pointer("/status/revision").and_then(Value::as_u64);
        let number = |stored: &Stored| u64::from(stored.record.version.0);
        let is_deployed = |stored: &&Stored| stored.record.info.status == ReleaseStatus::Deployed;
        let newest = revisions.iter().rfind(is_deployed);
        let shown = revisions
            .iter()
            .find(|stored| Some(number(stored)) == said)
            .or(newest)
            .or(revisions.last());
        let seen = match shown {
            Some(stored) => self.objects(stored, checks).await?,
            None => Vec::new(),
        };
        let mut view = self.with_pods((&api.kind, object), revisions.last(), seen).await;
        if let (Some(said), Some(newest)) = (said, newest.map(number).filter(|newest| Some(*newest) > said)) {
            view.unknown.push(format!(
                "the status tells of revision {said}, and a Secret of Helm says that {newest} is deployed: who may write Secrets can \
                 say so"
            ));
        }
        Ok(view)
    }

    /// The same for who may not read the revisions: of the kinds that people look at first, the objects that say by their label that
    /// they belong to the resource.
    ///
    /// # Errors
    /// They can't be listed. Those of kinds that may not be are said to be unknown.
    pub async fn judge_by_labels(
        &self,
        api: &ApiKind,
        object: &DynamicObject,
        checks: &[HealthCheck],
    ) -> Result<ReleaseView, TreeError> {
        let (seen, unknown) = self.labelled(object, checks).await?;
        let mut view = self.with_pods((&api.kind, object), None, seen).await;
        view.unknown.extend(unknown);
        Ok(view)
    }

    async fn with_pods(
        &self,
        (kind, object): (&str, &DynamicObject),
        last: Option<&Stored>,
        mut seen: Vec<ObservedObject>,
    ) -> ReleaseView {
        // Who may read a release need not be allowed to read pods.
        let below = add_children(self.client, &mut seen).await;
        let objects = seen.into_iter().map(|seen| seen.view).collect();
        let mut view = view(kind, object, last, objects);
        if let Err(error) = below {
            view.unknown
                .push(format!("the pods can't be listed: {}", chain(&error)));
        }
        view
    }

    /// The revisions of the release of a resource, oldest first, as far as there is room in a share of the memory, which is to be held
    /// as long as they are.
    ///
    /// # Errors
    /// They can't be read, or take more memory than there is for them.
    pub async fn revisions(
        &self,
        api: &ApiKind,
        object: &DynamicObject,
        share: &Arc<Share>,
    ) -> Result<Vec<Stored>, TreeError> {
        let metadata = &object.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let release = ReleaseName::new(name.clone())?;
        let uid = metadata.uid.clone().unwrap_or_default();
        let namespace = match &metadata.namespace {
            Some(namespace) => Some(namespace.clone()),
            None => namespace_of(self.client.clone(), &release, &uid)
                .await
                .map_err(|source| TreeError::Namespace {
                    release: release.to_string(),
                    source,
                })?,
        };
        let Some(namespace) = namespace else {
            return Ok(Vec::new());
        };
        let owner = OwnerReference {
            api_version: api.api_version(),
            kind: api.kind.clone(),
            name,
            uid,
            ..OwnerReference::default()
        };
        let signer = Arc::new(Signer::unchecked());
        let history = History::new(self.client.clone(), release, &namespace, owner, signer);
        let history = history.within(Arc::clone(share));
        let mut loaded = history.load_weighed().await;
        if loaded.as_ref().is_err_and(HistoryError::is_about_memory) && share.enlarge() {
            loaded = history.load_weighed().await;
        }
        // Of the rest others can read theirs.
        share.keep(loaded.as_ref().map_or(0, |(_, bytes)| *bytes));
        Ok(loaded?.0)
    }

    async fn objects(
        &self,
        stored: &Stored,
        checks: &[HealthCheck],
    ) -> Result<Vec<ObservedObject>, TreeError> {
        let rendered = objects_of_manifest(&stored.record.manifest)?;
        let reads: Vec<_> = rendered
            .into_iter()
            .map(|object| self.object(object, stored, checks).boxed())
            .collect();
        futures::stream::iter(reads)
            .buffered(PARALLEL)
            .try_collect()
            .await
    }

    async fn object(
        &self,
        object: RenderedObject,
        stored: &Stored,
        checks: &[HealthCheck],
    ) -> Result<ObservedObject, TreeError> {
        let mut id = ObjectId {
            group: object.api.group.clone(),
            kind: object.api.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        };
        let Some(resource) = self.served.resource(&object.api) else {
            return Ok(missing(id, "its kind is not served"));
        };
        if resource.namespaced && id.namespace.is_none() {
            id.namespace = Some(stored.record.namespace.clone());
        }
        let api = resource.objects(self.client, id.namespace.as_deref());
        let found = api.get_opt(&id.name).await;
        let is_too_large = found.as_ref().is_err_and(|error| is_too_large(error));
        match found.map_err(RequestError::from) {
            Ok(Some(live)) => Ok(ObservedObject::of(id, &resource.api, live, checks)),
            Ok(None) => Ok(absent(id, &object, stored)),
            Err(error) if error.is_not_found() => Ok(absent(id, &object, stored)),
            Err(error) if error.is_denied() => Ok(denied(id, &error)),
            Err(error) if is_too_large => Ok(unread(id, &error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The health checks for what a kind of resources is released as; of several versions of it, those of this one first.
pub fn checks_of<'w>(watches: Option<&'w Watches>, api: &ApiKind) -> &'w [HealthCheck] {
    let of_kind = watches.into_iter().flatten().filter(|watch| {
        let gvk = &watch.gvk;
        (&gvk.group, &gvk.kind) == (&api.group, &api.kind)
    });
    let watch = of_kind.min_by_key(|watch| watch.gvk.version != api.version);
    watch.map_or(&[], |watch| &watch.health_checks)
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
    let healthy = !objects.iter().any(|object| object.health.is_bad());
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
        drift: drift(&object.data),
        release: last.map(revision_view),
        objects,
        unknown: Vec::new(),
    }
}

/// The conditions of an object, of all of it but its metadata.
pub fn conditions(data: &Value) -> Vec<Condition> {
    let found = data.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = found.into_iter().flatten().map(|condition| Condition {
        kind: text(condition, "type"),
        status: text(condition, "status"),
        reason: text(condition, "reason"),
        message: text(condition, "message"),
    });
    conditions.collect()
}

/// The stages that a resource tells of.
pub fn stages(data: &Value) -> Vec<StageView> {
    let found = data.pointer("/status/stages").and_then(Value::as_array);
    let stages = found.into_iter().flatten().map(|stage| StageView {
        name: text(stage, "name"),
        revision: stage["revision"].as_u64().unwrap_or_default(),
        state: text(stage, "state"),
        since: text(stage, "since"),
        message: text(stage, "message"),
    });
    stages.collect()
}

fn drift(data: &Value) -> Option<DriftView> {
    let drift = data.pointer("/status/drift")?;
    let objects = drift["objects"].as_array().into_iter().flatten();
    let objects = objects.filter_map(Value::as_str).map(harmless);
    Some(DriftView {
        total: drift["total"].as_u64()?,
        objects: objects.collect(),
        message: text(drift, "message"),
    })
}

/// A text of somebody's; empty where there is none.
pub(crate) fn text(value: &Value, key: &str) -> String {
    harmless(value[key].as_str().unwrap_or_default())
}

/// What is to be said of a revision.
pub fn revision_view(stored: &Stored) -> RevisionView {
    let record = &stored.record;
    let of_chart = |key: &str| text(&record.chart.metadata, key);
    RevisionView {
        name: harmless(&record.name),
        namespace: harmless(&record.namespace),
        revision: record.version.0,
        status: record.info.status.as_str(),
        description: harmless(&record.info.description),
        chart: of_chart("name"),
        chart_version: of_chart("version"),
        app_version: of_chart("appVersion"),
        last_deployed: (record.info.last_deployed)
            .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::Verdict;

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
    fn what_a_status_says_of_stages_does_nothing_to_a_terminal() {
        let stage =
            json!({"name": "a\u{1b}[2J", "state": "b\u{202e}", "since": "\u{7}", "message": "c\u{9b}d"});
        let found = stages(&json!({"status": {"stages": [stage]}}));
        let texts = [
            &found[0].name,
            &found[0].state,
            &found[0].since,
            &found[0].message,
        ];
        assert_eq!(texts, ["a\u{fffd}[2J", "b\u{fffd}", "\u{fffd}", "c\u{fffd}d"]);
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
            with("Ready", "True", 2),
            &[Verdict::Ready, Verdict::Unknown],
            true,
        );
        check(2, with("Ready", "False", 2), &[Verdict::Unknown], false);
        check(
            2,
            json!({"conditions": [{"type": "Deployed", "status": "True"}]}),
            &[Verdict::Ready],
            true,
        );
        check(2, json!({}), &[], false);
    }
}
