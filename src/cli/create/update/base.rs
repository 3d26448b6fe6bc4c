//! What a chart of the project was made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use steersman_model::Environment;
use steersman_project::layout::{Files, ProjectFile};

use super::{Target, chart_name, chart_on_disk};
use crate::cli::Failure;
use crate::cli::create::ApiArgs;
use crate::cli::scaffold::{Fetched, digest, wrong};

/// The chart that the project was made of, or updated to: what is there, where nobody has edited it; else its version from
/// where the newer one comes from.
pub(super) fn base(
    target: &Target,
    shared: &Files,
    ours: &BTreeMap<String, Vec<u8>>,
    theirs: &Fetched,
    arguments: &ApiArgs,
    environment: &Environment,
) -> Result<Fetched, Failure> {
    if let Some(path) = &arguments.update.base_chart {
        return Fetched::of(chart_on_disk(path)?);
    }
    let text = shared.get("PROJECT").map_or("", String::as_str);
    let recorded = ProjectFile::parse(text)
        .ok()
        .and_then(|file| file.chart_digest(chart_name(&target.chart)).map(str::to_owned));
    let is_recorded = |files: &BTreeMap<String, Vec<u8>>| recorded.as_ref() == Some(&digest(files));
    for files in [ours, &theirs.files] {
        if is_recorded(files) {
            return Fetched::of(files.clone());
        }
    }
    let own = Fetched::of(ours.clone())?.chart;
    let source = arguments.source.at_version(own.version());
    let found = source.and_then(|source| source.fetch(Path::new("."), environment).ok().flatten());
    let is_it = |found: &Fetched| {
        let is_named_so = (found.chart.name(), found.chart.version()) == (own.name(), own.version());
        is_named_so && (recorded.is_none() || is_recorded(&found.files))
    };
    if let Some(found) = found.filter(is_it) {
        return Ok(found);
    }
    let mut problem = if recorded.is_some() {
        format!(
            "files of {} were edited since the chart came into the project",
            target.chart
        )
    } else {
        format!("PROJECT does not say what {} was made of", target.chart)
    };
    let _ = write!(
        problem,
        ", and {} {} is not where the newer one is",
        own.name(),
        own.version()
    );
    Err(wrong(
        problem,
        &format!(
            "name the chart that it was made of with --base-chart, so that edits can be told from it; where there are \
             none, that is --base-chart {}",
            target.chart
        ),
    ))
}
