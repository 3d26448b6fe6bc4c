//! One release and its runs. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use steersman_chart::Values;
use steersman_watches::ReleaseExpression;
use steersman_watches::procedure::Change;
use steersman_watches::procedure::names::{BEFORE, ON};

/// A try of a step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepId {
    /// The UID of the run.
    pub(crate) run: String,
    pub(crate) step: String,
    pub(crate) attempt: u32,
}

/// Values that a step gives a release.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) by: StepId,
    /// The kind and the name of the run, for people.
    pub(crate) run: String,
    pub(crate) values: Values,
    /// Whether the step follows whatever becomes of the run.
    pub(crate) is_of_end: bool,
    /// The paths of the values that its run has given before.
    pub(crate) put_there: Vec<Vec<String>>,
}

/// A run that was begun, and has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its kind and its name, for people.
    pub(crate) run: String,
    /// That of its procedure, and its own.
    pub(crate) named: (String, String),
    /// Whether nothing else is done meanwhile.
    pub(crate) is_exclusive: bool,
    /// The UID of the resource that it was begun for, once that is known.
    pub(crate) resource: Option<String>,
}

/// How a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) procedure: String,
    pub(crate) name: String,
    /// That of the resource when the run began: what was asked for later was not meant.
    pub(crate) generation: Option<i64>,
    /// Whether it has nothing but defaults for parameters, as the one that the operator makes.
    pub(crate) is_plain: bool,
    /// Why it has not succeeded, without secrets.
    pub(crate) failure: Option<String>,
    /// Whether no revision waits for it, or none does any longer: a later one waits for another run.
    pub(crate) spent: bool,
    /// Whether it has failed as its values would have brought something else with them: when that is there, another one may do.
    pub(crate) kept_out: bool,
}

/// What has become of the values of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A revision with them is deployed.
    Done,
    /// Not yet; why, without secrets.
    UnderWay(String),
    /// They will not be; why, without secrets.
    Failed(String),
    /// The same of values that were never there, as they would bring something else with them.
    KeptOut(String),
}

/// Where a release is, after it was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// What the next run of each procedure changes.
    pub(crate) changes: Vec<(usize, Change)>,
    /// What has become of the values of a step.
    pub(crate) answer: Option<(StepId, Answer)>,
    /// What is being done with it, if anything is, and a revision has begun.
    pub(crate) busy: Option<String>,
    /// What is not ready of what is deployed.
    pub(crate) unready: Option<String>,
    /// What has become of the conditions that steps wait for: why one does not hold, without secrets.
    pub(crate) conditions: Vec<(StepId, Result<(), String>)>,
    /// Of the resource, when it was looked at.
    pub(crate) generation: Option<i64>,
}

/// What a run is wanted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A revision waits for it, which this text stands for.
    Gate(String),
    /// A value changes by it, as this state of the resource has it.
    Change(Change, i64),
}

/// A run that a release wants: which procedure of the entry, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) procedure: usize,
    pub(crate) what: Wanted,
    /// What it is called.
    pub(crate) name: String,
}

/// What has become of a run that a revision waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It has succeeded.
    Passed,
    /// It is under way, or will be made.
    Waits,
    /// It has ended in another way; why, without secrets.
    Failed(String),
}

/// What a step waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) by: StepId,
    pub(crate) holds: ReleaseExpression,
}

