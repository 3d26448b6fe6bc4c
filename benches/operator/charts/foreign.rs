//! Whether operators grow with objects that are not theirs.

use anyhow::Result;

use super::phases::Figures;
use super::{CONDITION, SETTINGS};
use crate::candidate::{Candidate, Running, WITHOUT_PERIOD};
use crate::cluster::Rig;
use crate::others::{self, CONFIG_MAP, DEPLOYMENT, SECRET};

/// Measures all candidates at once, before and after so many objects of others were made, and started anew.
pub(super) async fn measure(rig: &Rig, all: &mut [(Candidate, Figures)], count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut running = start_all(rig, all).await?;
    for (candidate, _) in all.iter() {
        candidate.create(rig, SETTINGS, 0..1, super::phases::spec).await?;
        candidate.wait(rig, SETTINGS, CONDITION, 1).await?;
        rig.wait_quiet(candidate).await?;
    }
    for ((_, figures), running) in all.iter_mut().zip(&running) {
        figures.resident_foreign.0 = running.usage()?.resident;
    }
    others::make(rig, &[SECRET, CONFIG_MAP, DEPLOYMENT], count).await?;
    for ((candidate, figures), running) in all.iter_mut().zip(running.drain(..)) {
        rig.wait_quiet(candidate).await?;
        figures.resident_foreign.1 = running.usage()?.resident;
        running.stop().await?;
    }
    let running = start_all(rig, all).await?;
    for ((candidate, figures), running) in all.iter_mut().zip(running) {
        rig.wait_quiet(candidate).await?;
        let usage = running.usage()?;
        figures.restarted_foreign = (usage.resident, usage.peak);
        running.stop().await?;
    }
    Ok(())
}

async fn start_all(rig: &Rig, all: &[(Candidate, Figures)]) -> Result<Vec<Running>> {
    let mut running = Vec::new();
    for (candidate, _) in all {
        rig.say(candidate.name, "starts beside objects of others");
        running.push(candidate.start(&[WITHOUT_PERIOD]).await?);
        rig.wait_quiet(candidate).await?;
    }
    Ok(running)
}
