//! What a release and the runs of its procedures agree on, from the side of the release: which values it keeps, which runs it
//! waits for, and how far it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use steersman_model::{Inputs, ObjectId, ReleaseStatus};
use steersman_watches::procedure::names::{SUSPEND, is_suspended};
use tokio::time::Instant;

use super::awaited_runs::{
    COMES_AFTER, brings_more, gates, is_of_others, is_secret, path_of, puts_back, told,
};
use super::decide::begins_revision;
use super::dependencies::Waiting;
use super::error::ReconcileError;
use super::fields::view;
use super::gate::unready;
use super::observe::{Observer, inputs, own_values};
use super::release_cache::{KnownRelease, ReleaseCache};
use super::session::{PreparedRelease, Session};
use super::state::{LastRevision, Observed};
use super::{ReconcileSettings, Reconciler};
use crate::coordination::{
    Answer, Asked, Coordination, Directions, Gate, Held, Standing, StepId, Want, Wanted, Wishes, run_name,
};
use crate::status::ReleaseReport;

/// So much of what steps have put over the values is shown, in bytes.
const MOST_SHOWN: usize = 4096;

/// What was agreed on when a release was observed last.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    held: Held,
    asked: Option<StepId>,
    /// What has become of those values without another revision.
    answer: Option<Answer>,
    /// What the release is made of with all of that.
    inputs: Option<Inputs>,
    /// The runs that have let the next revision through.
    behind: BTreeSet<String>,
}

impl Agreed {
    /// The names of the runs that have let the next revision through.
    pub(super) fn behind(&self) -> &BTreeSet<String> {
        &self.behind
    }
}

impl ReconcileSettings {
    /// What procedures make of the values of a release.
    ///
    /// # Errors
    /// The values of the resource can't be read.
    pub(super) fn held(
        &self,
        session: &Session,
        known: Option<&KnownRelease>,
        directions: &Directions,
    ) -> Result<Held, ReconcileError> {
        let last = known.and_then(KnownRelease::last_values);
        let Some(last) = last.filter(|_| !self.procedures.is_empty()) else {
            return Ok(Held::default());
        };
        let own = own_values(session, self)?;
        let wishes = Wishes {
            deployed: known
                .and_then(KnownRelease::values_before_failure)
                .map(Arc::as_ref),
            own: &own,
            asked: directions.asked.as_ref().map(|asked| &asked.values),
            is_exclusive: directions.exclusive.is_some(),
        };
        Ok(Held::new(
            &self.procedures,
            Some(last.as_ref()),
            wishes,
            self.chart.values(),
        ))
    }
}

