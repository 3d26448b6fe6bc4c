//! What a rendering depends on, besides the chart.

use std::fmt;

use steersman_gotemplate::{Limits, World};

use crate::capabilities::Capabilities;
use crate::release::ReleaseInfo;
use crate::values::Values;

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
    /// Asked from time to time whether the rendering has lasted too long.
    pub expired: Option<&'a dyn Fn() -> bool>,
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
