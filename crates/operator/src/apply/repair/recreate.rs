//! Making way for an object that can't be changed in place, where the user asks for it.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, PostParams, Preconditions, PropagationPolicy};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_model::{ObjectId, RenderedObject};
use tokio::time::Instant;

use crate::apply::applier::{Applier, ApplyOptions};
use crate::apply::error::ApplyError;
use crate::apply::request::find;

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

/// An object that can't become what it is to be.
#[derive(Clone, Copy)]
pub(in crate::apply) struct Recreation<'a> {
    pub(in crate::apply) options: ApplyOptions<'a>,
    pub(in crate::apply) api: &'a Api<DynamicObject>,
    pub(in crate::apply) id: &'a ObjectId,
    pub(in crate::apply) object: &'a RenderedObject,
    /// It as it is to be created.
    pub(in crate::apply) value: &'a Value,
}

impl Recreation<'_> {
    /// The new object as the server would make it, under another name, if the object may be deleted for what `refusal`
    /// says.
    ///
    /// # Errors
    /// It is not wanted or not possible; the error names the fields.
    pub(in crate::apply) async fn check(&self, refusal: RequestError) -> Result<DynamicObject, ApplyError> {
        let id = || Box::new(self.id.clone());
        if let Some(advice) = obstacle(self.options, self.object) {
            return Err(ApplyError::Immutable {
                id: id(),
                fields: fields(&refusal),
                advice,
                source: refusal,
            });
        }
        let created = try_create(self.api, self.value).await;
        created.map_err(|source| ApplyError::Request {
            attempt: "create",
            id: id(),
            source,
        })
    }
}

impl Applier {
    /// Deletes the object with this UID, which `refusal` says can't become what the chart wants, and waits
    /// until it is gone.
    ///
    /// # Guarantees
    /// The server would take it as a new object. Nothing is deleted that the chart wants kept,
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
        let fields = fields(&refusal);
        recreation.check(refusal).await?;
        let Recreation { api, id, .. } = recreation;
        let failed = |attempt| {
            move |source| ApplyError::Request {
                attempt,
                id: Box::new(id.clone()),
                source,
            }
        };
        tracing::warn!(object = %id, fields, "deleting the object to create it again");
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match api
            .delete(&id.name, &parameters)
            .await
            .map_err(RequestError::from)
        {
            Ok(_) => {}
            Err(error) if error.is_not_found() || error.is_other_uid() => {}
            Err(error) => return Err(failed("delete")(error)),
        }
        let deadline = Instant::now() + GONE_WITHIN;
        loop {
            let found = find(api, &id.name).await.map_err(failed("read"))?;
            let is_there = found.is_some_and(|metadata| metadata.uid.as_deref() == Some(uid));
            if !is_there {
                return Ok(());
            }
            if self.dependents.is_stopping() || Instant::now() >= deadline {
                let source = RequestError::local("it is being deleted, to be created again");
                return Err(failed("replace")(source));
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
    } else {
        Some(
            "undo the change, or set the annotation helm.sdk.operatorframework.io/upgrade-force: \"True\" on the \
             resource to have it deleted and created again",
        )
    }
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
}
