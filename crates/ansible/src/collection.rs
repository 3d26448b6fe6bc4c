//! The collection `operator_sdk.util`, whose modules tell the operator something, as files.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where it is in a folder that `ANSIBLE_COLLECTIONS_PATH` names.
const PLACE: &str = "ansible_collections/operator_sdk/util";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../collection/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "README.md",
    "galaxy.yml",
    "meta/runtime.yml",
    "plugins/doc_fragments/osdk_auth_options.py",
    "plugins/module_utils/api.py",
    "plugins/modules/k8s_event.py",
    "plugins/modules/k8s_status.py",
    "plugins/modules/osdk_metric.py",
    "plugins/modules/requeue_after.py",
];

/// The collection can't be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the collection operator_sdk.util to `{}`", path.display())]
pub struct CollectionError {
    path: PathBuf,
    source: io::Error,
}

/// Writes `operator_sdk.util` into a folder for `ANSIBLE_COLLECTIONS_PATH`, where others may be, too. Everybody may read it.
///
/// What is there of it is replaced by a folder that is whole.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// steersman_ansible::write_collection(folder.path())?;
/// let modules = folder.path().join("ansible_collections/operator_sdk/util/plugins/modules");
/// assert!(modules.join("k8s_status.py").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Something can't be written or replaced.
pub fn write_collection(folder: &Path) -> Result<(), CollectionError> {
    let target = folder.join(PLACE);
    write(&target).map_err(|source| CollectionError { path: target, source })
}

fn write(target: &Path) -> io::Result<()> {
    let beside = target.parent().unwrap_or(target);
    fs::create_dir_all(beside)?;
    // Python takes no folder whose name starts with a point for a package.
    let next = tempfile::Builder::new().prefix(".next-").tempdir_in(beside)?;
    let whole = next.path().join("util");
    for (path, text) in FILES {
        let file = whole.join(path);
        fs::create_dir_all(file.parent().unwrap_or(&whole))?;
        fs::write(&file, text)?;
        fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    }
    match fs::rename(target, next.path().join("old")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(&whole, target)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{FILES, PLACE, write_collection};

    fn files_in(folder: &Path) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.file_name().and_then(|name| name.to_str()) {
                // Python's own, where somebody has run the modules in place.
                Some("__pycache__") => {}
                _ if path.is_dir() => files.extend(files_in(&path)),
                _ => drop(files.insert(path)),
            }
        }
        files
    }

    #[test]
    fn each_file_of_the_collection_is_embedded() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("collection");
        let embedded = FILES.iter().map(|(path, _)| source.join(path)).collect();
        assert_eq!(files_in(&source), embedded);
    }

    #[test]
    fn an_older_one_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join(PLACE);
        fs::create_dir_all(target.join("plugins/modules")).expect("a folder");
        fs::write(target.join("plugins/modules/old.py"), "").expect("written");
        write_collection(folder.path()).expect("written");
        assert_eq!(files_in(folder.path()).len(), FILES.len());
    }
}
