//! What had a resource of the operator's kinds as its owner, and goes by the garbage collector.

use std::collections::BTreeSet;

use kube::api::{Api, DynamicObject, ListParams, ObjectMeta};
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, ObjectId};

use super::deployer::{DeployError, Deployer, POLL_INTERVAL, Step};
use super::undeploy::{End, NAMED, UndeployError};

const REASON: &str = "its owner is gone, and the garbage collector has yet to delete it";

/// Not looked at: nothing owns them, and there are thousands.
const WITHOUT_OWNERS: &str = "Event";

impl Deployer<'_> {
    /// Waits until the garbage collector has turned to everything that had a resource of these kinds as its owner. It has
    /// to ask for the owner first, and what is owned by a kind that it can't ask for stays for ever.
    pub(super) async fn wait_collected(
        &self,
        kinds: &[(ApiKind, Resource)],
        end: End,
    ) -> Result<(), UndeployError> {
        let served = self.discovery.served().await.map_err(DeployError::from)?;
        let mut places: Vec<&Resource> = served
            .kinds()
            .filter(|resource| resource.api.kind != WITHOUT_OWNERS)
            .collect();
        let mut is_told = false;
        loop {
            let mut left = Vec::new();
            let owners = Owners {
                kinds,
                living: self
                    .resources(kinds)
                    .await?
                    .into_iter()
                    .filter_map(|live| live.uid)
                    .collect(),
            };
            let mut others = Vec::new();
            for resource in places {
                let found = self.orphans(resource, &owners).await?;
                if !found.is_empty() {
                    left.extend(found);
                    others.push(resource);
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            if !is_told {
                is_told = true;
                for id in left.iter().take(NAMED) {
                    (self.on_step)(Step::WaitingFor(id, REASON));
                }
            }
            end.check(|| left.into_iter().map(|id| (id, REASON.to_owned())).collect())?;
            places = others;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The objects of a kind that nobody deletes yet although their owner is gone. What we may not list is not seen.
    async fn orphans(&self, resource: &Resource, owners: &Owners<'_>) -> Result<Vec<ObjectId>, DeployError> {
        let api: Api<DynamicObject> = resource.objects(&self.client, None);
        let mut pages = Pages::of(&api, ListParams::default());
        let mut found = Vec::new();
        loop {
            match pages.next_metadata().await.map_err(RequestError::from) {
                Ok(Some(page)) => {
                    let orphans = page.into_iter().filter(|object| owners.have_left(object));
                    found.extend(orphans.map(|object| id_of(resource, object)));
                }
                Ok(None) => return Ok(found),
                // Not all kinds can be listed, and not by everybody.
                Err(error) if matches!(error.code, 403..=406) => return Ok(found),
                Err(source) => {
                    return Err(DeployError::Request {
                        attempt: "look for what is owned among all of",
                        object: Box::new(id_of(resource, ObjectMeta::default())),
                        source,
                    });
                }
            }
        }
    }
}

/// The resources of some kinds.
struct Owners<'a> {
    kinds: &'a [(ApiKind, Resource)],
    /// The UIDs of those that are there.
    living: BTreeSet<String>,
}

impl Owners<'_> {
    /// Whether an object had one of them as its owner, and is not being deleted.
    fn have_left(&self, object: &ObjectMeta) -> bool {
        let owners = object.owner_references.iter().flatten();
        object.deletion_timestamp.is_none()
            && owners.into_iter().any(|owner| {
                let api = ApiKind::new(&owner.api_version, &owner.kind);
                let is_ours =
                    |(kind, _): &(ApiKind, Resource)| kind.group == api.group && kind.kind == api.kind;
                self.kinds.iter().any(is_ours) && !self.living.contains(&owner.uid)
            })
    }
}

fn id_of(resource: &Resource, object: ObjectMeta) -> ObjectId {
    ObjectId {
        group: resource.api.group.clone(),
        kind: resource.api.kind.clone(),
        namespace: object.namespace,
        name: object.name.unwrap_or_default(),
    }
}
