//! The control plane that everything is measured on, and a chart that is neither side's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use kube::Client;
use steersman_testkit::cluster::{AuditLog, AuditMark, TestCluster};

/// A control plane with a chart of `helm create`.
pub(crate) struct Rig {
    pub(crate) cluster: TestCluster,
    pub(crate) client: Client,
    /// The chart of `helm create`: a service account, a Service and a Deployment.
    pub(crate) chart: PathBuf,
    /// A chart with a Secret and a config map, so that operators watch those kinds, too.
    pub(crate) settings_chart: PathBuf,
    started: Instant,
}

impl Rig {
    pub(crate) async fn start() -> Result<Self> {
        let started = Instant::now();
        let cluster = tokio::task::spawn_blocking(TestCluster::start).await??;
        let client = cluster.client().await?;
        let charts = cluster.folder().join("charts");
        fs::create_dir_all(&charts)?;
        let chart = charts.join("bench");
        cluster.helm(&["create", &chart.to_string_lossy()]).await?;
        let settings_chart = charts.join("settings");
        write_settings_chart(&settings_chart).context("failed to write a chart")?;
        Ok(Self {
            cluster,
            client,
            chart,
            settings_chart,
            started,
        })
    }

    /// Tells how far the measurement is.
    pub(crate) fn say(&self, who: &str, what: &str) {
        eprintln!("{:6.1} s  {who}: {what}", self.started.elapsed().as_secs_f32());
    }

    pub(crate) async fn mark(&self) -> Result<AuditMark> {
        Ok(self.cluster.audit_mark().await?)
    }

    /// What a user has asked of the API server since then.
    pub(crate) async fn requests_since(&self, mark: AuditMark, user: &str) -> Result<AuditLog> {
        Ok(self.cluster.audit_since(mark).await?.by_user(user))
    }
}

fn write_settings_chart(folder: &Path) -> std::io::Result<()> {
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
