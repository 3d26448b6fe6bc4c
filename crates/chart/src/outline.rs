//! A chart and its subcharts, as far as they describe their values.

use std::sync::Arc;

use crate::chart::Chart;
use crate::dependencies::{Candidates, Enabled};
use crate::source::Source;
use crate::values::Values;

/// What a chart says about its values, with its subcharts under the names that values have for them.
///
/// All subcharts are there, whatever conditions and tags make of them.
///
/// ```
/// use steersman_chart::Chart;
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("charts/database/Chart.yaml", b"{apiVersion: v2, name: database, version: 2.0.0}"),
///     ("charts/database/values.yaml", b"size: 1Gi"),
/// ])?;
/// let outline = chart.outline();
/// let database = &outline.subcharts()[0];
/// assert_eq!(database.name(), "database");
/// assert_eq!(database.values()["size"], "1Gi");
/// # Ok::<(), steersman_chart::LoadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outline {
    source: Arc<Source>,
    name: String,
    subcharts: Vec<Outline>,
}

impl Chart {
    /// What this chart and its subcharts say about their values.
    pub fn outline(&self) -> Outline {
        Outline::of_candidates(&Candidates::new(self.source()))
    }
}

impl Outline {
    fn of_candidates(candidates: &Candidates) -> Self {
        let (chart, chosen) = candidates.parts();
        let subcharts = if chosen.is_empty() {
            chart.dependencies.iter().map(Self::of_enabled).collect()
        } else {
            chosen.iter().map(Self::of_candidates).collect()
        };
        Self {
            source: Arc::clone(&chart.source),
            name: chart.name.clone(),
            subcharts,
        }
    }

    fn of_enabled(chart: &Enabled) -> Self {
        Self {
            source: Arc::clone(&chart.source),
            name: chart.name.clone(),
            subcharts: chart.dependencies.iter().map(Self::of_enabled).collect(),
        }
    }

    /// The key of the chart in its parent's values: its alias, or else its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `values.yaml` as it is.
    pub fn values_file(&self) -> Option<&[u8]> {
        self.source.values_file.as_deref()
    }

    /// `values.schema.json` as it is.
    pub fn schema(&self) -> Option<&[u8]> {
        self.source.schema.as_deref()
    }

    /// `values.yaml`, read.
    pub fn values(&self) -> &Values {
        &self.source.values
    }

    /// The templates: their paths in the chart, and their texts. What is not UTF-8 is left out.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.source.templates.iter();
        files.filter_map(|file| Some((file.name.as_str(), std::str::from_utf8(&file.content).ok()?)))
    }

    /// The charts in `charts/`.
    pub fn subcharts(&self) -> &[Outline] {
        &self.subcharts
    }
}
