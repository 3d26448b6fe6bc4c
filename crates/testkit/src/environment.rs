//! The environment variables and well-known folders that tests look at, read in this one place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The value of an environment variable; an empty one counts as unset.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A path from an environment variable, relative ones from the current folder.
pub(crate) fn path_variable(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(variable(name)?);
    Some(std::path::absolute(&path).unwrap_or(path))
}

/// Whether a skipped test counts as a failure.
pub(crate) fn is_ci() -> bool {
    variable("CI").is_some_and(|value| value == "true")
}

/// The root of the workspace that this crate was compiled in.
pub(crate) fn workspace_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_path_buf()
}

/// `$XDG_CACHE_HOME/steersman`, or `~/.cache/steersman`.
pub(crate) fn cache_folder() -> PathBuf {
    path_variable("XDG_CACHE_HOME")
        .or_else(|| path_variable("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("steersman")
}
