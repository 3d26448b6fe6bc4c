//! Making way for an object that can't be changed in place, where the user asks for it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{Api, DynamicObject, PostParams, Preconditions, PropagationPolicy};
use kube::core::{Selector, SelectorExt};
use serde_json::Value;
use steersman_cluster::{Owner, RequestError, is_kept};
use steersman_model::{ObjectId, RenderedObject};
use tokio::time::Instant;

use crate::apply::applier::{Applier, ApplyOptions};
use crate::apply::error::ApplyError;
use crate::apply::ownership::may_delete;
use crate::apply::repair::claims::{ClaimPolicy, ClaimsPlan};
use crate::apply::request::{delete, find};

/// How long the deletion of an object may take.
const GONE_WITHIN: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// What is lost with these can't be made again.
const IRREPLACEABLE: [&str; 4] = [
    "CustomResourceDefinition",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
];

/// An object that can't become what it is to be, or a set whose claims may be there before it.
#[derive(Clone, Copy)]
pub(in crate::apply) struct Recreation<'a> {
    pub(in crate::apply) owner: &'a Owner,
    pub(in crate::apply) options: ApplyOptions<'a>,
    pub(in crate::apply) api: &'a Api<DynamicObject>,
    pub(in crate::apply) id: &'a ObjectId,
    pub(in crate::apply) object: &'a RenderedObject,
    /// It as it is to be created.
    pub(in crate::apply) value: &'a Value,
    /// Whether there is one of its name.
    pub(in crate::apply) is_there: bool,
}

/// How an object that can't be changed in place goes on.
pub(in crate::apply) enum Way {
    /// It is gone, for the new one to be created.
    Free,
    /// The same, of a set whose claims are as large as the new one wants them.
    Grown,
    /// It is there, and is to be applied like this, as claims do not shrink.
    Apply(Value),
}

impl Recreation<'_> {
    /// The new object as the server would make it, under another name, if the `live` one may be deleted for what `refusal`
    /// says.
    ///
    /// # Errors
    /// It is not wanted or not possible; the error names the fields.
    pub(in crate::apply) async fn check(
        &self,
        live: &DynamicObject,
        refusal: RequestError,
    ) -> Result<DynamicObject, ApplyError> {
        if let Some(advice) =
            obstacle(self.options, self.object).or_else(|| live_obstacle(self.owner, self.object, live))
        {
            return Err(self.immutable(advice, refusal));
        }
        let created = try_create(self.api, self.value).await;
        created.map_err(|source| self.failed("create", source))
    }

    /// Whether it is about a `StatefulSet`.
    pub(in crate::apply) fn is_about_a_set(&self) -> bool {
        is_stateful_set(self.object)
    }

    /// The object as it is in the cluster, if it is the one with this UID.
    async fn find(&self, uid: &str) -> Result<Option<DynamicObject>, ApplyError> {
        let found = self.api.get_opt(&self.id.name).await;
        let found = found.map_err(|error| self.failed("read", error.into()))?;
        Ok(found.filter(|live| live.metadata.uid.as_deref() == Some(uid)))
    }

    fn immutable(&self, advice: &'static str, refusal: RequestError) -> ApplyError {
        ApplyError::Immutable {
            id: Box::new(self.id.clone()),
            fields: fields(&refusal),
            advice,
            source: refusal,
        }
    }

    pub(in crate::apply) fn failed(&self, attempt: &'static str, source: RequestError) -> ApplyError {
        ApplyError::Request {
            attempt,
            id: Box::new(self.id.clone()),
            source,
        }
    }
}

