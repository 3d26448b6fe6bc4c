//! What is wrong with a watches.yaml.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why a watches.yaml cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WatchesError {
    /// The file cannot be read.
    #[error("failed to read watches file `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file was read and something in it is wrong.
    #[error("{}", Listed { path, problems })]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All that is wrong, in the order of the file; never empty.
        problems: Vec<Problem>,
    },
}

impl WatchesError {
    /// What the user can do about it, where that is not plain from the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Read { path, source } if source.kind() == io::ErrorKind::NotFound && path.is_relative() => {
                Some(format!(
                    "`{}` is looked for in the working directory; name another file with --watches-file",
                    path.display()
                ))
            }
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("name another file with --watches-file".to_owned())
            }
            Self::Read { .. } => None,
            Self::Invalid { problems, .. } => problems.iter().find_map(|problem| problem.hint.clone()),
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 where the whole file is meant.
    pub line: u32,
    /// Column, from 1; 0 where the line or the whole file is meant.
    pub column: u32,
    /// The key, such as `[0].selector.matchLabels`; empty where the file is meant.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What the user can do about it, where that is not plain from the message.
    pub hint: Option<String>,
}

/// Something that the author should know although the file can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Line, from 1.
    pub line: u32,
    /// The key, such as `[0].reconcilePeriods`.
    pub key: String,
    /// What is odd.
    pub message: String,
}

struct Listed<'a> {
    path: &'a Path,
    problems: &'a [Problem],
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{}:", self.path.display())?;
            if problem.line > 0 {
                write!(f, "{}:", problem.line)?;
            }
            if problem.column > 0 {
                write!(f, "{}:", problem.column)?;
            }
            if !problem.key.is_empty() {
                write!(f, " {}:", problem.key)?;
            }
            write!(f, " {}", problem.message)?;
        }
        Ok(())
    }
}
