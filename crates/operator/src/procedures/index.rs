//! What is known of the resources and the runs of an entry, without a request: which runs are due by themselves, and which may go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use serde_json::{Map, Value};
use steersman_watches::controls::LONGEST_LIST;
use steersman_watches::procedure::names::{BEFORE, BEGUN, REQUEST, RUN, SUSPEND, TRIGGER};
use steersman_watches::procedure::{Cron, Procedure, value_at};
use steersman_watches::values::EntryValues;
use tokio::sync::Notify;

use super::known::{End, Key, Known, KnownResource, KnownRun, Marks, Plan};
use super::report::{Phase, RECORD, cut};
use super::subject::{LONGEST_REQUEST, Run};
use super::work::{Making, Work};
use crate::coordination::Coordination;
use crate::dependents::Dependents;
use crate::metrics::Metrics;

/// So many owners of a run are looked at.
const MOST_OWNERS: usize = 10;
/// How soon a run is tried again that could not be made, and how long that takes at most.
const RETRY: (i64, i64) = (5, 600);

/// The procedures of an entry, its resources and their runs.
pub(crate) struct Procedures {
    gvk: GroupVersionKind,
    all: Vec<Arc<Procedure>>,
    values: EntryValues,
    defaults: Map<String, Value>,
    dependents: Arc<Dependents>,
    coordination: Arc<Coordination>,
    metrics: Metrics,
    state: Mutex<State>,
    changed: Notify,
}

/// What is looked at costs as much as has changed, however many resources there are.
#[derive(Default)]
struct State {
    known: BTreeMap<Key, Known>,
    /// By UID.
    resources: BTreeMap<String, Key>,
    /// By UID.
    runs: BTreeMap<String, Key>,
    /// What was not looked at since it has changed.
    changed: BTreeSet<Key>,
    /// When there is something to be done without a change.
    due: BTreeSet<(Timestamp, Key)>,
    /// Runs that are gone without having ended, by their namespaces and UIDs.
    orphaning: Vec<(Option<String>, String)>,
    /// How many kinds of runs are listed.
    listed: usize,
    /// Whether what former runs have left was thought of.
    is_swept: bool,
}

impl State {
    /// What is known below a key, which is looked at next.
    fn change(&mut self, key: &Key) -> &mut Known {
        self.changed.insert(key.clone());
        self.known.entry(key.clone()).or_default()
    }

    /// Forgets a key of which nothing is left.
    fn tidy(&mut self, key: &Key) {
        let is_empty =
            |known: &Known| known.resource.is_none() && known.runs.is_empty() && known.going.is_empty();
        if self.known.get(key).is_some_and(is_empty)
            && let Some(known) = self.known.remove(key)
            && let Some(next) = known.next
        {
            self.due.remove(&(next, key.clone()));
        }
    }
}

impl std::fmt::Debug for Procedures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Procedures")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