/// What a release and its runs agree on.
#[derive(Default)]
pub(super) struct Agreement {
    /// The UID of the resource, once its release was looked at.
    pub(super) resource: Option<String>,
    /// Runs by their UIDs.
    pub(super) holders: BTreeMap<String, Holder>,
    /// Runs that wait until the release stands in another way.
    pub(super) waiting: BTreeSet<String>,
    /// Runs that may not begin yet.
    pub(super) barred: BTreeSet<String>,
    pub(super) asked: Option<Asked>,
    /// What steps wait for, by the UIDs of their runs.
    pub(super) conditions: BTreeMap<String, Condition>,
    /// Whether the release is being looked at, and may be acted on.
    pub(super) acts: bool,
    /// The UID of the resource with which it goes, as that is being deleted.
    pub(super) goes: Option<String>,
    pub(super) standing: Option<Standing>,
    pub(super) wants: Vec<Want>,
    /// Whether these are all that it wants, as somebody has found who could tell.
    pub(super) is_settled: bool,
    /// Whether it waits for one of them, and has begun nothing behind them.
    pub(super) waits: bool,
    /// The ends of runs, by their UIDs.
    pub(super) ends: BTreeMap<String, End>,
    /// Runs that nothing waited for while they were under way, by their UIDs: they let nothing through.
    pub(super) passed_over: BTreeSet<String>,
}

impl Agreement {
    /// Why a run may not begin now, of this UID and name.
    pub(super) fn in_the_way(&self, (run, name): (&str, &str), is_exclusive: bool) -> Option<String> {
        if self.goes.is_some() && self.goes == self.resource {
            return Some("its resource is being deleted".to_owned());
        }
        let others = self.holders.iter().filter(|(uid, _)| *uid != run);
        let mut others = others.filter(|(_, other)| self.is_of_this(other));
        if let Some((_, other)) = others.find(|(_, other)| is_exclusive || other.is_exclusive) {
            return Some(format!("{} is under way", other.run));
        }
        if !is_exclusive {
            return None;
        }
        if self.acts {
            return Some("the release is being looked at".to_owned());
        }
        // Where another revision waits for it, the one that is under way is not gone on with.
        let is_awaited =
            |want: &Want| self.waits && matches!(want.what, Wanted::Gate(_)) && want.name == name;
        match &self.standing {
            None => Some("the release was not looked at yet".to_owned()),
            Some(_) if self.wants.iter().any(is_awaited) => None,
            Some(standing) => standing.busy.clone(),
        }
    }

    /// The run that nothing else goes on beside.
    pub(super) fn exclusive(&self) -> Option<&Holder> {
        let mut holders = self.holders.values().filter(|holder| holder.is_exclusive);
        holders.find(|holder| self.is_of_this(holder))
    }

    /// Whether a run is for the resource that is there, and not for an earlier one of its name.
    fn is_of_this(&self, holder: &Holder) -> bool {
        holder.resource.is_none() || self.resource.is_none() || holder.resource == self.resource
    }

    /// Runs that nothing waits for let nothing through later, whether they have ended or are under way: those of procedures that
    /// let something through at all, as `opens` says. Gives the UIDs of those of which that is new.
    pub(super) fn spend(&mut self, opens: &dyn Fn(&str) -> bool) -> Vec<String> {
        if !self.is_settled {
            return Vec::new();
        }
        let wants = &self.wants;
        let is_unwanted = |name: &str| wants.iter().all(|want| want.name != name);
        let mut spent = Vec::new();
        for (uid, end) in &mut self.ends {
            if !end.spent && opens(&end.procedure) && is_unwanted(&end.name) {
                end.spent = true;
                spent.push(uid.clone());
            }
        }
        for (uid, holder) in &self.holders {
            let (procedure, name) = &holder.named;
            if opens(procedure) && is_unwanted(name) && self.passed_over.insert(uid.clone()) {
                spent.push(uid.clone());
            }
        }
        spent
    }

    /// Whether a run of this procedure and name is there that lets nothing through.
    pub(super) fn has_spent(&self, procedure: &str, name: &str) -> bool {
        let mut ends = self.ends.values();
        let has_ended = ends.any(|end| end.spent && end.procedure == procedure && end.name == name);
        let mut holders = self.holders.iter();
        has_ended
            || holders.any(|(uid, holder)| {
                let is_it = (holder.named.0.as_str(), holder.named.1.as_str()) == (procedure, name);
                is_it && self.passed_over.contains(uid)
            })
    }

