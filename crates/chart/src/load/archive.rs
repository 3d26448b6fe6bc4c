//! A chart in a `.tgz` archive, read in memory.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::{Budget, File, without_mark};
use crate::error::LoadError;

/// What may come between the contents of two files: headers, long names, the padding of blocks.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Reads a `.tgz`; one that is not compressed is refused in Helm's words.
pub(super) fn read_file(path: &Path, budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::new(fs::File::open(path).map_err(failed)?);
    let start = io::BufRead::fill_buf(&mut file).map_err(failed)?;
    if !start.starts_with(&[0x1f, 0x8b, 0x08]) {
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
    unpack(file, budget)
}

/// Reads the files of an archive: the paths without their first element, which is the chart's
/// folder.
pub(super) fn read(content: &[u8], budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    unpack(content, budget)
}

fn unpack(compressed: impl io::BufRead, budget: &mut Budget) -> Result<Vec<File>, LoadError> {
    let allowance = Allowance::default();
    let mut archive = tar::Archive::new(Metered {
        inner: MultiGzDecoder::new(compressed),
        allowance: &allowance,
    });
    let mut files = Vec::new();
    let mut entries = archive.entries().map_err(|error| broken(&error))?;
    loop {
        allowance.0.set(MAX_HEADER_BYTES);
        let Some(entry) = entries.next() else { break };
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
        let size = entry.size();
        budget.check(&path, size)?;
        allowance.0.set(size + MAX_HEADER_BYTES);
        let mut content = Vec::with_capacity(size as usize);
        entry.read_to_end(&mut content).map_err(|error| broken(&error))?;
        if content.len() as u64 != size {
            return Err(broken(&io::ErrorKind::UnexpectedEof.into()));
        }
        budget.take(size)?;
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

/// How many bytes may be unpacked until the next file. Names and headers are not part of a
/// chart's size, but a few bytes can unpack to any amount of them, too.
#[derive(Default)]
struct Allowance(Cell<u64>);

struct Metered<'a, R> {
    inner: R,
    allowance: &'a Allowance,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.allowance.0.get().checked_sub(count as u64);
        let left = left.ok_or_else(|| {
            io::Error::other(format!(
                "more than {MAX_HEADER_BYTES} bytes lie between two files"
            ))
        })?;
        self.allowance.0.set(left);
        Ok(count)
    }
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
        let zeros = vec![0; 5 << 20];
        let entries = vec![("web/zeros", zeros.as_slice()); 21];
        let error = read(&archive(&entries), &mut Budget::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "decompressed chart is larger than the maximum size 104857600"
        );
    }

    #[test]
    fn a_file_has_a_limit_of_its_own() {
        let zeros = vec![0; (5 << 20) + 1];
        let largest = &zeros[1..];
        assert!(read(&archive(&[("web/zeros", largest)]), &mut Budget::default()).is_ok());
        let error = read(&archive(&[("web/zeros", &zeros)]), &mut Budget::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "decompressed chart file \"web/zeros\" is larger than the maximum file size 5242880"
        );
    }

    /// An archive of one entry that is no file, with `size` zeros.
    fn archive_of(kind: tar::EntryType, size: u64) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        builder.append(&header, io::repeat(0).take(size)).unwrap();
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn what_is_no_file_cannot_fill_the_memory_either() {
        use tar::EntryType;
        for kind in [
            EntryType::GNULongName,
            EntryType::XHeader,
            EntryType::XGlobalHeader,
            EntryType::Directory,
        ] {
            let error = read(&archive_of(kind, 64 << 20), &mut Budget::default()).unwrap_err();
            let message = error.to_string();
            assert!(
                message.ends_with("more than 1048576 bytes lie between two files"),
                "{message}"
            );
        }
    }

    #[test]
    fn the_size_of_an_extended_header_counts() {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        builder
            .append_pax_extensions([("size", b"3".as_slice())])
            .unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_path("web/a").unwrap();
        // A reader that believes this goes on in the middle of the content.
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, b"abc".as_slice()).unwrap();
        let archive = builder.into_inner().unwrap().finish().unwrap();
        let files = read(&archive, &mut Budget::default()).unwrap();
        assert_eq!((files.len(), &*files[0].content), (1, b"abc".as_slice()));
    }

    #[test]
    fn links_are_not_followed() {
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
            let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(0);
            builder
                .append_link(&mut header, "web/templates/a.yaml", "/etc/passwd")
                .unwrap();
            let archive = builder.into_inner().unwrap().finish().unwrap();
            let files = read(&archive, &mut Budget::default()).unwrap();
            assert_eq!(&*files[0].content, b"");
        }
    }

    #[test]
    fn empty_files_are_counted() {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        for number in 0..=Budget::FILES {
            builder
                .append_data(&mut header, format!("web/{number}"), io::empty())
                .unwrap();
        }
        let archive = builder.into_inner().unwrap().finish().unwrap();
        let error = read(&archive, &mut Budget::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "chart has more than the maximum of 100000 files"
        );
    }

    #[test]
    fn broken_archives_give_errors() {
        let whole = archive(&[("web/a", b"content")]);
        for length in [0, 1, 10, 20, whole.len() - 30] {
            assert!(
                read(&whole[..length], &mut Budget::default()).is_err(),
                "{length}"
            );
        }
        let trailing = [whole.as_slice(), b"garbage"].concat();
        assert_eq!(read(&trailing, &mut Budget::default()).unwrap().len(), 1);
    }
}