impl Procedures {
    pub(crate) fn new(
        (gvk, all): (GroupVersionKind, Vec<Arc<Procedure>>),
        (values, defaults): (EntryValues, Map<String, Value>),
        (dependents, coordination): (Arc<Dependents>, Arc<Coordination>),
        metrics: Metrics,
    ) -> Self {
        let results = Phase::ENDS.map(Phase::as_str);
        for procedure in &all {
            metrics.start_procedure(&gvk, &procedure.name, &results);
        }
        Self {
            gvk,
            all,
            values,
            defaults,
            dependents,
            coordination,
            metrics,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// With the releases of the entry.
    pub(crate) fn coordination(&self) -> &Arc<Coordination> {
        &self.coordination
    }

    pub(crate) fn all(&self) -> &[Arc<Procedure>] {
        &self.all
    }

    /// A resource is as `object` says.
    pub(crate) fn know(&self, object: &DynamicObject) {
        let metadata = &object.metadata;
        let (Some(uid), Some(name)) = (metadata.uid.clone(), metadata.name.clone()) else {
            return;
        };
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name).cloned();
        let created = metadata.creation_timestamp.as_ref();
        let values = self.values.of(&object.data).ok();
        let key = (metadata.namespace.clone(), name);
        let mut state = self.lock();
        state.resources.insert(uid.clone(), key.clone());
        let known = state.change(&key);
        let before = known.resource.take().filter(|before| before.uid == uid);
        let marks = Marks::of(metadata);
        let is_news = before.as_ref().is_none_or(|before| before.marks != marks);
        let plans = self.all.iter().enumerate().map(|(place, procedure)| {
            let plan = before
                .as_ref()
                .and_then(|before| before.plans.get(place).cloned());
            self.learnt(plan.unwrap_or_default(), procedure, object, values.as_ref())
        });
        let resource = KnownResource {
            plans: plans.collect(),
            complaint: before.and_then(|before| before.complaint),
            request: annotation(RUN).map(|text| request_of(&text, &self.all)),
            marks,
            uid,
            created: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            is_deleting: metadata.deletion_timestamp.is_some(),
            suspended: annotation(SUSPEND)
                .filter(|list| list.len() <= LONGEST_LIST)
                .unwrap_or_default(),
        };
        self.show_plans(&key, &resource);
        known.resource = Some(resource);
        let active = known.runs.iter().filter(|(_, run)| is_news && !run.has_ended);
        let active: Vec<String> = active.map(|(uid, _)| uid.clone()).collect();
        drop(state);
        for run in active {
            self.dependents.rouse(&run, Duration::ZERO);
        }
        self.changed.notify_one();
    }

    /// What is known of a procedure for a resource that is as `object` says.
    fn learnt(
        &self,
        mut plan: Plan,
        procedure: &Procedure,
        object: &DynamicObject,
        values: Option<&Map<String, Value>>,
    ) -> Plan {
        let at = |path: &str| {
            let given = values.and_then(|values| value_at(values, path));
            let found = given.or_else(|| value_at(&self.defaults, path));
            found.filter(|value| !value.is_null())
        };
        // What is no text is no schedule either, and the complaint about it says so.
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        plan.cron = match procedure.schedule.as_ref().map(|source| &source.cron) {
            Some(Cron::Value(path)) => at(path).map(text),
            _ => None,
        };
        let status = object.data.pointer("/status/procedures");
        let said = status.and_then(|status| status.get(&procedure.name));
        let said = |key: &str| said.and_then(|said| said.get(key)).and_then(Value::as_str);
        let last = said("lastSchedule").and_then(|time| time.parse::<Timestamp>().ok());
        // A time that is to come would keep all before it from being followed.
        plan.last = plan.last.max(last.filter(|last| *last <= Timestamp::now()));
        if let Some(request) = said("lastRequest") {
            plan.request = Some(request.to_owned());
        }
        plan.success = said("lastSuccess").and_then(|time| time.parse::<Timestamp>().ok());
        plan
    }

    /// Shows when procedures have succeeded last for a resource, and for which time of their schedules they have to next.
    fn show_plans(&self, (namespace, name): &Key, resource: &KnownResource) {
        let namespace = namespace.as_deref();
        for (procedure, plan) in self.all.iter().zip(&resource.plans) {
            if let Some(success) = plan.success {
                self.show_success(procedure, namespace, name, success);
            }
            let of = (
                namespace.unwrap_or_default(),
                name.as_str(),
                procedure.name.as_str(),
            );
            let at = resource.expected(procedure, plan);
            self.metrics
                .procedure_due(&self.gvk, of, at.map(Timestamp::as_second));
        }
    }

    fn show_success(&self, procedure: &Procedure, namespace: Option<&str>, name: &str, at: Timestamp) {
        let of = (namespace.unwrap_or_default(), name, procedure.name.as_str());
        self.metrics.procedure_succeeded(&self.gvk, of, at.as_second());
    }

    /// The resource with this UID is gone, or another's.
    pub(crate) fn forget(&self, uid: &str) {
        let mut state = self.lock();
        let Some(key) = state.resources.remove(uid) else {
            return;
        };
        let known = state.change(&key);
        if known.resource.take_if(|resource| resource.uid == uid).is_none() {
            return;
        }
        state.tidy(&key);
        drop(state);
        self.coordination.forget(&key, uid);
        let (namespace, name) = &key;
        let of = (namespace.as_deref().unwrap_or_default(), name.as_str());
        for procedure in &self.all {
            self.metrics.forget_procedure(&self.gvk, of, &procedure.name);
        }
    }

    /// A run of a procedure is as `object` says.
    pub(crate) fn know_run(&self, procedure: &Procedure, object: &DynamicObject) {
        let place = self.all.iter().position(|one| one.name == procedure.name);
        let (Some(place), Some(run)) = (place, Run::new(object.clone())) else {
            return;
        };
        let text = |pointer: &str| object.data.pointer(pointer).and_then(Value::as_str);
        let phase = text("/status/phase").and_then(Phase::parse);
        let owners = object
            .metadata
            .owner_references
            .iter()
            .flatten()
            .take(MOST_OWNERS);
        let record = object.data.pointer(&format!("/status/{RECORD}"));
        let may_have_begun = run.has_finalizer()
            || run.annotation(BEGUN).is_some()
            || record.is_some()
            || phase.is_some_and(|phase| phase != Phase::Pending);
        let request = run.annotation(REQUEST).filter(|id| id.len() <= LONGEST_REQUEST);
        let known = KnownRun {
            procedure: place,
            owners: owners.map(|owner| owner.uid.clone()).collect(),
            is_ours: run.annotation(TRIGGER).is_some(),
            scheduled_at: run.scheduled_at(),
            request: request.map(str::to_owned),
            // One that was begun has the finalizer until its end, whatever somebody writes into its status.
            has_ended: phase.is_some_and(Phase::is_end) && !run.has_finalizer(),
            end: None,
            is_open_gate: run.annotation(TRIGGER) == Some(BEFORE) && !may_have_begun,
            name: run.name.clone(),
        };
        let key = run.key();
        let mut state = self.lock();
        let is_new = state.runs.insert(run.uid.clone(), key.clone()).is_none();
        // Until it is looked at, which tells by its record, it may have begun. Somebody may have taken the finalizer off.
        let is_open = record.is_some_and(|record| record.get("ended").is_none());
        if is_new && (run.has_finalizer() || is_open) {
            self.coordination
                .hold(&key, &run.uid, run.holder(procedure, None), false);
        }
        let known_before = state.change(&key);
        if known_before.going.contains_key(&run.uid) {
            return;
        }
        let runs = &mut known_before.runs;
        let end = runs.get(&run.uid).and_then(|before| before.end);
        runs.insert(run.uid, KnownRun { end, ..known });
        drop(state);
        self.changed.notify_one();
    }

    /// A run has ended, as somebody has found who can tell.
    pub(super) fn judge_end(&self, (key, uid): (&Key, &str), judged: (End, Timestamp)) {
        let mut state = self.lock();
        let known = state.known.get_mut(key);
        let Some(run) = known.and_then(|known| known.runs.get_mut(uid)) else {
            return;
        };
        if run.end.replace(judged) != Some(judged) {
            state.changed.insert(key.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// The run with this UID is gone.
    pub(crate) fn forget_run(&self, uid: &str) {
        let mut state = self.lock();
        let Some(key) = state.runs.remove(uid) else {
            return;
        };
        let known = state.change(&key);
        let going = known.going.remove(uid);
        let run = known.runs.remove(uid).or(going);
        known.note_gone(run.as_ref());
        if run.is_some_and(|run| !run.has_ended) {
            state.orphaning.push((key.0.clone(), uid.to_owned()));
        }
        state.tidy(&key);
        drop(state);
        self.coordination.forget_run(&key, uid);
        self.changed.notify_one();
    }

    /// A run was looked at: if it has gone meanwhile, what was said of it since is forgotten.
    pub(super) fn leave_nothing_of_gone(&self, key: &Key, uid: &str) {
        let is_known = self.lock().runs.contains_key(uid);
        if !is_known {
            self.coordination.forget_run(key, uid);
        }
    }

    /// All runs of a procedure are known.
    pub(crate) fn note_listed(&self, procedure: &Procedure) {
        self.lock().listed += 1;
        self.coordination.note_listed(&procedure.name);
        self.changed.notify_one();
    }

    /// A run has come to its end.
    pub(super) fn note_end(
        &self,
        procedure: &Procedure,
        phase: Phase,
        took: Duration,
        (namespace, resource): (Option<&str>, &str),
    ) {
        self.metrics
            .procedure_ended(&self.gvk, &procedure.name, phase.as_str(), took);
        if phase == Phase::Succeeded {
            self.show_success(procedure, namespace, resource, Timestamp::now());
        }
    }

    /// Waits until something has changed.
    pub(super) async fn changed(&self) {
        tokio::select! {
            () = self.changed.notified() => {}
            () = self.coordination.changed() => {}
        }
    }

    /// What is to be done now without anybody's word, and when to look again.
    pub(super) fn work(&self, now: Timestamp) -> (Vec<Work>, Option<Timestamp>) {
        let mut state = self.lock();
        let state = &mut *state;
        if state.listed < self.all.len() {
            return (Vec::new(), None);
        }
        let mut changed = std::mem::take(&mut state.changed);
        changed.extend(self.coordination.take_changed());
        let is_due = |(at, _): &&(Timestamp, Key)| *at <= now;
        changed.extend(state.due.iter().take_while(is_due).map(|(_, key)| key.clone()));
        let gone = std::mem::take(&mut state.orphaning).into_iter();
        let mut work: Vec<Work> = gone
            .map(|(namespace, uid)| Work::LetGo { namespace, uid })
            .collect();
        if !std::mem::replace(&mut state.is_swept, true) {
            work.push(Work::LetGoOfFormer);
        }
        for key in changed {
            let Some(known) = state.known.get_mut(&key) else {
                continue;
            };
            if let Some(before) = known.next {
                state.due.remove(&(before, key.clone()));
            }
            let wants = self.coordination.wants(&key);
            let wants = wants.as_deref();
            work.extend(known.work(&key, (&self.all, wants), now));
            state.due.extend(known.next.map(|next| (next, key)));
        }
        (work, state.due.first().map(|(at, _)| *at))
    }

    /// The namespace and the name of the resource with this UID.
    pub(super) fn named(&self, uid: &str) -> Option<Key> {
        self.lock().resources.get(uid).cloned()
    }

    /// A run was made, or was there.
    pub(super) fn note_made(&self, making: &Making) {
        self.change_plan(making, |plan| (plan.failures, plan.retry) = (0, None));
    }

    /// A run could not be made: it is tried again, more slowly each time.
    pub(super) fn note_unmade(&self, making: &Making, now: Timestamp) {
        self.change_plan(making, |plan| {
            if making.scheduled_at.is_some() {
                plan.last = making.before;
            } else if making.wanted.is_some() {
                plan.wanted = None;
            } else {
                plan.request = None;
            }
            let (first, most) = RETRY;
            let pause = first.saturating_mul(1 << plan.failures.min(10)).min(most);
            plan.failures = plan.failures.saturating_add(1);
            plan.retry = now.checked_add(SignedDuration::from_secs(pause)).ok();
        });
    }

    fn change_plan(&self, making: &Making, change: impl FnOnce(&mut Plan)) {
        let place = self.all.iter().position(|one| one.name == making.procedure.name);
        let key = (making.namespace.clone(), making.resource.clone());
        let mut state = self.lock();
        let resource = state.change(&key).resource.as_mut();
        let resource = resource.filter(|resource| resource.uid == making.uid);
        let plan = resource
            .zip(place)
            .and_then(|(resource, place)| resource.plans.get_mut(place));
        if let Some(plan) = plan {
            change(plan);
        }
        state.tidy(&key);
        drop(state);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `backup@ID`: the name of the procedure, and the request.
///
/// # Errors
/// They say what it is instead.
fn request_of(text: &str, all: &[Arc<Procedure>]) -> Result<(String, String), String> {
    let parts = text.split_once('@');
    let parts = parts.filter(|(_, id)| !id.is_empty() && id.len() <= LONGEST_REQUEST);
    let Some((name, id)) = parts else {
        return Err(format!(
            "annotation {RUN} asks for no run: it is PROCEDURE@ID, with an ID of at most {LONGEST_REQUEST} bytes"
        ));
    };
    if all.iter().any(|procedure| procedure.name == name) {
        return Ok((name.to_owned(), id.to_owned()));
    }
    let names: Vec<&str> = all.iter().map(|procedure| procedure.name.as_str()).collect();
    let name = cut(name);
    Err(format!(
        "annotation {RUN} asks for a run of `{name}`, and there is no such procedure, but {}",
        names.join(", ")
    ))
}
