//! Real public charts, and what Helm 4.3.1 renders for them.
//!
//! The corpus is looked for in `$STEERSMAN_CORPUS` (an unpacked folder or the archive), then at
//! `../shared/corpus/corpus.tar.gz` beside the checkout. An archive is unpacked once into the cache folder,
//! under the digest of its content.

mod archive;
mod case;

use std::path::{Path, PathBuf};
use std::{fs, io};

pub use case::{Case, Expectation, Volatile, VolatileDocument};

use crate::environment;
use crate::skip::skipped;

/// Why the corpus can't be had.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// Neither the folder nor the archive is there.
    #[error("{0} is not there")]
    Absent(PathBuf),
    /// The system refused something.
    #[error("cannot {attempt} {path}")]
    Io {
        /// What was tried.
        attempt: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// `tar` ran and failed.
    #[error("tar cannot unpack {archive}: {message}")]
    Unpack {
        /// A `.tar.gz` of the recordings.
        archive: PathBuf,
        /// Standard error of `tar`.
        message: String,
    },
    /// A line of the index is not a case.
    #[error("cannot read line {line} of {path} as a case")]
    Parse {
        /// The index.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// An unpacked corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    root: PathBuf,
}

/// The corpus, or none and a line that says why the test is skipped.
///
/// # Panics
///
/// The corpus is there and can't be unpacked, or it is absent and `CI=true`.
#[must_use]
pub fn root_or_skip() -> Option<Corpus> {
    match Corpus::open() {
        Ok(corpus) => Some(corpus),
        Err(absent @ CorpusError::Absent(_)) => {
            skipped("the chart corpus", absent);
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

impl Corpus {
    /// Finds the corpus and unpacks it where that has not been done yet.
    ///
    /// # Errors
    ///
    /// It is absent, or can't be unpacked.
    pub fn open() -> Result<Self, CorpusError> {
        let place = environment::path_variable("STEERSMAN_CORPUS")
            .unwrap_or_else(|| environment::workspace_root().join("../shared/corpus/corpus.tar.gz"));
        Self::open_at(&place, &environment::cache_folder().join("corpus"))
    }

    /// Opens an unpacked folder, or an archive that is unpacked below `cache`.
    ///
    /// # Errors
    ///
    /// `place` is absent or holds no index, or can't be unpacked.
    pub fn open_at(place: &Path, cache: &Path) -> Result<Self, CorpusError> {
        let root = if place.is_dir() {
            place.to_path_buf()
        } else if place.exists() {
            archive::unpack_once(place, cache)?
        } else {
            return Err(CorpusError::Absent(place.to_path_buf()));
        };
        let index = root.join("index.jsonl");
        if index.exists() {
            Ok(Self { root })
        } else {
            Err(CorpusError::Absent(index))
        }
    }

    /// The folder that the paths of cases are relative to, and Helm's working folder when they were recorded.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An absolute path for a path of a case.
    #[must_use]
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// What Helm wrote for a case: its standard output, or its standard error where it failed.
    ///
    /// # Errors
    ///
    /// The recording can't be read.
    pub fn golden(&self, case: &Case) -> Result<String, CorpusError> {
        read(&self.path(&case.golden))
    }

    /// All cases, in the order of the index.
    ///
    /// # Errors
    ///
    /// The index can't be read, or has a line that is no case.
    pub fn cases(&self) -> Result<Vec<Case>, CorpusError> {
        let path = self.path("index.jsonl");
        read(&path)?
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(index, line)| {
                serde_json::from_str(line).map_err(|source| CorpusError::Parse {
                    path: path.clone(),
                    line: index + 1,
                    source,
                })
            })
            .collect()
    }
}

fn read(path: &Path) -> Result<String, CorpusError> {
    fs::read_to_string(path).map_err(failed("read", path))
}

fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CorpusError {
    let path = path.to_path_buf();
    move |source| CorpusError::Io {
        attempt,
        path,
        source,
    }
}
