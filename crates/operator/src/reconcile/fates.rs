//! What a reconcile would make of each object.

use std::collections::BTreeSet;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use super::Reconciler;
use super::action::deploy::in_effect;
use super::error::ReconcileError;
use super::foreseen::{Fate, ObjectPreview};
use super::preview::Wanted;
use super::session::Session;
use crate::apply::{Handover, Tried};
use crate::release::Stored;
use crate::status::differing_fields;
use steersman_cluster::discovery::Served;
use steersman_model::{FIELD_MANAGER, ObjectId, RenderedObject, chain, kinds_defined_by};
use steersman_watches::CrdPolicy;

/// So many objects are asked about at a time.
const PARALLEL: usize = 4;

impl Reconciler {
    /// What would become of each object that is wanted or was.
    pub(super) async fn fates(
        &self,
        session: &Session,
        wanted: &Wanted,
        revisions: &[Stored],
        formers: Option<&[String]>,
    ) -> Result<Vec<ObjectPreview>, ReconcileError> {
        let apis = wanted.objects.iter().map(|object| &object.api);
        let served = self.shared.discovery.served_with(apis).await?;
        let mut defined = kinds_defined_by(&wanted.objects);
        defined.extend(kinds_defined_by(&wanted.definitions));
        let mut objects = Vec::new();
        for definition in &wanted.definitions {
            objects.extend(self.definition_fate(definition, &served).await?);
        }
        let left = self
            .leave_to_others(session, wanted.objects.clone(), revisions, Handover::Imagine)
            .await?;
        let requests = left.iter().map(|object| {
            let is_defined = defined.contains(&object.api);
            let applier = &self.shared.applier;
            applier
                .try_apply(
                    &session.owner,
                    object,
                    &served,
                    is_defined,
                    formers,
                    self.settings.conflicts,
                )
                .boxed()
        });
        let requests: Vec<_> = requests.collect();
        let tried: Vec<Tried> = futures::stream::iter(requests)
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        let desired: BTreeSet<ObjectId> = tried.iter().map(|tried| tried.id.clone()).collect();
        objects.extend(tried.into_iter().map(object_preview));
        objects.extend(self.orphans(session, revisions, &desired).await?);
        Ok(objects)
    }

    /// What would become of a definition in the chart's `crds/` folder, if anything.
    async fn definition_fate(
        &self,
        definition: &RenderedObject,
        served: &Served,
    ) -> Result<Option<ObjectPreview>, ReconcileError> {
        let id = ObjectId {
            group: definition.api.group.clone(),
            kind: definition.api.kind.clone(),
            namespace: None,
            name: definition.name.clone(),
        };
        let kinds = kinds_defined_by(std::slice::from_ref(definition));
        let is_missing = kinds.iter().any(|kind| served.resource(kind).is_none());
        let (live, value) = match self.settings.crds {
            CrdPolicy::Create if is_missing => (None, definition.value.clone()),
            CrdPolicy::Create | CrdPolicy::Skip => return Ok(None),
            CrdPolicy::CreateReplace => match self.shared.applier.try_replace_crd(definition).await? {
                Some((live, replaced)) => (Some(comparable(live)), replaced),
                None => (None, definition.value.clone()),
            },
        };
        Ok(Some(ObjectPreview {
            id,
            live,
            managers: BTreeSet::new(),
            fate: Fate::Applied(comparable(value)),
            dropped: Vec::new(),
        }))
    }

    /// What stored revisions name and nobody wants any longer, as far as it is there and ours.
    async fn orphans(
        &self,
        session: &Session,
        revisions: &[Stored],
        desired: &BTreeSet<ObjectId>,
    ) -> Result<Vec<ObjectPreview>, ReconcileError> {
        let mut orphans: Vec<ObjectPreview> = Vec::new();
        for (id, object) in self.inventory(session, in_effect(revisions)).await? {
            if desired.contains(&id) || orphans.iter().any(|orphan| orphan.id == id) {
                continue;
            }
            if let Some(live) = self.shared.applier.live(&session.owner, &id).await? {
                orphans.push(ObjectPreview {
                    fate: if object.is_kept() {
                        Fate::Kept
                    } else {
                        Fate::Deleted
                    },
                    managers: managers(Some(&live)),
                    live: Some(comparable(live)),
                    dropped: Vec::new(),
                    id,
                });
            }
        }
        Ok(orphans)
    }

    /// Objects of the kinds of the release, in its namespace, that belong to its resource and are not `known`.
    pub(super) async fn strays(
        &self,
        session: &Session,
        known: &[ObjectPreview],
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let kinds: BTreeSet<(&str, &str)> = known
            .iter()
            .map(|object| (object.id.group.as_str(), object.id.kind.as_str()))
            .collect();
        let mut strays = Vec::new();
        for (group, kind) in kinds {
            let found = self.shared.applier.marked(&session.owner, group, kind).await?;
            strays.extend(
                found
                    .into_iter()
                    .filter(|id| known.iter().all(|object| object.id != *id)),
            );
        }
        Ok(strays)
    }
}

fn object_preview(tried: Tried) -> ObjectPreview {
    let fate = match tried.result {
        Ok(value) => Fate::Applied(comparable(value)),
        Err(error) => Fate::Refused(chain(&error)),
    };
    let dropped = match (&fate, tried.without_takeover.map(comparable)) {
        (Fate::Applied(after), Some(before)) => differing_fields(&before, after),
        _ => Vec::new(),
    };
    ObjectPreview {
        id: tried.id,
        managers: managers(tried.live.as_ref()),
        live: tried.live.map(comparable),
        fate,
        dropped,
    }
}

/// The managers but ourselves that own fields of an object, the status apart.
fn managers(live: Option<&Value>) -> BTreeSet<String> {
    let entries = live.and_then(|live| live.pointer("/metadata/managedFields")?.as_array());
    let of_object = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("subresource").is_none());
    let names = of_object.filter_map(|entry| entry.get("manager")?.as_str());
    names
        .filter(|name| *name != FIELD_MANAGER)
        .map(str::to_owned)
        .collect()
}

/// An object without what changes although nothing has changed.
fn comparable(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            for noise in [
                "managedFields",
                "resourceVersion",
                "generation",
                "uid",
                "creationTimestamp",
                "selfLink",
            ] {
                metadata.remove(noise);
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preview(live: Option<Value>, fate: Fate) -> ObjectPreview {
        ObjectPreview {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: None,
                name: "a".to_owned(),
            },
            managers: BTreeSet::new(),
            live: live.map(comparable),
            fate,
            dropped: Vec::new(),
        }
    }

    #[test]
    fn what_the_server_counts_is_no_difference() {
        let live = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 3, "uid": "u"},
            "data": {"a": "1"}, "status": {"x": 1}});
        let same = comparable(json!({"metadata": {"name": "a", "resourceVersion": "2"}, "data": {"a": "1"}}));
        let other = comparable(json!({"metadata": {"name": "a"}, "data": {"a": "2"}}));
        for (live, fate, expect) in [
            (Some(&live), Fate::Applied(same.clone()), false),
            (Some(&live), Fate::Applied(other), true),
            (None, Fate::Applied(same), true),
            (Some(&live), Fate::Deleted, true),
            (Some(&live), Fate::Kept, false),
            (None, Fate::Refused("no".to_owned()), true),
        ] {
            let preview = preview(live.cloned(), fate);
            assert_eq!(preview.differs(), expect, "{preview:?}");
        }
    }
}
