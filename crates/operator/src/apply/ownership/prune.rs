//! Deleting what a release no longer wants.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use steersman_cluster::discovery::DiscoveryError;
use steersman_cluster::{OWNER_UID_LABEL, Owner, Ownership, RequestError, is_kept, orphan_patch};
use steersman_model::{FIELD_MANAGER, ObjectId};

use crate::apply::applier::Applier;
use crate::apply::request::{delete, find};
use crate::dependents::{FindError, LiveObject};

/// So often is an object looked at again that others write while it is to be deleted.
const ATTEMPTS: usize = 5;

/// What became of an object that is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It does not exist, or its kind is no longer served.
    Gone,
    /// The server has accepted its deletion, now or before.
    Accepted,
    /// It is not ours, so it was left alone.
    NotOurs(String),
    /// It says itself that it is to be kept, whatever its release wants.
    Kept,
    /// It was applied in the same run, under another API group of its kind.
    Applied,
}

/// Whether a resource still owns the objects of its release, as the garbage collector leaves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectsOwned {
    /// It owns all that it may own.
    Yes,
    /// It may own one that it does not.
    No,
    /// There are objects, and none that it may own.
    Unclear,
    /// There is none.
    Gone,
}

/// An object could not be deleted.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// Objects of a kind can't be looked for.
    #[error("failed to look for objects of kind {kind}")]
    List {
        /// Without its group, such as `Deployment`.
        kind: String,
        /// What the server said.
        source: RequestError,
    },
    /// Objects that were there before their resource was known can't be looked for.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The server refused a request.
    #[error("failed to {attempt} {id}")]
    Request {
        /// A verb: `read`, `delete` or `disown`.
        attempt: &'static str,
        /// What the request was about, such as `Deployment default/web`.
        id: Box<ObjectId>,
        /// What the server said.
        source: RequestError,
    },
}

/// An object that is ours, as it was when it was seen.
struct Seen {
    uid: String,
    version: Option<String>,
    deleting: bool,
    kept: bool,
}

impl From<LiveObject> for Seen {
    fn from(live: LiveObject) -> Self {
        Self {
            version: live.version(),
            deleting: live.deleting,
            kept: live.kept,
            uid: live.uid,
        }
    }
}

impl From<ObjectMeta> for Seen {
    fn from(metadata: ObjectMeta) -> Self {
        Self {
            deleting: metadata.deletion_timestamp.is_some(),
            kept: is_kept(&metadata),
            version: metadata.resource_version,
            uid: metadata.uid.unwrap_or_default(),
        }
    }
}

impl Applier {
    /// Asks for the deletion of an object that is ours.
    ///
    /// # Guarantees
    /// An object without our mark, or one that takes the name of ours meanwhile, is left alone, and so is one that says
    /// itself that it is to be kept.
    ///
    /// # Errors
    /// The object can't be read or deleted.
    pub async fn delete(&self, owner: &Owner, id: &ObjectId) -> Result<Deletion, PruneError> {
        self.delete_unless_applied(owner, id, &BTreeSet::new()).await
    }

    /// As [`Applier::delete`], but a Job is there until its pods have ended: what comes in its place begins beside none of them.
    ///
    /// # Errors
    /// As there.
    pub async fn delete_with_pods(&self, owner: &Owner, id: &ObjectId) -> Result<Deletion, PruneError> {
        let policy = if (id.group.as_str(), id.kind.as_str()) == ("batch", "Job") {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        };
        self.delete_as(owner, id, &BTreeSet::new(), policy).await
    }

    /// As [`Applier::delete`], but for objects with the UIDs in `applied`: one object may have several identities, as some
    /// kinds are served under two API groups.
    ///
    /// # Errors
    /// As there.
    pub async fn delete_unless_applied(
        &self,
        owner: &Owner,
        id: &ObjectId,
        applied: &BTreeSet<String>,
    ) -> Result<Deletion, PruneError> {
        self.delete_as(owner, id, applied, PropagationPolicy::Background)
            .await
    }

