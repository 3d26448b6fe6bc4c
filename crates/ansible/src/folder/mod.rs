//! The folder that ansible-runner is given: `ROOT/GROUP/VERSION/KIND/NAMESPACE/NAME`.
//!
//! ```text
//! env/envvars      variables of the environment of the playbook
//! env/extravars    its variables
//! env/settings     where ansible-runner sends its events
//! env/cmdline      arguments of ansible-playbook, where there are any
//! inventory/       localhost, or what ANSIBLE_INVENTORY names
//! project/         the working directory of the playbook, with a copy of it
//! artifacts/IDENT  what ansible-runner keeps of a run
//! artifacts/latest the last of these
//! ```
//!
//! There are secrets in it: folders have mode 0700, files 0600.

mod inventory;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use inventory::Inventory;
pub(crate) use write::{make_folder as make, write_file};

/// With fewer bytes left a disk counts as full: modules are unpacked and removed, so some is left when they have failed.
const LEAST_SPACE: u64 = 1 << 20;

/// Why a folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A part of the path would lead out of its folder, or can't be in one.
    #[error("failed to name a folder for a run: {part:?} is no {what}")]
    Name {
        /// What it was to be, such as `namespace`.
        what: &'static str,
        /// The text that it can't be.
        part: String,
    },
    /// Something in it can't be made, read or removed.
    #[error("failed to {attempt} `{}`", path.display())]
    Io {
        /// What was tried.
        attempt: &'static str,
        /// The file, folder or link.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A setting has no form as JSON.
    #[error("failed to write `{}` as JSON", path.display())]
    Json {
        /// The file that it was for.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// For which resource a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceId {
    /// Empty for core kinds.
    pub group: String,
    /// The version of the kind.
    pub version: String,
    /// The kind, as in manifests.
    pub kind: String,
    /// Empty for what has none.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// What a run is given.
#[derive(Clone, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) extra_vars: &'a Map<String, Value>,
    pub(crate) environment: &'a Map<String, Value>,
    pub(crate) settings: &'a Map<String, Value>,
    /// `--ansible-args`.
    pub(crate) command_line: &'a str,
    pub(crate) inventory: &'a Inventory,
    /// Copied, so that the folder can be used by hand.
    pub(crate) playbook: Option<&'a Path>,
}

/// The folder of a resource's runs. Two runs at once can't use it; the caller takes care of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder of a resource, inside of `root` whatever the resource is called.
    ///
    /// # Errors
    /// [`FolderError::Name`]: a part is empty that can't be, is `.` or `..`, or has a slash or NUL.
    pub(crate) fn of(root: &Path, resource: &ResourceId) -> Result<Self, FolderError> {
        let ResourceId {
            group,
            version,
            kind,
            namespace,
            name,
        } = resource;
        let mut path = root.to_path_buf();
        for (what, part, may_be_empty) in [
            ("API group", group, true),
            ("version", version, false),
            ("kind", kind, false),
            ("namespace", namespace, true),
            ("name", name, false),
        ] {
            if !(part.is_empty() && may_be_empty) {
                path.push(checked(what, part)?);
            }
        }
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where ansible-runner keeps what it knows of a run.
    pub(crate) fn artifacts(&self, ident: &str) -> Result<PathBuf, FolderError> {
        Ok(self
            .path
            .join("artifacts")
            .join(checked("identifier of a run", ident)?))
    }

    /// Gives a run its inputs.
    ///
    /// # Guarantees
    /// Nothing of a former run is left but its artifacts. Each of the three folders appears when it is whole.
    pub(crate) fn write(&self, inputs: &Inputs<'_>) -> Result<(), FolderError> {
        write::write(&self.path, inputs)?;
        // ansible-runner counts it as a run when it rotates them, and fails where it is the oldest.
        let latest = self.latest();
        match std::fs::remove_file(&latest) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", &latest)(source)),
            _ => Ok(()),
        }
    }

    /// Makes `artifacts/latest` lead to a run, if that has left anything.
    pub(crate) fn link_latest(&self, ident: &str) -> Result<(), FolderError> {
        if !self.artifacts(ident)?.is_dir() {
            return Ok(());
        }
        let latest = self.latest();
        // Only a crash has left one.
        let _ = std::fs::remove_file(&latest);
        std::os::unix::fs::symlink(ident, &latest).map_err(failed("make the link", &latest))
    }

    /// Its path, where hardly anything can be written any longer.
    pub(crate) fn without_space(&self) -> Option<PathBuf> {
        let disk = rustix::fs::statvfs(&self.path).ok()?;
        let left = disk.f_bavail.saturating_mul(disk.f_frsize);
        // Some file systems count no files.
        let has_files = disk.f_files == 0 || disk.f_favail > 0;
        (left < LEAST_SPACE || !has_files).then(|| self.path.clone())
    }

    fn latest(&self) -> PathBuf {
        self.path.join("artifacts/latest")
    }
}

pub(crate) fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_path_buf();
    move |source| FolderError::Io {
        attempt,
        path,
        source,
    }
}

/// A name of exactly one folder.
fn checked<'a>(what: &'static str, part: &'a str) -> Result<&'a str, FolderError> {
    let leads_elsewhere = matches!(part, "" | "." | "..") || part.contains(['/', '\0']);
    if leads_elsewhere {
        return Err(FolderError::Name {
            what,
            part: part.to_owned(),
        });
    }
    Ok(part)
}

#[cfg(test)]
mod tests;
