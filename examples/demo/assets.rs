//! The programs of the control plane.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use steersman_testkit::cluster::{Assets, ControlPlane};

/// A folder with the programs that the demo needs: Helm is none of them. What is missing is built, and progress goes to
/// standard error.
pub(crate) fn find_or_build() -> Result<Assets> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("build/control-plane.sh");
    let output = Command::new(&script)
        .args(["--of", "demo"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to run {}", script.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let folder = text.lines().last().unwrap_or_default();
    ensure!(
        output.status.success() && !folder.is_empty(),
        "the control plane can't be built"
    );
    Ok(Assets::at(Path::new(folder)))
}

/// The folder of kubectl or Helm, where they are not on the path.
pub(crate) fn folder(cluster: &ControlPlane) -> Option<PathBuf> {
    let admin = cluster.admin();
    [cluster.kubectl_command(admin), cluster.helm_command(admin)]
        .iter()
        .filter_map(|command| Path::new(command.get_program()).parent())
        .find(|folder| !folder.as_os_str().is_empty())
        .map(Path::to_path_buf)
}

/// Whether Helm is here: beside the other programs, where the tests have built it, or installed.
pub(crate) async fn has_helm(cluster: &ControlPlane) -> bool {
    cluster.helm(&["version"]).await.is_ok()
}
