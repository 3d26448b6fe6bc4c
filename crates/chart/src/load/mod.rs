//! From files to a chart.
//!
//! The rules are those of Helm's `pkg/chart/v2/loader`: which file is what, how archives and
//! directories are read, and which ones are refused. A chart is read into memory as a whole and
//! never unpacked to disk.

mod archive;
mod directory;
mod ignore;
mod wildcard;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ignore::Rules;
pub(crate) use wildcard::matches as wildcard_matches;

use crate::error::LoadError;
use crate::metadata;
use crate::notice::Notice;
use crate::source::{File, Source};
use crate::values::{self, Defaults};

/// How deep charts may lie in charts; Helm has no limit but its stack.
const MAX_DEPTH: usize = 32;

/// Everything read for a chart.
pub(crate) struct Loaded {
    pub(crate) source: Source,
    /// All files as read, by path.
    pub(crate) files: Vec<File>,
}

/// Reads the chart in a directory or archive, of a version that is rendered.
pub(crate) fn load(path: &Path) -> Result<Loaded, LoadError> {
    let is_folder = fs::metadata(path).is_ok_and(|kind| kind.is_dir());
    if is_folder && !path.join("Chart.yaml").exists() {
        return Err(LoadError::invalid(format!(
            "unable to detect chart at {0}: open {0}: no such file or directory",
            path.join("Chart.yaml").display()
        )));
    }
    let loaded = load_any(path)?;
    if !matches!(loaded.source.metadata.api_version.as_str(), "v1" | "v2") {
        return Err(LoadError::invalid("unsupported chart version"));
    }
    Ok(loaded)
}

/// Reads the chart in a directory or archive, whatever its `apiVersion` says.
pub(crate) fn load_any(path: &Path) -> Result<Loaded, LoadError> {
    let mut budget = Budget::default();
    let kind = fs::metadata(path).map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })?;
    let files = if kind.is_dir() {
        directory::read(path, &mut budget)?
    } else {
        archive::read_file(path, &mut budget)?
    };
    let source = from_files(files.clone(), &mut budget, 0)?;
    Ok(Loaded { source, files })
}

/// The chart in an archive that is in memory.
pub(crate) fn load_archive(content: &[u8]) -> Result<Loaded, LoadError> {
    let mut budget = Budget::default();
    let files = archive::read(content, &mut budget)?;
    let source = from_files(files.clone(), &mut budget, 0)?;
    Ok(Loaded { source, files })
}

/// The files of the chart in a directory or `.tgz` file, by their paths in it, without what its `.helmignore` leaves out.
///
/// # Errors
///
/// The path cannot be read, or the files exceed the limits for charts.
pub fn files_of_chart(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, LoadError> {
    Ok(by_path(load(path)?))
}

/// [`files_of_chart`] of a `.tgz` archive that is in memory.
///
/// # Errors
///
/// The archive is broken, or its files exceed the limits for charts.
pub fn files_of_archive(content: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, LoadError> {
    Ok(by_path(load_archive(content)?))
}

fn by_path(loaded: Loaded) -> BTreeMap<String, Vec<u8>> {
    let files = loaded.files.into_iter();
    files.map(|file| (file.name, file.content.to_vec())).collect()
}

/// The files of an archive, as they would be read from the folder that it is unpacked to.
pub(crate) fn unpack(path: &Path) -> Result<Vec<File>, LoadError> {
    archive::read_file(path, &mut Budget::default())
}

/// The chart of files that were in an archive, with its `.helmignore` obeyed as in a folder.
pub(crate) fn load_unpacked(files: &[File]) -> Result<Loaded, LoadError> {
    let rules = files.iter().find(|file| file.name == ".helmignore");
    let rules = rules.map_or(Ok(Rules::parse("")?), |file| {
        Rules::parse(&String::from_utf8_lossy(&file.content))
    })?;
    let is_ignored = |name: &str| {
        let folders = name.match_indices('/').map(|(end, _)| &name[..end]);
        rules.ignores(name, false) || folders.into_iter().any(|folder| rules.ignores(folder, true))
    };
    let mut files: Vec<File> = files
        .iter()
        .filter(|file| !is_ignored(&file.name))
        .cloned()
        .collect();
    // In the order in which a folder is walked.
    files.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    let source = from_files(files.clone(), &mut Budget::default(), 0)?;
    Ok(Loaded { source, files })
}

/// What a chart may take up in memory, with all archives in it.
pub(crate) struct Budget {
    bytes: u64,
    files: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: Self::BYTES,
            files: Self::FILES,
        }
    }
}

impl Budget {
    /// Helm's limit for the decompressed size of a chart.
    const BYTES: u64 = 100 << 20;
    /// Empty files take no bytes but a header each.
    const FILES: u32 = 100_000;
    /// The limit for one file that Helm had before 4.3.
    const FILE_BYTES: u64 = 5 << 20;

    /// Refuses a file of `bytes` that is too large, before it is read.
    pub(crate) fn check(&self, name: &str, bytes: u64) -> Result<(), LoadError> {
        if bytes > self.bytes {
            return Err(Self::too_large());
        }
        if bytes > Self::FILE_BYTES {
            return Err(LoadError::invalid(format!(
                "decompressed chart file {name:?} is larger than the maximum file size {}",
                Self::FILE_BYTES
            )));
        }
        Ok(())
    }

