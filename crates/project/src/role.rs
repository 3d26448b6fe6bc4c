//! What a role of Ansible says of its variables, as files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// How large a file may be.
const MAX_FILE: u64 = 1 << 20;

/// Where a role says which arguments it takes, the first place first. That in `meta/main.yml` counts where it is alone.
const ARGUMENT_SPECS: [&str; 4] = [
    "meta/argument_specs.yml",
    "meta/argument_specs.yaml",
    "meta/main.yml",
    "meta/main.yaml",
];
const DEFAULTS: [&str; 2] = ["defaults/main.yml", "defaults/main.yaml"];

/// A role: its name, and the texts that tell of its variables.
///
/// ```
/// use steersman_project::Role;
///
/// let folder = tempfile::tempdir()?;
/// let role = folder.path().join("memcached");
/// std::fs::create_dir_all(role.join("defaults"))?;
/// std::fs::write(role.join("defaults/main.yml"), "size: 1\n")?;
/// let role = Role::read(&role)?;
/// assert_eq!((role.name.as_str(), role.defaults.as_deref()), ("memcached", Some("size: 1\n")));
/// assert_eq!(role.argument_specs, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// That of its folder.
    pub name: String,
    /// The text with `argument_specs`, if there is one.
    pub argument_specs: Option<String>,
    /// The text of `defaults/main.yml`, if there is one.
    pub defaults: Option<String>,
}

/// Why a role can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// A file can't be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file is too large to be what it should be.
    #[error("`{}` is larger than {} KiB", .0.display(), MAX_FILE >> 10)]
    TooLarge(PathBuf),
}

impl Role {
    /// Reads the role in a folder. What is not there says nothing.
    ///
    /// # Errors
    /// A file is there and can't be read.
    pub fn read(folder: &Path) -> Result<Self, RoleError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            argument_specs: first(folder, &ARGUMENT_SPECS)?,
            defaults: first(folder, &DEFAULTS)?,
        })
    }
}

/// The text of the first of these files that is there.
fn first(folder: &Path, paths: &[&str]) -> Result<Option<String>, RoleError> {
    for path in paths {
        let path = folder.join(path);
        match text(&path) {
            Err(RoleError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            text => return text.map(Some),
        }
    }
    Ok(None)
}

fn text(path: &Path) -> Result<String, RoleError> {
    let failed = |source| RoleError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(RoleError::TooLarge(path.to_owned()));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The names of the roles that a playbook runs, as far as it says them without a template.
///
/// ```
/// use steersman_project::roles_of_playbook;
///
/// let playbook = "- hosts: localhost\n  roles: [web]\n  tasks:\n  - import_role: {name: memcached}\n";
/// assert_eq!(roles_of_playbook(playbook), ["web", "memcached"]);
/// ```
pub fn roles_of_playbook(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let plays = steersman_yaml::to_json(text).unwrap_or_default();
    for play in plays.as_array().into_iter().flatten() {
        for role in play["roles"].as_array().into_iter().flatten() {
            let name = [&role["role"], &role["name"], role];
            found.extend(name.into_iter().find_map(|name| name.as_str()).map(str::to_owned));
        }
        for section in ["pre_tasks", "tasks", "post_tasks"] {
            roles_of_tasks(&play[section], 0, &mut found);
        }
    }
    found.retain(|name| !name.contains("{{"));
    found
}

/// How deep blocks of tasks are looked into.
const MAX_DEPTH: usize = 20;

fn roles_of_tasks(tasks: &serde_json::Value, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    for task in tasks.as_array().into_iter().flatten() {
        for module in ["import_role", "include_role"] {
            for prefix in ["", "ansible.builtin.", "ansible.legacy."] {
                let name = task[format!("{prefix}{module}")]["name"].as_str();
                found.extend(name.map(str::to_owned));
            }
        }
        for section in ["block", "rescue", "always"] {
            roles_of_tasks(&task[section], depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Role, RoleError, roles_of_playbook};

    #[test]
    fn arguments_are_looked_for_where_ansible_looks() {
        let folder = tempfile::tempdir().unwrap();
        let role = folder.path().join("web");
        let write = |path: &str, text: &str| {
            let path = role.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(Role::read(&role).unwrap().defaults, None);
        write("meta/main.yml", "main");
        write("defaults/main.yaml", "of yaml");
        let read = Role::read(&role).unwrap();
        assert_eq!(read.argument_specs.as_deref(), Some("main"));
        assert_eq!(read.defaults.as_deref(), Some("of yaml"));
        write("meta/argument_specs.yaml", "own");
        assert_eq!(Role::read(&role).unwrap().argument_specs.as_deref(), Some("own"));
        write("defaults/main.yml", &"# much\n".repeat(200_000));
        let error = Role::read(&role).unwrap_err();
        assert!(matches!(error, RoleError::TooLarge(_)), "{error}");
    }

    #[test]
    fn roles_of_playbooks_are_found_in_blocks_and_under_full_names() {
        let playbook = "- hosts: localhost\n  roles:\n  - {role: one}\n  - name: two\n  - '{{ three }}'\n  pre_tasks:\n  - \
                        block:\n    - ansible.builtin.include_role: {name: four}\n    rescue:\n    - debug: {msg: a}\n";
        assert_eq!(roles_of_playbook(playbook), ["one", "two", "four"]);
        assert!(roles_of_playbook("{").is_empty());
        assert!(roles_of_playbook("a: b").is_empty());
    }
}
