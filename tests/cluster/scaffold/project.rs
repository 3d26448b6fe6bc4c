//! A project in a folder, and what a person does with it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::Assets;

use crate::bench::{Bench, PATIENCE};

pub(super) const BINARY: &str = env!("CARGO_BIN_EXE_steersman");
const PROGRAM: &str = concat!("STEERSMAN=", env!("CARGO_BIN_EXE_steersman"));

/// A project with one kind, and the person who works on it.
pub(super) struct Project<'a> {
    pub(super) bench: &'a Bench,
    /// The folder, and so the project, is called after the bench.
    pub(super) folder: PathBuf,
    pub(super) name: String,
    /// The kind in small letters.
    pub(super) kind: &'static str,
    /// What becomes of a resource besides a Service of the same name.
    pub(super) workload: &'static str,
    /// What runs of roles need.
    pub(super) ansible: Option<Ansible>,
}

pub(super) struct Said {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    #[track_caller]
    pub(super) fn succeeded(self) -> Self {
        assert!(self.success, "{}{}", self.stdout, self.stderr);
        self
    }
}

impl<'a> Project<'a> {
    pub(super) fn init(
        bench: &'a Bench,
        kind: &'static str,
        workload: &'static str,
        arguments: &[&str],
    ) -> Self {
        let name = format!("{}-operator", bench.namespace);
        let folder = bench.folder.path().join(&name);
        fs::create_dir(&folder).unwrap();
        let project = Self {
            bench,
            folder,
            name,
            kind,
            workload,
            ansible: None,
        };
        let domain = format!("--domain={}", bench.group);
        let arguments = [&["init", &domain], arguments].concat();
        project.run(BINARY, &arguments).succeeded();
        project
    }

    /// A program with nothing in its environment but what a user has.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment())
            .env("HOME", self.bench.folder.path())
            .env("KUBECONFIG", self.bench.user.kubeconfig())
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command
    }

    /// Where programs and collections are found.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let programs = Assets::find().unwrap().folder().display().to_string();
        let path = format!("{programs}:/usr/local/bin:/usr/bin:/bin");
        let Some(ansible) = &self.ansible else {
            return vec![("PATH", path)];
        };
        let of_ansible = ansible.folder().join("bin").display().to_string();
        vec![
            ("PATH", format!("{of_ansible}:{path}")),
            (
                "ANSIBLE_COLLECTIONS_PATH",
                ansible.collections().display().to_string(),
            ),
        ]
    }

    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Said {
        let output = self.command(program, arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said {
            success: output.status.success(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub(super) fn make(&self, arguments: &[&str]) -> Said {
        self.run("make", &[&[PROGRAM], arguments].concat())
    }

    /// Leaves make running.
    pub(super) fn start_make(&self, arguments: &[&str]) -> Running {
        let log = self.bench.folder.path().join("make.log");
        let output = File::create(&log).unwrap();
        let mut command = self.command("make", &[&[PROGRAM], arguments].concat());
        command
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0);
        Running {
            child: command.spawn().unwrap(),
            log,
        }
    }

    /// What kubectl prints, in the namespace of the bench unless the arguments name another one.
    #[track_caller]
    pub(super) fn kubectl(&self, arguments: &[&str]) -> String {
        let namespace = ["-n", self.bench.namespace.as_str()];
        self.run("kubectl", &[&namespace, arguments].concat())
            .succeeded()
            .stdout
    }

    pub(super) fn get(&self, arguments: &[&str]) -> Value {
        let arguments = [&["get", "-o", "json"], arguments].concat();
        serde_json::from_str(&self.kubectl(&arguments)).unwrap()
    }

    pub(super) fn system(&self) -> String {
        format!("{}-system", self.name)
    }

    pub(super) fn sample(&self) -> String {
        format!("{}-sample", self.kind)
    }

    /// The resource's kind for kubectl, with its group as others have the same kind.
    pub(super) fn resource(&self) -> String {
        let objects = steersman_kustomize::build(&self.folder.join("config/crd")).unwrap();
        objects[0]["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// The sample goes in, and becomes deployed.
    pub(super) fn install_sample(&self) {
        self.kubectl(&["apply", "-k", "config/samples"]);
        self.wait_for("condition=Deployed");
    }

    pub(super) fn wait_for(&self, what: &str) {
        let (resource, sample) = (
            format!("{}/{}", self.resource(), self.sample()),
            PATIENCE.as_secs(),
        );
        self.kubectl(&[
            "wait",
            &resource,
            &format!("--for={what}"),
            &format!("--timeout={sample}s"),
        ]);
    }

    pub(super) fn delete_sample(&self) {
        self.kubectl(&["delete", "-k", "config/samples", "--timeout=60s"]);
        let left = self.get(&["deployments,statefulsets,services"]);
        assert_eq!(left["items"], json!([]));
    }

    /// What is in the cluster of the project, in any namespace.
    pub(super) fn left(&self) -> Vec<String> {
        let kinds = "namespaces,customresourcedefinitions,clusterroles,clusterrolebindings";
        let found = self.kubectl(&["get", kinds, "-o", "name"]);
        let is_ours = |line: &&str| line.contains(&self.name) || line.contains(&self.bench.group);
        found.lines().filter(is_ours).map(str::to_owned).collect()
    }

    pub(super) async fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "{what} did not come");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// A make that runs, and what it has started; killed when dropped.
pub(super) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Signals make and all that it has started, as a terminal does.
    pub(super) fn signal(&self, name: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", name, "--", &group]).status();
    }

    /// Waits for the end, and tells whether it was a good one.
    pub(super) async fn end(&mut self) -> bool {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(begun.elapsed() < PATIENCE, "make does not end:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("KILL");
            let _ = self.child.wait();
        }
    }
}
