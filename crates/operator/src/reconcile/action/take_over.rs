//! A revision that Helm or helm-operator deployed and that is what we would deploy.

use serde_json::Value;
use steersman_chart::{Operation, Rendered};

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::render::{definitions, hook_records, manifest};
use super::super::secrets::redactor;
use super::super::session::Session;
use crate::apply::{ApplyOptions, Handover};
use crate::release::{HookRecord, Snapshot, Stored};
use crate::status::EventKind;
use steersman_model::{DocumentsError, RenderedObject, objects_of_manifest, objects_of_text};
use steersman_model::{ReleaseStatus, Revision, digest_of_json};

impl Reconciler {
    /// Makes the last of `revisions` ours, if rendering it again gives what it is: its objects get
    /// our marks, no hook runs, and the history stays as it is. `false` when another revision is
    /// needed.
    ///
    /// # Cancellation
    /// Safe at any await: until the last request the revision counts as somebody else's.
    pub(super) async fn take_over(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        revisions: &[Stored],
    ) -> Result<bool, ReconcileError> {
        let Some(inputs) = session.inputs else {
            return Ok(false);
        };
        let Some((last, rendered, objects)) = self.rendered_as_it_is(session, revisions).await? else {
            return Ok(false);
        };
        let revision = last.record.version;
        session.first = false;
        session.redactor = redactor(session, [last], &objects);
        let applier = &self.shared.applier;
        applier
            .restore_crds(&definitions(&rendered.crds)?, &objects, self.settings.crds)
            .await?;
        applier.check(&session.owner, &objects).await?;
        let objects = self
            .leave_to_others(session, objects, revisions, Handover::Make)
            .await?;
        let rules = &self.settings.drift.ignore;
        let same = objects.clone();
        let objects = applier
            .leave_to_others(&session.owner, rules, objects, same, Handover::Make)
            .await?;
        let formers = last.former_managers();
        let options = ApplyOptions {
            formers: &formers,
            conflicts: self.settings.conflicts,
            ..ApplyOptions::default()
        };
        let changes = applier.apply_with(&session.owner, objects, options).await?;

        let snapshot = Snapshot {
            inputs: Some(inputs),
            lookups: session.looked_up(),
            ..Snapshot::new(&changes)
        };
        let stored = Stored {
            snapshot,
            ..last.clone()
        };
        session.history.take_over(&stored).await?;
        self.tell_of(session, &changes);
        let notes = session.redactor.mask(&stored.record.info.notes);
        memory.note_deployed(&stored, Some(inputs), notes);
        memory.announce("Reconciled release");
        let message = format!(
            "release {} is taken over as it is, at revision {revision}",
            session.release
        );
        self.event(session, EventKind::Normal, "ReleaseTakenOver", &message);
        Ok(true)
    }

    /// The last of `revisions` and what it renders to with its objects, if it is somebody else's and that is what
    /// it was.
    pub(in super::super) async fn rendered_as_it_is<'r>(
        &self,
        session: &Session,
        revisions: &'r [Stored],
    ) -> Result<Option<(&'r Stored, Rendered, Vec<RenderedObject>)>, ReconcileError> {
        let Some(last) = revisions.last() else {
            return Ok(None);
        };
        if !last.is_of_others() || last.record.info.status != ReleaseStatus::Deployed {
            return Ok(None);
        }
        let revision = last.record.version;
        let operation = if revision == Revision::FIRST {
            Operation::Install
        } else {
            Operation::Upgrade
        };
        let rendered = self.render(session, revision, operation).await?;
        let objects = objects_of_manifest(&manifest(&rendered))?;
        let is_same = self.is_what_would_be(session, last, &objects, &hook_records(&rendered));
        Ok(is_same.then_some((last, rendered, objects)))
    }

    /// Whether `last` was made of the present chart and values. Its chart is not stored as a whole,
    /// so what it renders to is compared.
    pub(in super::super) fn is_what_would_be(
        &self,
        session: &Session,
        last: &Stored,
        objects: &[RenderedObject],
        hooks: &[HookRecord],
    ) -> bool {
        let record = &last.record;
        let chart = &self.settings.chart;
        let of_chart = |key: &str| record.chart.metadata.get(key).and_then(Value::as_str);
        let config = Value::Object(record.config.clone().unwrap_or_default());
        let values = Value::Object(session.values.clone());
        of_chart("name") == Some(chart.name())
            && of_chart("version") == Some(chart.version())
            && digest_of_json(&config) == digest_of_json(&values)
            && objects_of_manifest(&record.manifest).is_ok_and(|stored| same_objects(&stored, objects))
            && same_hooks(record.hooks.as_deref().unwrap_or_default(), hooks).unwrap_or(false)
    }
}

/// Whether these are the same objects, in whatever order.
fn same_objects(left: &[RenderedObject], right: &[RenderedObject]) -> bool {
    let digests = |objects: &[RenderedObject]| {
        let mut digests: Vec<_> = objects
            .iter()
            .map(|object| digest_of_json(&object.value))
            .collect();
        digests.sort();
        digests
    };
    digests(left) == digests(right)
}

fn same_hooks(left: &[HookRecord], right: &[HookRecord]) -> Result<bool, DocumentsError> {
    let digests = |hooks: &[HookRecord]| {
        let mut digests = Vec::new();
        for hook in hooks {
            for object in objects_of_text(&hook.path, &hook.manifest)? {
                digests.push(digest_of_json(&object.value));
            }
        }
        digests.sort();
        Ok::<_, DocumentsError>(digests)
    };
    Ok(digests(left)? == digests(right)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(values: &[i32]) -> Vec<RenderedObject> {
        let object = |value: &i32| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{value}")}});
        values
            .iter()
            .flat_map(|value| RenderedObject::from_document("t", &object(value)).unwrap())
            .collect()
    }

    #[test]
    fn the_order_of_objects_does_not_count() {
        assert!(same_objects(&objects(&[1, 2]), &objects(&[2, 1])));
        assert!(!same_objects(&objects(&[1, 2]), &objects(&[1, 3])));
        assert!(!same_objects(&objects(&[1]), &objects(&[1, 1])));
    }

    #[test]
    fn hooks_are_compared_by_what_they_are() {
        let hook = |text: &str| HookRecord {
            name: "h".to_owned(),
            kind: "ConfigMap".to_owned(),
            path: "web/h.yaml".to_owned(),
            manifest: text.to_owned(),
            events: vec!["pre-install".to_owned()],
            weight: 0,
            delete_policies: vec![],
            last_run: json!({}),
        };
        let plain = hook("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: h}");
        let block = hook("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: h\n");
        let other = hook("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}");
        assert!(same_hooks(std::slice::from_ref(&plain), &[block]).unwrap());
        assert!(!same_hooks(std::slice::from_ref(&plain), &[other]).unwrap());
        assert!(!same_hooks(&[plain], &[]).unwrap());
    }
}
