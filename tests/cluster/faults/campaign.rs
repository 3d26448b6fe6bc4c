//! Every request for a change that a workload makes is met by every fault, one in each run.
//!
//! An ordinary run takes the plans that have found the most; `STEERSMAN_FAULTS=all` takes all of them, and
//! `STEERSMAN_FAULTS=TEXT` those whose line has the text.

use std::collections::VecDeque;
use std::pin::pin;

use futures::StreamExt as _;
use steersman_testkit::cluster::wanted_faults;
use tokio::sync::{Barrier, Mutex};
use tokio::task::JoinHandle;

use super::lane::Lane;
use super::plan::{Effect, Plan, Reference, learn, run};
use super::workload::{Workload, gadget_group};
use crate::bench::Bench;
use crate::node::finish_jobs;

/// Runs that need the operator alive share one.
const TOGETHER: usize = 8;
/// Operators that are killed.
const KILLED: usize = 3;
/// Workloads. One alone leaves a third of two processors unused.
const AT_A_TIME: usize = 2;

/// Which plans are run.
enum Choice {
    Usual,
    All,
    Named(String),
}

impl Choice {
    fn read() -> Self {
        match wanted_faults() {
            Some(text) if text == "all" => Self::All,
            Some(text) => Self::Named(text),
            None => Self::Usual,
        }
    }

    fn takes(&self, workload: &Workload, plan: &Plan) -> bool {
        match self {
            Self::All => true,
            Self::Named(text) => format!("{} {plan}", workload.name).contains(text),
            Self::Usual => match workload.name {
                "objects" => !matches!(plan.effect, Effect::KillBefore | Effect::Throttled),
                _ => {
                    matches!(plan.effect, Effect::KillAfter | Effect::Lost)
                        || plan.to_string().starts_with("Conflict at delete")
                }
            },
        }
    }
}

#[tokio::test]
async fn no_fault_at_any_request_loses_or_doubles_anything() {
    let test = "no_fault_at_any_request_loses_or_doubles_anything";
    let choice = Choice::read();
    let mut violations = Vec::new();
    let mut plans = 0;
    let campaigns = futures::stream::iter(Workload::all())
        .map(|workload| campaign(test, workload, &choice))
        .buffered(AT_A_TIME);
    let mut campaigns = pin!(campaigns);
    while let Some(outcome) = campaigns.next().await {
        let Some((tried, found)) = outcome else { return };
        plans += tried;
        violations.extend(found);
    }
    // A campaign that has found nothing to do has shown nothing.
    assert!(plans > 0, "no plan is called like this");
    if !matches!(choice, Choice::Named(_)) {
        assert!(plans > 150, "{plans} plans");
    }
    assert!(
        violations.is_empty(),
        "{} violations in {plans} plans:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

/// How many plans were run, and what did not hold.
async fn campaign(test: &str, workload: Workload, choice: &Choice) -> Option<(usize, Vec<String>)> {
    let workload = &workload;
    let mut lanes = Vec::new();
    for _ in 0..=KILLED {
        let lane = Lane::of_campaign(test).await?;
        (workload.prepare)(&lane.bench);
        lane.start().await;
        lanes.push((lane, Kubelet::default()));
    }
    for (lane, kubelet) in &mut lanes {
        kubelet.finish_jobs_of(&lane.bench);
    }
    let lanes: Vec<&Lane> = lanes.iter().map(|(lane, _)| lane).collect();
    let reference = learn(lanes[0], workload).await;
    reset(lanes[0], workload).await;
    let plans: Vec<Plan> = reference
        .targets
        .iter()
        .flat_map(|target| {
            Effect::ALL.map(|effect| Plan {
                target: target.clone(),
                effect,
            })
        })
        .filter(|plan| choice.takes(workload, plan))
        .collect();
    let (deadly, harmless): (VecDeque<Plan>, VecDeque<Plan>) =
        plans.iter().cloned().partition(|plan| plan.effect.kills());
    let (deadly, harmless) = (Mutex::new(deadly), Mutex::new(harmless));
    let lonely = usize::from(!workload.is_alone) * (TOGETHER - 1) + 1;
    let works = lanes.iter().enumerate().map(|(number, lane)| {
        let (deadly, harmless) = (&deadly, &harmless);
        let reference = &reference;
        async move {
            let mut violations = Vec::new();
            // The first lane is for those that leave the operator alive, and helps the others then.
            if number == 0 {
                violations.extend(work(lane, workload, reference, harmless, lonely).await);
            }
            violations.extend(work(lane, workload, reference, deadly, 1).await);
            violations.extend(work(lane, workload, reference, harmless, lonely).await);
            violations
        }
    });
    let violations: Vec<String> = futures::future::join_all(works).await.concat();
    Some((plans.len(), violations))
}

/// Runs plans in batches until none is left.
async fn work(
    lane: &Lane,
    workload: &Workload,
    reference: &Reference,
    plans: &Mutex<VecDeque<Plan>>,
    together: usize,
) -> Vec<String> {
    let mut violations = Vec::new();
    let mut missed = Vec::new();
    loop {
        let batch: Vec<Plan> = {
            let mut plans = plans.lock().await;
            let size = together.min(plans.len());
            plans.drain(..size).collect()
        };
        if batch.is_empty() {
            if missed.len() > 2 {
                let missed = missed.join(", ");
                violations.push(format!("{}: requests did not come: {missed}", workload.name));
            }
            return violations;
        }
        let mark = lane.bench.cluster.audit_mark().await.unwrap();
        let barrier = Barrier::new(batch.len());
        let runs = batch.into_iter().map(|plan| {
            let barrier = &barrier;
            async move {
                let name = unique_name();
                run(lane, workload, Some(reference), &name, Some(plan), barrier).await
            }
        });
        let runs = futures::future::join_all(runs).await;
        let audit = lane.bench.cluster.audit_since(mark).await.unwrap();
        for run in &runs {
            let found = run.judge(lane, workload, reference, &audit);
            // A conflict with somebody else's write makes a request more in one run and not in another.
            if !run.was_struck(lane) {
                missed.push(run.title());
            }
            violations.extend(found);
        }
        reset(lane, workload).await;
    }
}

/// Takes away what the resource leaves behind as it must.
async fn reset(lane: &Lane, workload: &Workload) {
    if workload.is_alone {
        let bench = &lane.bench;
        let definition = format!("gadgets.{}", gadget_group(bench));
        bench.delete_definition(&definition).await;
    }
}

/// A name that no other run has, and that is part of no other name.
fn unique_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static RUNS: AtomicU32 = AtomicU32::new(0);
    format!("run-{:04}", RUNS.fetch_add(1, Ordering::Relaxed))
}

/// Finishes jobs, as there are no nodes.
#[derive(Default)]
struct Kubelet(Option<JoinHandle<()>>);

impl Kubelet {
    fn finish_jobs_of(&mut self, bench: &Bench) {
        let jobs = bench.api("batch", "v1", "Job", "jobs");
        self.0 = Some(tokio::spawn(finish_jobs(jobs)));
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}
