//! The objects of a release as they say themselves whose they are, for who may not read what it is made of.

use futures::{FutureExt as _, StreamExt as _};
use kube::api::{DynamicObject, ListParams};
use steersman_cluster::discovery::Resource;
use steersman_cluster::{OWNER_UID_LABEL, RequestError};
use steersman_model::{ApiKind, ObjectId};
use steersman_watches::HealthCheck;

use crate::error::TreeError;
use crate::object::{ObservedObject, PARALLEL};
use crate::observe::Resources;

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
const MOST: u32 = 200;

impl Resources<'_> {
    /// The objects with the label of a resource, and the plurals of the kinds of which they may not be listed.
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
        let lists = kinds.map(|kind| async move { (kind, self.list_of(kind, owner).await) }.boxed());
        let mut lists = futures::stream::iter(lists.collect::<Vec<_>>()).buffered(PARALLEL);
        let (mut seen, mut denied) = (Vec::new(), Vec::new());
        while let Some((kind, list)) = lists.next().await {
            match list {
                Ok(found) => seen.extend(found.into_iter().map(|live| observed(kind, live, checks))),
                Err(error) if error.is_denied() => denied.push(kind.api.plural.clone()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok((seen, denied))
    }

    async fn list_of(
        &self,
        kind: &Resource,
        owner: &DynamicObject,
    ) -> Result<Vec<DynamicObject>, RequestError> {
        let metadata = &owner.metadata;
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let parameters = ListParams::default()
            .labels(&format!("{OWNER_UID_LABEL}={uid}"))
            .limit(MOST);
        let objects = kind.objects::<DynamicObject>(self.client, metadata.namespace.as_deref());
        Ok(objects.list(&parameters).await?.items)
    }
}

fn observed(kind: &Resource, live: DynamicObject, checks: &[HealthCheck]) -> ObservedObject {
    let id = ObjectId {
        group: kind.api.group.clone(),
        kind: kind.api.kind.clone(),
        namespace: live.metadata.namespace.clone(),
        name: live.metadata.name.clone().unwrap_or_default(),
    };
    ObservedObject::of(id, &kind.api, live, checks)
}
