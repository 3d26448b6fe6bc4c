//! The Dockerfiles, beside the images that `build` makes: what one says, the other does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::build::{self, Unpacked};
use crate::program::Project;

/// What the last stage of a Dockerfile says.
#[derive(Debug, Default)]
struct Stage {
    from: String,
    environment: BTreeMap<String, String>,
    folder: String,
    user: String,
    entrypoint: Value,
    /// What is copied from the project, and where to.
    copied: Vec<(String, String)>,
    /// The commands of the stages before.
    commands: String,
}

impl Stage {
    fn last_of(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap().replace("\\\n", " ");
        let mut stage = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((instruction, rest)) = line.trim().split_once(' ') else {
                continue;
            };
            let mut rest = rest.trim().to_owned();
            for (name, value) in &stage.environment {
                rest = rest.replace(&format!("${{{name}}}"), value);
            }
            stage.read(instruction, &rest);
        }
        stage
    }

    fn read(&mut self, instruction: &str, rest: &str) {
        match instruction {
            "FROM" => {
                *self = Self {
                    from: rest.to_owned(),
                    commands: std::mem::take(&mut self.commands),
                    ..Self::default()
                }
            }
            "ENV" => {
                let (name, value) = rest.split_once('=').unwrap();
                self.environment.insert(name.to_owned(), value.to_owned());
            }
            "WORKDIR" => rest.clone_into(&mut self.folder),
            "USER" => rest.clone_into(&mut self.user),
            "ENTRYPOINT" => self.entrypoint = serde_json::from_str(rest).unwrap(),
            "RUN" => self.commands.push_str(rest),
            "COPY" if !rest.starts_with("--from") => {
                let (source, target) = rest.split_once(' ').unwrap();
                let target = target.trim().replace("./", &format!("{}/", self.folder));
                self.copied.push((source.to_owned(), target));
            }
            "ARG" | "COPY" => {}
            other => panic!("what is {other}?"),
        }
    }
}

/// The configuration of the image that `build` makes, and its files.
fn built(arguments: &[&str]) -> Unpacked {
    let project = build::project();
    build::build(&project, &[&["-t=a", "-o=a.tar"], arguments].concat());
    Unpacked::read(&project.path().join("a.tar"))
}

#[test]
fn the_dockerfile_of_the_example_makes_the_image_that_build_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stage = Stage::last_of(&root.join("build/Dockerfile"));
    let image = built(&[]);
    let config = &image.config["config"];
    assert_eq!(stage.from, "scratch");
    assert_eq!(config["User"], stage.user.as_str());
    assert_eq!(config["WorkingDir"], stage.folder.as_str());
    assert_eq!(config["Entrypoint"], stage.entrypoint);
    for (name, value) in &stage.environment {
        let variable = json!(format!("{name}={value}"));
        assert!(
            config["Env"].as_array().unwrap().contains(&variable),
            "{variable}"
        );
    }
    // Both names of the program, and the home folder.
    for file in built(&["--base"]).files {
        let path = file.split(' ').nth(2).unwrap().trim_end_matches('/');
        let is_made = stage.commands.contains(&format!("/image/{path}"));
        assert!(is_made, "{path} is not in {}", stage.commands);
    }
    let home = |name: &str| (name.to_owned(), format!("/opt/helm/{name}"));
    assert_eq!(stage.copied, [home("watches.yaml"), home("helm-charts")]);
}

#[test]
fn the_dockerfile_of_a_project_adds_to_the_base_what_build_adds() {
    let project = Project::new();
    fs::remove_file(project.path().join("watches.yaml")).unwrap();
    let ended = project.run(&["init", "--project-name=shop", "--kind=Shop"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let stage = Stage::last_of(&project.path().join("Dockerfile"));
    let base = built(&["--base"]).config;
    let whole = built(&[]).config;
    for key in ["User", "Entrypoint", "WorkingDir", "Env"] {
        assert_eq!(base["config"][key], whole["config"][key], "{key}");
    }
    // The rest is the base's, and nothing is said over it.
    assert_eq!((stage.user.as_str(), &stage.entrypoint), ("", &Value::Null));
    assert_eq!(whole["config"]["WorkingDir"], stage.folder.as_str());
    let home = |name: &str, target: &str| (name.to_owned(), format!("/opt/helm/{target}"));
    let files = home("[vw]a[lt]*.yaml", "");
    assert_eq!(stage.copied, [files, home("helm-charts", "helm-charts")]);
    // `make base` makes the image that it is built upon.
    let text = |name: &str| fs::read_to_string(project.path().join(name)).unwrap();
    let dockerfile = text("Dockerfile");
    let argument = dockerfile.lines().find_map(|line| line.strip_prefix("ARG BASE="));
    assert!(text("Makefile").contains(&format!("--base -t {} ", argument.unwrap())));
}

#[test]
fn the_dockerfile_of_a_project_of_ansible_starts_the_operator_on_python() {
    let project = Project::new();
    fs::remove_file(project.path().join("watches.yaml")).unwrap();
    let arguments = [
        "init",
        "--plugins=ansible",
        "--project-name=shop",
        "--kind=Shop",
        "--generate-role",
    ];
    let ended = project.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = fs::read_to_string(project.path().join("Dockerfile")).unwrap();
    let stage = Stage::last_of(&project.path().join("Dockerfile"));
    // The user and the arguments of the image without Python.
    let base = built(&["--base"]).config;
    assert_eq!(base["config"]["User"], stage.user.as_str());
    let mut entrypoint = base["config"]["Entrypoint"].clone();
    entrypoint[0] = "/usr/local/bin/ansible-operator".into();
    assert_eq!(stage.entrypoint, entrypoint);
    assert_eq!(
        (stage.from.as_str(), stage.folder.as_str()),
        ("${PYTHON}", "/opt/ansible")
    );
    let home = |name: &str| (name.to_owned(), format!("/opt/ansible/{name}"));
    let copied = ["requirements.yml", "watches.yaml", "roles", "playbooks"].map(home);
    assert_eq!(stage.copied, copied);
    // Each of what is copied is there, also where it is empty.
    for (name, _) in &stage.copied {
        assert!(project.path().join(name).exists(), "{name}");
    }
    // The versions are those that the tests' own runs are made with.
    let pins =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("build/ansible/requirements.txt"))
            .unwrap();
    let pinned: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_end_matches('\\').trim())
        .filter(|line| line.contains("=="))
        .collect();
    assert_eq!(pinned.len(), 5);
    for pin in pinned {
        assert!(pins.lines().any(|line| line == pin), "{pin} is not in {pins}");
    }
}
