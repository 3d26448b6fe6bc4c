//! Where roles and collections of Ansible are looked for.

use std::path::{Path, PathBuf};

use steersman_model::Environment;

/// Where collections are looked for without `ANSIBLE_COLLECTIONS_PATH`; then in the home folder.
const COLLECTIONS: &str = "/usr/share/ansible/collections";

/// Absolute folders in which roles and collections are looked for, the first one first, as ansible-operator does.
///
/// ```
/// use std::path::Path;
/// use steersman_model::Environment;
/// use steersman_watches::AnsiblePaths;
///
/// let variables = [("ANSIBLE_ROLES_PATH", "/opt/a"), ("HOME", "/home/me")];
/// let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let environment: Environment = variables.into_iter().collect();
/// let paths = AnsiblePaths::of(&environment);
/// assert_eq!(paths.roles, [Path::new("/opt/a"), Path::new("/opt/a/roles")]);
/// assert_eq!(paths.collections[1], Path::new("/home/me/.ansible/collections"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsiblePaths {
    /// Folders of roles by `ANSIBLE_ROLES_PATH`: `roles` may be a part of what that says, or not.
    pub roles: Vec<PathBuf>,
    /// Folders with `ansible_collections`.
    pub collections: Vec<PathBuf>,
}

impl AnsiblePaths {
    /// By the variables of the environment; empty ones say nothing.
    pub fn of(environment: &Environment) -> Self {
        let variable = |name: &str| environment.get(name).filter(|text| !text.is_empty());
        let folders = |text: &str| -> Vec<PathBuf> { text.split(':').map(PathBuf::from).collect() };
        let roles = variable("ANSIBLE_ROLES_PATH").map(folders).into_iter().flatten();
        let roles = roles.flat_map(|folder| [folder.clone(), folder.join("roles")]);
        let of_home = || variable("HOME").map(|home| Path::new(home).join(".ansible/collections"));
        let collections = variable("ANSIBLE_COLLECTIONS_PATH").map_or_else(
            || {
                std::iter::once(PathBuf::from(COLLECTIONS))
                    .chain(of_home())
                    .collect()
            },
            folders,
        );
        Self {
            roles: roles.map(|folder| absolute(&folder)).collect(),
            collections: collections.iter().map(|folder| absolute(folder)).collect(),
        }
    }
}

/// From the working directory on; a place that can't be made so stays as it is.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
