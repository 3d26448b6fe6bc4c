//! A base on this machine: a layout, as a folder or in an archive.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, EntryType};

use super::{BaseError, BaseImage, BaseSearch, Found, MAX_DOCUMENT, archive};
use crate::{Descriptor, Platform};

/// The most entries of an archive that are looked at. A layout has two for each layer, and some more.
const MAX_ENTRIES: usize = 20_000;

/// Files by their names: those below a folder, or those of an archive.
#[derive(Debug)]
pub(super) struct Files {
    /// The folder or archive.
    path: PathBuf,
    /// Where the files of an archive are; `None` for a folder.
    entries: Option<BTreeMap<String, Entry>>,
}

#[derive(Debug)]
enum Entry {
    /// Where it starts, and how long it is.
    File(u64, u64),
    /// It is the same as the one of this name.
    Link(String),
}

/// The bytes of one of the files.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: File,
    pub(super) start: u64,
    pub(super) size: u64,
}

/// Reads a base for a platform from a layout in a folder or an archive, or from an archive of docker. Its layers stay where
/// they are, and are read when the image is written or pushed.
///
/// # Errors
/// There is none, none for the platform, or none that can be taken over.
pub fn read_base(path: &Path, platform: &Platform) -> Result<BaseImage, BaseError> {
    let files = Files::open(path)?;
    if files.has("index.json") {
        return of_layout(&files, platform);
    }
    if files.has("manifest.json") {
        return archive::read(&files, platform);
    }
    let reason = format!(
        "`{}` has neither an index.json nor a manifest.json",
        path.display()
    );
    Err(BaseError::NotAnImage(reason))
}

fn of_layout(files: &Files, platform: &Platform) -> Result<BaseImage, BaseError> {
    let mut search = BaseSearch::new(platform.clone());
    let mut document = files.document("index.json")?;
    let manifest = loop {
        match search.look(&document)? {
            Found::Next(next) => document = files.document(&place(&next))?,
            Found::Manifest(manifest) => break manifest,
        }
    };
    let config = files.document(&place(manifest.config()))?;
    let image = manifest.image(&config)?;
    for layer in image.layers() {
        let blob = layer.blob();
        let part = files.part(&place(&blob.descriptor()))?;
        if part.size != blob.size() {
            let message = format!("it has {} bytes, and not {}", part.size, blob.size());
            let source = io::Error::new(io::ErrorKind::InvalidData, message);
            return Err(files.failed(&place(&blob.descriptor()), source));
        }
        blob.lies_in(part.file, part.start);
    }
    Ok(image)
}

/// Where a layout has a blob. The digest is one, and no way to other files.
fn place(descriptor: &Descriptor) -> String {
    format!("blobs/{}", descriptor.digest.replace(':', "/"))
}

impl Files {
    fn open(path: &Path) -> Result<Self, BaseError> {
        let failed = |source| BaseError::Read {
            path: path.to_owned(),
            source,
        };
        let entries = if path.is_dir() {
            None
        } else {
            Some(list(path).map_err(failed)?)
        };
        Ok(Self {
            path: path.to_owned(),
            entries,
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match &self.entries {
            Some(entries) => entries.contains_key(name),
            None => self.path.join(name).is_file(),
        }
    }

    pub(super) fn is_archive(&self) -> bool {
        self.entries.is_some()
    }

    /// A file by its name. In a folder that is a path: no stranger may have chosen it.
    pub(super) fn part(&self, name: &str) -> Result<Part, BaseError> {
        self.find(name).map_err(|source| self.failed(name, source))
    }

    fn find(&self, name: &str) -> io::Result<Part> {
        let Some(entries) = &self.entries else {
            let file = File::open(self.path.join(name))?;
            let size = file.metadata()?.len();
            return Ok(Part { file, start: 0, size });
        };
        let missing = || io::Error::new(io::ErrorKind::NotFound, "it is not in the archive");
        // Docker has written a layer once, and links to it where it comes again. A link to a link is none of its.
        let found = match entries.get(name).ok_or_else(missing)? {
            Entry::Link(target) => entries.get(target).ok_or_else(missing)?,
            file @ Entry::File(..) => file,
        };
        let Entry::File(start, size) = *found else {
            return Err(missing());
        };
        Ok(Part {
            file: File::open(&self.path)?,
            start,
            size,
        })
    }

    /// The content of a document.
    pub(super) fn document(&self, name: &str) -> Result<Vec<u8>, BaseError> {
        let Part {
            mut file,
            start,
            size,
        } = self.part(name)?;
        if size > MAX_DOCUMENT {
            return Err(BaseError::TooLarge {
                what: "bytes of a document",
                limit: MAX_DOCUMENT,
            });
        }
        let mut content = Vec::new();
        let read = file.seek(SeekFrom::Start(start));
        let read = read.and_then(|_| file.take(size).read_to_end(&mut content));
        read.map_err(|source| self.failed(name, source))?;
        Ok(content)
    }

    pub(super) fn failed(&self, name: &str, source: io::Error) -> BaseError {
        BaseError::Read {
            path: self.path.join(name),
            source,
        }
    }
}

/// Where the files of an archive are.
fn list(path: &Path) -> io::Result<BTreeMap<String, Entry>> {
    let mut file = File::open(path)?;
    let mut start = [0; 2];
    if file.read(&mut start)? == 2 && start == [0x1f, 0x8b] {
        let message =
            "it is compressed as a whole; `gunzip` makes it an archive that can be read from any place";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    file.rewind()?;
    let length = file.metadata()?.len();
    let mut archive = Archive::new(file);
    let mut entries = BTreeMap::new();
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let Some(name) = name(&entry.path_bytes()) else {
            continue;
        };
        let found = match entry.header().entry_type() {
            EntryType::Regular => {
                let (start, size) = (entry.raw_file_position(), entry.size());
                if start.checked_add(size).is_none_or(|end| end > length) {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the archive is cut off",
                    ));
                }
                Entry::File(start, size)
            }
            EntryType::Symlink | EntryType::Link => {
                let is_relative = entry.header().entry_type() == EntryType::Symlink;
                let Some(target) = entry.link_name_bytes() else {
                    continue;
                };
                match target_of(&name, &target, is_relative) {
                    Some(target) => Entry::Link(target),
                    None => continue,
                }
            }
            _ => continue,
        };
        entries.insert(name, found);
        if entries.len() > MAX_ENTRIES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it has too many entries",
            ));
        }
    }
    Ok(entries)
}

/// The name of an entry, in one form; `None` for what leads out of the archive.
fn name(path: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    for component in Path::new(std::str::from_utf8(path).ok()?).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

/// What a link leads to: a symbolic one from the folder that it is in.
fn target_of(link: &str, target: &[u8], is_relative: bool) -> Option<String> {
    let target = std::str::from_utf8(target).ok()?;
    match link.rsplit_once('/') {
        Some((folder, _)) if is_relative => name(format!("{folder}/{target}").as_bytes()),
        _ => name(target.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_archives_stay_in_them() {
        let check = |link: &str, target: &str, expect: Option<&str>| {
            let found = target_of(link, target.as_bytes(), true);
            assert_eq!(found.as_deref(), expect, "{link} -> {target}");
        };
        check("b/layer.tar", "../a/layer.tar", Some("a/layer.tar"));
        check("layer.tar", "a/./layer.tar", Some("a/layer.tar"));
        check("b/layer.tar", "../../a", None);
        check("b/layer.tar", "/etc/passwd", Some("b/etc/passwd"));
    }
}
