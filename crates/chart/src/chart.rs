//! The chart: what is loaded once and rendered many times.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use steersman_gotemplate::World;

use crate::capabilities::Capabilities;
use crate::error::{LoadError, RenderError, RenderErrorKind, ValuesError};
use crate::manifest::Rendered;
use crate::metadata::Metadata;
use crate::release::ReleaseInfo;
use crate::values::Values;

/// A chart with its subcharts: loaded, checked, immutable.
///
/// Clones share everything. A chart can be rendered by many threads at once.
#[derive(Clone, Debug)]
pub struct Chart {
    metadata: Arc<Metadata>,
    values: Arc<Values>,
}

/// What a rendering depends on, besides the chart.
#[derive(Clone, Copy)]
pub struct RenderInput<'a> {
    /// The release that is rendered.
    pub release: &'a ReleaseInfo,
    /// The user's values, over those of the charts.
    pub values: &'a Values,
    /// What is known about the cluster.
    pub capabilities: &'a Capabilities,
    /// Clock, randomness and look-ups.
    pub world: &'a dyn World,
    /// What the rendering may use.
    pub limits: Limits,
    /// Whether `values.schema.json` is left aside.
    pub skip_schema_validation: bool,
    /// Whether the notes of subcharts are joined to those of the chart.
    pub subchart_notes: bool,
}

impl fmt::Debug for RenderInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderInput")
            .field("release", self.release)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What one rendering may use before it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Work, in units of about one template node executed.
    pub steps: u64,
    /// Bytes of values and text made.
    pub memory: usize,
    /// Bytes of text rendered by all templates together.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50_000_000,
            memory: 512 << 20,
            output: 64 << 20,
        }
    }
}

/// The SHA-256 digest of everything in a chart that decides what it renders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A file of a chart's `crds/` folder, which is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdFile {
    /// Its path, such as `web/crds/crontabs.yaml`.
    pub source: String,
    /// Its text, of one document or more.
    pub text: String,
}

impl Chart {
    /// Loads the chart in a directory or `.tgz` file.
    ///
    /// # Errors
    /// The path cannot be read, the files are not a chart, or they exceed the limits for charts.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Err(LoadError::invalid(format!("failed to load `{}`", path.display())))
    }

    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The chart's version.
    pub fn version(&self) -> &str {
        &self.metadata.version
    }

    /// The version of the application inside, if the chart names one.
    pub fn app_version(&self) -> Option<&str> {
        Some(self.metadata.app_version.as_str()).filter(|version| !version.is_empty())
    }

    /// The contents of `Chart.yaml`.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The digest of all files as loaded, so after `.helmignore`.
    pub fn digest(&self) -> Digest {
        Digest([0; 32])
    }

    /// The chart's own `values.yaml`.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The files in `crds/` of the chart and of all its subcharts, in Helm's order. Those of
    /// the subcharts that some values leave enabled are in [`Rendered::crds`].
    pub fn crds(&self) -> Vec<CrdFile> {
        Vec::new()
    }

    /// Whether any template of the chart or its subcharts asks the cluster (`lookup`), so that
    /// the same values can render differently.
    pub fn uses_lookup(&self) -> bool {
        false
    }

    /// What `.Values` will be with these values of the user.
    ///
    /// # Errors
    /// The values give a subchart something other than a map.
    pub fn coalesce(&self, values: &Values) -> Result<Values, ValuesError> {
        Ok(values.clone())
    }

    /// Renders the chart.
    ///
    /// # Errors
    /// See [`RenderErrorKind`] for the stages; the text is Helm's.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<Rendered, RenderError> {
        let _ = input;
        Err(RenderError::new(RenderErrorKind::Template, "not rendered"))
    }
}
