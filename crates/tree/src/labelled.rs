//! The objects of a release as they say themselves whose they are, for who may not read what it is made of.

use futures::{FutureExt as _, StreamExt as _};
use kube::api::{DynamicObject, ListParams, TypeMeta};
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{OWNER_UID_LABEL, RequestError, is_too_large, owner_uid};
use steersman_model::{ApiKind, ObjectId, chain};
use steersman_watches::HealthCheck;

use crate::error::TreeError;
use crate::object::{ObservedObject, PARALLEL};
use crate::observe::Resources;
use crate::workload::{PAGE, cut};

/// What people look at first, by group, version and kind.
const KINDS: [(&str, &str, &str); 8] = [
    ("apps", "v1", "Deployment"),
    ("apps", "v1", "StatefulSet"),
    ("apps", "v1", "DaemonSet"),
    ("batch", "v1", "Job"),
    ("batch", "v1", "CronJob"),
    ("", "v1", "Service"),
    ("", "v1", "PersistentVolumeClaim"),
    ("networking.k8s.io", "v1", "Ingress"),
];
/// So many objects of a kind are looked at: labels are anybody's.
const MOST: usize = 200;

impl Resources<'_> {
    /// The objects with the label of a resource, where something proves it, and of which kinds not all are known, with why.
    pub(crate) async fn labelled(
        &self,
        owner: &DynamicObject,
        checks: &[HealthCheck],
    ) -> Result<(Vec<ObservedObject>, Vec<String>), TreeError> {
        let kinds = KINDS.iter().filter_map(|(group, version, kind)| {
            self.served.resource(&ApiKind {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
                kind: (*kind).to_owned(),
            })
        });
        let lists = kinds.map(|kind| async move { (kind, self.list_of(kind, owner, checks).await) }.boxed());
        let mut lists = futures::stream::iter(lists.collect::<Vec<_>>()).buffered(PARALLEL);
        let (mut seen, mut denied, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        while let Some((kind, list)) = lists.next().await {
            match list {
                Ok((found, why)) => {
                    seen.extend(found);
                    if let Some(why) = why {
                        unknown.push(format!("not all {} are here: {why}", kind.api.plural));
                    }
                }
                Err(error) if error.is_denied() => denied.push(kind.api.plural.as_str()),
                Err(error) => return Err(error.into()),
            }
        }
        if !denied.is_empty() {
            unknown.push(format!("these may not be listed: {}", denied.join(", ")));
        }
        Ok((seen, unknown))
    }

    async fn list_of(
        &self,
        kind: &Resource,
        owner: &DynamicObject,
        checks: &[HealthCheck],
    ) -> Result<(Vec<ObservedObject>, Option<String>), RequestError> {
        let metadata = &owner.metadata;
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let parameters = ListParams::default()
            .labels(&format!("{OWNER_UID_LABEL}={uid}"))
            .limit(PAGE);
        let objects = kind.objects::<DynamicObject>(self.client, metadata.namespace.as_deref());
        let mut pages = Pages::of(&objects, parameters);
        let (mut seen, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = match pages.next().await {
                Ok(Some(page)) => page,
                Ok(None) => return Ok((seen, None)),
                Err(error) if is_too_large(&error) => {
                    let why = chain(&RequestError::from(error));
                    return Ok((seen, Some(why)));
                }
                Err(error) => return Err(error.into()),
            };
            if looked_at >= MOST {
                return Ok((seen, Some(format!("more than {MOST} have the label"))));
            }
            looked_at += page.len();
            // Controllers copy labels to what they make.
            let is_ours = |live: &DynamicObject| owner_uid(&live.metadata).is_some_and(|owner| owner == uid);
            let ours = page.into_iter().filter(is_ours);
            seen.extend(ours.map(|live| observed(kind, live, checks)));
        }
    }
}

fn observed(kind: &Resource, live: DynamicObject, checks: &[HealthCheck]) -> ObservedObject {
    let id = ObjectId {
        group: kind.api.group.clone(),
        kind: kind.api.kind.clone(),
        namespace: live.metadata.namespace.clone(),
        name: live.metadata.name.clone().unwrap_or_default(),
    };
    // Items of lists need not say their kind.
    let types = Some(TypeMeta {
        api_version: kind.api.api_version.clone(),
        kind: kind.api.kind.clone(),
    });
    let seen = ObservedObject::of(id, &kind.api, DynamicObject { types, ..live }, checks);
    ObservedObject {
        live: seen.live.map(cut),
        ..seen
    }
}