    fn too_large() -> LoadError {
        LoadError::invalid(format!(
            "decompressed chart is larger than the maximum size {}",
            Self::BYTES
        ))
    }

    /// Takes account of a file of `bytes`.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), LoadError> {
        self.files = self.files.checked_sub(1).ok_or_else(|| {
            LoadError::invalid(format!(
                "chart has more than the maximum of {} files",
                Self::FILES
            ))
        })?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(Self::too_large)?;
        Ok(())
    }
}

/// Removes the byte order mark that some editors put before UTF-8.
fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content)
}

/// Sorts the files of a chart by what they are, its subcharts' included.
pub(crate) fn from_files(files: Vec<File>, budget: &mut Budget, depth: usize) -> Result<Source, LoadError> {
    if depth > MAX_DEPTH {
        return Err(LoadError::invalid(format!(
            "charts are nested more than {MAX_DEPTH} deep"
        )));
    }
    let mut source = Source::default();
    let mut metadata = None;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        let mut read = metadata.take().unwrap_or_default();
        metadata::read_into(&mut read, &file.content).map_err(cannot_load("Chart.yaml"))?;
        if read.api_version.is_empty() {
            "v1".clone_into(&mut read.api_version);
        }
        metadata = Some(read);
    }
    let mut subcharts: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        let name = file.name.as_str();
        if name == "Chart.yaml" {
        } else if name == "Chart.lock" {
            source.lock = metadata::read_lock(&file.content).map_err(cannot_load("Chart.lock"))?;
        } else if name == "values.yaml" {
            let values = values::read(&file.content)
                .map_err(|error| LoadError::invalid(format!("cannot load values.yaml: {error}")))?;
            source.defaults = Arc::new(Defaults::new(&values));
            source.values = values;
            source.values_file = Some(file.content);
        } else if name == "values.schema.json" {
            source.schema = Some(file.content);
        } else if name == "requirements.yaml" {
            let metadata = metadata.get_or_insert_default();
            if metadata.api_version != "v1" {
                source.notices.push(Notice::info(
                    "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating \
                     dependencies to Chart.yaml.",
                ));
            }
            metadata::read_into(metadata, &file.content).map_err(cannot_load("requirements.yaml"))?;
            if metadata.api_version == "v1" {
                source.files.push(file);
            }
        } else if name == "requirements.lock" {
            source.lock = metadata::read_lock(&file.content).map_err(cannot_load("requirements.lock"))?;
            if metadata.get_or_insert_default().api_version == "v1" {
                source.files.push(file);
            } else {
                source.notices.push(Notice::info(
                    "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend \
                     migrating to Chart.lock.",
                ));
            }
        } else if name.starts_with("templates/") {
            source.templates.push(file);
        } else if let Some(rest) = name.strip_prefix("charts/") {
            if Path::new(name).extension().is_some_and(|ending| ending == "prov") {
                source.files.push(file);
                continue;
            }
            let folder = rest.split('/').next().unwrap_or(rest).to_owned();
            let name = rest.to_owned();
            subcharts.entry(folder).or_default().push(File { name, ..file });
        } else {
            source.files.push(file);
        }
    }
    source.metadata = metadata.ok_or_else(|| LoadError::invalid("Chart.yaml file is missing"))?;
    source.metadata.check().map_err(LoadError::invalid)?;
    for (folder, files) in subcharts {
        if folder.starts_with(['_', '.']) {
            continue;
        }
        let name = &source.metadata.name;
        let subchart = subchart(&folder, name, files, budget, depth + 1).map_err(|error| {
            LoadError::invalid(format!("error unpacking subchart {folder} in {name}: {error}"))
        })?;
        source.dependencies.push(Arc::new(subchart));
    }
    Ok(source)
}

fn subchart(
    folder: &str,
    parent: &str,
    files: Vec<File>,
    budget: &mut Budget,
    depth: usize,
) -> Result<Source, LoadError> {
    if Path::new(folder)
        .extension()
        .is_some_and(|ending| ending == "tgz")
    {
        let Some(file) = files.first().filter(|file| file.name == folder) else {
            let found = files.first().map_or("", |file| &file.name);
            return Err(LoadError::invalid(format!(
                "error unpacking subchart tar in {parent}: expected {folder}, got {found}"
            )));
        };
        let files = archive::read(&file.content, budget)?;
        return from_files(files, budget, depth);
    }
    let inside = files
        .into_iter()
        .filter_map(|file| {
            let (_, name) = file.name.split_once('/')?;
            let name = name.to_owned();
            Some(File { name, ..file })
        })
        .collect();
    from_files(inside, budget, depth)
}

fn cannot_load(file: &'static str) -> impl Fn(String) -> LoadError {
    move |message| {
        // What was read but is not allowed is no failure to read.
        if message.starts_with("validation: ") {
            return LoadError::invalid(message);
        }
        LoadError::invalid(format!("cannot load {file}: {message}"))
    }
}
