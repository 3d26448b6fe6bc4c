//! Releases of charts: Steersman beside the Go helm-operator.

mod chart;
mod foreign;
mod phases;
mod rows;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::Common;
use crate::candidate::{Candidate, Kind};
use crate::cluster::Rig;
use crate::report::{self, Page};
use phases::Figures;

/// Releases of the chart of `helm create`.
const BENCH: Kind = Kind {
    kind: "Bench",
    plural: "benches",
};

/// A release with a Secret and a config map.
const SETTINGS: Kind = Kind {
    kind: "Settings",
    plural: "settings",
};

/// What both operators say of a resource whose release is there.
const CONDITION: &str = "Deployed";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    /// How many Secrets, how many config maps and how many Deployments of others there are, of 10 kB each
    #[arg(long, default_value_t = 10_000)]
    foreign: usize,
}

/// Measures one operator after the other, and gives the page that says what came out.
pub(crate) async fn measure(rig: &Rig, arguments: &Arguments) -> Result<String> {
    let Common {
        steersman,
        peer,
        resources,
        ..
    } = &arguments.common;
    let charts = [chart::created(rig).await?, chart::settings(rig)?];
    let charts = charts.map(|chart| format!("chart: {}", chart.display()));
    let mut all = vec![measure_alone(rig, "steersman", steersman, &charts, arguments).await?];
    if let Some(peer) = peer {
        all.push(measure_alone(rig, "helm-operator", peer, &charts, arguments).await?);
    }
    foreign::measure(rig, &mut all, arguments.foreign).await?;

    let foreign = arguments.foreign;
    let page = Page {
        title: "The operator, measured",
        target: "bench-operator",
        peer: "helm-operator",
        variable: "HELM_OPERATOR",
        conditions: format!(
            "Kubernetes {}; {resources} resources of a chart of `helm create`; objects of others: {foreign} Secrets, {foreign} \
             ConfigMaps and {foreign} Deployments of 10 kB.",
            rig.kubernetes().await?
        ),
    };
    let figures: Vec<&Figures> = all.iter().map(|(_, figures)| figures).collect();
    Ok(report::page(&page, &rows::ROWS, &figures))
}

/// Everything that one operator is measured at while no other runs.
async fn measure_alone(
    rig: &Rig,
    name: &'static str,
    binary: &Path,
    [bench, settings]: &[String; 2],
    arguments: &Arguments,
) -> Result<(Candidate, Figures)> {
    let kinds = [(BENCH, bench.clone()), (SETTINGS, settings.clone())];
    let candidate = Candidate::prepare(rig, name, binary, &kinds)
        .await
        .with_context(|| format!("failed to prepare {name}"))?;
    let Common {
        resources, settled, ..
    } = arguments.common;
    let mut figures = Figures {
        resources: resources as f64,
        ..Figures::default()
    };
    phases::install(rig, &candidate, resources, &mut figures).await?;
    let settled = Duration::from_secs(settled);
    phases::restart(rig, &candidate, resources, settled, &mut figures).await?;
    Ok((candidate, figures))
}
