//! What is agreed on, of all releases of an entry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steersman_watches::procedure::Procedure;
use tokio::sync::Notify;

use super::agreement::{
    Agreement, Answer, Asked, Condition, End, Gate, Holder, Standing, StepId, Want, Wanted,
};
use crate::dependents::Dependents;

/// Namespace and name of a resource.
pub(crate) type Key = (Option<String>, String);

/// What a release is to heed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Directions {
    /// What a step gives it.
    pub(crate) asked: Option<Asked>,
    /// The run that nothing else is done beside, or that may be there.
    pub(crate) exclusive: Option<String>,
    /// Whether that run was begun for certain.
    pub(crate) is_alone: bool,
}

/// What the releases of an entry and the runs of its procedures agree on.
///
/// Whoever waits for something of it is woken when that changes.
pub(crate) struct Coordination {
    procedures: Vec<Arc<Procedure>>,
    dependents: Arc<Dependents>,
    state: Mutex<State>,
    wanted: Notify,
}

#[derive(Default)]
struct State {
    agreements: BTreeMap<Key, Agreement>,
    /// Releases that want other runs than before.
    changed: BTreeSet<Key>,
    /// The procedures of which all runs are known.
    listed: BTreeSet<String>,
    /// Why those of others are not, and whether that is as nobody lets the operator list them.
    unlisted: BTreeMap<String, (String, bool)>,
}

impl State {
    /// Runs that may not begin yet, and all releases: they are to be looked at again.
    fn barred(&mut self) -> Vec<String> {
        let woken = self.agreements.values_mut().flat_map(|agreement| {
            let runs = std::mem::take(&mut agreement.barred);
            runs.into_iter().chain(agreement.resource.clone())
        });
        woken.collect()
    }
}

/// Who is woken by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakes {
    Nobody,
    /// Runs that may not begin yet.
    Barred,
    /// These, and runs that wait for the release.
    Runs,
    /// Nobody but that whose resource it is.
    Release,
    /// That one and its runs.
    All,
}

impl Wakes {
    fn only_if(self, is_news: bool) -> Self {
        if is_news { self } else { Self::Nobody }
    }
}

/// A release that is being looked at, until it is dropped.
pub(crate) struct Acting<'a> {
    coordination: &'a Coordination,
    key: Key,
}

impl std::fmt::Debug for Coordination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coordination").finish_non_exhaustive()
    }
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        self.coordination.change(&self.key, |agreement| {
            agreement.acts = false;
            Wakes::Barred
        });
    }
}

impl Coordination {
    pub(crate) fn new(procedures: Vec<Arc<Procedure>>, dependents: Arc<Dependents>) -> Self {
        Self {
            procedures,
            dependents,
            state: Mutex::default(),
            wanted: Notify::new(),
        }
    }

    /// Changes what is agreed on, and wakes those who wait for that.
    fn change(&self, key: &Key, change: impl FnOnce(&mut Agreement) -> Wakes) {
        let mut state = self.lock();
        let agreement = state.agreements.entry(key.clone()).or_default();
        let wakes = change(agreement);
        let mut woken = BTreeSet::new();
        if matches!(wakes, Wakes::Barred | Wakes::Runs | Wakes::All) {
            woken.append(&mut agreement.barred);
        }
        if matches!(wakes, Wakes::Runs | Wakes::All) {
            woken.append(&mut agreement.waiting);
        }
        if matches!(wakes, Wakes::Release | Wakes::All) {
            woken.extend(agreement.resource.clone());
        }
        if agreement.is_empty() {
            state.agreements.remove(key);
        }
        drop(state);
        self.rouse(woken);
    }

    fn rouse(&self, woken: impl IntoIterator<Item = String>) {
        for uid in woken {
            self.dependents.rouse(&uid, Duration::ZERO);
        }
    }

