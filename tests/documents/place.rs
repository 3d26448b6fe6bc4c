//! Where the commands of a document run: a folder with a project, and programs by the names that documents use.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::root;

/// Commands of `steersman` that need more than the files of a project, and words that make others so.
/// Of these the real program reads the arguments and stops there.
pub(crate) const ELSEWHERE: &[(&str, &str)] = &[
    ("run", "a cluster"),
    ("diff", "a cluster"),
    ("status", "a cluster"),
    ("ui", "a cluster"),
    ("stage", "a cluster"),
    ("procedure", "a cluster"),
    ("test-release", "a cluster"),
    ("deploy", "a cluster"),
    ("undeploy", "a cluster"),
    ("migrate", "a cluster"),
    ("--user", "a cluster"),
    ("--discover", "a cluster"),
    ("build", "a program that runs alone, which tests have not"),
    ("--push", "a registry"),
    ("--use-image-digests", "a registry"),
    ("oci://*", "a registry"),
    ("https://*", "a server"),
];

/// Programs that are not ours. What is checked of their lines is that the files are there that they name.
pub(crate) const OTHERS: &[(&str, &str)] = &[
    ("kubectl", "asks a cluster"),
    ("helm", "asks a cluster"),
    ("docker", "makes images"),
    ("cargo", "compiles"),
    ("pip", "installs packages"),
    ("ansible-galaxy", "installs collections"),
    ("molecule", "needs a cluster"),
    ("benches/run.sh", "measures for minutes"),
    ("benches/operator.sh", "measures for minutes"),
];

/// Programs of the system that do here what they do elsewhere.
pub(crate) const SYSTEM: &[&str] = &["cd", "echo", "mkdir", "source"];

/// What documents of the repository itself have around them.
const OF_THE_REPOSITORY: &[&str] = &[
    "Makefile",
    "helm-charts",
    "examples/etcd",
    "examples/handlebars",
    "examples/mysql",
    "examples/pravega",
    "examples/visitors-ansible",
    "watches.yaml",
    "deploy",
];

/// A folder that is gone with the value.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    /// Where the next command runs.
    pub(crate) current: PathBuf,
}

impl Place {
    /// A folder with a chart in `charts/shop`, and, but for documents that begin with making one, a project in
    /// `shop-operator`.
    pub(crate) fn new(with_project: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self {
            current: folder.path().to_owned(),
            folder,
        };
        place.add_programs();
        let project = place.path("shop-operator");
        fs::create_dir(&project).unwrap();
        place.succeed("cd shop-operator && steersman init --domain example.com --kind Shop");
        copy(&project.join("helm-charts/shop"), &place.path("charts/shop"));
        if with_project {
            return Self {
                current: project,
                ..place
            };
        }
        fs::remove_dir_all(&project).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A copy of what documents of the repository name.
    pub(crate) fn repository(&self) -> PathBuf {
        let copied = self.path("steersman");
        if !copied.exists() {
            for name in OF_THE_REPOSITORY {
                copy(&root().join(name), &copied.join(name));
            }
        }
        copied
    }

    /// The programs of the documents, as they are here: scripts in a folder of their own.
    fn add_programs(&self) {
        let steersman = env!("CARGO_BIN_EXE_steersman");
        let elsewhere: Vec<&str> = ELSEWHERE.iter().map(|(word, _)| *word).collect();
        // Arguments are read in their order: what is wrong before `--help` is said, and nothing is done.
        self.add_program(
            "steersman",
            &format!(
                "for word; do case $word in\n--) break ;;\n{}) is_elsewhere=1 ;;\nesac; done\n\
                 test $is_elsewhere || exec '{steersman}' \"$@\"\n\
                 arguments=()\n\
                 for word; do test \"$word\" != -- || break; arguments+=(\"$word\"); done\n\
                 exec '{steersman}' \"${{arguments[@]}}\" --help > /dev/null\n",
                elsewhere.join("|")
            ),
        );
        // Names every command that would run, and needs the target.
        self.add_program(
            "make",
            "exec /usr/bin/env -u MAKEFLAGS -u MAKELEVEL PATH=/usr/bin:/bin make -n \"$@\" > /dev/null\n",
        );
        self.add_program("sudo", "test \"$1\" = -E && shift; exec \"$@\"\n");
        for (name, _) in OTHERS {
            self.add_program(
                name,
                "while test $# -gt 0; do\n\
                 case $1 in -f|-k) test \"$2\" = - || test -e \"$2\" || { echo \"$2: no such file\" >&2; exit 1; } ;; esac\n\
                 shift\ndone\n\
                 test ! -p /dev/stdin || cat > /dev/null\n",
            );
        }
    }

    fn add_program(&self, name: &str, script: &str) {
        // What is called by a path is in the repository.
        let path = if name.contains('/') {
            self.repository().join(name)
        } else {
            self.path("programs").join(name)
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/bash\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a line of shell, and stays where it goes. Gives what is wrong with its end.
    pub(crate) fn run(&mut self, line: &str) -> Result<(), String> {
        let output = self.bash(line);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        self.current = fs::read_to_string(self.path("current"))
            .unwrap()
            .trim_end()
            .into();
        Ok(())
    }

    fn succeed(&self, line: &str) {
        let output = self.bash(line);
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn bash(&self, line: &str) -> std::process::Output {
        let place = self.folder.path().display();
        Command::new("bash")
            .args([
                "-c",
                &format!("set -euo pipefail; {line}\npwd > '{place}/current'"),
            ])
            .current_dir(&self.current)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", format!("{place}/programs:/usr/bin:/bin"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Whether a line needs more than the files of a project.
pub(crate) fn is_elsewhere(line: &str) -> bool {
    let is_word = |word: &str, pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == pattern,
    };
    line.split(' ').any(|word| {
        ELSEWHERE
            .iter()
            .chain(OTHERS)
            .any(|(pattern, _)| is_word(word, pattern))
    })
}