impl Applier {
    /// Deletes the object with this UID, which `refusal` says can't become what the chart wants, and waits
    /// until it is gone. The pods and claims of a `StatefulSet` stay, for the new one to adopt.
    ///
    /// # Guarantees
    /// The server would take it as a new object. Nothing is deleted that the chart or the object itself wants kept,
    /// or with which data would go.
    ///
    /// # Errors
    /// It is not wanted or not possible; the error names the fields.
    pub(in crate::apply) async fn make_way(
        &self,
        recreation: Recreation<'_>,
        uid: &str,
        refusal: RequestError,
    ) -> Result<(), ApplyError> {
        let id = recreation.id;
        let Some(live) = recreation.find(uid).await? else {
            // Somebody else has made way.
            return Ok(());
        };
        if live.metadata.deletion_timestamp.is_some() {
            let source = RequestError::local("an earlier one is being deleted");
            return Err(recreation.failed("apply", source));
        }
        let fields = fields(&refusal);
        recreation.check(&live, refusal).await?;
        tracing::warn!(object = %id, fields, "deleting the object to create it again");
        self.remove(recreation, uid, live).await
    }

    /// As [`Applier::make_way`], but that claims of a set grow first, where its options want that.
    ///
    /// # Errors
    /// As there, or a claim does not become what the set asks for.
    pub(in crate::apply) async fn make_way_for_claims(
        &self,
        recreation: Recreation<'_>,
        uid: &str,
        refusal: RequestError,
    ) -> Result<Way, ApplyError> {
        if recreation.options.claims == ClaimPolicy::Leave || !recreation.is_about_a_set() {
            self.make_way(recreation, uid, refusal).await?;
            return Ok(Way::Free);
        }
        let Some(live) = recreation.find(uid).await? else {
            return Ok(Way::Free);
        };
        match self.plan_claims(recreation, &live, &refusal).await? {
            ClaimsPlan::Other => {
                self.make_way(recreation, uid, refusal).await?;
                Ok(Way::Free)
            }
            ClaimsPlan::Keep(value, kept) => {
                for kept in kept {
                    recreation.note(kept);
                }
                Ok(Way::Apply(value))
            }
            ClaimsPlan::Expand(small, _) => {
                self.expand_claims(recreation, Some(&live), small).await?;
                let id = recreation.id;
                tracing::warn!(object = %id, "deleting the set without its pods and claims, to create it with larger ones");
                self.remove(recreation, uid, live).await?;
                Ok(Way::Grown)
            }
        }
    }

