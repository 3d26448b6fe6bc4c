//! Projects: what `init` and `create api` write, judged by kubectl and, where `OPERATOR_SDK` names it, by operator-sdk.

mod ansible;
mod example;
mod layout;
mod makefile;
mod procedure;
mod sources;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use steersman_testkit::skip::not_judged;

/// A folder with charts beside a project.
struct Place {
    folder: tempfile::TempDir,
}

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

const MEMCACHED: &[&str] = &[
    "init",
    "--plugins",
    "helm",
    "--domain",
    "example.com",
    "--group",
    "cache",
    "--version",
    "v1alpha1",
    "--kind",
    "Memcached",
    "--helm-chart",
    "../charts/memcached",
];

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        place.write_chart(
            "charts/memcached",
            "0.0.2",
            "# -- Number of pods\nreplicaCount: 3\n\n# -- The image\nimage: memcached:1.5\n",
        );
        fs::create_dir(place.project()).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn project(&self) -> PathBuf {
        self.path("memcached-operator")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn write_chart(&self, folder: &str, version: &str, values: &str) {
        self.write(
            &format!("{folder}/Chart.yaml"),
            &format!("apiVersion: v2\nname: memcached\nversion: {version}\n"),
        );
        self.write(&format!("{folder}/values.yaml"), values);
        self.write(
            &format!("{folder}/templates/deployment.yaml"),
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\nspec:\n  replicas: {{ \
             .Values.replicaCount }}\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: \
             a}}\n    spec:\n      containers: [{name: a, image: '{{ .Values.image }}'}]\n",
        );
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path}: {text}");
        fs::write(self.project().join(path), text.replace(from, to)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Said {
        run(
            Path::new(env!("CARGO_BIN_EXE_steersman")),
            &self.project(),
            arguments,
        )
    }

    #[track_caller]
    fn succeed(&self, arguments: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said
    }

    #[track_caller]
    fn refuse(&self, arguments: &[&str], expect: &str) {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(expect), "{}", said.stderr);
        assert!(said.stderr.contains("\nhint: "), "{}", said.stderr);
    }
}

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> Said {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", folder.parent().unwrap().to_str().unwrap()),
        ])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// The texts of all files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

/// What `config/FOLDER` builds to, by kubectl's word, too, where there is one.
fn built(project: &Path, folder: &str) -> Vec<Value> {
    let folder = project.join("config").join(folder);
    let objects = steersman_kustomize::build(&folder).unwrap();
    match Command::new("kubectl").arg("kustomize").arg(&folder).output() {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let expect = String::from_utf8(output.stdout).unwrap();
            assert_eq!(
                steersman_kustomize::to_yaml(&objects).unwrap(),
                expect,
                "{}",
                folder.display()
            );
        }
        Err(_) => not_judged("a project's kustomization", "there is no kubectl"),
    }
    objects
}

fn names(objects: &[Value]) -> BTreeSet<String> {
    objects
        .iter()
        .map(|object| {
            format!(
                "{} {}",
                object["kind"].as_str().unwrap(),
                object["metadata"]["name"].as_str().unwrap()
            )
        })
        .collect()
}
