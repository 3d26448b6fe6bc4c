//! The collection `operator_sdk.util` for the runs of this process.

use std::path::Path;

use steersman_ansible::{CollectionError, RunError, Runner, Scratch, write_collection};

/// Why there is no `operator_sdk.util` for runs.
#[derive(Debug, thiserror::Error)]
pub enum RunCollectionError {
    /// There is no folder to write it to.
    #[error("failed to make a folder for the collection operator_sdk.util")]
    Folder(#[source] RunError),
    /// It can't be written there.
    #[error(transparent)]
    Write(#[from] CollectionError),
}

/// A folder with `operator_sdk.util`, for this user alone. It goes with this value, or with the process.
///
/// Runs find it by `PYTHONPATH`: Ansible looks for collections there behind those of `ANSIBLE_COLLECTIONS_PATH`, of ansible.cfg
/// or of its own defaults, whichever counts. A path of ours in `ANSIBLE_COLLECTIONS_PATH` would hide what ansible.cfg says.
#[derive(Debug)]
pub struct RunCollection(Scratch);

impl RunCollection {
    /// Writes it beside the folders of these runs.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn write(runner: &Runner) -> Result<Self, RunCollectionError> {
        let folder = runner.scratch().map_err(RunCollectionError::Folder)?;
        write_collection(folder.path())?;
        Ok(Self(folder))
    }

    /// A folder for `ANSIBLE_COLLECTIONS_PATH`.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// `PYTHONPATH` of runs, behind what it is for this process.
    pub fn python_path(&self, of_process: Option<&str>) -> String {
        let own = self.path().display();
        match of_process.filter(|paths| !paths.is_empty()) {
            Some(paths) => format!("{paths}:{own}"),
            None => own.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use steersman_ansible::{Runner, Supervisor};

    use super::RunCollection;

    #[test]
    fn it_is_behind_the_users_own_and_goes_with_the_process() {
        let root = tempfile::tempdir().unwrap();
        let runner = Runner {
            root: root.path().to_owned(),
            ..Runner::new(Supervisor::of_this_process("supervise-run").unwrap())
        };
        let collection = RunCollection::write(&runner).unwrap();
        let path = collection.path().to_owned();
        assert!(
            path.join("ansible_collections/operator_sdk/util/plugins/modules/osdk_metric.py")
                .is_file()
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let own = path.display().to_string();
        assert_eq!(collection.python_path(Some("/a:/b")), format!("/a:/b:{own}"));
        assert_eq!(
            (collection.python_path(None), collection.python_path(Some(""))),
            (own.clone(), own)
        );
        drop(collection);
        assert!(!path.exists());
    }
}
