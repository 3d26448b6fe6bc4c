//! What had a resource of the operator's kinds as its owner, and goes by the garbage collector.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DynamicObject, ListParams, ObjectMeta};
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_cluster::discovery::{Resource, Served};
use steersman_model::{ApiKind, ObjectId};

use super::deployer::{DeployError, Deployer, POLL_INTERVAL, Step};
use super::undeploy::{End, NAMED, UndeployError};

const REASON: &str = "its owner is gone, and the garbage collector has yet to delete it";

/// Not looked at: nothing owns events, and there are thousands. They are in two groups.
fn may_be_owned(resource: &Resource) -> bool {
    let api = &resource.api;
    api.kind != "Event" || !["", "events.k8s.io"].contains(&api.group.as_str())
}

impl Deployer<'_> {
    /// Waits until the garbage collector has turned to everything that had a resource of these kinds as its owner. It has
    /// to ask for the owner first, and what is owned by a kind that it can't ask for stays for ever. What it can't deal
    /// with as it is is told, and not waited for; nor is what comes meanwhile.
    pub(super) async fn wait_collected(
        &self,
        kinds: &[(ApiKind, Resource)],
        end: End,
    ) -> Result<(), UndeployError> {
        if kinds.is_empty() {
            return Ok(());
        }
        let served = self.discovery.served().await.map_err(DeployError::from)?;
        let all = served.kinds().filter(|resource| may_be_owned(resource));
        let (mut places, mut left): (Vec<&Resource>, Vec<Orphan>) = (Vec::new(), Vec::new());
        let owners = self.owners(kinds, &served).await?;
        for resource in all {
            let found = self.orphans(resource, &owners).await?;
            let (found, stay): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.is_collected);
            for orphan in stay.iter().take(NAMED) {
                (self.on_step)(Step::Uncollected(&orphan.id));
            }
            if !found.is_empty() {
                places.push(resource);
                left.extend(found);
            }
        }
        for orphan in left.iter().take(NAMED) {
            (self.on_step)(Step::WaitingFor(&orphan.id, REASON));
        }
        while !left.is_empty() {
            end.check(|| {
                let waiting = left.iter();
                waiting
                    .map(|orphan| (orphan.id.clone(), REASON.to_owned()))
                    .collect()
            })?;
            tokio::time::sleep(POLL_INTERVAL).await;
            let owners = self.owners(kinds, &served).await?;
            let mut still = BTreeSet::new();
            for resource in &places {
                let found = self.orphans(resource, &owners).await?;
                still.extend(found.into_iter().map(|orphan| orphan.uid));
            }
            left.retain(|orphan| still.contains(&orphan.uid));
        }
        Ok(())
    }

    async fn owners<'a>(
        &self,
        kinds: &'a [(ApiKind, Resource)],
        served: &'a Served,
    ) -> Result<Owners<'a>, DeployError> {
        let living = self.resources(kinds).await?.into_iter();
        Ok(Owners {
            kinds,
            served,
            living: living.filter_map(|live| live.uid).collect(),
        })
    }

    /// The objects of a kind that nobody deletes yet although their owner is gone. What we may not list is not seen, nor is what
    /// the server can't convert.
    async fn orphans(&self, resource: &Resource, owners: &Owners<'_>) -> Result<Vec<Orphan>, DeployError> {
        let api: Api<DynamicObject> = resource.objects(&self.client, None);
        let mut pages = Pages::of(&api, ListParams::default());
        let mut found = Vec::new();
        loop {
            match pages.next_metadata().await.map_err(RequestError::from) {
                Ok(Some(page)) => found.extend(page.into_iter().filter_map(|object| {
                    let is_collected = owners.have_left(&object, resource.namespaced)?;
                    Some(Orphan {
                        uid: object.uid.clone().unwrap_or_default(),
                        id: id_of(resource, object),
                        is_collected,
                    })
                })),
                Ok(None) => return Ok(found),
                Err(error) if matches!(error.code, 403..=406 | 500) => return Ok(found),
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

struct Orphan {
    id: ObjectId,
    uid: String,
    /// Whether the garbage collector can find out that its owner is gone.
    is_collected: bool,
}

/// The resources of some kinds.
struct Owners<'a> {
    kinds: &'a [(ApiKind, Resource)],
    served: &'a Served,
    /// The UIDs of those that are there.
    living: BTreeSet<String>,
}

impl Owners<'_> {
    /// Whether the garbage collector can deal with an object that had one of them as its owner; `None` where it had none, or is
    /// being deleted. It asks for each owner that the object names, and leaves it where it can't.
    fn have_left(&self, object: &ObjectMeta, is_namespaced: bool) -> Option<bool> {
        let owners = || object.owner_references.iter().flatten();
        let is_orphan = owners().any(|owner| {
            let api = api_of(owner);
            let is_ours =
                |(kind, _): &(ApiKind, Resource)| (&kind.group, &kind.kind) == (&api.group, &api.kind);
            self.kinds.iter().any(is_ours) && !self.living.contains(&owner.uid)
        });
        let can_ask = |owner: &OwnerReference| {
            let found = self.served.resource(&api_of(owner));
            found.is_some_and(|found| is_namespaced || !found.namespaced)
        };
        (is_orphan && object.deletion_timestamp.is_none()).then(|| owners().all(can_ask))
    }
}

fn api_of(owner: &OwnerReference) -> ApiKind {
    ApiKind::new(&owner.api_version, &owner.kind)
}

fn id_of(resource: &Resource, object: ObjectMeta) -> ObjectId {
    ObjectId {
        group: resource.api.group.clone(),
        kind: resource.api.kind.clone(),
        namespace: object.namespace,
        name: object.name.unwrap_or_default(),
    }
}
