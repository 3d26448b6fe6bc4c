//! A Python environment with ansible-runner, which `build/ansible.sh` makes.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::environment::path_variable;
use crate::skip::skipped;

/// So many tests of a process have runs at a time: each run takes seconds of a processor, for which others would wait.
const AT_A_TIME: usize = 2;

/// How many have runs now, and who waits until that changes.
static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Programs and collections for runs of Ansible.
#[derive(Debug)]
pub struct Ansible {
    folder: PathBuf,
    _turn: Turn,
}

/// Whose turn it is, until this is dropped.
#[derive(Debug)]
struct Turn;

impl Turn {
    fn wait() -> Self {
        let taken = TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken >= AT_A_TIME;
        *TAKEN
            .1
            .wait_while(taken, full)
            .unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        TAKEN.1.notify_one();
    }
}

impl Ansible {
    /// The environment that `STEERSMAN_ANSIBLE` names, else the one that `build/ansible.sh` has made; or none and a line that
    /// says why `test` is skipped. Waits, with the thread, for its turn: a test that has one must not ask for another.
    ///
    /// # Panics
    ///
    /// There is none, and `CI=true`.
    #[must_use]
    pub fn find_or_skip(test: &str) -> Option<Self> {
        match find() {
            Ok(folder) => Some(Self {
                folder,
                _turn: Turn::wait(),
            }),
            Err(reason) => {
                skipped(test, reason);
                None
            }
        }
    }

    /// The path of a program, such as `ansible-runner`.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The folder of kubernetes.core, for `ANSIBLE_COLLECTIONS_PATH`.
    #[must_use]
    pub fn collections(&self) -> PathBuf {
        self.folder.join("collections")
    }

    /// The folder of the environment, for `VIRTUAL_ENV`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `PATH` with the programs first: ansible-runner looks for ansible-playbook there.
    #[must_use]
    pub fn path(&self) -> String {
        let others = std::env::var_os("PATH").unwrap_or_default();
        format!("{}:{}", self.folder.join("bin").display(), others.display())
    }
}

fn find() -> Result<PathBuf, String> {
    if let Some(folder) = path_variable("STEERSMAN_ANSIBLE") {
        let program = folder.join("bin/ansible-runner");
        if !program.exists() {
            return Err(format!("{} of STEERSMAN_ANSIBLE is not there", program.display()));
        }
        return Ok(folder);
    }
    crate::program::folder("ansible.sh", &["--find"])
}
