//! A chart in a `.tgz` archive, read in memory.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::{Budget, File, without_mark};
use crate::error::LoadError;

/// Reads the archive at `path`.
pub(super) fn read_file(path: &Path, budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > budget.bytes() {
        budget.take(size)?;
    }
    let content = fs::read(path).map_err(failed)?;
    if !content.starts_with(&[0x1f, 0x8b, 0x08]) {
        let name = path.display();
        let is_yaml = path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml");
        return Err(LoadError::invalid(if is_yaml {
            format!("file '{name}' seems to be a YAML file, but expected a gzipped archive")
        } else {
            format!("file '{name}' does not appear to be a gzipped archive")
        }));
    }
    read(&content, budget)
}

/// Reads the files of an archive: the paths without their first element, which is the chart's
/// folder.
pub(super) fn read(content: &[u8], budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    let mut archive = tar::Archive::new(MultiGzDecoder::new(content));
    let mut files = Vec::new();
    for entry in archive.entries().map_err(|error| broken(&error))? {
        let mut entry = entry.map_err(|error| broken(&error))?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        let path = entry.path_bytes();
        let path = String::from_utf8_lossy(&path).into_owned();
        if path.ends_with('/') {
            continue;
        }
        let name = inner_path(&path)?;
        if entry.size() > budget.bytes() {
            budget.take(entry.size())?;
        }
        let mut content = Vec::new();
        entry
            .by_ref()
            .take(budget.bytes() + 1)
            .read_to_end(&mut content)
            .map_err(|error| broken(&error))?;
        budget.take(content.len() as u64)?;
        files.push(File {
            name,
            content: without_mark(&content).into(),
        });
    }
    if files.is_empty() {
        return Err(LoadError::invalid("no files in chart archive"));
    }
    Ok(files)
}

/// The path of an entry inside the chart, if it lies there.
fn inner_path(path: &str) -> Result<String, LoadError> {
    let delimiter = if path.contains('\\') { '\\' } else { '/' };
    let mut parts = path.split(delimiter);
    let first = parts.next().unwrap_or_default();
    let name = parts.collect::<Vec<_>>().join("/");
    if name.starts_with('/') {
        return Err(LoadError::invalid("chart illegally contains absolute paths"));
    }
    let Some(name) = clean(&name) else {
        return Err(LoadError::invalid("chart illegally references parent directory"));
    };
    if name.is_empty() {
        return Err(LoadError::invalid(format!(
            "chart illegally contains content outside the base directory: {path:?}"
        )));
    }
    if name.starts_with("..") {
        return Err(LoadError::invalid("chart illegally references parent directory"));
    }
    let mut characters = name.chars();
    let drive = (characters.next(), characters.next(), characters.next());
    if matches!(drive, (Some(letter), Some(':'), Some('/')) if letter.is_ascii_alphabetic()) {
        return Err(LoadError::invalid("chart contains illegally named files"));
    }
    if first == "Chart.yaml" {
        return Err(LoadError::invalid("chart yaml not in base directory"));
    }
    Ok(name)
}

/// The path without `.` and `..`; none where it leads out.
fn clean(path: &str) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop()?;
            }
            other => kept.push(other),
        }
    }
    Some(kept.join("/"))
}

fn broken(error: &std::io::Error) -> LoadError {
    LoadError::invalid(format!("chart archive is broken: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, content) in entries {
            let mut header = tar::Header::new_gnu();
            // Written by hand: the builder refuses the paths that are tested here.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn check(path: &str, expect: &str) {
        let result = read(&archive(&[(path, b"x")]), &mut Budget::default());
        let found = match result {
            Ok(files) => files[0].name.clone(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{path}");
    }

    #[test]
    fn paths_that_lead_out_of_the_chart_are_refused() {
        check("web/templates/a.yaml", "templates/a.yaml");
        check("web\\templates\\a.yaml", "templates/a.yaml");
        check("web/../../x", "chart illegally references parent directory");
        check("web//etc/passwd", "chart illegally contains absolute paths");
        check("web/c:/x", "chart contains illegally named files");
        check(
            "Chart.yaml",
            "chart illegally contains content outside the base directory: \"Chart.yaml\"",
        );
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let zeros = vec![0; 101 << 20];
        let error = read(&archive(&[("web/zeros", &zeros)]), &mut Budget::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "decompressed chart is larger than the maximum size 104857600"
        );
    }

    #[test]
    fn broken_archives_give_errors() {
        let whole = archive(&[("web/a", b"content")]);
        assert!(read(&whole[..20], &mut Budget::default()).is_err());
        assert!(read(b"", &mut Budget::default()).is_err());
    }
}
