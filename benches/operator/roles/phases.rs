//! What is measured of an operator that runs roles.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::drift::{self, Drift};
use super::{Arguments, CONDITION, SETTINGS, WEB, runs};
use crate::candidate::{Candidate, WITHOUT_PERIOD};
use crate::cluster::Rig;

const FLAGS: [&str; 2] = [WITHOUT_PERIOD, "--max-concurrent-reconciles=2"];

/// Memory in MB, times in seconds. Where all processes are meant, preloaded interpreters are among them.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Resident after the start, without a resource, all processes.
    pub(super) resident_at_start: f64,
    /// How many resources were installed.
    pub(super) installs: f64,
    /// Wall time from the first resource to the last success.
    pub(super) installing: f64,
    /// Processor time of all processes until there was nothing more to do.
    pub(super) processor_installing: f64,
    /// The same of the operator's own program alone.
    pub(super) processor_own: f64,
    /// How many runs that took.
    pub(super) runs_installing: f64,
    /// The most that was resident meanwhile, all processes.
    pub(super) peak_installing: f64,
    /// The most processes meanwhile.
    pub(super) most_processes: f64,
    /// What followed the deletion of an object that a run had made.
    pub(super) drift: Drift,
    /// Wall time of installing the resources that are settled then.
    pub(super) installing_settled: f64,
    /// Resident when they are, all processes.
    pub(super) resident_settled: f64,
    /// Runs while they are.
    pub(super) runs_settled: f64,
    /// Requests meanwhile.
    pub(super) requests_settled: f64,
    /// Processor time of all processes meanwhile.
    pub(super) processor_settled: f64,
}

/// Installs resources, then deletes some of their objects, and leaves nothing.
pub(super) async fn install(
    rig: &Rig,
    candidate: &Candidate,
    arguments: &Arguments,
    figures: &mut Figures,
) -> Result<()> {
    let installs = arguments.installs;
    rig.say(candidate.name, "starts");
    let running = candidate.start(&FLAGS).await?;
    rig.wait_quiet(candidate).await?;
    figures.resident_at_start = running.tree()?.resident;

    // What is paid once: discovery, the watches of the kinds, Python's bytecode.
    candidate.create(rig, WEB, 0..1, spec).await?;
    candidate.wait(rig, WEB, CONDITION, 1).await?;
    rig.wait_quiet(candidate).await?;
    let (before, own_before) = (running.tree()?, running.usage()?);
    let runs_before = runs::of(candidate, WEB);

    rig.say(candidate.name, &format!("installs {installs} resources"));
    let sampler = running.sample();
    let begun = Instant::now();
    candidate.create(rig, WEB, 1..installs + 1, spec).await?;
    candidate.wait(rig, WEB, CONDITION, installs + 1).await?;
    figures.installs = installs as f64;
    figures.installing = begun.elapsed().as_secs_f64();
    rig.wait_quiet(candidate).await?;
    let peak = sampler.stop()?;
    figures.processor_installing = running.tree()?.processor - before.processor;
    let own = running.usage()?.processor - own_before.processor;
    figures.processor_own = own + peak.processor_of_helpers();
    figures.runs_installing = runs::since(&runs_before, candidate, WEB) as f64;
    figures.peak_installing = peak.resident;
    figures.most_processes = peak.processes as f64;

    figures.drift = drift::measure(rig, candidate, arguments.deletions.min(installs)).await?;
    candidate.delete_all(rig, WEB).await?;
    rig.wait_quiet(candidate).await?;
    running.stop().await
}

/// Installs the resources that are watched while nothing happens to them.
pub(super) async fn settle(
    rig: &Rig,
    candidate: &Candidate,
    resources: usize,
    settled: Duration,
    figures: &mut Figures,
) -> Result<()> {
    rig.say(
        candidate.name,
        &format!("installs {resources} resources beside objects of others"),
    );
    let running = candidate.start(&FLAGS).await?;
    let begun = Instant::now();
    candidate.create(rig, SETTINGS, 0..resources, spec).await?;
    candidate.wait(rig, SETTINGS, CONDITION, resources).await?;
    figures.installing_settled = begun.elapsed().as_secs_f64();
    rig.wait_quiet(candidate).await?;

    rig.say(candidate.name, &format!("is watched at rest for {settled:?}"));
    let mark = rig.mark().await?;
    let before = running.tree()?;
    let runs_before = runs::of(candidate, SETTINGS);
    tokio::time::sleep(settled).await;
    let after = running.tree()?;
    figures.resident_settled = after.resident;
    figures.processor_settled = after.processor - before.processor;
    figures.runs_settled = runs::since(&runs_before, candidate, SETTINGS) as f64;
    let requests = rig.requests_since(mark, candidate.user.name()).await?;
    // A watch that the server ends after its time and that is opened again concerns no resource.
    figures.requests_settled = requests.filter(|request| request.verb != "watch").len() as f64;
    running.stop().await
}

/// Another one for each resource.
fn spec(name: &str) -> Value {
    json!({"messageText": format!("this is {name}")})
}
