//! What is measured of an operator that runs alone.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, WatchEvent, WatchParams};
use steersman_testkit::cluster::AuditLog;

use crate::candidate::{Candidate, Running};
use crate::cluster::Rig;

/// So long without a request means that an operator has nothing to do.
const QUIET: Duration = Duration::from_secs(5);

/// How long an operator may take to become quiet.
const QUIET_WITHIN: Duration = Duration::from_mins(5);

/// How many objects are deleted, one after the other, each of another resource.
const DELETIONS: usize = 21;

/// After so many objects that did not come back, no more are deleted.
const MOST_MISSING: usize = 3;

/// How long an object may take to come back.
const BACK_WITHIN: Duration = Duration::from_secs(20);

/// No resource is looked at again by the clock alone.
pub(crate) const WITHOUT_PERIOD: &str = "--reconcile-period=24h";

/// Memory in MB, times in seconds, all requests with those of watches and discovery.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Resident after the start, without a resource.
    pub(crate) resident_at_start: f64,
    /// Wall time from the first resource to the last release.
    pub(crate) installing: f64,
    /// Processor time of all installs.
    pub(crate) processor_installing: f64,
    /// Requests of all installs.
    pub(crate) requests_installing: usize,
    /// Resident when all was installed and quiet.
    pub(crate) resident_installed: f64,
    /// The most that was resident until then.
    pub(crate) peak_installing: f64,
    /// From the deletion of an object to the next of its name, in order; what did not come is left out.
    pub(crate) healing: Vec<f64>,
    /// From the start of the process until every resource was reconciled.
    pub(crate) restarting: f64,
    /// Processor time until then.
    pub(crate) processor_restarting: f64,
    /// Requests until then that read.
    pub(crate) reads_restarting: usize,
    /// Requests until then that write; events are not counted.
    pub(crate) writes_restarting: usize,
    /// The most memory until then.
    pub(crate) peak_restarting: f64,
    /// How long the settled operator was watched.
    pub(crate) settled: f64,
    /// Requests meanwhile.
    pub(crate) requests_settled: usize,
    /// Processor time meanwhile.
    pub(crate) processor_settled: f64,
    /// Resident afterwards.
    pub(crate) resident_settled: f64,
    /// Resident before and after there were the objects of others.
    pub(crate) resident_foreign: (f64, f64),
    /// Resident, and the peak, of one started when they were there.
    pub(crate) restarted_foreign: (f64, f64),
}

/// Installs all resources, then deletes some of their objects.
pub(crate) async fn install(
    rig: &Rig,
    candidate: &Candidate,
    resources: usize,
    figures: &mut Figures,
) -> Result<()> {
    rig.say(candidate.name, "starts");
    let running = candidate.start(&[WITHOUT_PERIOD]).await?;
    wait_quiet(rig, candidate).await?;
    figures.resident_at_start = running.usage()?.resident;

    // What is paid once: discovery, and the watches of the kinds.
    candidate.create(rig, 0..1).await?;
    candidate.wait_all_deployed(rig, 1).await?;
    wait_quiet(rig, candidate).await?;
    let before = running.usage()?;

    rig.say(candidate.name, &format!("installs {resources} resources"));
    let mark = rig.mark().await?;
    let begun = Instant::now();
    candidate.create(rig, 1..resources + 1).await?;
    candidate.wait_all_deployed(rig, resources + 1).await?;
    figures.installing = begun.elapsed().as_secs_f64();
    wait_quiet(rig, candidate).await?;
    let after = running.usage()?;
    figures.processor_installing = after.processor - before.processor;
    figures.requests_installing = rig.requests_since(mark, candidate.user.name()).await?.len();
    figures.resident_installed = after.resident;
    figures.peak_installing = after.peak;

    let deletions = DELETIONS.min(resources);
    rig.say(candidate.name, &format!("{deletions} objects are deleted"));
    figures.healing = heal(rig, candidate, deletions).await?;
    // What it has to say of that is not to be told by the next process.
    wait_quiet(rig, candidate).await?;
    running.stop().await
}

/// Stops it and starts it again with its own period, then watches it while nothing happens.
pub(crate) async fn restart(
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

/// Returns when the operator has not asked for anything for a while.
pub(crate) async fn wait_quiet(rig: &Rig, candidate: &Candidate) -> Result<()> {
    let begun = Instant::now();
    loop {
        let mark = rig.mark().await?;
        tokio::time::sleep(QUIET).await;
        let requests: AuditLog = rig.requests_since(mark, candidate.user.name()).await?;
        if requests.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > QUIET_WITHIN {
            rig.say(candidate.name, &format!("is never quiet:\n{requests}"));
            return Ok(());
        }
    }
}

async fn heal(rig: &Rig, candidate: &Candidate, deletions: usize) -> Result<Vec<f64>> {
    let kinds = [
        candidate.objects(rig, "", "ServiceAccount", "serviceaccounts"),
        candidate.objects(rig, "", "Service", "services"),
        candidate.objects(rig, "apps", "Deployment", "deployments"),
    ];
    let mut times = Vec::new();
    let mut missing = 0;
    for (number, objects) in kinds.iter().cycle().take(deletions).enumerate() {
        if missing == MOST_MISSING {
            rig.say(candidate.name, "leaves objects deleted; no others are tried");
            break;
        }
        let name = format!("web-{number}-bench");
        if let Ok(time) = tokio::time::timeout(BACK_WITHIN, back(objects, &name)).await {
            let time = time.with_context(|| format!("failed to delete {name}"))?;
            times.push(time.as_secs_f64());
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

/// Deletes an object and returns after how long the next of its name was there.
async fn back(objects: &Api<DynamicObject>, name: &str) -> Result<Duration> {
    let name_is = format!("metadata.name={name}");
    // The object's own version may be too old for the server to remember what followed.
    let found = objects
        .list_metadata(&ListParams::default().fields(&name_is))
        .await?;
    let version = found.metadata.resource_version.unwrap_or_default();
    let selector = WatchParams::default().fields(&name_is);
    let mut events = objects.watch(&selector, &version).await?.boxed();
    let begun = Instant::now();
    objects.delete(name, &DeleteParams::default()).await?;
    while let Some(event) = events.try_next().await? {
        if matches!(event, WatchEvent::Added(_)) {
            return Ok(begun.elapsed());
        }
    }
    anyhow::bail!("the watch has ended")
}
