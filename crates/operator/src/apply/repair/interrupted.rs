//! A `StatefulSet` that was deleted without its pods to be created again, where the release goes before it is.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::{Owner, Ownership};
use steersman_model::ObjectId;

use crate::apply::applier::Applier;
use crate::apply::error::ApplyError;

/// The finalizer of an object that leaves behind what it has made.
const ORPHANING: &str = "orphan";
/// So long is the controller of a new set waited for: where there is none, nothing ever takes its pods back.
const SEEN_WITHIN: Duration = Duration::from_mins(1);

/// Where a set is that a release had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetState {
    /// It is not there. Its pods may be.
    Absent,
    /// It is on its way out, and leaves its pods.
    Leaving,
    /// It is new, and its controller has not looked for its pods yet.
    Unseen,
    /// Its pods are its own, or nothing can be done about them.
    Settled,
}

impl SetState {
    fn of(owner: &Owner, set: Option<&DynamicObject>, now: Timestamp) -> Self {
        let Some(set) = set else {
            return Self::Absent;
        };
        let metadata = &set.metadata;
        if owner.ownership(metadata) != Ownership::Ours {
            return Self::Settled;
        }
        if metadata.deletion_timestamp.is_some() {
            let mut finalizers = metadata.finalizers.iter().flatten();
            return if finalizers.any(|name| name == ORPHANING) {
                Self::Leaving
            } else {
                Self::Settled
            };
        }
        let seen = set
            .data
            .pointer("/status/observedGeneration")
            .and_then(Value::as_i64);
        let created = metadata.creation_timestamp.as_ref().map(|created| created.0);
        let age = created.and_then(|created| Duration::try_from(now.duration_since(created)).ok());
        // A controller adopts pods before it says that it has seen the set.
        if seen.is_none() && age.is_none_or(|age| age < SEEN_WITHIN) {
            Self::Unseen
        } else {
            Self::Settled
        }
    }
}

impl Applier {
    /// Where a set is, as the server has it.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn set_state(&self, owner: &Owner, id: &ObjectId) -> Result<SetState, ApplyError> {
        let Some(resource) = self.discovery.find(&id.group, &id.kind).await? else {
            return Ok(SetState::Settled);
        };
        let found = self.read(&resource, id).await?;
        Ok(SetState::of(owner, found.as_ref(), Timestamp::now()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::owner_of_test;
    use super::*;

    #[test]
    fn a_new_set_is_waited_for_until_its_controller_has_seen_it() {
        let owner = owner_of_test();
        let created: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let judge = |change: &dyn Fn(&mut Value), seconds: i64| {
            let mut set = json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "metadata": {"name": "store", "creationTimestamp": created.to_string(),
                    "ownerReferences": [owner.reference()]},
            });
            change(&mut set);
            let set = serde_json::from_value(set).unwrap();
            SetState::of(
                &owner,
                Some(&set),
                created + jiff::SignedDuration::from_secs(seconds),
            )
        };
        assert_eq!(SetState::of(&owner, None, created), SetState::Absent);
        assert_eq!(judge(&|_| {}, 5), SetState::Unseen);
        assert_eq!(judge(&|_| {}, 61), SetState::Settled, "nobody sees it");
        let seen = |set: &mut Value| set["status"]["observedGeneration"] = 1.into();
        assert_eq!(judge(&seen, 5), SetState::Settled);
        let foreign = |set: &mut Value| set["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(judge(&foreign, 5), SetState::Settled);
        for (finalizer, state) in [
            ("orphan", SetState::Leaving),
            ("foregroundDeletion", SetState::Settled),
        ] {
            let going = |set: &mut Value| {
                set["metadata"]["deletionTimestamp"] = created.to_string().into();
                set["metadata"]["finalizers"] = json!([finalizer]);
            };
            assert_eq!(judge(&going, 5), state, "{finalizer}");
        }
    }
}