    /// Whether a run of this procedure and name has ended as it was kept out.
    fn was_kept_out(&self, procedure: &str, name: &str) -> bool {
        let mut ends = self.ends.values();
        ends.any(|end| end.kept_out && end.procedure == procedure && end.name == name)
    }

    /// What a run of the procedure at this place and of this name is to be called: see [`super::Coordination::fresh`].
    pub(super) fn fresh(
        &self,
        (place, procedure): (usize, &str),
        what: &Wanted,
        behind: &BTreeSet<String>,
        name: impl Fn(u32) -> String,
    ) -> String {
        let is_spent = |name: &String| match what {
            Wanted::Gate(_) => behind.contains(name) || self.has_spent(procedure, name),
            Wanted::Change(..) => self.was_kept_out(procedure, name),
        };
        let mut wants = self.wants.iter();
        let wanted = wants.find(|want| want.procedure == place && want.what == *what);
        let wanted = wanted
            .map(|want| want.name.clone())
            .filter(|name| !is_spent(name));
        wanted.unwrap_or_else(|| {
            let found = (0..u32::MAX).map(&name).find(|name| !is_spent(name));
            found.unwrap_or_else(|| name(u32::MAX))
        })
    }

    /// What has become of a run of this procedure and name, which is wanted for a generation of the resource. Its name can be
    /// reckoned before, so that one counts that began since.
    pub(super) fn gate(
        &self,
        (procedure, name): (&str, &str),
        (generation, what): (Option<i64>, &Wanted),
    ) -> Gate {
        let counts = |end: &&End| !end.spent || matches!(what, Wanted::Change(..));
        let mut ends = self.ends.values().filter(counts);
        let found = ends.find(|end| end.procedure == procedure && end.name == name);
        let Some(end) = found else {
            return Gate::Waits;
        };
        match &end.failure {
            Some(why) => Gate::Failed(why.clone()),
            None if end.generation < generation => {
                Gate::Failed("it began before that was asked for".to_owned())
            }
            None if !end.is_plain => Gate::Failed("somebody has made it with other parameters".to_owned()),
            None => Gate::Passed,
        }
    }

    /// What has become of the values of a step, as far as the release has said so.
    pub(super) fn answer(&self, by: &StepId) -> Option<Answer> {
        let (answered, answer) = self.standing.as_ref()?.answer.as_ref()?;
        (answered == by).then(|| answer.clone())
    }

    /// A run has ended, or is gone: it holds up nobody.
    pub(super) fn leave(&mut self, run: &str) -> bool {
        let asks = self.asked.as_ref().is_some_and(|asked| asked.by.run == run);
        if asks {
            self.asked = None;
        }
        self.waiting.remove(run);
        self.barred.remove(run);
        self.conditions.remove(run);
        self.holders.remove(run).is_some() || asks
    }

    /// Whether somebody has looked at the release.
    pub(super) fn is_known(&self) -> bool {
        self.standing.is_some() || !self.wants.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        let runs = [&self.waiting, &self.barred].map(BTreeSet::len);
        self.resource.is_none() && self.holders.is_empty() && self.ends.is_empty() && runs == [0, 0]
    }
}

impl Want {
    /// What has led to it, in the word of its annotation.
    pub(crate) fn trigger(&self) -> &'static str {
        match self.what {
            Wanted::Gate(_) => BEFORE,
            Wanted::Change(..) => ON,
        }
    }
}

impl Wanted {
    /// What tells the run from others of its procedure: the first one for that, or another one after it.
    pub(crate) fn text(&self, round: u32) -> String {
        let first = match self {
            Self::Gate(text) => format!("before {text}"),
            Self::Change(Change { from, to }, generation) => {
                let [from, to] = [from, to].map(Json::to_string);
                format!("on {from} {to} {generation}")
            }
        };
        match round {
            0 => first,
            _ => format!("{first} {round}"),
        }
    }
}
