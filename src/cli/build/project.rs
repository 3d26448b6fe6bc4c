//! The files of a project that go into its image.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use steersman_chart::Chart;
use steersman_image::{HOME, Tree};
use steersman_model::Environment;
use steersman_watches::Watches;

use crate::cli::Failure;

type Files = BTreeMap<String, Arc<[u8]>>;

/// Where the operator looks for its watches.
const WATCHES: &str = "watches.yaml";

/// The watches and the charts that they name, as they lie in the operator's home folder. Both are checked as the operator
/// checks them at its start.
pub(super) fn read(watches_file: &Path, environment: &Environment) -> Result<Tree, Failure> {
    let watches = Watches::load(watches_file, environment)?;
    let mut files = Files::new();
    for watch in &watches {
        add_chart(&watch.chart_path, &mut files)?;
    }
    let text = fs::read(watches_file)
        .with_context(|| format!("failed to read watches file `{}`", watches_file.display()))?;
    files.insert(WATCHES.to_owned(), text.into());
    let mut tree = Tree::default();
    for (path, content) in files {
        let put = tree.file(&format!("{HOME}/{path}"), content);
        put.map_err(|error| Failure::usage(error, None))?;
    }
    Ok(tree)
}

/// Adds the files of a chart: those that make it, or its archive as it is.
fn add_chart(chart: &Path, files: &mut Files) -> Result<(), Failure> {
    let place = place(chart)?;
    let failed = || format!("failed to read the chart `{}`", chart.display());
    if chart.is_file() {
        let content = fs::read(chart).with_context(failed)?;
        files.insert(place, content.into());
        return Ok(());
    }
    let read = Chart::read_files(chart).with_context(failed)?;
    files.extend(
        read.into_iter()
            .map(|(name, content)| (format!("{place}/{name}"), content)),
    );
    Ok(())
}

/// Where a chart lies in the operator's home folder: where it lies in the project.
fn place(chart: &Path) -> Result<String, Failure> {
    let outside = || {
        Failure::usage(
            anyhow!("the chart `{}` is not in the working directory", chart.display()),
            Some("an image holds what is below the working directory: start in the project's folder, and name charts \
                 by paths from there"
                .to_owned()),
        )
    };
    let mut parts = Vec::new();
    for component in chart.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(outside)?),
            _ => return Err(outside()),
        }
    }
    let project = fs::canonicalize(".").context("failed to find the working directory")?;
    let target =
        fs::canonicalize(chart).with_context(|| format!("failed to find the chart `{}`", chart.display()))?;
    if parts.is_empty() || !target.starts_with(project) {
        return Err(outside());
    }
    Ok(parts.join("/"))
}
