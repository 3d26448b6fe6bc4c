//! Texts of a project on disk: bounded, and never through links that lead out of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

/// How large a file is at most: OLM takes bundles of 1 MiB, compressed.
const MAX_FILE: u64 = 16 << 20;

/// How many files a folder has at most.
const MAX_FILES: usize = 5_000;

/// How deep folders lie in each other at most.
const MAX_DEPTH: usize = 16;

/// The texts of the files below a folder, by their paths in it with `/`. Links are not followed.
pub(super) fn read_all(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    read_bytes(folder).map(|files| texts(&files))
}

/// [`read_all`] for files that need not be UTF-8.
pub(super) fn read_bytes(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = Vec::new();
    find(folder, String::new(), 0, &mut found)?;
    let mut files = BTreeMap::new();
    for (name, path) in found {
        files.insert(name, content(&path)?);
    }
    Ok(files)
}

/// Files as texts. Bytes that are no text become U+FFFD, which no format takes for anything else.
pub(super) fn texts(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    let text = |content: &Vec<u8>| String::from_utf8_lossy(content).into_owned();
    files
        .iter()
        .map(|(name, content)| (name.clone(), text(content)))
        .collect()
}

/// The text of a file, if it is there.
pub(super) fn read_if_there(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => read(path).map(Some),
    }
}

/// The text of a file, as [`texts`] has it.
fn read(path: &Path) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&content(path)?).into_owned())
}

fn content(path: &Path) -> anyhow::Result<Vec<u8>> {
    let attempt = || format!("failed to read `{}`", path.display());
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(attempt)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .with_context(attempt)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(anyhow!(
            "`{}` is larger than {} MiB",
            path.display(),
            MAX_FILE >> 20
        ));
    }
    Ok(bytes)
}

/// Writes a file if its text changes, with the folders above it.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let attempt = || format!("failed to write `{}`", path.display());
    if fs::read(path).is_ok_and(|before| before == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(attempt)?;
    }
    fs::write(path, text).with_context(attempt)
}

fn find(
    folder: &Path,
    prefix: String,
    depth: usize,
    found: &mut Vec<(String, PathBuf)>,
) -> anyhow::Result<()> {
    let attempt = || format!("failed to read folder `{}`", folder.display());
    if depth > MAX_DEPTH {
        return Err(anyhow!(
            "folders lie in each other too deep at `{}`",
            folder.display()
        ));
    }
    for entry in fs::read_dir(folder).with_context(attempt)? {
        let entry = entry.with_context(attempt)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().with_context(attempt)?;
        if kind.is_dir() {
            find(&entry.path(), format!("{name}/"), depth + 1, found)?;
        } else if kind.is_file() {
            found.push((name, entry.path()));
        }
        if found.len() > MAX_FILES {
            return Err(anyhow!(
                "there are more than {MAX_FILES} files in `{}`",
                folder.display()
            ));
        }
    }
    Ok(())
}
