//! Where the programs of the control plane are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::{ControlPlaneError, io_failed};
use crate::environment;

/// A folder with etcd, kube-apiserver, kube-controller-manager and helm, and kubectl unless one is on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// A folder that the caller knows to have the programs.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    /// The folder of `KUBEBUILDER_ASSETS` if it has all programs, else the one that `build/control-plane.sh` built.
    ///
    /// # Errors
    ///
    /// [`ControlPlaneError::AssetsMissing`] says what is missing and how to get it.
    pub fn find() -> Result<Self, ControlPlaneError> {
        Self::ask_script(&["--find"], Stdio::piped())
    }

    /// Like [`Assets::find`], but builds what is missing. That takes minutes; progress goes to standard error.
    ///
    /// # Errors
    ///
    /// [`ControlPlaneError::AssetsMissing`] where they can't be built; the script has said why.
    pub fn find_or_build() -> Result<Self, ControlPlaneError> {
        Self::ask_script(&[], Stdio::inherit())
    }

    /// Where etcd and kube-apiserver lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a program: in the folder, or else its bare name, to be found on the path.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        let own = self.folder.join(name);
        if own.exists() { own } else { PathBuf::from(name) }
    }

    /// The script owns the versions and thereby the name of the folder, so it is asked and not imitated.
    fn ask_script(arguments: &[&str], messages: Stdio) -> Result<Self, ControlPlaneError> {
        let script = environment::workspace_root().join("build/control-plane.sh");
        let output = Command::new(&script)
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(messages)
            .output()
            .map_err(io_failed("run", &script))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().last() {
            Some(folder) if output.status.success() => Ok(Self {
                folder: PathBuf::from(folder),
            }),
            _ => {
                let message = String::from_utf8_lossy(&output.stderr);
                let last = message.lines().last().unwrap_or("build/control-plane.sh failed");
                Err(ControlPlaneError::AssetsMissing(
                    last.trim_start_matches("control plane: ").to_owned(),
                ))
            }
        }
    }
}
