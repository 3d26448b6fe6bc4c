//! What goes when a revision has come into effect. Pure.

use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::manifest::uninstall_order;
use steersman_model::{ObjectId, RenderedObject, chain, objects_of_manifest};

use super::stages::parts;
use crate::release::Stored;

/// Where a prune looks for objects that the release no longer has.
#[derive(Debug, Default)]
pub(crate) struct PruneScope {
    /// The objects that stored manifests name.
    pub(crate) named: Vec<RenderedObject>,
    /// What only revisions named that are gone.
    pub(crate) abandoned: Vec<ObjectId>,
    /// The same by the stages of the newest revision that has some: what is in the last one goes first.
    pub(crate) stages: Vec<Vec<RenderedObject>>,
}

/// An object that may be live and that the release no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PruneCandidate {
    pub(crate) id: ObjectId,
    /// Whether the newest revision that names it wants it to outlive the release: it stays, without our marks.
    pub(crate) kept: bool,
}

impl PruneScope {
    /// What `revisions`, whose objects may be live, name or have noted as abandoned, and what is `abandoned` besides.
    pub(crate) fn new<'a>(
        revisions: impl IntoIterator<Item = &'a Stored> + Clone,
        abandoned: &[ObjectId],
    ) -> Self {
        let stages = stages_named_by(revisions.clone());
        let noted = revisions.clone().into_iter();
        let noted = noted.flat_map(|stored| &stored.snapshot.abandoned);
        let all: BTreeSet<ObjectId> = noted.chain(abandoned).cloned().collect();
        Self {
            named: objects_named_by(revisions),
            abandoned: all.into_iter().collect(),
            stages,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.abandoned.is_empty()
    }
}

/// The objects that the manifests of `revisions` name. What can't be read there is left out: nothing is deleted on the
/// word of a damaged record.
pub(crate) fn objects_named_by<'a>(revisions: impl IntoIterator<Item = &'a Stored>) -> Vec<RenderedObject> {
    let mut objects = Vec::new();
    for stored in revisions {
        match objects_of_manifest(&stored.record.manifest) {
            Ok(found) => objects.extend(found),
            Err(error) => {
                let (release, revision) = (&stored.record.name, stored.record.version);
                tracing::warn!(release, %revision, error = %chain(&error), "a stored manifest can't be read");
            }
        }
    }
    objects
}

/// The objects of the newest of `revisions` that has stages, by these; none where there is no such revision.
pub(crate) fn stages_named_by<'a>(
    revisions: impl IntoIterator<Item = &'a Stored>,
) -> Vec<Vec<RenderedObject>> {
    let has_stages = |stored: &&Stored| stored.is_signed() && !stored.snapshot.stages.is_empty();
    match revisions.into_iter().filter(has_stages).last() {
        Some(newest) => parts(objects_named_by([newest]), &newest.snapshot.stages),
        None => Vec::new(),
    }
}

/// The objects that may be live, each with whether it is to be kept: of the revisions that name it, of which the oldest come
/// first in `named`, the newest decides. What is `abandoned` and not named is not kept.
pub(crate) fn inventory(
    named: impl IntoIterator<Item = (ObjectId, RenderedObject)>,
    abandoned: &[ObjectId],
) -> BTreeMap<ObjectId, bool> {
    let mut objects: BTreeMap<ObjectId, bool> = abandoned.iter().map(|id| (id.clone(), false)).collect();
    objects.extend(named.into_iter().map(|(id, object)| (id, object.is_kept())));
    objects
}

/// What of `named` and `abandoned` is not `desired`, in the order in which it goes.
pub(crate) fn prune_candidates(
    named: Vec<(ObjectId, RenderedObject)>,
    abandoned: &[ObjectId],
    desired: &BTreeSet<ObjectId>,
) -> Vec<PruneCandidate> {
    let objects = inventory(named, abandoned).into_iter();
    let mut candidates: Vec<PruneCandidate> = objects
        .filter(|(id, _)| !desired.contains(id))
        .map(|(id, kept)| PruneCandidate { id, kept })
        .collect();
    candidates.sort_by(|a, b| uninstall_order(&a.id.kind, &b.id.kind));
    candidates
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(kind: &str, name: &str, policy: Option<&str>) -> (ObjectId, RenderedObject) {
        let annotations = policy.map(|policy| json!({"helm.sh/resource-policy": policy}));
        let document = json!({"apiVersion": "v1", "kind": kind,
            "metadata": {"name": name, "annotations": annotations}});
        let object = RenderedObject::from_document("t", &document).unwrap().remove(0);
        (id(kind, name), object)
    }

    fn id(kind: &str, name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: Some("ns".to_owned()),
            name: name.to_owned(),
        }
    }

    #[test]
    fn what_is_desired_stays_and_the_rest_goes_in_helms_order() {
        let named = vec![
            named("Namespace", "a", None),
            named("ConfigMap", "kept", Some("keep")),
            named("Service", "b", None),
            named("ConfigMap", "wanted", None),
            named("Service", "b", None),
        ];
        let desired = BTreeSet::from([id("ConfigMap", "wanted")]);
        let candidates = prune_candidates(
            named,
            &[id("Secret", "lost"), id("ConfigMap", "wanted")],
            &desired,
        );
        let shown: Vec<(&str, bool)> = candidates.iter().map(|o| (o.id.name.as_str(), o.kept)).collect();
        assert_eq!(
            shown,
            [("b", false), ("kept", true), ("lost", false), ("a", false)]
        );
    }

    #[test]
    fn the_newest_revision_that_names_an_object_says_whether_it_is_kept() {
        let revisions = vec![
            named("ConfigMap", "kept-later", None),
            named("ConfigMap", "kept-once", Some("keep")),
            named("ConfigMap", "kept-later", Some("keep")),
            named("ConfigMap", "kept-once", None),
        ];
        let abandoned = [id("ConfigMap", "kept-later"), id("ConfigMap", "lost")];
        let objects = inventory(revisions, &abandoned);
        let shown: Vec<(&str, bool)> = objects
            .iter()
            .map(|(id, kept)| (id.name.as_str(), *kept))
            .collect();
        assert_eq!(
            shown,
            [("kept-later", true), ("kept-once", false), ("lost", false)]
        );
    }
}
