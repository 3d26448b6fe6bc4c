//! Files that come into a project, all or none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;

use super::{say, wrong};
use crate::cli::Failure;

/// What is to be written and removed, by path in the project.
#[derive(Debug, Default)]
pub(in crate::cli) struct Changes {
    written: BTreeMap<String, Vec<u8>>,
    removed: BTreeSet<String>,
}

impl Changes {
    /// Adds a file.
    pub(in crate::cli) fn write(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.written.insert(path.into(), content.into());
    }

    /// Removes a file.
    pub(in crate::cli) fn remove(&mut self, path: impl Into<String>) {
        self.removed.insert(path.into());
    }

    /// Whether nothing changes.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }

    /// The files that are written.
    pub(in crate::cli) fn written(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.written
    }

    /// The files that are removed.
    pub(in crate::cli) fn removed(&self) -> &BTreeSet<String> {
        &self.removed
    }

    /// Refuses to overwrite files, but for those that are the command's to change.
    ///
    /// # Errors
    /// Files are there, and are all named.
    pub(in crate::cli) fn refuse_existing(&self, project: &Path, changed: &[&str]) -> Result<(), Failure> {
        let existing: Vec<&str> = self
            .written
            .keys()
            .map(String::as_str)
            .filter(|path| !changed.contains(path) && project.join(path).symlink_metadata().is_ok())
            .collect();
        if existing.is_empty() {
            return Ok(());
        }
        Err(wrong(
            format!("these files exist:\n  {}", existing.join("\n  ")),
            "--force overwrites them",
        ))
    }

    /// Makes all changes, or leaves everything as it was.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(in crate::cli) fn apply(&self, project: &Path) -> Result<(), Failure> {
        let staging = project.join(format!(".steersman-{}", std::process::id()));
        let result = self.stage(&staging).and_then(|()| self.swap(project, &staging));
        let _ = fs::remove_dir_all(&staging);
        result.map_err(|error| {
            Failure::failed(
                error.context("failed to write the project; everything is as it was"),
                Some("check permissions and free space of the folder".to_owned()),
            )
        })?;
        let (whole, single): (Vec<_>, Vec<_>) = self
            .written
            .keys()
            .map(|path| (path, folder_of(path)))
            .partition(|(_, folder)| folder.is_some());
        for (path, _) in single {
            say(&format!("wrote {path}"));
        }
        for folder in whole
            .into_iter()
            .filter_map(|(_, folder)| folder)
            .collect::<BTreeSet<_>>()
        {
            say(&format!("wrote {folder}"));
        }
        for path in &self.removed {
            say(&format!("removed {path}"));
        }
        Ok(())
    }

    fn stage(&self, staging: &Path) -> anyhow::Result<()> {
        for (path, content) in &self.written {
            let target = staging.join("new").join(path);
            create_parent(&target)
                .and_then(|()| fs::write(&target, content))
                .with_context(|| format!("failed to write `{path}`"))?;
        }
        Ok(())
    }

    /// Moves what is new into place and what was there aside; moves it back where one of them fails.
    fn swap(&self, project: &Path, staging: &Path) -> anyhow::Result<()> {
        let mut done: Vec<(&str, bool)> = Vec::new();
        for path in self.written.keys().chain(&self.removed) {
            let target = project.join(path);
            let old = staging.join("old").join(path);
            let was_there = target.symlink_metadata().is_ok();
            let moved = aside(&target, &old, was_there).and_then(|()| {
                done.push((path, was_there));
                if self.removed.contains(path) {
                    return Ok(());
                }
                create_parent(&target)?;
                fs::rename(staging.join("new").join(path), &target)
            });
            if let Err(error) = moved {
                undo(project, staging, &done);
                return Err(anyhow::Error::new(error).context(format!("failed to replace `{path}`")));
            }
        }
        Ok(())
    }
}

/// The folder of a chart, a role or a scenario, which is told in the place of its files.
fn folder_of(path: &str) -> Option<&str> {
    let folders = ["helm-charts/", "roles/", "molecule/"];
    let begun = folders.into_iter().find(|folder| path.starts_with(folder))?.len();
    let length = path.get(begun..)?.find('/')?;
    path.get(..begun + length)
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn aside(target: &PathBuf, old: &PathBuf, was_there: bool) -> io::Result<()> {
    if !was_there {
        return Ok(());
    }
    create_parent(old)?;
    fs::rename(target, old)
}

fn undo(project: &Path, staging: &Path, done: &[(&str, bool)]) {
    for (path, was_there) in done.iter().rev() {
        let target = project.join(path);
        let _ = fs::remove_file(&target);
        if *was_there {
            let _ = fs::rename(staging.join("old").join(path), &target);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Changes;

    #[test]
    fn nothing_is_left_of_changes_that_fail() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("a"), "old").unwrap();
        fs::write(project.path().join("gone"), "old").unwrap();
        // A file where a folder has to be.
        fs::write(project.path().join("z"), "file").unwrap();
        let mut changes = Changes::default();
        changes.write("a", "new");
        changes.write("b/c", "new");
        changes.write("z/inner", "new");
        changes.remove("gone");
        assert!(changes.apply(project.path()).is_err());
        let mut left: Vec<_> = fs::read_dir(project.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["a", "b", "gone", "z"]);
        assert_eq!(fs::read_to_string(project.path().join("a")).unwrap(), "old");
        assert_eq!(fs::read_dir(project.path().join("b")).unwrap().count(), 0);

        let mut changes = Changes::default();
        changes.write("a", "new");
        changes.remove("gone");
        assert!(changes.refuse_existing(project.path(), &["a"]).is_ok());
        assert!(changes.refuse_existing(project.path(), &[]).is_err());
        assert!(changes.apply(project.path()).is_ok());
        assert_eq!(fs::read_to_string(project.path().join("a")).unwrap(), "new");
        assert!(!project.path().join("gone").exists());
    }
}