    /// Deletes the `live` object with this UID, and waits until it is gone.
    async fn remove(
        &self,
        recreation: Recreation<'_>,
        uid: &str,
        live: DynamicObject,
    ) -> Result<(), ApplyError> {
        let Recreation { api, id, object, .. } = recreation;
        let preconditions = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: live.metadata.resource_version,
        };
        match delete(api, &id.name, preconditions, policy(object)).await {
            Ok(()) => {}
            // Somebody has written it meanwhile: it is looked at again.
            Err(error) if error.is_not_found() || error.is_conflict() => return Ok(()),
            Err(error) => return Err(recreation.failed("delete", error)),
        }
        let deadline = Instant::now() + GONE_WITHIN;
        loop {
            let found = find(api, &id.name).await;
            let found = found.map_err(|source| recreation.failed("read", source))?;
            let is_there = found.is_some_and(|metadata| metadata.uid.as_deref() == Some(uid));
            if !is_there {
                return Ok(());
            }
            if self.dependents.is_stopping() || Instant::now() >= deadline {
                let source = RequestError::local("it is being deleted, to be created again");
                return Err(recreation.failed("replace", source));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Why an object is not deleted, and what helps.
fn obstacle(options: ApplyOptions<'_>, object: &RenderedObject) -> Option<&'static str> {
    if IRREPLACEABLE.contains(&object.api.kind.as_str()) {
        Some("it is not deleted, as what it holds would be lost; undo the change, or replace it yourself")
    } else if object.is_kept() {
        Some("the chart wants it kept; undo the change, or replace it yourself")
    } else if options.recreate {
        None
    } else if has_claim_templates(object) && options.claims == ClaimPolicy::Leave {
        Some(
            "undo the change, set `expandClaims: true` in the watch if a claim template grows, or set the annotation \
             helm.sdk.operatorframework.io/upgrade-force: \"True\" on the resource to have the set created again with its \
             pods and claims as they are",
        )
    } else {
        Some(
            "undo the change, or set the annotation helm.sdk.operatorframework.io/upgrade-force: \"True\" on the \
             resource to have it deleted and created again",
        )
    }
}

/// Why an object is not deleted as it is in the cluster, and what helps.
fn live_obstacle(owner: &Owner, object: &RenderedObject, live: &DynamicObject) -> Option<&'static str> {
    if may_delete(owner, &live.metadata).is_err() {
        Some(
            "it is not deleted, as its marks do not prove that it is the release's; undo the change, or delete it yourself",
        )
    } else if is_kept(&live.metadata) {
        Some("its annotation helm.sh/resource-policy keeps it; take that off, or undo the change")
    } else if is_stateful_set(object) && !adopts_pods(&object.value, &live.data) {
        Some(
            "its pods stay as they are, and a set with this selector would not adopt them; undo the change, or replace it \
             yourself",
        )
    } else {
        None
    }
}

/// What becomes of that which the object has made. With its set a claim may go, and the data in it.
fn policy(object: &RenderedObject) -> PropagationPolicy {
    if is_stateful_set(object) {
        PropagationPolicy::Orphan
    } else {
        PropagationPolicy::Background
    }
}

fn is_stateful_set(object: &RenderedObject) -> bool {
    object.api.group == "apps" && object.api.kind == "StatefulSet"
}

fn has_claim_templates(object: &RenderedObject) -> bool {
    is_stateful_set(object) && object.value.pointer("/spec/volumeClaimTemplates").is_some()
}

/// Whether the selector of a new workload chooses the pods of the one that is live.
fn adopts_pods(new: &Value, live: &Value) -> bool {
    let read = |value: Option<&Value>| value.cloned().unwrap_or_default();
    let selector: Option<LabelSelector> = serde_json::from_value(read(new.pointer("/spec/selector"))).ok();
    let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
    let labels = read(live.pointer("/spec/template/metadata/labels"));
    let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap_or_default();
    selector.is_some_and(|selector| selector.matches(&labels))
}

/// What the server would make of a new object. It is asked without effect, under a name that is free.
pub(in crate::apply) async fn try_create(
    api: &Api<DynamicObject>,
    value: &Value,
) -> Result<DynamicObject, RequestError> {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.insert("generateName".to_owned(), "steersman-".into());
    }
    let object: DynamicObject = serde_json::from_value(value)
        .map_err(|_| RequestError::local("the object has no kind, or no metadata"))?;
    let parameters = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    Ok(api.create(&parameters, &object).await?)
}

/// The object that takes the place of the `live` one when `sent` is created, by the server's word about one of another
/// name. What follows from that name and from its UID follows from those of `live` here.
pub(in crate::apply) fn as_recreated(sent: &Value, tried: DynamicObject, live: &DynamicObject) -> Value {
    let follows = [
        (tried.metadata.name.clone(), &live.metadata.name),
        (tried.metadata.uid.clone(), &live.metadata.uid),
    ];
    let mut recreated = serde_json::to_value(tried).unwrap_or_default();
    for (made_up, real) in follows {
        if let (Some(made_up), Some(real)) = (made_up.filter(|name| !name.is_empty()), real) {
            rename(&mut recreated, &made_up, real);
        }
    }
    if let (Some(recreated), Some(metadata)) = (recreated.as_object_mut(), sent.get("metadata")) {
        recreated.insert("metadata".to_owned(), metadata.clone());
    }
    recreated
}

fn rename(node: &mut Value, from: &str, to: &str) {
    match node {
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, from, to)),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        _ => {}
    }
}

