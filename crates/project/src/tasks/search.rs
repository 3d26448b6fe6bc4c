//! Where roles, and the files that tasks name, are looked for, as Ansible does.

use std::path::{Path, PathBuf};

/// Where things are looked for that tasks name.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The project's folder: the places of what is below it start there.
    pub root: PathBuf,
    /// Folders of roles, as `ANSIBLE_ROLES_PATH` has them.
    pub roles: Vec<PathBuf>,
    /// Folders with `ansible_collections`, as `ANSIBLE_COLLECTIONS_PATH` has them.
    pub collections: Vec<PathBuf>,
}

/// Where Ansible is while it reads a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    /// The folder of the playbook; for a role that runs alone, the folder that has it.
    pub(super) playbook: PathBuf,
    pub(super) role: Option<PathBuf>,
    /// The folder of the file that is read.
    pub(super) folder: PathBuf,
}

impl Search {
    /// For a project in this folder, without variables of the environment.
    pub fn below(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            ..Self::default()
        }
    }

    /// A path as people see it: from the project's folder on, where it is in there.
    pub fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.display().to_string()
    }

    /// The folder of a role, or where it was looked for.
    pub(super) fn role(&self, name: &str, spot: &Spot) -> Result<PathBuf, Vec<PathBuf>> {
        let mut places = Vec::new();
        if let [namespace, collection, role] = name.split('.').collect::<Vec<_>>()[..] {
            let below: PathBuf = ["ansible_collections", namespace, collection, "roles", role]
                .iter()
                .collect();
            places.extend(self.collections.iter().map(|folder| folder.join(&below)));
        }
        places.push(spot.playbook.join("roles").join(name));
        places.extend(self.roles.iter().map(|folder| folder.join(name)));
        let beside = spot.role.as_deref().and_then(Path::parent);
        places.extend(beside.map(|folder| folder.join(name)));
        places.push(spot.playbook.join(name));
        places.push(self.root.join("roles").join(name));
        let mut seen = std::collections::BTreeSet::new();
        places.retain(|place| seen.insert(place.clone()));
        places.iter().find(|place| place.is_dir()).cloned().ok_or(places)
    }

    /// A file of `kind`, which is also the name of the folder in which roles have such files: `tasks`, `templates`, `files`.
    pub(super) fn file(name: &str, kind: &str, spot: &Spot) -> Option<PathBuf> {
        let path = Path::new(name);
        if path.is_absolute() {
            return path.is_file().then(|| path.to_owned());
        }
        let role = spot.role.as_deref();
        let folders = [Some(spot.folder.as_path()), role, Some(spot.playbook.as_path())];
        let places = folders
            .into_iter()
            .flatten()
            .flat_map(|folder| [folder.join(kind).join(name), folder.join(name)]);
        places.into_iter().find(|place| place.is_file())
    }
}

/// The main file of a part of a role: `tasks/main.yml`, under whichever of the endings that Ansible knows.
pub(crate) fn part(role: &Path, part: &str, name: &str) -> Option<PathBuf> {
    let folder = role.join(part);
    let endings = ["", ".yml", ".yaml", ".json"];
    let mut places = endings
        .iter()
        .map(|ending| folder.join(format!("{name}{ending}")));
    places.find(|place| place.is_file())
}
