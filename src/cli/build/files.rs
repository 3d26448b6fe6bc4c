//! Files of a project on their way into an image.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use steersman_image::Tree;

use crate::cli::Failure;

/// The most bytes of a project. They are in memory, and so is the layer that is made of them.
const MAX_BYTES: u64 = 512 << 20;
/// The most files: empty ones, too, take their time.
const MAX_FILES: usize = 100_000;
/// How deep folders go: links could lead around in a circle.
const MAX_DEPTH: usize = 40;
/// What Python and git leave beside the files: they are made anew, or not for the operator.
const LEFT_OUT: &[&str] = &["__pycache__", ".git"];

/// Files by their paths from the home folder.
pub(super) struct Files {
    entries: BTreeMap<String, Entry>,
    /// The folder that they come from.
    project: PathBuf,
    bytes: u64,
}

struct Entry {
    content: Arc<[u8]>,
    is_program: bool,
}

impl Files {
    /// None, of the project in the working directory.
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            entries: BTreeMap::new(),
            project: working_directory()?,
            bytes: 0,
        })
    }

    /// Puts a file that is no program.
    pub(super) fn put(&mut self, place: &str, content: impl Into<Arc<[u8]>>) {
        let entry = Entry {
            content: content.into(),
            is_program: false,
        };
        self.entries.insert(place.to_owned(), entry);
    }

    /// The folder that they come from, without links.
    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// The path of something in the project from the project's folder; `None` where it is elsewhere.
    pub(super) fn place_of(&self, path: &Path) -> Result<Option<String>, Failure> {
        let target =
            fs::canonicalize(path).with_context(|| format!("failed to find `{}`", path.display()))?;
        let Ok(inside) = target.strip_prefix(&self.project) else {
            return Ok(None);
        };
        // As it is written, where that leads there: a link in the project is not what the file of watches names.
        let here = std::path::absolute(".").context("failed to find the working directory")?;
        let written = path.strip_prefix(&here).unwrap_or(path);
        let is_plain = written
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let place = if is_plain { written } else { inside };
        let place = place.to_str().ok_or_else(|| no_text(path))?;
        Ok(Some(place.to_owned()))
    }

    /// Adds a file or a folder with all that is in it. Links are followed as far as they stay in the project.
    pub(super) fn add(&mut self, path: &Path, place: &str) -> Result<(), Failure> {
        self.add_at(path, place, 0)
    }

    fn add_at(&mut self, path: &Path, place: &str, depth: usize) -> Result<(), Failure> {
        let name = path.display();
        if depth > MAX_DEPTH {
            let problem =
                anyhow!("`{name}` lies {MAX_DEPTH} folders deep, or a link leads around in a circle");
            return Err(Failure::usage(problem, None));
        }
        if self.place_of(path)?.is_none() {
            let hint = "an image holds what is below the working directory: a copy in the place of the link is taken";
            let problem = anyhow!("the link `{name}` leads out of the project");
            return Err(Failure::usage(problem, Some(hint.to_owned())));
        }
        let failed = || format!("failed to read `{name}`");
        let metadata = fs::metadata(path).with_context(failed)?;
        if metadata.is_file() {
            return self.add_file(path, place, &metadata);
        }
        if !metadata.is_dir() {
            return Err(Failure::usage(
                anyhow!("`{name}` is neither a file nor a folder"),
                None,
            ));
        }
        for entry in fs::read_dir(path).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let inside = entry.file_name();
            let inside = inside.to_str().ok_or_else(|| no_text(&entry.path()))?;
            if LEFT_OUT.contains(&inside) || Path::new(inside).extension() == Some("pyc".as_ref()) {
                continue;
            }
            self.add_at(&entry.path(), &format!("{place}/{inside}"), depth + 1)?;
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, place: &str, metadata: &fs::Metadata) -> Result<(), Failure> {
        self.bytes += metadata.len();
        if self.bytes > MAX_BYTES || self.entries.len() >= MAX_FILES {
            let problem =
                anyhow!("the project has more than {MAX_BYTES} bytes or {MAX_FILES} files for its image");
            let hint = format!("`{}` is the first that is too much", path.display());
            return Err(Failure::usage(problem, Some(hint)));
        }
        let content = fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
        let entry = Entry {
            content: content.into(),
            is_program: is_program(metadata),
        };
        self.entries.insert(place.to_owned(), entry);
        Ok(())
    }

    /// The files below this folder of an image.
    pub(super) fn tree(self, folder: &str) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        for (place, entry) in self.entries {
            let path = format!("{folder}/{place}");
            let put = if entry.is_program {
                tree.program(&path, entry.content)
            } else {
                tree.file(&path, entry.content)
            };
            put.map_err(|error| Failure::usage(error, None))?;
        }
        Ok(tree)
    }
}

/// The folder of the project, without links.
pub(super) fn working_directory() -> Result<PathBuf, Failure> {
    Ok(fs::canonicalize(".").context("failed to find the working directory")?)
}

fn no_text(path: &Path) -> Failure {
    Failure::usage(anyhow!("the name of `{}` is not UTF-8", path.display()), None)
}

/// Whether its owner may run it: of the rights, git keeps this one.
#[cfg(unix)]
fn is_program(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}