impl Observer<'_> {
    /// What the release is to heed.
    pub(super) fn directions(&self, session: &Session) -> Directions {
        let coordination = self.coordination;
        coordination
            .map(|coordination| coordination.directions(&session.key()))
            .unwrap_or_default()
    }

    /// Says which runs the release wants, and has it wait for those that come before another revision. Where nothing else is to
    /// be done, it waits for those that bring its values to what the resource says.
    pub(super) fn agree(
        &self,
        session: &Session,
        (current, cache): (&PreparedRelease, &mut ReleaseCache),
        observed: &mut Observed,
        (held, directions): (&Held, &Directions),
    ) -> Result<(), ReconcileError> {
        let Some(coordination) = self.coordination else {
            return Ok(());
        };
        let asked = directions.asked.as_ref().map(|asked| asked.by.clone());
        cache.agreed = Agreed {
            held: held.clone(),
            asked,
            answer: None,
            inputs: Some(current.inputs),
            behind: BTreeSet::new(),
        };
        let mut wants = Vec::new();
        let begins = begins_revision(observed);
        let last = observed.last.as_ref();
        let is_deployed = last.is_some_and(|last| last.status == ReleaseStatus::Deployed);
        let is_refused = observed.refused == Some(observed.inputs);
        let is_free = directions.asked.is_none() && directions.exclusive.is_none();
        let is_waiting = cache.waiting.is_some();
        let waiting = if !begins && is_deployed {
            let wanted = self.wanted(session, current)?;
            let waiting = self.unreached(session, (held, directions), &mut wants);
            wanted.map(|wanted| {
                observed.inputs = wanted;
                waiting
            })
        } else if begins && !is_waiting {
            let known = cache.known.as_ref();
            match (&directions.asked, &directions.exclusive) {
                (Some(asked), _) => {
                    let before =
                        self.before_step(session, (current, known), (observed, asked), &mut wants)?;
                    let (waiting, answer) = before.unzip();
                    cache.agreed.answer = answer;
                    waiting
                }
                (None, Some(why)) => {
                    let is_due = directions.is_alone && puts_back(known, current, observed);
                    (!is_due).then(|| Waiting::for_run(why.clone(), false))
                }
                (None, None) => self.before(session, (current, known), observed, &mut wants)?,
            }
        } else {
            None
        };
        // What it depends on comes first: no run is made before that, but those that are there already may be for this revision.
        let depends = cache.waiting.as_ref().is_some_and(Waiting::is_for_dependencies);
        let is_told = begins && depends && is_free && !self.sources.are_named(session);
        if is_told {
            self.before(session, (current, cache.known.as_ref()), observed, &mut wants)?;
            coordination.keep_wanted(&session.key(), &mut wants);
        }
        let gates = wants.iter().filter(|want| matches!(want.what, Wanted::Gate(_)));
        let passed = gates.filter(|want| self.gate(session, want, COMES_AFTER).is_none());
        cache.agreed.behind = passed.map(|want| want.name.clone()).collect();
        // While others hold the release, or what was tried last is tried again, nobody can tell what it wants after that.
        let is_settled = is_free && (!is_waiting || is_told) && !is_refused && (begins || is_deployed);
        coordination.want(&session.key(), wants, (is_settled, waiting.is_some()));
        let overlay = || {
            cache
                .known
                .as_ref()
                .and_then(|known| shown_overlay(session, known))
        };
        let waiting = waiting.map(|waiting| waiting.with_overlay(overlay()));
        cache.waiting = cache.waiting.take().or(waiting);
        Ok(())
    }

    /// What the release would be made of if nothing was kept of its values; `None` where that is what it is made of.
    fn wanted(&self, session: &Session, current: &PreparedRelease) -> Result<Option<Inputs>, ReconcileError> {
        let mut wanted = own_values(session, self.settings)?;
        let overlay = current.held.overlay();
        overlay.put_over(&mut wanted);
        let is_reached = wanted == current.own_values;
        Ok((!is_reached).then(|| inputs(self.settings, &session.owner, (&wanted, overlay))))
    }

    /// For what the values of the resource wait.
    fn unreached(
        &self,
        session: &Session,
        (held, directions): (&Held, &Directions),
        wants: &mut Vec<Want>,
    ) -> Waiting {
        let mut waiting = None;
        for (place, change) in &held.changes {
            if is_secret(session, change) {
                let path = path_of(self.settings, *place);
                let words =
                    format!("`{path}` is secret, and runs tell of what they change: it stays as it is");
                waiting = waiting.or(Some(Waiting::for_run(words, true)));
                continue;
            }
            let generation = session.generation.unwrap_or_default();
            let what = Wanted::Change(change.clone(), generation);
            let Some(want) = self.want(session, &BTreeSet::new(), *place, what) else {
                continue;
            };
            let said = self.gate(session, &want, &told(self.settings, *place, change));
            let unreached = || {
                let path = path_of(self.settings, *place);
                let words = format!(
                    "`{path}` is not what the resource says, and the run that was to change it has succeeded"
                );
                Waiting::for_run(words, true)
            };
            waiting = waiting.or_else(|| Some(said.unwrap_or_else(unreached)));
            wants.push(want);
        }
        let asked = directions
            .asked
            .as_ref()
            .map(|asked| format!("{} changes values", asked.run));
        let words = directions.exclusive.clone().or(asked);
        let other = || Waiting::for_run(words.unwrap_or_else(|| "a run is under way".to_owned()), false);
        waiting.unwrap_or_else(other)
    }

    /// A run of a procedure, with its name: of those for one thing that of which none has let something through, or was kept out.
    fn want(
        &self,
        session: &Session,
        behind: &BTreeSet<String>,
        procedure: usize,
        what: Wanted,
    ) -> Option<Want> {
        let of = &self.settings.procedures.get(procedure)?.name;
        let (resource, uid) = (&session.owner.name, &session.owner.uid);
        let named = |round: u32| run_name(resource, uid, of, &what.text(round));
        let coordination = self.coordination?;
        let name = coordination.fresh(&session.key(), (procedure, &what), behind, named);
        Some(Want {
            procedure,
            what,
            name,
        })
    }

    /// For which runs another revision waits.
    fn before(
        &self,
        session: &Session,
        (current, known): (&PreparedRelease, Option<&KnownRelease>),
        observed: &Observed,
        wants: &mut Vec<Want>,
    ) -> Result<Option<Waiting>, ReconcileError> {
        let last = observed.last.as_ref();
        let none = BTreeSet::new();
        let behind = known.map_or(&none, |known| known.values.behind());
        for (procedure, text) in gates(session, self.settings, (current, known), last)? {
            wants.extend(self.want(session, behind, procedure, Wanted::Gate(text)));
        }
        let mut unended = wants
            .iter()
            .filter_map(|want| self.gate(session, want, COMES_AFTER));
        Ok(unended.next())
    }

    /// For which runs another chart waits that the values of a step would bring with them, and what becomes of the values then.
    /// The last steps of a run wait for nothing.
    fn before_step(
        &self,
        session: &Session,
        (current, known): (&PreparedRelease, Option<&KnownRelease>),
        (observed, asked): (&Observed, &Asked),
        wants: &mut Vec<Want>,
    ) -> Result<Option<(Waiting, Answer)>, ReconcileError> {
        let reached = known.and_then(KnownRelease::last_values).map(Arc::as_ref);
        if !brings_more(reached, current, observed) {
            return Ok(None);
        }
        let Some(waiting) = self.before(session, (current, known), observed, wants)? else {
            return Ok(None);
        };
        let wanted = current.held.overlay();
        let last = reached.zip(observed.last.as_ref());
        let last = last.filter(|(reached, last)| {
            !is_of_others(last) && (&reached.config, &reached.overlay) == (&current.own_values, wanted)
        });
        let is_deployed = last.is_some_and(|(_, last)| last.status == ReleaseStatus::Deployed);
        let kept_out = || {
            let words = waiting.message();
            let words = format!(
                "the release would get more than its values with them, such as another chart, and {words}"
            );
            Answer::KeptOut(words)
        };
        let answer = match known.filter(|_| asked.is_of_end) {
            _ if is_deployed => Answer::Done,
            // What the release has besides is not known: what the resource says by now would come with it.
            Some(_) if reached.is_none_or(|reached| reached.alone.is_some()) => kept_out(),
            Some(known) if known.values.has_to_take_off(wanted, &asked.put_there) => return Ok(None),
            Some(known) if known.values.has(wanted) => Answer::Done,
            _ => kept_out(),
        };
        Ok(Some((waiting, answer)))
    }

    /// What is waited for before the run that changes a value can be made; `None` where that is nothing.
    fn awaited(&self, session: &Session, want: &Want) -> Option<String> {
        let procedure = self.settings.procedures.get(want.procedure)?;
        if let Wanted::Gate(_) = want.what {
            return None;
        }
        if let Some(run) = self.coordination?.under_way(&session.key(), &procedure.name) {
            return Some(format!("waits for {} {run}", procedure.run_kind));
        }
        let annotations = session.object().metadata.annotations.as_ref();
        let suspended = annotations.and_then(|annotations| annotations.get(SUSPEND))?;
        let is_off = is_suspended(suspended, &procedure.name);
        is_off.then(|| format!("runs of {} are suspended", procedure.name))
    }

    /// Whether a run is waited for; `None` where it has succeeded.
    fn gate(&self, session: &Session, want: &Want, why: &str) -> Option<Waiting> {
        let procedure = self.settings.procedures.get(want.procedure)?;
        let name = &want.name;
        let run = format!("{} {name}", procedure.run_kind);
        let run_of = (procedure.name.as_str(), name.as_str());
        match self
            .coordination?
            .gate(&session.key(), run_of, (session.generation, &want.what))
        {
            Gate::Passed => None,
            Gate::Waits => {
                let words = self.awaited(session, want);
                let words = words.unwrap_or_else(|| format!("waits for {run}"));
                Some(Waiting::for_run(format!("{words}: {why}"), false))
            }
            Gate::Failed(how) => {
                let message = format!(
                    "waits for {run}: {why}, and it has not succeeded: {how}; another one is made when it is deleted"
                );
                Some(Waiting::for_run(message, true))
            }
        }
    }
}

