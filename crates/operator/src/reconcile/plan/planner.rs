//! Plans that need a rendering first.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::{Chart, Operation, Rendered};
use steersman_model::{
    DocumentsError, ReleaseStatus, RenderedObject, Revision, digest_of_json, objects_of_manifest,
    objects_of_text, objects_within, one_line,
};

use super::{Decision, Definitions, Hooks, Plan, PruneScope, stages_of, stages_of_levels};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::kept_up::newest_told;
use crate::reconcile::new_record::{hook_records, manifest};
use crate::reconcile::randomness::is_same_but_for_noise;
use crate::reconcile::release_cache::was_ever_deployed;
use crate::reconcile::renderer::Renderer;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::state::Cause;
use crate::reconcile::unsigned_objects::UnsignedObjects;
use crate::release::{HistoryError, HookRecord, RecordOwner, StageRecord, Stored};

/// Makes plans of what the chart renders.
pub(crate) struct Planner<'a> {
    pub(crate) renderer: &'a Renderer,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) unsigned: UnsignedObjects<'a>,
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
    /// Whether it is the first one of a release that was there before.
    pub(crate) adopts: bool,
}

/// What makes the release another one.
pub(crate) enum PlannedUpgrade {
    /// Another revision.
    NewRevision(Box<NewRevision>),
    /// The last revision, for which nobody vouches, becomes ours as it is.
    TakeOver(Box<Adoption>),
}

