//! Writing the inputs of a run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::{FolderError, Inputs, failed};

/// Starts the names of folders that are being written.
const UNFINISHED: &str = ".next-";
const FOLDERS: [&str; 3] = ["env", "inventory", "project"];

/// Replaces the inputs in a folder, which is made where it is missing.
pub(super) fn write(folder: &Path, inputs: &Inputs<'_>) -> Result<(), FolderError> {
    make_folder(folder)?;
    remove_unfinished(folder)?;
    let next = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(folder)
        .map_err(failed("make a folder in", folder))?;
    for name in FOLDERS {
        make_folder(&next.path().join(name))?;
    }
    write_env(&next.path().join("env"), inputs)?;
    inputs.inventory.write(&next.path().join("inventory"))?;
    if let Some(playbook) = inputs.playbook {
        let bytes = fs::read(playbook).map_err(failed("read playbook", playbook))?;
        write_file(&next.path().join("project/playbook.yaml"), &bytes)?;
    }
    for name in FOLDERS {
        let target = folder.join(name);
        remove(&target)?;
        fs::rename(next.path().join(name), &target).map_err(failed("write", &target))?;
    }
    Ok(())
}

fn write_env(env: &Path, inputs: &Inputs<'_>) -> Result<(), FolderError> {
    for (name, values) in [("envvars", inputs.environment), ("settings", inputs.settings)] {
        let path = env.join(name);
        write_file(&path, &json(&path, values)?)?;
    }
    let path = env.join("extravars");
    write_file(&path, &no_yaml(&json(&path, inputs.extra_vars)?))?;
    let command_line = unquoted(inputs.command_line);
    if !command_line.is_empty() {
        write_file(&env.join("cmdline"), command_line.as_bytes())?;
    }
    Ok(())
}

/// Without one pair of single quotes around it, which manifests of ansible-operator have.
pub(super) fn unquoted(command_line: &str) -> &str {
    let inside = command_line.strip_prefix('\'');
    inside
        .and_then(|inside| inside.strip_suffix('\''))
        .unwrap_or(command_line)
}

/// Makes a folder and those around it that are missing, for this user alone.
pub(crate) fn make_folder(path: &Path) -> Result<(), FolderError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed("make folder", path))
}

fn json(path: &Path, values: &Map<String, Value>) -> Result<Vec<u8>, FolderError> {
    serde_json::to_vec(values).map_err(|source| FolderError::Json {
        path: path.to_path_buf(),
        source,
    })
}

/// An object of JSON that is no YAML: no token of that begins with a tab.
///
/// Ansible reads as YAML what it can't read as JSON, and in YAML a text that is marked as none of a template is one. Of the file
/// that it can't read it shows the last line.
pub(super) fn no_yaml(object: &[u8]) -> Vec<u8> {
    let fields = object.strip_suffix(b"}").unwrap_or(object);
    [b"\t\n", fields, b"\n}"].concat()
}

pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let write = || new_file(path, 0o600)?.write_all(bytes);
    write().map_err(failed("write", path))
}

/// A file that was not there before.
pub(super) fn new_file(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
}

/// What a crash has left.
fn remove_unfinished(folder: &Path) -> Result<(), FolderError> {
    let entries = fs::read_dir(folder).map_err(failed("read folder", folder))?;
    for entry in entries {
        let entry = entry.map_err(failed("read folder", folder))?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a folder, or a file or link in its place.
fn remove(path: &Path) -> Result<(), FolderError> {
    let result = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    result.map_err(failed("remove", path))
}
