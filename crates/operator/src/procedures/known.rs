//! One resource with its runs, as far as others follow from them. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_watches::procedure::names::is_suspended;
use steersman_watches::procedure::{Concurrency, Procedure, ScheduleSource};

use super::due::{Due, due, expected};
use super::work::{Making, Work};
use crate::coordination::Want;

pub(super) use crate::coordination::Key;

/// A resource, which may be gone, and its runs by their UIDs.
#[derive(Default)]
pub(super) struct Known {
    pub(super) resource: Option<KnownResource>,
    pub(super) runs: BTreeMap<String, KnownRun>,
    /// Those that are deleted, as there is no place for them, and that are not gone yet.
    pub(super) going: BTreeMap<String, KnownRun>,
    /// When there is something to be done for it without a change.
    pub(super) next: Option<Timestamp>,
}

/// What of a resource counts for its runs.
#[derive(PartialEq)]
pub(super) struct Marks {
    generation: Option<i64>,
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
    is_deleting: bool,
}

impl Marks {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        Self {
            generation: metadata.generation,
            annotations: metadata.annotations.clone(),
            labels: metadata.labels.clone(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        }
    }
}

pub(super) struct KnownResource {
    pub(super) uid: String,
    pub(super) marks: Marks,
    pub(super) created: Timestamp,
    pub(super) is_deleting: bool,
    /// `true`, or names with commas.
    pub(super) suspended: String,
    /// The name of a procedure, and which request it is; or why what its annotation has is none.
    pub(super) request: Option<Result<(String, String), String>>,
    /// What was said of that last, once.
    pub(super) complaint: Option<String>,
    /// Of each procedure, in the order of the entry.
    pub(super) plans: Vec<Plan>,
}

/// What is known of a procedure for a resource.
#[derive(Clone, Default)]
pub(super) struct Plan {
    /// What the values have for its schedule.
    pub(super) cron: Option<String>,
    /// For which time a run was made last.
    pub(super) last: Option<Timestamp>,
    /// When a run has succeeded last.
    pub(super) success: Option<Timestamp>,
    /// Which request was followed last.
    pub(super) request: Option<String>,
    /// Which one could not be, as was said.
    pub(super) refused: Option<String>,
    /// The name of the run that was made last as the release wants it.
    pub(super) wanted: Option<String>,
    /// What was said of it last, once.
    pub(super) complaint: Option<String>,
    /// How often in a row a run could not be made.
    pub(super) failures: u32,
    /// When that is tried again.
    pub(super) retry: Option<Timestamp>,
}

impl KnownResource {
    /// For which time of its schedule a procedure needs a run that succeeds; `None` where none is to be made by itself.
    pub(super) fn expected(&self, procedure: &Procedure, plan: &Plan) -> Option<Timestamp> {
        let source = procedure.schedule.as_ref();
        let is_off = self.is_deleting || is_suspended(&self.suspended, &procedure.name);
        let source = source.filter(|_| !is_off)?;
        let last = plan.success.max(Some(self.created))?;
        expected(source, &self.uid, plan.cron.as_deref(), last)
    }
}

pub(super) struct KnownRun {
    /// Which one of the entry it is of.
    pub(super) procedure: usize,
    pub(super) name: String,
    /// The UIDs of its owners: only what a run says that is its resource's counts for others.
    pub(super) owners: Vec<String>,
    /// Whether the operator or its command has made it.
    pub(super) is_ours: bool,
    pub(super) scheduled_at: Option<Timestamp>,
    pub(super) request: Option<String>,
    /// Whether its status says that it has ended, whoever has written that, and it is let go.
    pub(super) has_ended: bool,
    /// Whether it was made for a revision that waits for it, and was not begun.
    pub(super) is_open_gate: bool,
    /// What has become of it, and when, once somebody has looked who can tell.
    pub(super) end: Option<(End, Timestamp)>,
}

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed,
    /// The operator has not said so, or nobody knows that it has.
    Unsigned,
}

