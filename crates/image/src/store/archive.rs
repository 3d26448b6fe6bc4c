//! A layout in one archive.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::Serialize;
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

use super::{MARK, StoreError, index, place};
use crate::{Image, Release};

/// What `docker load` reads.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    repo_tags: Vec<String>,
    layers: Vec<String>,
}

/// Writes an image as an OCI layout in one archive, which replaces what is at `path` when it is whole. An image for one
/// platform gets the entry that `docker load` and `docker-archive:` read, too; theirs has no word for several.
///
/// # Errors
/// The file cannot be written.
pub fn write_archive(path: &Path, release: &Release) -> Result<(), StoreError> {
    let write = || {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = NamedTempFile::new_in(folder)?;
        let mut buffer = BufWriter::new(file.as_file_mut());
        pack(&mut buffer, release)?;
        buffer.flush()?;
        drop(buffer);
        persist(file, path)
    };
    write().map_err(|source| StoreError::Write {
        path: path.to_owned(),
        source,
    })
}

fn pack(target: &mut impl Write, release: &Release) -> io::Result<()> {
    let mut builder = Builder::new(target);
    folder(&mut builder, "blobs/")?;
    folder(&mut builder, "blobs/sha256/")?;
    let mut blobs = [release.blobs(), release.manifests()].concat();
    blobs.sort_by(|a, b| a.digest().cmp(b.digest()));
    for blob in blobs {
        file(&mut builder, &place(blob), blob.size(), blob.open()?)?;
    }
    document(&mut builder, "index.json", &index(release)?)?;
    if let [image] = release.images() {
        document(&mut builder, "manifest.json", &entry(image, release)?)?;
    }
    document(&mut builder, MARK.0, MARK.1.as_bytes())?;
    builder.into_inner()?;
    Ok(())
}

fn entry(image: &Image, release: &Release) -> io::Result<Vec<u8>> {
    let entry = Entry {
        config: place(image.config()),
        repo_tags: vec![release.reference().to_string()],
        layers: image.layers().iter().map(|layer| place(layer.blob())).collect(),
    };
    Ok(serde_json::to_vec(&[entry])?)
}

fn folder(builder: &mut Builder<impl Write>, path: &str) -> io::Result<()> {
    let mut header = header(EntryType::Directory, 0o755, 0);
    builder.append_data(&mut header, path, io::empty())
}

fn document(builder: &mut Builder<impl Write>, path: &str, content: &[u8]) -> io::Result<()> {
    file(builder, path, content.len() as u64, content)
}

fn file(builder: &mut Builder<impl Write>, path: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = header(EntryType::Regular, 0o644, size);
    builder.append_data(&mut header, path, content)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Gives a file its name, and the rights that files of images have: temporary ones are their owner's alone.
pub(super) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
