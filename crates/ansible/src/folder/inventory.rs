//! The hosts that a playbook runs on.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::write::{make_folder, new_file};
use super::{FolderError, failed};

/// How deep folders of an inventory are: links may lead in circles.
const DEEPEST: usize = 16;

/// Where a playbook finds its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inventory {
    /// This machine alone, without a connection.
    Localhost {
        /// The interpreter of modules, such as `$VIRTUAL_ENV/bin/python3`; that of ansible-playbook where none is named.
        interpreter: Option<PathBuf>,
    },
    /// `ANSIBLE_INVENTORY`: a file, or a folder of files. It is copied; programs stay programs.
    At(PathBuf),
}

impl Default for Inventory {
    fn default() -> Self {
        Self::Localhost { interpreter: None }
    }
}

impl Inventory {
    pub(super) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let hosts = folder.join("hosts");
        match self {
            Self::Localhost { interpreter } => {
                let interpreter = interpreter.as_ref().map(|path| path.display().to_string());
                let interpreter = interpreter.as_deref().unwrap_or("{{ansible_playbook_python}}");
                let line =
                    format!("localhost ansible_connection=local ansible_python_interpreter={interpreter}");
                let write = || io::Write::write_all(&mut new_file(&hosts, 0o600)?, line.as_bytes());
                write().map_err(failed("write", &hosts))
            }
            Self::At(source) => {
                let metadata = fs::metadata(source).map_err(failed("read inventory", source))?;
                if metadata.is_dir() {
                    copy_folder(source, folder, DEEPEST)
                } else {
                    copy_file(source, &hosts)
                }
            }
        }
    }
}

fn copy_folder(source: &Path, target: &Path, deepest: usize) -> Result<(), FolderError> {
    make_folder(target)?;
    if deepest == 0 {
        let error = io::Error::other("it is too deep in the inventory");
        return Err(failed("copy folder", source)(error));
    }
    for entry in fs::read_dir(source).map_err(failed("read folder", source))? {
        let name = entry.map_err(failed("read folder", source))?.file_name();
        // The folders of a ConfigMap behind the links that are its files.
        if name.to_string_lossy().starts_with("..") {
            continue;
        }
        let (from, to) = (source.join(&name), target.join(&name));
        // What a link leads to is copied.
        let metadata = fs::metadata(&from).map_err(failed("read inventory", &from))?;
        if metadata.is_dir() {
            copy_folder(&from, &to, deepest - 1)?;
        } else {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path) -> Result<(), FolderError> {
    let copy = || {
        let mut from = fs::File::open(source)?;
        let is_program = from.metadata()?.permissions().mode() & 0o100 != 0;
        let mut to = new_file(target, if is_program { 0o700 } else { 0o600 })?;
        io::copy(&mut from, &mut to)
    };
    copy().map(drop).map_err(failed("copy inventory", source))
}
