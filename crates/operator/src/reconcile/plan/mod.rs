//! What a revision will do, computed once: the executor carries it out, a dry run shows it.
//!
//! ```text
//! what the chart renders, or a stored manifest --Plan--> definitions, hooks, objects, hooks, what goes
//! Plan --Executor::carry_out--> ChangeSet            executor.rs   requests that change something
//! Plan --DryRunner------------> ObjectDryRun, ...    dry_run/      the same plan, and what the server says to it
//! ```
//!
//! A plan is pure. What the server alone decides is no part of it: whether an object differs, can't be changed in place,
//! is somebody else's, or is there at all. A dry run asks for that; carrying the plan out finds it.

mod bounds;
mod decision;
mod definitions;
mod planner;
mod prune;
mod stages;

pub(crate) use bounds::Bounds;
pub use decision::Decision;
pub(crate) use definitions::{Definitions, Extent};
pub(crate) use planner::{Adoption, NewRevision, PlannedUpgrade, Planner};
pub(crate) use prune::{
    PruneCandidate, PruneScope, inventory, objects_named_by, prune_candidates, stages_named_by,
};
pub(crate) use stages::{backwards, parts, stages_of, stages_of_levels, told_stages};
use std::collections::BTreeSet;

use steersman_chart::{HookEvent, Rendered};
use steersman_model::{ObjectId, RenderedObject, objects_of_manifest, weight_of};
use steersman_watches::ConflictPolicy;
use steersman_watches::controls::Controls;

use super::ReconcileSettings;
use super::error::ReconcileError;
use crate::apply::{ApplyOptions, ClaimPolicy, event_name, hooks_in_order};
use crate::release::{HookRecord, StageRecord, Stored};

/// What a revision will do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What it is to the release.
    pub(crate) decision: Decision,
    /// The definitions in `crds/` folders, which come before everything.
    pub(crate) definitions: Definitions,
    pub(crate) hooks: Hooks,
    /// What is applied, in this order within each stage.
    pub(crate) objects: Vec<RenderedObject>,
    /// The stages in which that is done, with the places of their objects; without any, all is applied at once.
    pub(crate) stages: Vec<StageRecord>,
    /// Jobs among the objects that had done their work, and are gone by themselves: they are not run once more.
    pub(crate) completed: BTreeSet<ObjectId>,
    /// What was sent of the objects before, by any revision that may have been in effect: values at ignored paths stay
    /// where all of these are rendered like them.
    pub(crate) replaced: Vec<RenderedObject>,
    /// The field managers of others whose fields become ours; `None` where nothing is taken over.
    pub(crate) former_managers: Option<Vec<String>>,
    /// Whether what can't be changed in place is deleted and created again.
    pub(crate) recreate: bool,
    /// What is done where claim templates ask for another size.
    pub(crate) claims: ClaimPolicy,
    pub(crate) conflicts: ConflictPolicy,
    pub(crate) prune: PruneScope,
}

/// The hooks of a revision that run.
#[derive(Debug)]
pub(crate) struct Hooks {
    pub(crate) before: HookEvent,
    pub(crate) after: HookEvent,
    pub(crate) records: Vec<HookRecord>,
}

impl Hooks {
    /// No hook runs: there are no records for `before` and `after`.
    pub(crate) fn none() -> Self {
        Self {
            before: HookEvent::PreUpgrade,
            after: HookEvent::PostUpgrade,
            records: Vec::new(),
        }
    }

    /// Those of a first revision, or of another one, unless the resource wants none.
    fn of_revision(first: bool, records: Vec<HookRecord>, controls: &Controls) -> Self {
        let (before, after, operation) = if first {
            (HookEvent::PreInstall, HookEvent::PostInstall, &controls.install)
        } else {
            (HookEvent::PreUpgrade, HookEvent::PostUpgrade, &controls.upgrade)
        };
        let records = if operation.hooks_disabled {
            Vec::new()
        } else {
            records
        };
        Self {
            before,
            after,
            records,
        }
    }

