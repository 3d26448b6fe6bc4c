//! Plans that need a rendering first.

use serde_json::Value;
use steersman_chart::{Chart, Operation, Rendered};
use steersman_model::{
    DocumentsError, ReleaseStatus, RenderedObject, Revision, digest_of_json, objects_of_manifest,
    objects_of_text,
};

use super::{Decision, Definitions, Hooks, Plan, PruneScope};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::memory::was_ever_deployed;
use crate::reconcile::record::{hook_records, manifest};
use crate::reconcile::renderer::Renderer;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::state::Cause;
use crate::release::{HookRecord, Stored};

/// Makes plans of what the chart renders.
pub(crate) struct Planner<'a> {
    pub(crate) renderer: &'a Renderer,
    pub(crate) settings: &'a ReconcileSettings,
}

/// Another revision, as it is before it is written down.
pub(crate) struct NewRevision {
    pub(crate) plan: Plan,
    pub(crate) revision: Revision,
    /// Whether no revision was ever deployed.
    pub(crate) first: bool,
    pub(crate) rendered: Rendered,
    /// What is stored of it as its manifest.
    pub(crate) manifest: String,
}

/// What makes the release another one.
pub(crate) enum PlannedUpgrade {
    /// Another revision.
    NewRevision(Box<NewRevision>),
    /// The last revision, which Helm or helm-operator wrote, becomes ours as it is.
    TakeOver(Box<Plan>),
}

impl Planner<'_> {
    /// The next revision after `earlier`, because of `cause`; the first one where there is none. What it takes the place of
    /// is no part of it yet ([`Plan::follow`]).
    pub(crate) async fn new_revision(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        earlier: &[Stored],
        cause: Option<Cause>,
    ) -> Result<NewRevision, ReconcileError> {
        let last = earlier.last().map(|last| last.record.version);
        let revision = last.map_or(Revision::FIRST, Revision::next);
        let decision = match cause {
            Some(cause) => Decision::Upgrade(revision, cause),
            None => Decision::Install,
        };
        let first = !was_ever_deployed(earlier);
        let Rendering {
            rendered,
            manifest,
            objects,
        } = self.render(session, prepared, revision, first).await?;
        let (settings, controls) = (self.settings, &session.controls);
        let plan = Plan {
            decision,
            definitions: Definitions::all(&rendered.crds, settings.crds)?,
            hooks: Hooks::of_revision(revision, first, hook_records(&rendered), controls),
            objects,
            replaced: Vec::new(),
            former_managers: Some(Vec::new()),
            recreate: controls.upgrade_force,
            conflicts: settings.conflicts,
            prune: PruneScope::default(),
        };
        Ok(NewRevision {
            plan,
            revision,
            first,
            rendered,
            manifest,
        })
    }

    /// What becomes of a release that is out of sync because of `cause`: a revision of Helm's or helm-operator's that
    /// already is what another one would be is taken over instead.
    pub(crate) async fn upgrade(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revisions: &[Stored],
        cause: Cause,
    ) -> Result<PlannedUpgrade, ReconcileError> {
        if cause == Cause::TakenOver
            && let Some(plan) = self.take_over(session, prepared, revisions).await?
        {
            return Ok(PlannedUpgrade::TakeOver(Box::new(plan)));
        }
        let new = self
            .new_revision(session, prepared, revisions, Some(cause))
            .await?;
        Ok(PlannedUpgrade::NewRevision(Box::new(new)))
    }

    /// The last of `revisions`, if Helm or helm-operator wrote it and it is what the chart renders now.
    async fn take_over(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revisions: &[Stored],
    ) -> Result<Option<Plan>, ReconcileError> {
        let Some(last) = revisions.last() else {
            return Ok(None);
        };
        if !last.is_of_others() || last.record.info.status != ReleaseStatus::Deployed {
            return Ok(None);
        }
        let revision = last.record.version;
        let first = revision == Revision::FIRST;
        let Rendering {
            rendered, objects, ..
        } = self.render(session, prepared, revision, first).await?;
        let hooks = hook_records(&rendered);
        if !is_what_would_be(&self.settings.chart, prepared, last, &objects, &hooks) {
            return Ok(None);
        }
        Ok(Some(Plan::take_over(self.settings, last, &rendered, objects)?))
    }

    /// What the chart renders for a revision, which is the `first` or an upgrade.
    async fn render(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        first: bool,
    ) -> Result<Rendering, ReconcileError> {
        let operation = if first {
            Operation::Install
        } else {
            Operation::Upgrade
        };
        let rendered = self
            .renderer
            .render(session, prepared, revision, operation)
            .await?;
        let manifest = manifest(&rendered);
        Ok(Rendering {
            objects: objects_of_manifest(&manifest)?,
            manifest,
            rendered,
        })
    }
}

/// A rendering, with its manifest as it is stored and the objects in it.
struct Rendering {
    rendered: Rendered,
    manifest: String,
    objects: Vec<RenderedObject>,
}

/// Whether `last` was made of the present chart and values. Its chart is not stored as a whole,
/// so what it renders to is compared.
fn is_what_would_be(
    chart: &Chart,
    prepared: &PreparedRelease,
    last: &Stored,
    objects: &[RenderedObject],
    hooks: &[HookRecord],
) -> bool {
    let record = &last.record;
    let of_chart = |key: &str| record.chart.metadata.get(key).and_then(Value::as_str);
    let config = Value::Object(record.config.clone().unwrap_or_default());
    let values = Value::Object(prepared.values.clone());
    of_chart("name") == Some(chart.name())
        && of_chart("version") == Some(chart.version())
        && digest_of_json(&config) == digest_of_json(&values)
        && objects_of_manifest(&record.manifest).is_ok_and(|stored| same_objects(&stored, objects))
        && same_hooks(record.hooks.as_deref().unwrap_or_default(), hooks).unwrap_or(false)
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
