//! Charts that are neither side's own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cluster::Rig;

/// The chart of `helm create`, with a service account, a Service and a Deployment.
pub(super) async fn created(rig: &Rig) -> Result<PathBuf> {
    let chart = charts(rig)?.join("bench");
    rig.cluster.helm(&["create", &chart.to_string_lossy()]).await?;
    Ok(chart)
}

/// A chart with a Secret and a config map, so that operators watch those kinds, too.
pub(super) fn settings(rig: &Rig) -> Result<PathBuf> {
    let chart = charts(rig)?.join("settings");
    write_settings(&chart).context("failed to write a chart")?;
    Ok(chart)
}

fn charts(rig: &Rig) -> Result<PathBuf> {
    let charts = rig.cluster.folder().join("charts");
    fs::create_dir_all(&charts)?;
    Ok(charts)
}

fn write_settings(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("templates"))?;
    fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: settings\nversion: 0.1.0\n",
    )?;
    fs::write(folder.join("values.yaml"), "{}\n")?;
    let object = |kind: &str, field: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {{{{ .Release.Name }}}}-settings\n{field}:\n  a: b\n"
        )
    };
    fs::write(
        folder.join("templates/secret.yaml"),
        object("Secret", "stringData"),
    )?;
    fs::write(
        folder.join("templates/configmap.yaml"),
        object("ConfigMap", "data"),
    )
}
