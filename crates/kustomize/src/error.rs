//! Why a folder could not be built.

use std::path::{Path, PathBuf};

/// Why a folder could not be built.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("kustomization.yaml"), "resources: [https://example.com/web]\n")?;
/// let error = steersman_kustomize::build(folder.path()).unwrap_err();
/// assert!(error.to_string().contains("resources"), "{error}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A folder has no `kustomization.yaml`, or several.
    #[error("`{}` {problem}", folder.display())]
    Folder {
        /// In full, with links resolved.
        folder: PathBuf,
        /// What is wrong with it, in words that follow its path.
        problem: String,
    },
    /// A text is not YAML.
    #[error("`{}` is not YAML", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: steersman_yaml::Error,
    },
    /// A field of a kustomization cannot be done as it says.
    #[error("{field} in `{}`: {problem}", path.display())]
    Field {
        /// The kustomization that has it.
        path: PathBuf,
        /// Its path below the top: `configMapGenerator`, `images`.
        field: String,
        /// What is wrong with it.
        problem: String,
        /// What to do instead.
        hint: Option<&'static str>,
    },
    /// An object cannot be taken.
    #[error("{problem}, in `{}`", path.display())]
    Object {
        /// Where it comes from.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An object cannot be written as YAML.
    #[error("failed to write the objects as YAML")]
    Write(#[source] steersman_yaml::Error),
}

impl Error {
    pub(crate) fn field(path: &Path, field: &str, problem: impl Into<String>) -> Self {
        Self::Field {
            path: path.to_owned(),
            field: field.to_owned(),
            problem: problem.into(),
            hint: None,
        }
    }

    pub(crate) fn field_with_hint(
        path: &Path,
        field: &str,
        problem: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        Self::Field {
            path: path.to_owned(),
            field: field.to_owned(),
            problem: problem.into(),
            hint: Some(hint),
        }
    }

    pub(crate) fn object(path: &Path, problem: impl Into<String>) -> Self {
        Self::Object {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Field { hint, .. } => *hint,
            _ => None,
        }
    }
}