/// A procedure, and which one of the entry it is.
type Placed<'a> = (usize, &'a Arc<Procedure>);

impl Known {
    /// What is to be done for it now, and when there may be more. `wants` is `None` while nobody has looked at the release.
    pub(super) fn work(
        &mut self,
        key: &Key,
        (all, wants): (&[Arc<Procedure>], Option<&[Want]>),
        now: Timestamp,
    ) -> Vec<Work> {
        let mut work = Vec::new();
        self.next = None;
        work.extend(self.refuse_request());
        for placed in all.iter().enumerate() {
            let wanted = self.wanted(key, placed, wants.unwrap_or_default());
            let (_, procedure) = placed;
            let may_be_wanted = procedure.before.is_some() || procedure.on.is_some();
            if wants.is_some() || !may_be_wanted {
                self.take_back(key, placed, &wanted, &mut work);
                self.surplus(key, placed, &wanted, &mut work);
            }
            if self
                .resource
                .as_ref()
                .is_some_and(|resource| !resource.is_deleting)
            {
                let resting = self.plan(placed.0).and_then(|plan| plan.retry);
                let resting = resting.filter(|retry| *retry > now);
                let next = resting.or_else(|| {
                    self.follow_request(key, placed, now, &mut work);
                    self.follow_wants(placed, wanted, &mut work);
                    self.follow_schedule(key, placed, now, &mut work)
                });
                self.next = [self.next, next].into_iter().flatten().min();
            }
        }
        work
    }

    fn runs_of(&self, place: usize) -> impl Iterator<Item = &KnownRun> {
        self.runs.values().filter(move |run| run.procedure == place)
    }

    /// The runs that were made for the resource by themselves: by their owner and their names, which follow from what they are
    /// for. Anybody who makes a run could say that it is for another time.
    fn made(&self, key: &Key, (place, procedure): Placed<'_>, now: Timestamp) -> Vec<&KnownRun> {
        let Some(making) = self.making(key, procedure) else {
            return Vec::new();
        };
        let is_made = |run: &&KnownRun| {
            let expected = Making {
                scheduled_at: run.scheduled_at.filter(|tick| *tick <= now),
                request: run.request.clone(),
                ..making.clone()
            };
            run.owners.contains(&making.uid) && run.name == expected.name()
        };
        self.runs_of(place).filter(is_made).collect()
    }

    fn making(&self, (namespace, resource): &Key, procedure: &Arc<Procedure>) -> Option<Making> {
        Some(Making {
            procedure: Arc::clone(procedure),
            namespace: namespace.clone(),
            resource: resource.clone(),
            uid: self.resource.as_ref()?.uid.clone(),
            scheduled_at: None,
            request: None,
            wanted: None,
            before: None,
        })
    }

    /// The runs of a procedure that the release wants.
    fn wanted(&self, key: &Key, (place, procedure): Placed<'_>, wants: &[Want]) -> Vec<Making> {
        let Some(making) = self.making(key, procedure) else {
            return Vec::new();
        };
        let wants = wants.iter().filter(|want| want.procedure == place);
        let makings = wants.map(|want| Making {
            wanted: Some(want.clone()),
            ..making.clone()
        });
        makings.collect()
    }

    /// Makes the runs that the release wants, each once. One that changes a value is made when the one before has ended.
    fn follow_wants(&mut self, (place, procedure): Placed<'_>, wanted: Vec<Making>, work: &mut Vec<Work>) {
        let suspended = self.resource.as_ref().map(|resource| resource.suspended.clone());
        let is_suspended = suspended.is_some_and(|list| is_suspended(&list, &procedure.name));
        for making in wanted {
            let name = making.name();
            let is_made = self
                .runs_of(place)
                .any(|run| run.name == name && run.owners.contains(&making.uid));
            let is_change = procedure.on.is_some();
            let is_active = self.runs_of(place).any(|run| !run.has_ended);
            let Some(plan) = self.plan(place) else {
                return;
            };
            let is_held = is_change && (is_active || is_suspended);
            if is_made || is_held || plan.wanted.as_ref() == Some(&name) {
                continue;
            }
            plan.wanted = Some(name);
            work.push(Work::Make(making));
        }
    }