/// A revision that becomes ours as it is.
pub(crate) struct Adoption {
    pub(crate) plan: Plan,
    /// Those of its objects that the chart alone does not prove: what is random in them, or what they were made of, is known
    /// from the record only.
    unproven: Vec<RenderedObject>,
    /// What takes the place of its hooks, where something in them is random or when they run is another.
    pub(crate) hooks: Option<Vec<HookRecord>>,
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
        let revision = session.next_revision(last.max(newest_told(earlier)));
        let first = !was_ever_deployed(earlier);
        let rendering = self.render(session, prepared, revision, first).await?;
        self.new_revision_of(session, rendering, revision, first, cause)
    }

    fn new_revision_of(
        &self,
        session: &Session,
        rendering: Rendering,
        revision: Revision,
        first: bool,
        cause: Option<Cause>,
    ) -> Result<NewRevision, ReconcileError> {
        let Rendering {
            rendered,
            manifest,
            objects,
            stages,
        } = rendering;
        let decision = match cause {
            Some(cause) => Decision::Upgrade(revision, cause),
            None => Decision::Install,
        };
        let (settings, controls) = (self.settings, &session.controls);
        let plan = Plan {
            decision,
            definitions: Definitions::all(&rendered.crds, settings.crds)?,
            hooks: Hooks::of_revision(first, hook_records(&rendered), controls),
            stages,
            completed: BTreeSet::new(),
            objects,
            replaced: Vec::new(),
            former_managers: Some(Vec::new()),
            recreate: controls.upgrade_force,
            claims: settings.claims_of_new(),
            conflicts: settings.conflicts,
            prune: PruneScope::default(),
        };
        Ok(NewRevision {
            plan,
            revision,
            first,
            rendered,
            manifest,
            adopts: false,
        })
    }

    /// The first revision of a release whose history is lost: it is there, so that what is made at an installation has been
    /// made, and no hook runs. It goes through its stages: somebody may have taken the history of one that waits there.
    pub(crate) async fn adoption(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
    ) -> Result<NewRevision, ReconcileError> {
        let revision = session.next_revision(None);
        let rendering = self.render(session, prepared, revision, false).await?;
        let installation = self.new_revision_of(session, rendering, revision, true, None)?;
        Ok(NewRevision {
            plan: Plan {
                hooks: Hooks::none(),
                ..installation.plan
            },
            adopts: true,
            ..installation
        })
    }

    /// What becomes of a release that is out of sync because of `cause`: a revision that nobody vouches for, and that
    /// already is what another one would be, is taken over instead.
    ///
    /// # Errors
    /// The revisions are those of another chart, which the resource has not asked for.
    pub(crate) async fn upgrade(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revisions: &[Stored],
        cause: Cause,
    ) -> Result<PlannedUpgrade, ReconcileError> {
        refuse_other_chart(&self.settings.chart, session, revisions)?;
        if cause == Cause::TakenOver
            && let Some(adoption) = self.take_over(session, prepared, revisions).await?
        {
            let (objects, managers) = (&adoption.unproven, adoption.plan.former_managers.as_deref());
            if self.unsigned.are_live(session, objects, managers).await? {
                return Ok(PlannedUpgrade::TakeOver(Box::new(adoption)));
            }
        }
        if let Some(revision) = prepared.unproven {
            let release = session.release.to_string();
            return Err(HistoryError::Values { release, revision }.into());
        }
        let new = self
            .new_revision(session, prepared, revisions, Some(cause))
            .await?;
        Ok(PlannedUpgrade::NewRevision(Box::new(new)))
    }

    /// The last of `revisions`, if nobody vouches for it and it is what the chart renders now, but for what is random.
    async fn take_over(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revisions: &[Stored],
    ) -> Result<Option<Adoption>, ReconcileError> {
        let Some(last) = revisions.last() else {
            return Ok(None);
        };
        if last.is_signed() || last.record.info.status != ReleaseStatus::Deployed {
            return Ok(None);
        }
        if !is_made_of(&self.settings.chart, prepared, last) {
            return Ok(None);
        }
        let Ok(stored) = objects_of_manifest(&last.record.manifest) else {
            return Ok(None);
        };
        let revision = last.record.version;
        let first = revision == Revision::FIRST;
        let rendering = self.render(session, prepared, revision, first).await?;
        let hooks = hook_records(&rendering.rendered);
        let recorded = last.record.hooks.as_deref().unwrap_or_default();
        let is_same =
            same_objects(&stored, &rendering.objects) && same_hooks(recorded, &hooks).unwrap_or(false);
        if !is_same && !self.differs_by_chance(session, prepared, last, first).await? {
            return Ok(None);
        }
        // What is not as it says would be applied past all gates.
        let is_staged = rendering.stages.iter().any(|stage| !stage.name.is_empty());
        let unproven = if prepared.unproven.is_some() || is_staged {
            stored.clone()
        } else {
            not_among(&stored, &rendering.objects)
        };
        let keeps_hooks = same_hooks(recorded, &hooks).unwrap_or(false) && same_runs(recorded, &hooks);
        Ok(Some(Adoption {
            plan: Plan::take_over(self.settings, last, &rendering.rendered, stored)?,
            unproven,
            hooks: (!keeps_hooks).then_some(hooks),
        }))
    }

    /// Whether a revision differs from what the chart renders only where two renderings differ from each other.
    async fn differs_by_chance(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        last: &Stored,
        first: bool,
    ) -> Result<bool, ReconcileError> {
        let operation = operation(first);
        let revision = last.record.version;
        let twice = self.renderer.render_twice(session, prepared, revision, operation);
        let (one, Some(other)) = twice.await? else {
            return Ok(false);
        };
        let recorded = last.record.hooks.as_deref().unwrap_or_default();
        let sides = [
            values(&last.record.manifest, recorded),
            values(&manifest(&one), &hook_records(&one)),
            values(&manifest(&other), &hook_records(&other)),
        ];
        let [Ok(stored), Ok(one), Ok(other)] = sides else {
            return Ok(false);
        };
        let objects = is_same_but_for_noise(&stored.objects, &one.objects, &other.objects);
        Ok(objects && is_same_but_for_noise(&stored.hooks, &one.hooks, &other.hooks))
    }

    /// What the chart renders for a revision, which is the `first` or an upgrade.
    async fn render(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        revision: Revision,
        first: bool,
    ) -> Result<Rendering, ReconcileError> {
        let rendered = self
            .renderer
            .render(session, prepared, revision, operation(first))
            .await?;
        let allowed = session.share.allowance().objects;
        let text = manifest(&rendered);
        let objects = objects_within(&text, allowed)?;
        let (order, asked) = (&self.settings.order, session.controls.wait);
        let stages = match order.convention {
            Some(convention) => {
                stages_of_levels(order, asked, convention.stages(&self.settings.chart, &objects)?)
            }
            None => stages_of(order, asked, &objects, &session.owner.release_namespace)?,
        };
        let Some(convention) = order.convention.filter(|one| one.has_own_annotations()) else {
            return Ok(Rendering {
                manifest: text,
                rendered,
                objects,
                stages,
            });
        };
        let rendered = convention.bare(rendered)?;
        let text = manifest(&rendered);
        Ok(Rendering {
            objects: objects_within(&text, allowed)?,
            manifest: text,
            rendered,
            stages,
        })
    }
}

