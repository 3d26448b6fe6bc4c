//! Whether what is on disk can be used.

use std::path::Path;

use steersman_chart::{
    Capabilities, Chart, Limits, Operation, ReleaseInfo, RenderErrorKind, RenderInput, Values,
};
use steersman_model::Environment;
use steersman_watches::world::{RENDER_TIMEOUT, SystemWorld};
use steersman_watches::{Watches, WatchesError};

/// Everything as it is on disk now, or what is wrong with it.
pub(super) fn load(file: &Path, environment: &Environment) -> Result<Watches, String> {
    let watches = Watches::load(file, environment).map_err(|error| match error {
        WatchesError::Read { .. } => steersman_model::chain(&error),
        WatchesError::Invalid { .. } => error.to_string(),
    })?;
    for watch in &watches {
        check_templates(&watch.chart)?;
    }
    Ok(watches)
}

/// Templates are parsed by the first rendering. One with nothing but the defaults may fail for many reasons, of which
/// a template that does not parse is the only one that no values cure.
fn check_templates(chart: &Chart) -> Result<(), String> {
    let release = ReleaseInfo {
        name: "release-name".to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    let started = std::time::Instant::now();
    let rendered = chart.render(&RenderInput {
        release: &release,
        values: &Values::new(),
        capabilities: &Capabilities::default(),
        world: &SystemWorld,
        limits: Limits::default(),
        expired: Some(&|| started.elapsed() > RENDER_TIMEOUT),
        skip_schema_validation: true,
        subchart_notes: false,
    });
    match rendered {
        Err(error) if error.kind() == RenderErrorKind::Parse => {
            Err(format!("chart `{}`: {error}", chart.name()))
        }
        _ => Ok(()),
    }
}
