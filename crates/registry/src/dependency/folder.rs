//! Writing `charts/` and the lock, never through a link.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use steersman_chart::{Chart, Dependency, Lock};

/// An archive that is to be in `charts/`.
pub(super) struct Archive {
    pub(super) file: String,
    pub(super) content: Vec<u8>,
}

impl Archive {
    /// An archive in a file of this name.
    ///
    /// # Errors
    /// The name would lead out of `charts/`, or is none of an archive.
    pub(super) fn new(file: &str, content: Vec<u8>) -> Result<Self, String> {
        let is_name =
            !file.contains(['/', '\\', '\0']) && file.len() > ".tgz".len() && !file.starts_with('.');
        if !is_name {
            return Err(format!("{file:?} is no name for an archive in charts/"));
        }
        Ok(Self {
            file: file.to_owned(),
            content,
        })
    }
}

/// The folder `charts/` of a chart, which is made where it is missing.
pub(super) fn prepare(chart: &Path) -> Result<PathBuf, String> {
    let folder = chart.join("charts");
    let name = folder.display();
    match fs::symlink_metadata(&folder) {
        Ok(kind) if kind.is_symlink() => Err(format!(
            "{name:?} is a symlink, and nothing is written through it"
        )),
        Ok(kind) if !kind.is_dir() => Err(format!("{:?} is not a directory", folder.display().to_string())),
        Ok(_) => Ok(folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::create_dir_all(&folder) {
            Ok(()) => Ok(folder),
            Err(error) => Err(format!("mkdir {name}: {error}")),
        },
        Err(error) => Err(format!("unable to retrieve file info for '{name}': {error}")),
    }
}

/// Puts the archives into `charts/`, and takes away archives that are no longer wanted.
pub(super) fn replace(
    folder: &Path,
    archives: &[Archive],
    dependencies: &[Dependency],
    say: &dyn Fn(&str),
) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("open {}: {error}", folder.display()))?;
    let mut before: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    before.sort();
    for Archive { file, content } in archives {
        if let Err(error) = Chart::from_archive(content) {
            say(&format!("Could not verify {file} for moving: {error} (Skipping)"));
            continue;
        }
        if let Err(error) = write(folder, file, content) {
            say(&format!("Unable to move {file} to charts dir {error} (Skipping)"));
        }
    }
    say("Deleting outdated charts\n");
    for path in before {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_dir());
        if is_folder || archives.iter().any(|archive| archive.file == name) {
            continue;
        }
        let shown = path.display();
        match Chart::load_any(&path) {
            Err(error) => say(&format!(
                "Could not verify {shown} for deletion: {error} (Skipping)\n"
            )),
            Ok(chart) if is_local(dependencies, chart.name()) => {}
            Ok(_) => {
                if let Err(error) = fs::remove_file(&path) {
                    say(&format!("Could not delete {shown}: {error} (Skipping)"));
                }
            }
        }
    }
    Ok(())
}

/// Whether a chart is declared to be in `charts/` already.
fn is_local(dependencies: &[Dependency], name: &str) -> bool {
    dependencies
        .iter()
        .any(|dependency| dependency.repository.is_empty() && dependency.name == name)
}

/// Writes a file as a whole: a link of its name is replaced and not followed.
pub(super) fn write(folder: &Path, file: &str, content: &[u8]) -> io::Result<()> {
    let new = folder.join(format!(".{file}.{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut opened| opened.write_all(content))
        .and_then(|()| fs::rename(&new, folder.join(file)));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Writes the lock, which may not be a link.
pub(super) fn write_lock(chart: &Path, lock: &Lock, is_old: bool) -> Result<(), String> {
    let name = if is_old { "requirements.lock" } else { "Chart.lock" };
    let path = chart.join(name);
    if fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_symlink()) {
        let target = fs::read_link(&path).unwrap_or_default();
        return Err(format!(
            "the {name} file is a symlink to {:?}",
            target.display().to_string()
        ));
    }
    write(chart, name, lock.to_yaml().as_bytes()).map_err(|error| format!("open {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_the_folder_are_refused() {
        for (name, expect) in [
            ("web-1.0.0.tgz", true),
            ("../web.tgz", false),
            ("a/b.tgz", false),
            ("..", false),
            ("", false),
        ] {
            assert_eq!(Archive::new(name, Vec::new()).is_ok(), expect, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        use std::os::unix::fs::symlink;
        let chart = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let victim = other.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, chart.path().join("Chart.lock")).unwrap();
        assert!(write_lock(chart.path(), &Lock::default(), false).is_err());
        symlink(&victim, chart.path().join("web-1.0.0.tgz")).unwrap();
        write(chart.path(), "web-1.0.0.tgz", b"archive").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        symlink(other.path(), chart.path().join("charts")).unwrap();
        assert!(prepare(chart.path()).is_err());
    }
}