fn fields(refusal: &RequestError) -> String {
    let immutable = refusal.causes.iter().filter(|cause| cause.immutable);
    let mut fields: Vec<&str> = immutable.map(|cause| cause.field.as_str()).collect();
    fields.dedup();
    fields.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::owner_of_test;
    use super::*;

    fn check(kind: &str, policy: &str, recreate: bool, expect: Option<&str>) {
        let object = json!({"apiVersion": "v1", "kind": kind,
            "metadata": {"name": "a", "annotations": {"helm.sh/resource-policy": policy}}});
        let object = RenderedObject::from_document("t", &object).unwrap().remove(0);
        let options = ApplyOptions {
            recreate,
            ..ApplyOptions::default()
        };
        let obstacle = obstacle(options, &object);
        match expect {
            None => assert_eq!(obstacle, None, "{kind}"),
            Some(words) => assert!(obstacle.unwrap().contains(words), "{obstacle:?}"),
        }
    }

    #[test]
    fn nothing_is_deleted_unasked_or_with_data_in_it() {
        check("Deployment", "", true, None);
        check("Deployment", "", false, Some("upgrade-force"));
        check("Deployment", "keep", true, Some("wants it kept"));
        check("PersistentVolumeClaim", "", true, Some("would be lost"));
        check("Namespace", "", true, Some("would be lost"));
    }

    #[test]
    fn what_is_created_again_is_shown_under_its_own_name() {
        let sent = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "new"}]}}}});
        let object = |name: &str, uid: &str, image: &str| {
            let mut object = sent.clone();
            object["metadata"] = json!({"name": name, "uid": uid});
            object["spec"]["template"]["metadata"] =
                json!({"labels": {"job-name": name, "controller-uid": uid}});
            object["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
            object["spec"]["template"]["spec"]["restartPolicy"] = "Always".into();
            object
        };
        let tried = serde_json::from_value(object("steersman-x2", "uid-2", "new")).unwrap();
        let live = serde_json::from_value(object("a", "uid-1", "old")).unwrap();
        let mut expected = object("a", "uid-1", "new");
        expected["metadata"] = sent["metadata"].clone();
        assert_eq!(as_recreated(&sent, tried, &live), expected);
    }

    fn set(selector: serde_json::Value) -> RenderedObject {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"},
            "spec": {"selector": selector}});
        RenderedObject::from_document("t", &set).unwrap().remove(0)
    }

    /// What stands in the way of deleting a set with this selector, which is live with this metadata.
    fn live(selector: serde_json::Value, metadata: serde_json::Value) -> Option<&'static str> {
        let owner = owner_of_test();
        let mut live = json!({"metadata": {"name": "a", "ownerReferences": [owner.reference()]},
            "spec": {"template": {"metadata": {"labels": {"app": "a", "tier": "b"}}}}});
        for (key, value) in metadata.as_object().unwrap() {
            live["metadata"][key] = value.clone();
        }
        live_obstacle(&owner, &set(selector), &serde_json::from_value(live).unwrap())
    }

    #[test]
    fn a_set_that_would_not_adopt_its_pods_stays() {
        for (selector, adopts) in [
            (json!({"matchLabels": {"app": "a"}}), true),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
                true,
            ),
            (json!({"matchLabels": {"app": "other"}}), false),
        ] {
            let obstacle = live(selector.clone(), json!({}));
            assert_eq!(obstacle.is_none(), adopts, "{selector}: {obstacle:?}");
        }
    }

    #[test]
    fn what_a_set_has_made_stays_and_what_says_so_itself_is_kept() {
        let selector = json!({"matchLabels": {"app": "a"}});
        assert!(matches!(
            policy(&set(selector.clone())),
            PropagationPolicy::Orphan
        ));
        let kept = json!({"annotations": {"helm.sh/resource-policy": "keep"}});
        assert!(live(selector.clone(), kept).unwrap().contains("keeps it"));
        let copied = json!({"ownerReferences": [], "labels": {"steersman.dev/owner-uid": "u-1"}});
        assert!(live(selector, copied).unwrap().contains("do not prove"));
    }
}