/// A rendering, with its manifest as it is stored and the objects in it.
struct Rendering {
    rendered: Rendered,
    manifest: String,
    objects: Vec<RenderedObject>,
    stages: Vec<StageRecord>,
}

/// The objects and hooks of a record or a rendering, as JSON.
struct Values {
    objects: Vec<Value>,
    hooks: Vec<Value>,
}

fn values(manifest: &str, hooks: &[HookRecord]) -> Result<Values, DocumentsError> {
    let objects = objects_of_manifest(manifest)?;
    let mut of_hooks = Vec::new();
    for hook in hooks {
        for object in objects_of_text(&hook.path, &hook.manifest)? {
            of_hooks.push(object.value);
        }
    }
    Ok(Values {
        objects: objects.into_iter().map(|object| object.value).collect(),
        hooks: of_hooks,
    })
}

fn operation(first: bool) -> Operation {
    if first {
        Operation::Install
    } else {
        Operation::Upgrade
    }
}

/// Refuses a release that only has the name of the resource: it was made from another chart, was never the resource's, and the
/// resource does not ask for it.
fn refuse_other_chart(chart: &Chart, session: &Session, revisions: &[Stored]) -> Result<(), HistoryError> {
    let is_ours = |stored: &Stored| stored.is_signed() || stored.owner != RecordOwner::Nobody;
    let Some(last) = revisions.last().filter(|_| !revisions.iter().any(is_ours)) else {
        return Ok(());
    };
    let theirs = last.record.chart.metadata.get("name").and_then(Value::as_str);
    let theirs = theirs.unwrap_or_default();
    if theirs == chart.name() || session.controls.adopt_chart.as_deref() == Some(theirs) {
        return Ok(());
    }
    Err(HistoryError::OtherChart {
        release: session.release.to_string(),
        namespace: session.owner.release_namespace.clone(),
        chart: one_line(theirs),
        wanted: chart.name().to_owned(),
    })
}

/// Whether `last` says that it was made of the present chart and values. Its chart is not stored as a whole, so what that
/// renders to is compared as well.
fn is_made_of(chart: &Chart, prepared: &PreparedRelease, last: &Stored) -> bool {
    let record = &last.record;
    let of_chart = |key: &str| record.chart.metadata.get(key).and_then(Value::as_str);
    let config = Value::Object(record.config.clone().unwrap_or_default());
    let values = Value::Object(prepared.own_values.clone());
    of_chart("name") == Some(chart.name())
        && of_chart("version") == Some(chart.version())
        && digest_of_json(&config) == digest_of_json(&values)
}

/// Those of `objects` that are not exactly among `others`.
fn not_among(objects: &[RenderedObject], others: &[RenderedObject]) -> Vec<RenderedObject> {
    let known: BTreeSet<_> = others
        .iter()
        .map(|object| digest_of_json(&object.value))
        .collect();
    let unknown = objects
        .iter()
        .filter(|object| !known.contains(&digest_of_json(&object.value)));
    unknown.cloned().collect()
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

/// Whether these hooks run at the same events, in the same order, and go in the same way.
fn same_runs(left: &[HookRecord], right: &[HookRecord]) -> bool {
    let runs = |hooks: &[HookRecord]| {
        let runs = hooks.iter().map(|hook| {
            let HookRecord {
                name,
                kind,
                events,
                weight,
                delete_policies,
                ..
            } = hook.clone();
            (kind, name, weight, events, delete_policies)
        });
        let mut runs: Vec<_> = runs.collect();
        runs.sort();
        runs
    };
    runs(left) == runs(right)
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
