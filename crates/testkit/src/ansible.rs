//! A Python environment with ansible-runner, which `build/ansible.sh` makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment::{path_variable, workspace_root};
use crate::skip::skipped;

/// Programs and collections for runs of Ansible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ansible {
    folder: PathBuf,
}

impl Ansible {
    /// The environment that `STEERSMAN_ANSIBLE` names, else the one that `build/ansible.sh` has made; or none and a line that
    /// says why `test` is skipped.
    ///
    /// # Panics
    ///
    /// There is none, and `CI=true`.
    #[must_use]
    pub fn find_or_skip(test: &str) -> Option<Self> {
        match find() {
            Ok(folder) => Some(Self { folder }),
            Err(reason) => {
                skipped(test, reason);
                None
            }
        }
    }

    /// The path of a program, such as `ansible-runner`.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The folder of kubernetes.core, for `ANSIBLE_COLLECTIONS_PATH`.
    #[must_use]
    pub fn collections(&self) -> PathBuf {
        self.folder.join("collections")
    }

    /// The folder of the environment, for `VIRTUAL_ENV`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `PATH` with the programs first: ansible-runner looks for ansible-playbook there.
    #[must_use]
    pub fn path(&self) -> String {
        let others = std::env::var_os("PATH").unwrap_or_default();
        format!("{}:{}", self.folder.join("bin").display(), others.display())
    }
}

fn find() -> Result<PathBuf, String> {
    if let Some(folder) = path_variable("STEERSMAN_ANSIBLE") {
        let program = folder.join("bin/ansible-runner");
        if !program.exists() {
            return Err(format!("{} of STEERSMAN_ANSIBLE is not there", program.display()));
        }
        return Ok(folder);
    }
    // The script owns the versions and thereby the name of the folder.
    let script = workspace_root().join("build/ansible.sh");
    let output = Command::new(&script)
        .arg("--find")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", script.display()))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    match folder.lines().last() {
        Some(folder) if output.status.success() => Ok(PathBuf::from(folder)),
        _ => {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(message
                .lines()
                .last()
                .unwrap_or("build/ansible.sh failed")
                .to_owned())
        }
    }
}
