//! Which files an entry with a role or playbook runs, and a digest of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use steersman_model::Digest;

use crate::ansible::AnsibleSources;

/// Of a larger file size and time count, not what is in it.
const LARGEST: u64 = 16 << 20;
/// So many files are looked at.
const MOST_FILES: usize = 20_000;
/// Where Ansible looks beside a playbook without being told.
const BESIDE_PLAYBOOK: &[&str] = &[
    "action_plugins",
    "callback_plugins",
    "files",
    "filter_plugins",
    "group_vars",
    "host_vars",
    "library",
    "lookup_plugins",
    "module_utils",
    "tasks",
    "templates",
    "test_plugins",
    "vars",
];

/// Reads all that these roles and playbooks run: their own files, those that they mention, and roles that they mention of those in
/// `role_folders`. A word that is the name of a role counts as a mention, whatever it stands for there.
pub(super) fn read_sources<'a>(
    contents: impl IntoIterator<Item = &'a Path>,
    role_folders: &[PathBuf],
) -> AnsibleSources {
    let mut reader = Reader {
        roles: roles_in(role_folders),
        places: BTreeSet::new(),
        waiting: contents.into_iter().map(Path::to_owned).collect(),
        folders: BTreeSet::new(),
        digests: BTreeMap::new(),
    };
    while let Some(place) = reader.waiting.pop() {
        if reader.places.insert(place.clone()) {
            reader.read(&place);
        }
    }
    let files = reader.digests.iter();
    let lines: Vec<String> = files
        .map(|(path, digest)| format!("{}\0{digest}\n", path.display()))
        .collect();
    AnsibleSources {
        digest: Digest::of(lines.concat().as_bytes()),
        places: reader.places,
    }
}

struct Reader {
    /// By their names.
    roles: BTreeMap<String, PathBuf>,
    /// Folders and files that were read.
    places: BTreeSet<PathBuf>,
    waiting: Vec<PathBuf>,
    /// Those that were looked into, as what they are: a link may lead to where it is.
    folders: BTreeSet<PathBuf>,
    digests: BTreeMap<PathBuf, Digest>,
}

impl Reader {
    fn read(&mut self, place: &Path) {
        if place.is_file() {
            let folder = place.parent().unwrap_or(place).to_owned();
            self.waiting
                .extend(existing(BESIDE_PLAYBOOK.iter().map(|name| folder.join(name))));
            self.read_file(place, Some(&folder));
        } else {
            self.read_folder(place);
        }
    }

    fn read_folder(&mut self, folder: &Path) {
        let is_new = |real: PathBuf| self.folders.len() < MOST_FILES && self.folders.insert(real);
        if !folder.canonicalize().is_ok_and(is_new) {
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        for path in paths.into_iter().filter(|path| !is_by_the_way(path)) {
            if path.is_dir() {
                self.read_folder(&path);
            } else {
                self.read_file(&path, None);
            }
        }
    }

    /// `folder` is where paths in it begin, if they do so anywhere.
    fn read_file(&mut self, path: &Path, folder: Option<&Path>) {
        if self.digests.len() >= MOST_FILES || self.digests.contains_key(path) {
            return;
        }
        let Ok(about) = fs::metadata(path) else {
            return;
        };
        if about.len() > LARGEST {
            let said = format!("{} {:?}", about.len(), about.modified().ok());
            self.digests.insert(path.to_owned(), Digest::of(said.as_bytes()));
            return;
        }
        let Ok(bytes) = fs::read(path) else {
            return;
        };
        self.digests.insert(path.to_owned(), Digest::of(&bytes));
        if is_yaml(path) {
            self.note_mentions(&String::from_utf8_lossy(&bytes), folder);
        }
    }

    fn note_mentions(&mut self, text: &str, folder: Option<&Path>) {
        let is_of_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        for word in text
            .split(|c: char| !is_of_word(c))
            .filter(|word| !word.is_empty())
        {
            let name = word.rsplit('/').next().unwrap_or(word);
            self.waiting
                .extend(self.roles.get(name).or_else(|| self.roles.get(word)).cloned());
            let is_path = word.contains('/') || is_yaml(Path::new(word));
            if let Some(folder) = folder.filter(|_| is_path && !word.starts_with('/')) {
                self.waiting.extend(existing([folder.join(word)]));
            }
        }
    }
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    paths.into_iter().filter(|path| path.exists())
}

/// The roles that lie directly in these folders; of those of one name the first one.
fn roles_in(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut roles = BTreeMap::new();
    for folder in folders {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).take(MOST_FILES) {
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && path.is_dir()
            {
                roles.entry(name.to_owned()).or_insert_with(|| path.clone());
            }
        }
    }
    roles
}

fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yml" | "yaml"))
}

/// What tools leave beside the files of a role.
fn is_by_the_way(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_of_a_tool = |extension: &str| matches!(extension, "pyc" | "swp");
    matches!(name, ".git" | "__pycache__")
        || name.ends_with('~')
        || path
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(is_of_a_tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project in a folder of its own.
    struct Project(tempfile::TempDir);

    impl Project {
        fn new(files: &[(&str, &str)]) -> Self {
            let project = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                project.write(path, text);
            }
            project
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn digest(&self, content: &str) -> Digest {
            read_sources([self.path(content).as_path()], &[self.path("roles")]).digest
        }

        /// Whether a change of a file is a change of what is run.
        fn counts(&self, content: &str, path: &str) -> bool {
            let before = self.digest(content);
            self.write(path, "changed");
            self.digest(content) != before
        }
    }

    #[test]
    fn a_role_is_all_its_files_and_the_roles_that_it_names() {
        let project = Project::new(&[
            ("roles/web/tasks/main.yml", "- include_role: {name: base}\n"),
            ("roles/web/templates/a.j2", "one"),
            ("roles/base/meta/main.yml", "dependencies: [common]\n"),
            ("roles/common/tasks/main.yml", ""),
            ("roles/other/tasks/main.yml", ""),
        ]);
        assert!(project.counts("roles/web", "roles/web/templates/a.j2"));
        assert!(project.counts("roles/web", "roles/common/tasks/main.yml"));
        assert!(!project.counts("roles/web", "roles/other/tasks/main.yml"));
        assert!(!project.counts("roles/web", "roles/web/tasks/.main.yml.swp"));
    }

    #[test]
    fn a_playbook_is_what_it_names_and_what_ansible_finds_beside_it() {
        let project = Project::new(&[
            (
                "playbooks/site.yml",
                "- import_playbook: more.yml\n- hosts: localhost\n  roles: [web]\n  vars_files: ['settings/a.yml']\n",
            ),
            ("playbooks/more.yml", ""),
            ("playbooks/other.yml", ""),
            ("playbooks/settings/a.yml", ""),
            ("playbooks/templates/a.j2", ""),
            ("roles/web/tasks/main.yml", ""),
        ]);
        for path in [
            "playbooks/more.yml",
            "playbooks/settings/a.yml",
            "playbooks/templates/a.j2",
            "roles/web/tasks/main.yml",
        ] {
            assert!(project.counts("playbooks/site.yml", path), "{path}");
        }
        assert!(!project.counts("playbooks/site.yml", "playbooks/other.yml"));
    }

    #[test]
    fn links_that_lead_back_and_what_is_missing_end() {
        let project = Project::new(&[("roles/web/tasks/main.yml", "")]);
        std::os::unix::fs::symlink(project.path("roles/web"), project.path("roles/web/again")).unwrap();
        let digest = project.digest("roles/web");
        assert_eq!(project.digest("roles/web"), digest);
        assert_ne!(project.digest("roles/none"), digest);
    }
}