    /// In the order in which they run, such as `pre-upgrade Job web-migrate`.
    pub(crate) fn names(&self) -> Vec<String> {
        let events = [self.before, self.after];
        let due = events.into_iter().flat_map(|event| {
            let hooks = hooks_in_order(&self.records, event);
            hooks
                .into_iter()
                .map(move |hook| format!("{} {} {}", event_name(event), hook.kind, hook.name))
        });
        due.collect()
    }
}

impl Plan {
    /// About how many bytes the plan takes.
    pub(crate) fn weight(&self) -> usize {
        let objects = self.objects.iter().chain(&self.replaced);
        let hooks = self.hooks.records.iter().map(|hook| hook.manifest.len());
        objects.map(|object| weight_of(&object.value)).chain(hooks).sum()
    }

    /// Whether anything is deleted, or a hook runs, when all stages are ready.
    pub(crate) fn goes_on_behind_stages(&self) -> bool {
        !self.prune.is_empty() || !hooks_in_order(&self.hooks.records, self.hooks.after).is_empty()
    }

    /// How the applier carries the plan out.
    pub(crate) fn options(&self) -> ApplyOptions<'_> {
        ApplyOptions {
            former_managers: self.former_managers.as_deref().unwrap_or_default(),
            recreate: self.recreate,
            claims: self.claims,
            claim_notes: None,
            conflicts: self.conflicts,
            defined_before: None,
        }
    }

    /// The namespaces that the plan brings, by a hook before the objects or among them.
    pub(crate) fn new_namespaces(&self) -> BTreeSet<String> {
        let hooks = hooks_in_order(&self.hooks.records, self.hooks.before);
        let of_hooks = hooks.into_iter().filter(|hook| hook.kind == "Namespace");
        let of_objects = self
            .objects
            .iter()
            .filter(|object| object.api.kind == "Namespace");
        let names = of_hooks.map(|hook| &hook.name);
        names
            .chain(of_objects.map(|object| &object.name))
            .cloned()
            .collect()
    }

    /// The plan takes the place of `earlier` revisions, and of what is `abandoned` besides.
    pub(crate) fn follow(&mut self, earlier: &[Stored], abandoned: &[ObjectId]) {
        self.replaced = replaced(earlier);
        self.former_managers = Some(former_managers(earlier));
        self.prune = PruneScope::new(in_effect(earlier), abandoned);
    }

    /// The last revision again, from its stored manifest, as it was not brought into effect. `earlier` are the revisions
    /// before it.
    pub(crate) fn recover(
        settings: &ReconcileSettings,
        controls: &Controls,
        first: bool,
        stored: &Stored,
        earlier: &[Stored],
    ) -> Result<Self, ReconcileError> {
        let objects = objects_of_manifest(&stored.record.manifest)?;
        let hooks = stored.hooks().to_vec();
        let revision = stored.record.version;
        Ok(Self {
            decision: Decision::Recover(revision),
            definitions: Definitions::missing(&settings.chart.crds(), settings.crds)?,
            hooks: if stored.snapshot.adopted {
                Hooks::none()
            } else {
                Hooks::of_revision(first, hooks, controls)
            },
            replaced: replaced(earlier),
            objects,
            stages: stored.snapshot.stages.clone(),
            completed: BTreeSet::new(),
            former_managers: Some(former_managers(earlier)),
            recreate: controls.upgrade_force,
            claims: settings.claims_of_new(),
            conflicts: settings.conflicts,
            prune: PruneScope::new(in_effect(earlier), &stored.snapshot.abandoned),
        })
    }

    /// The deployed revision as it is, where others have changed or deleted its objects.
    pub(crate) fn keep(settings: &ReconcileSettings, stored: &Stored) -> Result<Self, ReconcileError> {
        let objects = objects_of_manifest(&stored.record.manifest)?;
        let revision = stored.record.version;
        Ok(Self {
            decision: Decision::Keep(revision),
            definitions: Definitions::missing(&settings.chart.crds(), settings.crds)?,
            hooks: Hooks::none(),
            replaced: objects.clone(),
            objects,
            stages: Vec::new(),
            completed: BTreeSet::new(),
            former_managers: None,
            recreate: false,
            claims: settings.claims_of_former(),
            conflicts: settings.conflicts,
            prune: PruneScope::default(),
        })
    }

    /// The deployed revision `good` again, in its own order, after `failed` could not be brought into effect.
    pub(crate) fn roll_back(
        settings: &ReconcileSettings,
        controls: &Controls,
        good: &Stored,
        failed: &Stored,
        earlier: &[Stored],
    ) -> Result<Self, ReconcileError> {
        let objects = objects_of_manifest(&good.record.manifest)?;
        let records = match &good.record.hooks {
            Some(hooks) if !controls.upgrade.hooks_disabled => hooks.clone(),
            _ => Vec::new(),
        };
        let mut replaced = replaced(earlier);
        replaced.extend(objects_named_by([failed]));
        Ok(Self {
            decision: Decision::RollBack(good.record.version),
            definitions: Definitions::none(),
            hooks: Hooks {
                before: HookEvent::PreRollback,
                after: HookEvent::PostRollback,
                records,
            },
            replaced,
            objects,
            stages: good.snapshot.stages.clone(),
            completed: BTreeSet::new(),
            former_managers: None,
            recreate: controls.rollback_force,
            claims: settings.claims_of_former(),
            conflicts: settings.conflicts,
            prune: PruneScope::new(
                in_effect(earlier).iter().chain(std::iter::once(failed)),
                &failed.snapshot.abandoned,
            ),
        })
    }

    /// The end of the release: its hooks, and the objects that its `revisions` name.
    pub(crate) fn uninstall(settings: &ReconcileSettings, controls: &Controls, revisions: &[Stored]) -> Self {
        let last = revisions.last();
        let records = last
            .filter(|_| !controls.uninstall.hooks_disabled)
            .and_then(|stored| stored.record.hooks.clone());
        Self {
            decision: Decision::Uninstall,
            definitions: Definitions::none(),
            hooks: Hooks {
                before: HookEvent::PreDelete,
                after: HookEvent::PostDelete,
                records: records.unwrap_or_default(),
            },
            objects: Vec::new(),
            stages: Vec::new(),
            completed: BTreeSet::new(),
            replaced: Vec::new(),
            former_managers: None,
            recreate: false,
            claims: ClaimPolicy::Leave,
            conflicts: settings.conflicts,
            prune: PruneScope::new(revisions, &[]),
        }
    }

    /// The last revision as it is: nobody vouches for it, and the chart renders the same now.
    fn take_over(
        settings: &ReconcileSettings,
        stored: &Stored,
        rendered: &Rendered,
        objects: Vec<RenderedObject>,
    ) -> Result<Self, ReconcileError> {
        let revision = stored.record.version;
        Ok(Self {
            decision: Decision::TakeOver(revision),
            definitions: Definitions::missing(&rendered.crds, settings.crds)?,
            hooks: Hooks::none(),
            replaced: objects.clone(),
            objects,
            stages: Vec::new(),
            completed: BTreeSet::new(),
            former_managers: Some(stored.former_managers()),
            recreate: false,
            claims: settings.claims_of_new(),
            conflicts: settings.conflicts,
            prune: PruneScope::default(),
        })
    }
}

/// The objects of the revision that was in effect last, and of those that failed since.
fn replaced(earlier: &[Stored]) -> Vec<RenderedObject> {
    objects_named_by(in_effect(earlier))
}

/// The revisions whose objects may be live: the last one that was in effect and all after it.
pub(crate) fn in_effect(revisions: &[Stored]) -> &[Stored] {
    let start = revisions
        .iter()
        .rposition(Stored::is_in_effect)
        .unwrap_or_default();
    revisions.get(start..).unwrap_or_default()
}

/// The field managers of others by which live objects of the release may have been written.
fn former_managers(revisions: &[Stored]) -> Vec<String> {
    let former = in_effect(revisions).iter().flat_map(Stored::former_managers);
    former.collect()
}

/// Those of `objects` that are `ids`; which object is which, the server says.
pub(crate) fn only(objects: Vec<(ObjectId, RenderedObject)>, ids: &[ObjectId]) -> Vec<RenderedObject> {
    let chosen = objects.into_iter().filter(|(id, _)| ids.contains(id));
    chosen.map(|(_, object)| object).collect()
}
