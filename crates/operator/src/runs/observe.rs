//! What is true of a resource and its runs.

use std::collections::BTreeMap;

use serde_json::json;
use steersman_model::{Digest, ObjectId, digest_of_json};
use steersman_watches::controls::Mode;
use tokio::time::Instant;

use super::cache::RunCache;
use super::error::Failure;
use super::left::Liveness;
use super::reconciler::RunReconciler;
use super::record::RunRecord;
use super::state::{Observed, RunInputs};
use super::subject::Subject;
use crate::dependents::Place;

impl RunReconciler {
    pub(super) async fn observe(&self, subject: &Subject, cache: &RunCache) -> Result<Observed, Failure> {
        let metadata = &subject.object.metadata;
        let wanted = self.finalizers();
        let deleting = metadata.deletion_timestamp.is_some();
        let record = cache.record.as_ref();
        // Of what is being deleted it makes no difference.
        let has_drifted = match record.filter(|_| !deleting) {
            Some(record) => self.has_drifted(subject, record).await?,
            None => false,
        };
        let mode = match subject.controls.mode {
            Mode::Apply if self.dry_run => Mode::DryRun,
            mode => mode,
        };
        Ok(Observed {
            deleting,
            wants_finalizer: !wanted.is_empty(),
            has_finalizer: if deleting {
                self.known_finalizers().iter().any(|name| subject.holds(name))
            } else {
                wanted.iter().all(|name| subject.holds(name))
            },
            mode,
            last: record.map(RunRecord::run),
            inputs: self.inputs(subject),
            has_drifted,
            is_due: record.is_some_and(|record| self.is_due(subject, record)),
            is_resting: cache.rests(deleting, Instant::now()),
        })
    }

    fn is_due(&self, subject: &Subject, record: &RunRecord) -> bool {
        self.due_at(subject, record)
            .is_some_and(|due| due <= (self.now)())
    }

    pub(super) fn inputs(&self, subject: &Subject) -> RunInputs {
        let annotations = subject.object.metadata.annotations.as_ref();
        let said = json!([
            subject.object.data.get("spec"),
            annotations.filter(|_| self.watch.watch_annotations),
            subject.controls.reconcile_at,
        ]);
        RunInputs {
            resource: digest_of_json(&said),
            content: self.content,
        }
    }

    /// Whether others have changed or deleted what runs have left, as far as that is watched. Watches begin for what is not yet.
    async fn has_drifted(&self, subject: &Subject, record: &RunRecord) -> Result<bool, Failure> {
        let live = self
            .live_of(subject, record.objects.iter().map(|left| &left.id))
            .await?;
        Ok(record.objects.iter().any(|left| match live.get(&left.id) {
            None | Some(Liveness::Unknown) => false,
            Some(Liveness::Gone) => true,
            Some(Liveness::There { uid, fields }) => *uid != left.uid || *fields != left.fields,
        }))
    }

    /// What watches tell of these objects.
    ///
    /// # Errors
    /// The server does not say what it serves, or what the resource has.
    pub(super) async fn live_of<'a>(
        &self,
        subject: &Subject,
        ids: impl Iterator<Item = &'a ObjectId>,
    ) -> Result<BTreeMap<ObjectId, Liveness>, Failure> {
        let mut followed: BTreeMap<(&str, &str, Option<&str>), bool> = BTreeMap::new();
        let ids: Vec<&ObjectId> = ids.collect();
        for id in &ids {
            let place = (id.group.as_str(), id.kind.as_str(), id.namespace.as_deref());
            if let std::collections::btree_map::Entry::Vacant(e) = followed.entry(place) {
                e.insert(self.follow(id).await?);
            }
        }
        if followed.values().any(|is_followed| *is_followed) {
            let found = self.dependents.find_unseen(&subject.owner.uid).await;
            found.map_err(|error| Failure::Find(Box::new(error)))?;
        }
        let live = |id: &ObjectId| {
            let place = (id.group.as_str(), id.kind.as_str(), id.namespace.as_deref());
            if followed.get(&place) != Some(&true) {
                return Liveness::Unknown;
            }
            match self.dependents.live(&subject.owner.uid, id) {
                Some(live) => Liveness::There {
                    uid: live.uid,
                    fields: live.fields.map_or(Digest::of(b""), |fields| fields.digest),
                },
                None => Liveness::Gone,
            }
        };
        Ok(ids.into_iter().map(|id| (id.clone(), live(id))).collect())
    }

    /// Has objects like this one watched, where the entry wants that. Gives whether all there are known.
    async fn follow(&self, id: &ObjectId) -> Result<bool, Failure> {
        let is_listed = |kind: &kube::core::GroupVersionKind| kind.group == id.group && kind.kind == id.kind;
        let is_wanted = self.watch.watch_dependents
            && (id.namespace.is_some() || self.watch.watch_cluster_scoped)
            && self.namespaces.includes(id.namespace.as_deref())
            && !self.watch.blacklist.iter().any(is_listed);
        if !is_wanted {
            return Ok(false);
        }
        let served = self.discovery.served().await.map_err(Failure::Discovery)?;
        let Some(resource) = served.any_version(&id.group, &id.kind) else {
            return Ok(false);
        };
        if !self.dependents.ensure(id, resource).await {
            return Ok(false);
        }
        let namespace = id.namespace.as_deref();
        Ok(self.dependents.knows(Place { resource, namespace }))
    }
}