    /// The release of a resource is looked at from now on: no run that is to be alone begins until the answer is dropped.
    pub(crate) fn enter(&self, key: &Key, resource: &str) -> Acting<'_> {
        self.change(key, |agreement| {
            if agreement.resource.as_deref() != Some(resource) {
                agreement.resource = Some(resource.to_owned());
                agreement.standing = None;
            }
            agreement.acts = true;
            Wakes::Nobody
        });
        Acting {
            coordination: self,
            key: key.clone(),
        }
    }

    /// What the release is to heed.
    pub(crate) fn directions(&self, key: &Key) -> Directions {
        let state = self.lock();
        let agreement = state.agreements.get(key);
        let exclusive = agreement.and_then(Agreement::exclusive);
        let exclusive = exclusive.map(|holder| format!("{} is under way", holder.run));
        Directions {
            asked: agreement.and_then(|agreement| agreement.asked.clone()),
            is_alone: exclusive.is_some(),
            exclusive: exclusive.or_else(|| self.not_known_yet(&state)),
        }
    }

    /// The release was looked at, and stands so.
    pub(crate) fn settle(&self, key: &Key, standing: Standing) {
        let mut state = self.lock();
        let agreement = state.agreements.get(key);
        let is_first = agreement.is_none_or(|agreement| !agreement.is_known());
        if is_first {
            state.changed.insert(key.clone());
            self.wanted.notify_one();
        }
        drop(state);
        self.change(key, |agreement| {
            let is_news = agreement.standing.as_ref() != Some(&standing);
            agreement.standing = Some(standing);
            Wakes::Runs.only_if(is_news)
        });
    }

    /// The release wants these runs, and `is_waiting` for one of them or not. Where that `is_settled` they are all: what has ended
    /// besides lets nothing through any longer. Else those stay wanted, too, for which another revision waits.
    pub(crate) fn want(&self, key: &Key, mut wants: Vec<Want>, (is_settled, is_waiting): (bool, bool)) {
        let mut state = self.lock();
        let Some(agreement) = state.agreements.get_mut(key) else {
            return;
        };
        (agreement.is_settled, agreement.waits) = (is_settled, is_waiting);
        if !is_settled {
            let is_kept = |want: &&Want| matches!(want.what, Wanted::Gate(_)) && !wants.contains(want);
            let kept: Vec<Want> = agreement.wants.iter().filter(is_kept).cloned().collect();
            wants.extend(kept);
        }
        let is_news = agreement.wants != wants;
        agreement.wants = wants;
        let spent = agreement.spend(&|procedure| self.opens(procedure));
        if is_news {
            state.changed.insert(key.clone());
        }
        drop(state);
        self.rouse(spent);
        if is_news {
            self.wanted.notify_one();
        }
    }

    /// Leaves those of these runs that the release wants already.
    pub(crate) fn keep_wanted(&self, key: &Key, wants: &mut Vec<Want>) {
        let state = self.lock();
        let agreement = state.agreements.get(key);
        wants.retain(|want| agreement.is_some_and(|agreement| agreement.wants.contains(want)));
    }

    /// Whether an upgrade may wait for runs of a procedure.
    fn opens(&self, procedure: &str) -> bool {
        let mut all = self.procedures.iter();
        all.any(|one| one.before.is_some() && one.name == procedure)
    }

    /// What a run is to be called for this: as the one that is wanted already, or the first of these names of which none is spent,
    /// none was kept out, and none is one of the runs `behind` which a revision was deployed.
    pub(crate) fn fresh(
        &self,
        key: &Key,
        (procedure, what): (usize, &Wanted),
        behind: &BTreeSet<String>,
        name: impl Fn(u32) -> String,
    ) -> String {
        let state = self.lock();
        let agreement = state.agreements.get(key);
        let of = self.procedures.get(procedure);
        let of = of.map_or("", |procedure| procedure.name.as_str());
        let nothing = Agreement::default();
        agreement
            .unwrap_or(&nothing)
            .fresh((procedure, of), what, behind, name)
    }

    /// What the deletion of a resource with this UID waits for: its runs that were begun come to their ends first, with the steps that
    /// follow in any case. Where the operator is not let list runs, it carries none out, and they are not waited for.
    ///
    /// Once there is none, none of them begins any longer.
    pub(crate) fn before_deletion(&self, key: &Key, resource: &str) -> Option<String> {
        let mut state = self.lock();
        let is_unknown = |procedure: &&Arc<Procedure>| {
            let unlisted = state.unlisted.get(&procedure.name);
            let is_forbidden = unlisted.is_some_and(|(_, is_forbidden)| *is_forbidden);
            !state.listed.contains(&procedure.name) && !is_forbidden
        };
        if let Some(procedure) = self.procedures.iter().find(is_unknown) {
            let kind = &procedure.run_kind;
            let words = format!("it is not known yet whether a {kind} is under way");
            return Some(match state.unlisted.get(&procedure.name) {
                Some((why, _)) => format!("{words}: {why}"),
                None => words,
            });
        }
        let agreement = state.agreements.entry(key.clone()).or_default();
        let mut holders = agreement.holders.values();
        let found = holders.find(|holder| holder.resource.as_deref().is_none_or(|of| of == resource));
        if let Some(holder) = found {
            return Some(format!("{} is under way, and comes to its end first", holder.run));
        }
        agreement.goes = Some(resource.to_owned());
        None
    }

    /// The runs that were begun are looked at: something has happened to the resource.
    pub(crate) fn rouse_runs(&self, key: &Key) {
        let state = self.lock();
        let agreement = state.agreements.get(key).into_iter();
        let runs: Vec<String> = agreement
            .flat_map(|agreement| agreement.holders.keys().cloned())
            .collect();
        drop(state);
        self.rouse(runs);
    }

    /// The name of a run of this procedure that was begun, and has not ended.
    pub(crate) fn under_way(&self, key: &Key, procedure: &str) -> Option<String> {
        let state = self.lock();
        let mut holders = state.agreements.get(key)?.holders.values();
        let found = holders.find(|holder| holder.named.0 == procedure);
        found.map(|holder| holder.named.1.clone())
    }

    /// Whether a run that has ended lets nothing through.
    pub(crate) fn is_spent(&self, key: &Key, run: &str) -> bool {
        let state = self.lock();
        let agreement = state.agreements.get(key);
        agreement.is_some_and(|agreement| {
            let end = agreement.ends.get(run);
            agreement.passed_over.contains(run) || end.is_some_and(|end| end.spent)
        })
    }

    /// What has become of a run that a revision waits for. The release is woken when that changes.
    pub(crate) fn gate(&self, key: &Key, run: (&str, &str), what: (Option<i64>, &Wanted)) -> Gate {
        let state = self.lock();
        state
            .agreements
            .get(key)
            .map_or(Gate::Waits, |agreement| agreement.gate(run, what))
    }

    /// The resource with this UID is gone, or another's.
    pub(crate) fn forget(&self, key: &Key, resource: &str) {
        self.change(key, |agreement| {
            let is_this = agreement.resource.as_deref() == Some(resource);
            if is_this {
                (agreement.resource, agreement.standing) = (None, None);
                agreement.wants.clear();
                (agreement.is_settled, agreement.waits) = (false, false);
            }
            Wakes::Runs.only_if(is_this)
        });
    }

    /// The runs that are wanted of a release; `None` while nobody has looked at it.
    pub(crate) fn wants(&self, key: &Key) -> Option<Vec<Want>> {
        let state = self.lock();
        let agreement = state.agreements.get(key)?;
        agreement.is_known().then(|| agreement.wants.clone())
    }

    /// The releases that want other runs than when this was asked last.
    pub(crate) fn take_changed(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.lock().changed)
    }

    /// Waits until a release wants another run.
    pub(crate) async fn changed(&self) {
        self.wanted.notified().await;
    }

    /// All runs of a procedure are known, or there can be none. Releases that waited for that are looked at again.
    pub(crate) fn note_listed(&self, procedure: &str) {
        let mut state = self.lock();
        if !state.listed.insert(procedure.to_owned()) {
            return;
        }
        let woken = state.barred();
        drop(state);
        self.rouse(woken);
    }

    /// The runs of a procedure can't be listed, for this reason. Releases and runs that wait for that say so.
    pub(crate) fn note_unlisted(&self, procedure: &str, why: &str, is_forbidden: bool) {
        let mut state = self.lock();
        let found = (why.to_owned(), is_forbidden);
        if state.unlisted.insert(procedure.to_owned(), found.clone()) == Some(found) {
            return;
        }
        let woken = state.barred();
        drop(state);
        self.rouse(woken);
    }

    /// Runs of which nothing else is done beside may be under way, as not all of them are known: what is to be said of that.
    fn not_known_yet(&self, state: &State) -> Option<String> {
        let is_unknown = |procedure: &&Arc<Procedure>| !state.listed.contains(&procedure.name);
        let mut exclusive = self.procedures.iter().filter(|procedure| procedure.exclusive);
        let procedure = exclusive.find(is_unknown)?;
        let kind = &procedure.run_kind;
        let words = format!(
            "it is not known yet whether a {kind} is under way, of which nothing else is done beside"
        );
        Some(match state.unlisted.get(&procedure.name) {
            Some((why, _)) => format!("{words}: {why}"),
            None => words,
        })
    }

    /// Why a run may not begin now. It is woken when that may have changed.
    pub(crate) fn in_the_way(
        &self,
        key: &Key,
        (run, name): (&str, &str),
        is_exclusive: bool,
    ) -> Option<String> {
        let mut state = self.lock();
        if let Some(words) = self.not_known_yet(&state) {
            let agreement = state.agreements.entry(key.clone()).or_default();
            agreement.barred.insert(run.to_owned());
            return Some(words);
        }
        let agreement = state.agreements.get_mut(key);
        let Some(agreement) = agreement else {
            return is_exclusive.then(|| "the release was not looked at yet".to_owned());
        };
        let why = agreement.in_the_way((run, name), is_exclusive)?;
        agreement.barred.insert(run.to_owned());
        agreement.waiting.insert(run.to_owned());
        Some(why)
    }

    /// A run begins. `false` where it may not.
    pub(crate) fn begin(&self, key: &Key, run: &str, holder: Holder) -> bool {
        let mut state = self.lock();
        let is_known = self.not_known_yet(&state).is_none();
        let agreement = state.agreements.entry(key.clone()).or_default();
        if !is_known
            || agreement
                .in_the_way((run, &holder.named.1), holder.is_exclusive)
                .is_some()
        {
            return false;
        }
        agreement.holders.insert(run.to_owned(), holder);
        true
    }

    /// A run that was begun is there, whatever else is. One that `is_spent` lets nothing through: nothing waits for it any longer, as
    /// its record says.
    pub(crate) fn hold(&self, key: &Key, run: &str, holder: Holder, is_spent: bool) {
        self.change(key, |agreement| {
            let resource = holder.resource.clone();
            let before = agreement.holders.insert(run.to_owned(), holder);
            // For another resource than the one that is there, which may have waited for it.
            let is_former = resource.is_some() && resource != agreement.resource;
            let is_news = is_former && before.is_some_and(|before| before.resource != resource);
            let is_spent = is_spent && agreement.passed_over.insert(run.to_owned());
            Wakes::Release.only_if(is_spent || is_news)
        });
    }

    /// The same of one of which nobody knows how far it is: it gives no values any longer.
    pub(crate) fn hold_anew(&self, key: &Key, run: &str, holder: Holder) {
        self.change(key, |agreement| {
            let asked = agreement.asked.take_if(|asked| asked.by.run == run).is_some();
            agreement.conditions.remove(run);
            agreement.holders.insert(run.to_owned(), holder);
            Wakes::Release.only_if(asked)
        });
    }

    /// A run has ended, or is gone. Its release is looked at again where it had a part in it.
    pub(crate) fn leave(&self, key: &Key, run: &str) {
        self.change(key, |agreement| Wakes::All.only_if(agreement.leave(run)));
    }

    /// How a run has ended: why not well, without secrets.
    pub(crate) fn note_end(&self, key: &Key, run: &str, end: End) {
        self.change(key, |agreement| {
            let before = agreement.ends.get(run);
            let end = End {
                spent: end.spent
                    || before.is_some_and(|before| before.spent)
                    || agreement.passed_over.contains(run),
                ..end
            };
            let is_news = before != Some(&end);
            agreement.ends.insert(run.to_owned(), end);
            agreement.passed_over.remove(run);
            agreement.spend(&|procedure| self.opens(procedure));
            left(agreement, run, is_news)
        });
    }

    /// A run is gone.
    pub(crate) fn forget_run(&self, key: &Key, run: &str) {
        self.change(key, |agreement| {
            let is_news = agreement.ends.remove(run).is_some();
            agreement.passed_over.remove(run);
            left(agreement, run, is_news)
        });
    }

    /// A step gives its release values. The run is woken when there is another answer.
    pub(crate) fn ask(&self, key: &Key, asked: Asked) -> Option<Answer> {
        let mut answer = None;
        self.change(key, |agreement| {
            agreement.waiting.insert(asked.by.run.clone());
            let mut other = agreement
                .asked
                .iter()
                .filter(|other| other.by.run != asked.by.run);
            if let Some(other) = other.next() {
                answer = Some(Answer::UnderWay(format!("{} changes values", other.run)));
                return Wakes::Nobody;
            }
            answer = agreement.answer(&asked.by);
            let is_news = agreement.asked.as_ref() != Some(&asked);
            agreement.asked = Some(asked);
            Wakes::Release.only_if(is_news)
        });
        answer
    }

    /// The step that has given values is over.
    pub(crate) fn withdraw(&self, key: &Key, by: &StepId) {
        self.change(key, |agreement| {
            agreement.conditions.remove(&by.run);
            let was_asked = agreement.asked.take_if(|asked| asked.by == *by).is_some();
            Wakes::All.only_if(was_asked)
        });
    }

    /// Has a run woken when the release stands in another way. The release is looked at again where `asks`.
    pub(crate) fn await_standing(&self, key: &Key, run: &str, asks: bool) {
        self.change(key, |agreement| {
            agreement.waiting.insert(run.to_owned());
            Wakes::Release.only_if(asks)
        });
    }

    /// A step waits until something holds of the release: why it does not, once somebody has looked. The run is woken when there is
    /// another answer.
    pub(crate) fn await_condition(&self, key: &Key, condition: Condition) -> Option<Result<(), String>> {
        let mut found = None;
        self.change(key, |agreement| {
            let run = &condition.by.run;
            agreement.waiting.insert(run.clone());
            let mut all = agreement
                .standing
                .iter()
                .flat_map(|standing| &standing.conditions);
            found = all
                .find(|(by, _)| *by == condition.by)
                .map(|(_, why)| why.clone());
            let is_news = agreement.conditions.get(run) != Some(&condition);
            agreement.conditions.insert(run.clone(), condition);
            Wakes::Release.only_if(is_news)
        });
        found
    }

    /// What steps wait for.
    pub(crate) fn conditions(&self, key: &Key) -> Vec<Condition> {
        let state = self.lock();
        let agreement = state.agreements.get(key);
        agreement
            .map(|agreement| agreement.conditions.values().cloned().collect())
            .unwrap_or_default()
    }

    /// How the release stands, once it was looked at.
    pub(crate) fn standing(&self, key: &Key) -> Option<Standing> {
        self.lock().agreements.get(key)?.standing.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that others may have waited for leaves. Its release is woken, too, where its end is news and it wants any.
fn left(agreement: &mut Agreement, run: &str, is_news: bool) -> Wakes {
    if agreement.leave(run) {
        Wakes::All
    } else {
        Wakes::Release.only_if(is_news && !agreement.wants.is_empty())
    }
}
