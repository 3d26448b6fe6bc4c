//! Unpacking an archive once, however many test binaries ask for it at the same time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use super::{CorpusError, failed};

/// Unpacks `archive` into a folder below `cache` that is named by the archive's content, and returns that folder.
///
/// The folder appears whole or not at all. Callers at the same time may unpack twice; one result stays.
pub(super) fn unpack_once(archive: &Path, cache: &Path) -> Result<PathBuf, CorpusError> {
    let folder = cache.join(content_name(archive)?);
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(cache).map_err(failed("create", cache))?;
    let unfinished = tempfile::Builder::new()
        .prefix(".unpacking-")
        .tempdir_in(cache)
        .map_err(failed("create a folder in", cache))?;
    untar(archive, unfinished.path())?;
    match fs::rename(unfinished.path(), &folder) {
        // Another process was faster; its folder has the same content.
        Err(_) if folder.is_dir() => {}
        renamed => renamed.map_err(failed("rename the unpacked corpus to", &folder))?,
    }
    Ok(folder)
}

fn content_name(archive: &Path) -> Result<String, CorpusError> {
    use std::fmt::Write as _;
    let content = fs::read(archive).map_err(failed("read", archive))?;
    let mut name = String::new();
    for byte in Sha256::digest(&content).iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

fn untar(archive: &Path, folder: &Path) -> Result<(), CorpusError> {
    let output = Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(folder)
        .output()
        .map_err(failed("run tar on", archive))?;
    if output.status.success() {
        return Ok(());
    }
    Err(CorpusError::Unpack {
        archive: archive.to_path_buf(),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
