//! The chart that is linted: its files as they lie there.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::chart::Chart;
use crate::load;
use crate::notice::Notice;
use crate::source::File;

/// The largest single file that is looked at; it is Helm's limit for a file of an archive.
const MAX_BYTES: u64 = 5 << 20;

/// A folder, or an archive in memory.
pub(super) struct Subject {
    /// The path for messages.
    pub(super) path: String,
    place: Place,
}

enum Place {
    Folder(PathBuf),
    Archive(Vec<File>),
}

/// What there is under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Missing,
    File,
    Folder,
}

impl Subject {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let name = path.to_string_lossy();
        let is_archive = name.ends_with(".tgz") || name.ends_with(".tar.gz");
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let subject = Self {
            path: clean(&absolute).to_string_lossy().into_owned(),
            place: if is_archive {
                Place::Archive(unpack(path)?)
            } else {
                Place::Folder(path.to_owned())
            },
        };
        if subject.entry("Chart.yaml") == Entry::Missing {
            return Err(format!(
                "unable to check Chart.yaml file in chart: stat {}: no such file or directory",
                path.join("Chart.yaml").display()
            ));
        }
        Ok(subject)
    }

    /// What there is under a name of the chart.
    pub(super) fn entry(&self, name: &str) -> Entry {
        match &self.place {
            Place::Folder(folder) => match fs::metadata(folder.join(name)) {
                Ok(kind) if kind.is_dir() => Entry::Folder,
                Ok(_) => Entry::File,
                Err(_) => Entry::Missing,
            },
            Place::Archive(files) => {
                let is_below = |file: &File| {
                    file.name
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with('/'))
                };
                if files.iter().any(|file| file.name == name) {
                    Entry::File
                } else if files.iter().any(is_below) {
                    Entry::Folder
                } else {
                    Entry::Missing
                }
            }
        }
    }

    /// A file of the chart, whether or not the chart ignores it.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        match &self.place {
            Place::Folder(folder) => read(folder, name),
            Place::Archive(files) => match files.iter().find(|file| file.name == name) {
                Some(file) => Ok(file.content.to_vec()),
                None => Err(format!("open {name}: no such file or directory")),
            },
        }
    }

    /// The chart, and what Helm logs when it is loaded.
    pub(super) fn load(&self, notices: &mut Vec<Notice>) -> Result<Chart, String> {
        let loaded = match &self.place {
            Place::Folder(folder) => load::load_any(folder),
            Place::Archive(files) => load::load_unpacked(files),
        };
        let chart = loaded.map(Chart::of).map_err(|error| error.to_string())?;
        notices.extend(chart.notices());
        Ok(chart)
    }
}

fn unpack(path: &Path) -> Result<Vec<File>, String> {
    if !path.exists() {
        return Err(format!(
            "unable to open tarball: open {}: no such file or directory",
            path.display()
        ));
    }
    load::unpack(path).map_err(|error| format!("unable to extract tarball: {error}"))
}

/// Reads a file that is, links followed, in the folder.
fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = folder.join(name);
    let failed = |error: std::io::Error| format!("open {}: {error}", path.display());
    let target = path.canonicalize().map_err(failed)?;
    let root = folder.canonicalize().map_err(failed)?;
    if !target.starts_with(root) {
        return Err(format!("symbolic link {name} leads out of the chart"));
    }
    let mut content = Vec::new();
    let file = fs::File::open(&target).map_err(failed)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(failed)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(format!("{name} is larger than the maximum file size {MAX_BYTES}"));
    }
    Ok(content)
}

/// The path without `.` and, as Go's `filepath.Clean` does it, without `..`.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}
