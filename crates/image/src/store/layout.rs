//! A layout as a folder.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use tempfile::NamedTempFile;

use super::{MARK, StoreError, index, place};
use crate::Release;

/// Writes an image as an OCI layout into a folder, which is made where it is missing. A layout that is there already is
/// replaced: it holds this image afterwards and nothing else.
///
/// # Errors
/// The folder has something else in it, or cannot be written.
pub fn write_layout(folder: &Path, release: &Release) -> Result<(), StoreError> {
    let failed = |source| StoreError::Write {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let is_layout = folder.join(MARK.0).is_file();
    if !is_layout && fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(StoreError::NotALayout(folder.to_owned()));
    }
    replace(folder, release).map_err(failed)
}

/// Blobs come first, then the entry that names them, so that there is no moment at which it names what is missing.
fn replace(folder: &Path, release: &Release) -> io::Result<()> {
    let wanted: Vec<_> = [release.blobs(), release.manifests()].concat();
    let names: Vec<String> = wanted.iter().map(|blob| place(blob)).collect();
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    for (blob, name) in wanted.iter().zip(&names) {
        write(&folder.join(name), blob.open()?)?;
    }
    write(&folder.join("index.json"), index(release)?.as_slice())?;
    write(&folder.join(MARK.0), MARK.1.as_bytes())?;
    for entry in fs::read_dir(blobs)? {
        let entry = entry?;
        let name = format!("blobs/sha256/{}", entry.file_name().to_string_lossy());
        if !names.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file that appears when it is whole.
fn write(path: &Path, mut content: impl Read) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    io::copy(&mut content, &mut file)?;
    super::archive::persist(file, path)
}