    async fn delete_as(
        &self,
        owner: &Owner,
        id: &ObjectId,
        applied: &BTreeSet<String>,
        policy: PropagationPolicy,
    ) -> Result<Deletion, PruneError> {
        let failed = |attempt| {
            move |source| PruneError::Request {
                attempt,
                id: Box::new(id.clone()),
                source,
            }
        };
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(Deletion::Gone);
        };
        let api = self.api(&resource, id.namespace.as_deref());
        let mut known = self.dependents.live(&owner.uid, id).map(Seen::from);
        let (mut unanswered, mut changed) = (0, 0);
        loop {
            let is_from_memory = known.is_some();
            let seen = match known.take() {
                Some(seen) => seen,
                None => match self.find_ours(owner, &api, id).await? {
                    Ok(metadata) => Seen::from(metadata),
                    Err(answer) => return Ok(answer),
                },
            };
            if applied.contains(&seen.uid) {
                return Ok(Deletion::Applied);
            }
            if seen.deleting {
                return Ok(Deletion::Accepted);
            }
            if seen.kept {
                return Ok(Deletion::Kept);
            }
            let preconditions = Preconditions {
                uid: Some(seen.uid),
                resource_version: seen.version,
            };
            match delete(&api, &id.name, preconditions, policy.clone()).await {
                Ok(()) => return Ok(Deletion::Accepted),
                // The object was replaced since the watch showed it; the new one may be ours as well.
                Err(error) if error.is_other_uid() && is_from_memory => {}
                Err(error) if error.is_unanswered() && unanswered < 2 => unanswered += 1,
                Err(error) if error.is_not_found() || error.is_other_uid() => return Ok(Deletion::Gone),
                // Somebody has written it since it was seen, and may want it kept.
                Err(error) if error.is_conflict() && changed < ATTEMPTS => changed += 1,
                Err(error) => return Err(failed("delete")(error)),
            }
        }
    }

    /// The metadata of the object, as the server has it, if it is there and ours; else what that makes of its deletion.
    async fn find_ours(
        &self,
        owner: &Owner,
        api: &Api<DynamicObject>,
        id: &ObjectId,
    ) -> Result<Result<ObjectMeta, Deletion>, PruneError> {
        let found = find(api, &id.name).await.map_err(|source| PruneError::Request {
            attempt: "read",
            id: Box::new(id.clone()),
            source,
        })?;
        let Some(metadata) = found else {
            return Ok(Err(Deletion::Gone));
        };
        Ok(match may_delete(owner, &metadata) {
            Ok(()) => Ok(metadata),
            Err(reason) => Err(Deletion::NotOurs(reason)),
        })
    }

    /// Whether an object is there and carries the owner's UID.
    ///
    /// # Errors
    /// The object can't be read.
    pub async fn is_marked(&self, owner: &Owner, id: &ObjectId) -> Result<bool, PruneError> {
        let found = self.look_at(id).await?;
        Ok(found.is_some_and(|metadata| owner.ownership(&metadata) == Ownership::Ours))
    }

    /// Whether the resource is an owner of those of `objects`, which are to go with it, that it may own.
    ///
    /// # Errors
    /// An object can't be read.
    pub async fn ownership_of(
        &self,
        owner: &Owner,
        objects: &BTreeSet<ObjectId>,
    ) -> Result<ObjectsOwned, PruneError> {
        let mut found = ObjectsOwned::Gone;
        for id in objects {
            let Some(metadata) = self.look_at(id).await? else {
                continue;
            };
            // Somebody else has an object of this name: the resource never owned it.
            if matches!(owner.ownership(&metadata), Ownership::Foreign(_)) {
                continue;
            }
            let mut owners = metadata.owner_references.iter().flatten();
            if !owner.may_own(id.namespace.as_deref()) {
                if found == ObjectsOwned::Gone {
                    found = ObjectsOwned::Unclear;
                }
            } else if owners.any(|reference| reference.uid == owner.uid) {
                found = ObjectsOwned::Yes;
            } else {
                return Ok(ObjectsOwned::No);
            }
        }
        Ok(found)
    }

    /// The metadata of an object, if it is there.
    async fn look_at(&self, id: &ObjectId) -> Result<Option<ObjectMeta>, PruneError> {
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(None);
        };
        let api = self.api(&resource, id.namespace.as_deref());
        let found = find(&api, &id.name).await;
        found.map_err(|source| PruneError::Request {
            attempt: "read",
            id: Box::new(id.clone()),
            source,
        })
    }

    /// Whether an object that was ours is still there, and if so what keeps it.
    ///
    /// # Errors
    /// The object can't be read.
    pub async fn remains(&self, owner: &Owner, id: &ObjectId) -> Result<Option<String>, PruneError> {
        let left = self.left_of(owner, id).await?;
        Ok(left.map(|metadata| with_finalizers(id, &metadata)))
    }

    /// The metadata of an object that was ours, if it is still there.
    pub(in crate::apply) async fn left_of(
        &self,
        owner: &Owner,
        id: &ObjectId,
    ) -> Result<Option<ObjectMeta>, PruneError> {
        let found = self.look_at(id).await?;
        Ok(found.filter(|metadata| owner.ownership(metadata) == Ownership::Ours))
    }

    /// Orphans an object that is ours: it loses our marks, so that it outlives the custom resource.
    /// What is not ours, or not there, stays as it is.
    ///
    /// # Errors
    /// The object can't be read or written.
    pub async fn orphan(&self, owner: &Owner, id: &ObjectId) -> Result<(), PruneError> {
        self.orphan_unless_applied(owner, id, &BTreeSet::new()).await
    }

    /// As [`Applier::orphan`], but for objects with the UIDs in `applied`.
    ///
    /// # Errors
    /// As there.
    pub async fn orphan_unless_applied(
        &self,
        owner: &Owner,
        id: &ObjectId,
        applied: &BTreeSet<String>,
    ) -> Result<(), PruneError> {
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(());
        };
        let api = self.api(&resource, id.namespace.as_deref());
        remove_marks(&api, &id.name, &owner.uid, applied)
            .await
            .map_err(|source| PruneError::Request {
                attempt: "disown",
                id: Box::new(id.clone()),
                source,
            })
    }
}