impl Reconciler {
    /// Tells runs how far the release is.
    pub(super) fn settle(&self, session: &Session, cache: &ReleaseCache, report: &ReleaseReport) {
        let Some(coordination) = self.coordination.as_deref() else {
            return;
        };
        let Some(known) = &cache.known else {
            return;
        };
        let Agreed { held, asked, .. } = &cache.agreed;
        let answer = asked.as_ref();
        let answer = answer.map(|asked| (asked.clone(), answer_of(session, cache, words_of(report))));
        // A record that everybody may read is no place for what is secret.
        let mut changes = held.changes.clone();
        changes.retain(|(_, change)| !is_secret(session, change));
        let standing = Standing {
            changes,
            answer,
            busy: busy(cache),
            unready: self.unready(session, known),
            conditions: self.conditions(session, known, coordination),
            generation: session.generation,
        };
        coordination.settle(&session.key(), standing);
    }

    /// What has become of what steps wait for.
    fn conditions(
        &self,
        session: &Session,
        known: &KnownRelease,
        coordination: &Coordination,
    ) -> Vec<(StepId, Result<(), String>)> {
        let asked = coordination.conditions(&session.key());
        if asked.is_empty() {
            return Vec::new();
        }
        let view = view(session, known, &self.shared.dependents);
        let judged = asked.into_iter().map(|condition| {
            let why = match condition.holds.bool(&view) {
                Ok(true) => Ok(()),
                Ok(false) => Err("what it waits for does not hold".to_owned()),
                Err(error) => Err(format!("what it waits for has no result: {error}")),
            };
            (condition.by, why)
        });
        judged.collect()
    }

