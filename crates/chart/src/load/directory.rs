//! A chart in a directory.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::ignore::Rules;
use super::{Budget, File, without_mark};
use crate::error::LoadError;

/// How deep directories may lie in directories.
const MAX_DEPTH: usize = 64;

/// Reads the files below `root` that `.helmignore` does not leave out, in the order of their
/// names.
///
/// Symbolic links are followed as long as they stay below `root`, and refused otherwise, so that
/// a chart cannot show files of the machine that renders it.
pub(super) fn read(root: &Path, budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    let root = fs::canonicalize(root).map_err(failed(root))?;
    let ignore_file = root.join(".helmignore");
    let rules = match fs::read(&ignore_file) {
        Ok(text) => Rules::parse(&String::from_utf8_lossy(&text))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Rules::parse("")?,
        Err(error) => return Err(failed(&ignore_file)(error)),
    };
    let mut walk = Walk {
        root: &root,
        rules,
        budget,
        files: Vec::new(),
    };
    walk.directory(&root, "", 0)?;
    Ok(walk.files)
}

struct Walk<'a> {
    root: &'a Path,
    rules: Rules,
    budget: &'a mut Budget,
    files: Vec<File>,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), LoadError> {
        if depth > MAX_DEPTH {
            return Err(LoadError::invalid(format!(
                "directories in `{}` are nested more than {MAX_DEPTH} deep",
                self.root.display()
            )));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed(path))? {
            entries.push(entry.map_err(failed(path))?.file_name());
        }
        entries.sort();
        for entry in entries {
            let path = path.join(&entry);
            let entry = entry.to_string_lossy();
            let name = if name.is_empty() {
                entry.into_owned()
            } else {
                format!("{name}/{entry}")
            };
            self.entry(path, name, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, name: String, depth: usize) -> Result<(), LoadError> {
        let mut kind = fs::symlink_metadata(&path).map_err(failed(&path))?;
        if kind.is_symlink() {
            let target = fs::canonicalize(&path).map_err(failed(&path))?;
            if !target.starts_with(self.root) {
                return Err(LoadError::invalid(format!(
                    "symbolic link {name} leads out of the chart"
                )));
            }
            kind = fs::metadata(&target).map_err(failed(&path))?;
        }
        if self.rules.ignores(&name, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            return self.directory(&path, &name, depth + 1);
        }
        if !kind.is_file() {
            return Err(LoadError::invalid(format!(
                "cannot load irregular file {} as it has file mode type bits set",
                path.display()
            )));
        }
        self.budget.check(&name, kind.len())?;
        let content = self.read(&path)?;
        self.files.push(File {
            name,
            content: without_mark(&content).into(),
        });
        Ok(())
    }

    /// Reads a file that may have grown meanwhile, but no more of it than is allowed.
    fn read(&mut self, path: &Path) -> Result<Vec<u8>, LoadError> {
        let mut content = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(Budget::FILE_BYTES).read_to_end(&mut content))
            .map_err(failed(path))?;
        self.budget.take(content.len() as u64)?;
        Ok(content)
    }
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> LoadError {
    move |source| LoadError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let files = read(root, &mut Budget::default()).unwrap();
        files.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn files_come_in_order_without_those_to_ignore() {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("b.txt", ""),
            (".helmignore", "*.bak\nci/\n"),
            ("a.bak", ""),
            ("ci/x", ""),
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        assert_eq!(names(root.path()), [".helmignore", "b.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_the_chart_only() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("real"), "x").unwrap();
        symlink("real", root.path().join("link")).unwrap();
        assert_eq!(names(root.path()), ["link", "real"]);
        symlink("/etc/passwd", root.path().join("out")).unwrap();
        let error = read(root.path(), &mut Budget::default()).unwrap_err();
        assert_eq!(error.to_string(), "symbolic link out leads out of the chart");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_parent_does_not_go_round_for_ever() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(".", root.path().join("loop")).unwrap();
        assert!(read(root.path(), &mut Budget::default()).is_err());
    }
}