/// An object that is being deleted, with what keeps it.
pub(in crate::apply) fn with_finalizers(id: &ObjectId, metadata: &ObjectMeta) -> String {
    match metadata.finalizers.as_deref().unwrap_or_default() {
        [] => id.to_string(),
        finalizers => format!("{id} (finalizers: {})", finalizers.join(", ")),
    }
}

/// Whether the marks of an object let `owner` delete it: its own, or those of Helm's release and nobody else's.
///
/// # Errors
/// The rule by which it may not.
pub(in crate::apply) fn may_delete(owner: &Owner, metadata: &ObjectMeta) -> Result<(), String> {
    let labels = metadata.labels.as_ref();
    let labelled = labels.and_then(|labels| labels.get(OWNER_UID_LABEL));
    match (owner.ownership(metadata), labelled) {
        (Ownership::Ours, _) | (Ownership::Adoptable, None) => Ok(()),
        (Ownership::Foreign(reason), _) => Err(reason),
        // A controller that copies labels may copy annotations, too.
        (Ownership::Adoptable, Some(uid)) if *uid == owner.uid => {
            Err("the operator has not applied its label with the UID of the resource".to_owned())
        }
        (Ownership::Adoptable, Some(_)) => Err("it carries the UID of another owner".to_owned()),
    }
}

/// Others may write the object at the same time; then it is read again.
async fn remove_marks(
    api: &Api<DynamicObject>,
    name: &str,
    uid: &str,
    applied: &BTreeSet<String>,
) -> Result<(), RequestError> {
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let is_applied = |metadata: &ObjectMeta| metadata.uid.as_ref().is_some_and(|uid| applied.contains(uid));
    let mut attempts = 0;
    loop {
        let Some(metadata) = find(api, name).await?.filter(|found| !is_applied(found)) else {
            return Ok(());
        };
        let Some(patch) = orphan_patch(&metadata, uid) else {
            return Ok(());
        };
        match api.patch_metadata(name, &parameters, &Patch::Merge(patch)).await {
            Ok(_) => return Ok(()),
            Err(error) => {
                let error = RequestError::from(error);
                attempts += 1;
                if !error.is_conflict() || attempts > 3 {
                    return Err(error);
                }
            }
        }
    }
}
