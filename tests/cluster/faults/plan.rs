//! One fault in one run of a workload.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use steersman_testkit::cluster::{AuditLog, Call, Fault, FaultId, Request};
use tokio::sync::Barrier;

use super::judge::{Dump, counts, difference, dump, faults_of, masked, unmasked, writes_about};
use super::lane::Lane;
use super::workload::{Step, Workload};
use crate::bench::{Bench, PATIENCE, condition};
use crate::watched::Watched;

/// A request of a workload, the same in every run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    verb: String,
    resource: String,
    name: String,
    /// Of the requests that are the same in everything else.
    number: usize,
}

/// What happens at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    KillBefore,
    KillAfter,
    Error,
    Conflict,
    Throttled,
    Lost,
}

impl Effect {
    pub(crate) const ALL: [Self; 6] = [
        Self::KillBefore,
        Self::KillAfter,
        Self::Error,
        Self::Conflict,
        Self::Throttled,
        Self::Lost,
    ];

    pub(crate) fn kills(self) -> bool {
        matches!(self, Self::KillBefore | Self::KillAfter)
    }
}

/// A workload with one fault.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) effect: Effect,
}

impl Plan {
    fn fault(&self, bench: &Bench, name: &str) -> Fault {
        let Target {
            verb,
            resource,
            name: template,
            number,
        } = &self.target;
        let fault = Fault::on(verb, resource)
            .name(&unmasked(template, bench, name))
            .nth(*number);
        match self.effect {
            Effect::KillBefore => fault.kill_before(),
            Effect::KillAfter => fault.kill_after(),
            Effect::Error => fault.refuse(500),
            Effect::Conflict => fault.refuse(409),
            Effect::Throttled => fault.refuse_for(429, 1),
            Effect::Lost => fault.lose_answer(),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target {
            verb,
            resource,
            name,
            number,
        } = &self.target;
        write!(f, "{:?} at {verb} {resource} {name} ({number})", self.effect)
    }
}

/// A run without faults.
#[derive(Default)]
pub(crate) struct Reference {
    /// What is there after each step.
    dumps: Vec<Dump>,
    counts: BTreeMap<String, usize>,
    pub(crate) targets: Vec<Target>,
}

/// What came of a run.
pub(crate) struct Run {
    name: String,
    plan: Option<Plan>,
    fault: Option<FaultId>,
    dumps: Vec<Dump>,
    violations: Vec<String>,
    /// From when to when nothing was to be done.
    settled: Option<(Timestamp, Timestamp)>,
}

/// Runs a workload without faults and learns what it does.
pub(crate) async fn learn(lane: &Lane, workload: &Workload) -> Reference {
    let name = "reference";
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    let before = lane.proxy.trace().len();
    let run = run(lane, workload, None, name, None, &Barrier::new(1)).await;
    assert_eq!(run.violations, [""; 0], "{}", lane.log().await);
    let audit = lane.bench.cluster.audit_since(mark).await.unwrap();
    let writes = writes_about(&audit, &lane.bench, name);
    assert_eq!(faults_of(&writes), [""; 0]);
    let mut targets: Vec<Target> = Vec::new();
    let is_ours = |call: &&Call| {
        call.is_write() && call.resource != "events" && (workload.is_alone || call.name.contains(name))
    };
    for call in lane.proxy.trace()[before..].iter().filter(is_ours) {
        let mut target = Target {
            verb: call.verb.clone(),
            resource: call.resource.clone(),
            name: masked(&call.name, &lane.bench, name),
            number: 1,
        };
        while targets.contains(&target) {
            target.number += 1;
        }
        targets.push(target);
    }
    for request in writes.requests.iter().filter(|request| is_conflict(request)) {
        let name = masked(&request.name, &lane.bench, name);
        let is_same = |target: &Target| {
            let resource = target.resource.split_once('/').unwrap_or((&target.resource, ""));
            (&target.verb, &target.name) == (&request.verb, &name)
                && resource == (&request.resource, &request.subresource)
        };
        // It was sent again, which other runs have no reason for.
        if let Some(again) = targets.iter().rposition(is_same) {
            targets.remove(again);
        }
    }
    Reference {
        counts: counts(&writes, &lane.bench, name),
        dumps: run.dumps,
        targets,
    }
}

/// Whether somebody else has written the object meanwhile.
fn is_conflict(request: &Request) -> bool {
    request.code == Some(409) && request.verb != "create"
}

/// Runs a workload with the fault of a plan. Before the last step all runs at the same barrier wait for each other.
pub(crate) async fn run(
    lane: &Lane,
    workload: &Workload,
    reference: Option<&Reference>,
    name: &str,
    plan: Option<Plan>,
    barrier: &Barrier,
) -> Run {
    let mut run = Run {
        name: name.to_owned(),
        fault: plan
            .as_ref()
            .map(|plan| lane.proxy.inject(plan.fault(&lane.bench, name))),
        plan,
        dumps: Vec::new(),
        violations: Vec::new(),
        settled: None,
    };
    let webs = lane.bench.webs();
    let mut web = Watched::new(&webs, name);
    for (number, step) in workload.steps.iter().enumerate() {
        match step {
            Step::Apply(spec) => lane.bench.apply_web(name, spec.clone()).await,
            Step::Delete => {
                let settled = Timestamp::now();
                barrier.wait().await;
                run.settled = Some((settled, Timestamp::now()));
                lane.bench.delete_web(name).await;
            }
        }
        let expected = reference.map(|reference| &reference.dumps[number]);
        match reach(lane, name, &mut web, step, number + 1, expected).await {
            Ok(dump) => run.dumps.push(dump),
            Err(violation) => {
                run.violations.push(format!("step {}: {violation}", number + 1));
                // The others wait for this one.
                if number + 1 < workload.steps.len() {
                    barrier.wait().await;
                }
                break;
            }
        }
    }
    if let Some(fault) = run.fault {
        lane.proxy.take_back(fault);
    }
    run
}

/// Waits until everything is as it was in the reference, or as it must be at least.
async fn reach(
    lane: &Lane,
    name: &str,
    watched: &mut Watched<'_>,
    step: &Step,
    revision: usize,
    expected: Option<&Dump>,
) -> Result<Dump, String> {
    let begun = Instant::now();
    let mut last = Dump::new();
    loop {
        lane.keep_alive().await;
        let web = watched.look(Duration::from_millis(100)).await;
        let is_due = match step {
            Step::Delete => web.is_null(),
            Step::Apply(_) => {
                web.pointer("/status/revision").and_then(Value::as_u64) == Some(revision as u64)
                    && web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation")
                    && condition(web, "ReleaseFailed").is_none()
            }
        };
        if is_due {
            let found = dump(&lane.bench, name).await;
            let reached = match expected {
                Some(expected) => found == *expected,
                // Their controllers have had their say.
                None => found == last,
            };
            if reached && (!matches!(step, Step::Delete) || found.is_empty()) {
                return Ok(found);
            }
            last = found;
        }
        if begun.elapsed() > PATIENCE {
            let how = match expected {
                Some(expected) => difference(expected, &dump(&lane.bench, name).await),
                None => format!("{last:?}"),
            };
            return Err(format!("CONV: not reached within {PATIENCE:?}: {how}"));
        }
    }
}

impl Run {
    /// What does not hold, each with its plan.
    pub(crate) fn judge(
        &self,
        lane: &Lane,
        workload: &Workload,
        reference: &Reference,
        audit: &AuditLog,
    ) -> Vec<String> {
        let bench = &lane.bench;
        let writes = writes_about(audit, bench, &self.name);
        let mut violations = self.violations.clone();
        violations.extend(faults_of(&writes));
        let counts = counts(&writes, bench, &self.name);
        if violations.is_empty() && counts != reference.counts {
            for id in counts.keys().chain(reference.counts.keys()) {
                let (found, expected) = (counts.get(id), reference.counts.get(id));
                let violation = format!(
                    "NOCHURN: {id}: {} times instead of {}",
                    found.copied().unwrap_or_default(),
                    expected.copied().unwrap_or_default()
                );
                let is_allowed =
                    workload.may_repeat(id) && found > expected && found <= expected.map(|n| n + 1).as_ref();
                if found != expected && !is_allowed && !violations.contains(&violation) {
                    violations.push(violation);
                }
            }
        }
        if let Some((from, to)) = &self.settled {
            let within = |received: &str| {
                let at: Timestamp = received.parse().unwrap();
                *from < at && at < *to
            };
            for request in writes.requests.iter().filter(|request| within(&request.received)) {
                violations.push(format!(
                    "settled, and yet: {} {} {}",
                    request.verb, request.resource, request.name
                ));
            }
        }
        violations
            .into_iter()
            .map(|violation| format!("{}: {violation}", self.title()))
            .collect()
    }

    /// The plan, and what its resource was called.
    pub(crate) fn title(&self) -> String {
        let plan = self.plan.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {plan}", self.name)
    }

    /// Whether the request of the plan came.
    pub(crate) fn was_struck(&self, lane: &Lane) -> bool {
        self.fault.is_none_or(|fault| lane.proxy.struck(fault) > 0)
    }
}