    /// What is not ready of the deployed revision, if anything is not.
    fn unready(&self, session: &Session, known: &KnownRelease) -> Option<String> {
        if known.deployed.is_none() {
            return Some("nothing is deployed yet".to_owned());
        }
        let objects = known.objects.keys().filter(|id| self.settings.judges(id));
        let judged = |id: &ObjectId| self.shared.dependents.judged(&session.owner.uid, id);
        let unready = unready(objects, judged, false);
        let first = unready.first()?;
        let id = session.redactor.mask_own(&first.id.to_string());
        Some(match unready.len() {
            1 => format!("{id} is not ready"),
            more => format!("{id} is not ready, and so are {} others", more - 1),
        })
    }
}

/// What has become of the values of a step; `words` say what the release does.
fn answer_of(session: &Session, cache: &ReleaseCache, words: String) -> Answer {
    let Agreed { answer, inputs, .. } = &cache.agreed;
    if let Some(answer) = answer {
        return answer.clone();
    }
    let inputs = *inputs;
    let last = cache.known.as_ref().and_then(|known| known.last.as_ref());
    let is_made_of = |last: &&LastRevision| last.inputs.is_some() && last.inputs == inputs;
    let is_deployed = |last: &LastRevision| last.status == ReleaseStatus::Deployed;
    if last.filter(is_made_of).is_some_and(is_deployed) {
        return Answer::Done;
    }
    let refused = cache.refused(&session.controls, Instant::now());
    match cache.refusal().filter(|_| refused.is_some() && refused == inputs) {
        Some(refusal) => Answer::Failed(refusal.failure.message.clone()),
        None if words.is_empty() => Answer::UnderWay("the release gets other values".to_owned()),
        None => Answer::UnderWay(words),
    }
}

/// What steps have put over the values, for a status. What would take more room than a status has for it is not shown.
pub(super) fn shown_overlay(session: &Session, known: &KnownRelease) -> Option<Value> {
    let overlay = known
        .last_values()
        .map(|last| &last.overlay)
        .filter(|overlay| !overlay.is_empty())?;
    let text = Value::Object(overlay.values().clone()).to_string();
    if text.len() > MOST_SHOWN {
        return Some("(too long to be shown)".into());
    }
    let masked = session.redactor.mask_own(&text);
    Some(serde_json::from_str(&masked).unwrap_or(Value::String(masked)))
}

/// What is being done with a release of which a revision has begun.
fn busy(cache: &ReleaseCache) -> Option<String> {
    use ReleaseStatus::{PendingInstall, PendingRollback, PendingUpgrade};
    let last = cache.known.as_ref()?.last.as_ref()?;
    let is_pending = matches!(last.status, PendingInstall | PendingUpgrade | PendingRollback);
    let is_busy = cache.unfinished.is_some() || is_pending || last.is_being_undone;
    is_busy.then(|| format!("revision {} of the release is under way", last.revision))
}

fn words_of(report: &ReleaseReport) -> String {
    match report {
        ReleaseReport::Failed(failure) => failure.message.clone(),
        ReleaseReport::AtGate(gate) => gate.message.clone(),
        ReleaseReport::DependencyNotReady(dependent) | ReleaseReport::AwaitsProcedure(dependent) => {
            dependent.message.clone()
        }
        ReleaseReport::Progressing(message) => message.clone(),
        _ => String::new(),
    }
}