    /// A run is gone: another one is made where it is wanted.
    pub(super) fn note_gone(&mut self, run: Option<&KnownRun>) {
        let Some(run) = run else {
            return;
        };
        if let Some(plan) = self.plan(run.procedure) {
            plan.wanted.take_if(|wanted| *wanted == run.name);
        }
    }

    fn plan(&mut self, place: usize) -> Option<&mut Plan> {
        self.resource.as_mut()?.plans.get_mut(place)
    }

    /// Says once what is wrong with a request.
    fn refuse_request(&mut self) -> Option<Work> {
        let resource = self.resource.as_mut()?;
        let refusal = resource
            .request
            .as_ref()
            .and_then(|request| request.as_ref().err());
        if resource.is_deleting || resource.complaint.as_ref() == refusal {
            return None;
        }
        resource.complaint = refusal.cloned();
        let words = resource.complaint.clone()?;
        Some(Work::complain(&resource.uid, words))
    }

    /// Makes a run for a request that was not followed.
    fn follow_request(
        &mut self,
        key: &Key,
        (place, procedure): Placed<'_>,
        now: Timestamp,
        work: &mut Vec<Work>,
    ) -> Option<()> {
        let making = self.making(key, procedure)?;
        let asked = self.resource.as_ref()?.request.clone()?.ok();
        let (_, request) = asked.filter(|(name, _)| *name == procedure.name)?;
        let made = self.made(key, (place, procedure), now).into_iter();
        let is_made = made
            .filter_map(|run| run.request.as_ref())
            .any(|made| *made == request);
        let plan = self.plan(place)?;
        let before = plan.request.replace(request.clone());
        let is_known = before.as_ref() == Some(&request) || plan.refused.as_ref() == Some(&request);
        if is_made || is_known {
            return None;
        }
        let (name, kind) = (&procedure.name, &procedure.run_kind);
        let mut parameters = procedure.parameters.iter();
        let missing = parameters.find(|one| one.required && one.default.is_none());
        let words = if procedure.confirm {
            format!("procedure {name} needs somebody's word: make a {kind}, and confirm it")
        } else if let Some(missing) = missing {
            format!(
                "procedure {name} needs `{}`, which an annotation does not say: make a {kind} with it",
                missing.name
            )
        } else {
            let request = Some(request);
            work.push(Work::Make(Making { request, ..making }));
            return None;
        };
        self.plan(place)?.refused = Some(request);
        work.push(Work::complain(&making.uid, words));
        None
    }

    /// Makes a run whose time has come, and gives when the next one may be due. While one is under way that it waits for, the
    /// end of that tells.
    fn follow_schedule(
        &mut self,
        key: &Key,
        (place, procedure): Placed<'_>,
        now: Timestamp,
        work: &mut Vec<Work>,
    ) -> Option<Timestamp> {
        let making = self.making(key, procedure)?;
        let suspended = &self.resource.as_ref()?.suspended;
        let source = procedure.schedule.as_ref();
        let source = source.filter(|_| !is_suspended(suspended, &procedure.name))?;
        let Due { tick, start } = self.due(key, source, (place, procedure), now, work)?;
        if start > now {
            return Some(start);
        }
        let active = self.runs_of(place).filter(|run| !run.has_ended);
        let active: Vec<String> = active.map(|run| run.name.clone()).collect();
        match source.concurrency {
            Concurrency::Forbid if !active.is_empty() => return None,
            Concurrency::Replace => work.extend(active.into_iter().map(|name| Work::Cancel {
                procedure: Arc::clone(procedure),
                namespace: key.0.clone(),
                name,
            })),
            Concurrency::Forbid | Concurrency::Allow => {}
        }
        let before = self.plan(place)?.last.replace(tick);
        work.push(Work::Make(Making {
            scheduled_at: Some(tick),
            before,
            ..making
        }));
        // What becomes of that has it looked at again.
        None
    }

