//! A folder with all that a run needs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::Value;
use steersman_ansible::{Content, Preload, ResourceId, RunSpec, Runner, Supervisor, write_collection};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::processes::{self, words};

/// Marks the processes of a run, which inherit it.
const MARK: &str = "STEERSMAN_TEST_OF_RUNNER";

pub(crate) struct Set {
    pub(crate) ansible: Ansible,
    pub(crate) runner: Runner,
    folder: tempfile::TempDir,
}

impl Set {
    /// None where there is no ansible-runner, which has been said.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let ansible = Ansible::find_or_skip(test)?;
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("out")).expect("a folder");
        write_collection(&folder.path().join("collections")).expect("written");
        let runner = Runner {
            program: ansible.program("ansible-runner"),
            root: folder.path().join("r"),
            supervisor: Supervisor::new(env!("CARGO_BIN_EXE_steersman-ansible-supervisor"), [""; 0]),
            grace: Duration::from_secs(10),
            preload: None,
        };
        Some(Self {
            ansible,
            runner,
            folder,
        })
    }

    /// Loads libraries once for all runs.
    pub(crate) fn preload(&mut self) {
        let words = [env!("CARGO_BIN_EXE_steersman-ansible-supervisor"), "run-module"];
        let preload = Preload::new(
            self.runner.scratch().expect("a folder"),
            &self.ansible.program("python3"),
            &self.environment(),
            &words.map(Into::into),
        );
        self.runner.preload = Some(preload.expect("a script that runs"));
    }

    /// Where playbooks are.
    pub(crate) fn source() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner")
    }

    pub(crate) fn playbook(name: &str) -> Content {
        Content::Playbook(Self::source().join(name))
    }

    /// Where playbooks write to.
    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The folder of the resource of all runs.
    pub(crate) fn folder(&self) -> PathBuf {
        self.runner.root.join("example.com/v1/Web/shop/site")
    }

    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let collections = [self.folder.path().join("collections"), self.ansible.collections()];
        let collections = collections.map(|path| path.display().to_string()).join(":");
        let pairs = [
            ("PATH", self.ansible.path()),
            ("ANSIBLE_COLLECTIONS_PATH", collections),
            ("OUT", self.out().display().to_string()),
            (MARK, self.mark()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    pub(crate) fn spec(&self, ident: &str, content: Content) -> RunSpec {
        let resource = ResourceId {
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            kind: "Web".to_owned(),
            namespace: "shop".to_owned(),
            name: "site".to_owned(),
        };
        let mut spec = RunSpec::new(resource, ident, content);
        spec.environment = self.environment();
        let out = Value::from(self.out().display().to_string());
        spec.extra_vars.insert("out".to_owned(), out);
        spec
    }

    /// Waits until the playbook has begun with what does not end.
    pub(crate) async fn until_started(&self) {
        let begun = Instant::now();
        while !self.out().join("started").exists() {
            assert!(
                begun.elapsed() < Duration::from_mins(1),
                "the playbook does not start"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The next task has begun, or is about to.
        tokio::time::sleep(Duration::from_millis(700)).await;
    }

    /// The command lines of processes of runs of this set.
    pub(crate) fn left(&self) -> Vec<String> {
        let variable = format!("{MARK}={}", self.mark());
        let left = processes::all().filter(|id| processes::has_variable(*id, &variable));
        // One that has nothing in its environment, but for its words.
        let bare = fs::read_to_string(self.out().join("bare")).ok();
        let bare = bare.and_then(|id| id.trim().parse().ok()).map(words);
        left.map(words)
            .chain(bare.filter(|words| words.contains("sleep")))
            .collect()
    }

    /// The supervisor of the run that is under way, and the process that has started it.
    pub(crate) fn supervisor(&self) -> [Pid; 2] {
        let folder = self.folder().display().to_string();
        let is_supervisor = |id: &u32| {
            let line = words(*id);
            line.starts_with(env!("CARGO_BIN_EXE_steersman-ansible-supervisor")) && line.contains(&folder)
        };
        let supervisor = processes::all().find(is_supervisor).expect("a supervisor");
        [supervisor, processes::parent(supervisor)]
            .map(|id| Pid::from_raw(id.cast_signed()).expect("a process"))
    }

    /// The same without the process that has libraries loaded, which is of no run.
    pub(crate) fn left_of_run(&self) -> Vec<String> {
        let mut left = self.left();
        if let Some(first) = left.iter().position(|line| line.contains("/preloaded.py")) {
            left.remove(first);
        }
        left
    }

    /// The folder has a name of its own.
    fn mark(&self) -> String {
        self.folder.path().display().to_string()
    }
}
