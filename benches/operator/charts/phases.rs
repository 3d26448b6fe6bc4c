//! What is measured of an operator that runs alone.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::{BENCH, CONDITION};
use crate::candidate::{Candidate, Kind, Running, WITHOUT_PERIOD};
use crate::cluster::{QUIET, Rig};
use crate::healing::{self, BACK_WITHIN, MOST_MISSING};
use crate::others::DEPLOYMENT;

/// How many objects are deleted, one after the other, each of another resource.
const DELETIONS: usize = 21;

/// Memory in MB, times in seconds, all requests with those of watches and discovery.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// How many there are.
    pub(super) resources: f64,
    /// Resident after the start, without a resource.
    pub(super) resident_at_start: f64,
    /// Wall time from the first resource to the last release.
    pub(super) installing: f64,
    /// Processor time of all installs.
    pub(super) processor_installing: f64,
    /// Requests of all installs.
    pub(super) requests_installing: usize,
    /// Resident when all was installed and quiet.
    pub(super) resident_installed: f64,
    /// The most that was resident until then.
    pub(super) peak_installing: f64,
    /// From the deletion of an object to the next of its name, in order; what did not come is left out.
    pub(super) healing: Vec<f64>,
    /// From the start of the process until every resource was reconciled.
    pub(super) restarting: f64,
    /// Processor time until then.
    pub(super) processor_restarting: f64,
    /// Requests until then that read.
    pub(super) reads_restarting: usize,
    /// Requests until then that write; events are not counted.
    pub(super) writes_restarting: usize,
    /// The most memory until then.
    pub(super) peak_restarting: f64,
    /// How long the settled operator was watched.
    pub(super) settled: f64,
    /// Requests meanwhile.
    pub(super) requests_settled: usize,
    /// Processor time meanwhile.
    pub(super) processor_settled: f64,
    /// Resident afterwards.
    pub(super) resident_settled: f64,
    /// Resident before and after there were the objects of others.
    pub(super) resident_foreign: (f64, f64),
    /// Resident, and the peak, of one started when they were there.
    pub(super) restarted_foreign: (f64, f64),
}

/// Installs all resources, then deletes some of their objects.
pub(super) async fn install(
    rig: &Rig,
    candidate: &Candidate,
    resources: usize,
    figures: &mut Figures,
) -> Result<()> {
    rig.say(candidate.name, "starts");
    let running = candidate.start(&[WITHOUT_PERIOD]).await?;
    rig.wait_quiet(candidate).await?;
    figures.resident_at_start = running.usage()?.resident;

    // What is paid once: discovery, and the watches of the kinds.
    candidate.create(rig, BENCH, 0..1, spec).await?;
    candidate.wait(rig, BENCH, CONDITION, 1).await?;
    rig.wait_quiet(candidate).await?;
    let before = running.usage()?;

    rig.say(candidate.name, &format!("installs {resources} resources"));
    let mark = rig.mark().await?;
    let begun = Instant::now();
    candidate.create(rig, BENCH, 1..resources + 1, spec).await?;
    candidate.wait(rig, BENCH, CONDITION, resources + 1).await?;
    figures.installing = begun.elapsed().as_secs_f64();
    rig.wait_quiet(candidate).await?;
    let after = running.usage()?;
    figures.processor_installing = after.processor - before.processor;
    figures.requests_installing = rig.requests_since(mark, candidate.user.name()).await?.len();
    figures.resident_installed = after.resident;
    figures.peak_installing = after.peak;

    let deletions = DELETIONS.min(resources);
    rig.say(candidate.name, &format!("{deletions} objects are deleted"));
    figures.healing = heal(rig, candidate, deletions).await?;
    // What it has to say of that is not to be told by the next process.
    rig.wait_quiet(candidate).await?;
    running.stop().await
}

/// Stops it and starts it again with its own period, then watches it while nothing happens.
pub(super) async fn restart(
    rig: &Rig,
    candidate: &Candidate,
    resources: usize,
    settled: Duration,
    figures: &mut Figures,
) -> Result<()> {
    rig.say(candidate.name, "starts again");
    let mark = rig.mark().await?;
    let begun = Instant::now();
    let running = candidate.start(&[]).await?;
    running.wait_reconciled(resources).await?;
    figures.restarting = begun.elapsed().as_secs_f64();
    let usage = running.usage()?;
    figures.processor_restarting = usage.processor;
    figures.peak_restarting = usage.peak;
    let requests = rig.requests_since(mark, candidate.user.name()).await?;
    let writes = requests.writes().filter(|request| request.resource != "events");
    figures.writes_restarting = writes.len();
    if !writes.is_empty() {
        rig.say(candidate.name, &format!("writes when it starts:\n{writes}"));
    }
    figures.reads_restarting = requests.len() - requests.writes().len();

    settle(rig, candidate, &running, settled, figures).await?;
    running.stop().await
}

async fn settle(
    rig: &Rig,
    candidate: &Candidate,
    running: &Running,
    settled: Duration,
    figures: &mut Figures,
) -> Result<()> {
    // What follows a start at once is not rest.
    tokio::time::sleep(QUIET).await;
    rig.say(candidate.name, &format!("is watched at rest for {settled:?}"));
    let mark = rig.mark().await?;
    let before = running.usage()?;
    let begun = Instant::now();
    tokio::time::sleep(settled).await;
    let after = running.usage()?;
    figures.settled = begun.elapsed().as_secs_f64();
    figures.processor_settled = after.processor - before.processor;
    figures.resident_settled = after.resident;
    let requests = rig.requests_since(mark, candidate.user.name()).await?;
    // A watch that the server ends after its time and that is opened again concerns no resource.
    figures.requests_settled = requests.filter(|request| request.verb != "watch").len();
    Ok(())
}

/// Another one for each resource.
pub(super) fn spec(name: &str) -> Value {
    json!({"podAnnotations": {"example.com/resource": name}})
}

async fn heal(rig: &Rig, candidate: &Candidate, deletions: usize) -> Result<Vec<f64>> {
    let kind = |kind, plural| Kind { kind, plural };
    let kinds = [
        candidate.objects(rig, "", kind("ServiceAccount", "serviceaccounts")),
        candidate.objects(rig, "", kind("Service", "services")),
        candidate.objects(rig, "apps", DEPLOYMENT),
    ];
    let mut times = Vec::new();
    let mut missing = 0;
    for (number, objects) in kinds.iter().cycle().take(deletions).enumerate() {
        if missing == MOST_MISSING {
            rig.say(candidate.name, "leaves objects deleted; no others are tried");
            break;
        }
        let name = format!("web-{number}-bench");
        if let Some(time) = healing::delete(objects, &name).await? {
            times.push(time);
        } else {
            missing += 1;
            rig.say(
                candidate.name,
                &format!("{name} is not back after {BACK_WITHIN:?}"),
            );
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