    /// The next time of a schedule. What is wrong with it is said once.
    fn due(
        &mut self,
        key: &Key,
        source: &ScheduleSource,
        (place, procedure): Placed<'_>,
        now: Timestamp,
        work: &mut Vec<Work>,
    ) -> Option<Due> {
        let made = self.made(key, (place, procedure), now).into_iter();
        let made = made.filter_map(|run| run.scheduled_at).max();
        let resource = self.resource.as_mut()?;
        let plan = resource.plans.get_mut(place)?;
        let last = plan.last.max(made).max(Some(resource.created))?;
        let found = due(source, &resource.uid, plan.cron.as_deref(), (last, now));
        let complaint = found.as_ref().err();
        let complaint = complaint.map(|error| format!("procedure {}: {error}", procedure.name));
        if plan.complaint != complaint {
            plan.complaint.clone_from(&complaint);
            work.extend(complaint.map(|words| Work::complain(&resource.uid, words)));
        }
        found.ok()?
    }

    /// Deletes the runs that were not begun, and for which no revision waits any longer: others would wait for them.
    fn take_back(
        &mut self,
        key: &Key,
        (place, procedure): Placed<'_>,
        wanted: &[Making],
        work: &mut Vec<Work>,
    ) {
        let Some(resource) = self.resource.as_ref().map(|resource| resource.uid.clone()) else {
            return;
        };
        let is_wanted = |run: &KnownRun| wanted.iter().any(|making| making.name() == run.name);
        let unwanted = self.runs.iter().filter(|(_, run)| {
            let is_of_this = run.procedure == place && run.owners.contains(&resource);
            is_of_this && run.is_open_gate && !is_wanted(run)
        });
        let unwanted: Vec<String> = unwanted.map(|(uid, _)| uid.clone()).collect();
        for uid in unwanted {
            self.delete(key, procedure, uid, work);
        }
    }

    fn delete(&mut self, key: &Key, procedure: &Arc<Procedure>, uid: String, work: &mut Vec<Work>) {
        let Some(run) = self.runs.remove(&uid) else {
            return;
        };
        let name = run.name.clone();
        self.going.insert(uid.clone(), run);
        work.push(Work::Delete {
            procedure: Arc::clone(procedure),
            namespace: key.0.clone(),
            name,
            uid,
        });
    }

    /// Deletes the runs that have ended and that there is no place for any longer. Those of others stay, and those that the
    /// release wants. Ends that nobody has signed take no place of those that are.
    fn surplus(
        &mut self,
        key: &Key,
        (place, procedure): Placed<'_>,
        wanted: &[Making],
        work: &mut Vec<Work>,
    ) {
        let history = procedure.history;
        let wanted: Vec<String> = wanted.iter().map(Making::name).collect();
        let kept = [
            (End::Succeeded, history.succeeded),
            (End::Failed, history.failed),
            (End::Unsigned, history.failed),
        ];
        for (end, kept) in kept {
            let is_of = |run: &KnownRun| run.procedure == place && run.is_ours && !wanted.contains(&run.name);
            let ended = self.runs.iter().filter(|(_, run)| is_of(run));
            let ended = ended.filter_map(|(uid, run)| {
                let (found, at) = run.end?;
                (found == end).then(|| (at, uid.clone()))
            });
            let mut ended: Vec<(Timestamp, String)> = ended.collect();
            ended.sort();
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            let surplus = ended.len().saturating_sub(kept);
            for (_, uid) in ended.into_iter().take(surplus) {
                self.delete(key, procedure, uid, work);
            }
        }
    }
}
