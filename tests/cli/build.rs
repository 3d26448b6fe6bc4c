//! Images: what `build` makes, judged by crane, a registry and a reader of images.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steersman_testkit::program;
use steersman_testkit::skip::skipped;

use crate::gate::Gate;
use crate::program::{Ended, Project};

const X86: u8 = 62;
const ARM: u8 = 183;

/// A project with a static program in it: the head of one, as nothing here runs it.
pub(crate) fn project() -> Project {
    let project = Project::new();
    write_program(&project, "program", X86);
    project
}

pub(crate) fn write_program(project: &Project, name: &str, machine: u8) {
    let mut elf = vec![0; 64];
    elf[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
    (elf[16], elf[18], elf[54]) = (2, machine, 56);
    fs::write(project.path().join(name), elf).unwrap();
}

/// What `build` prints with these arguments besides the program.
#[track_caller]
pub(crate) fn build(project: &Project, arguments: &[&str]) -> String {
    let ended = project.run(&[&["build", "--binary=program"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// How a `build` that can't be fails.
#[track_caller]
fn check_refusal(project: &Project, arguments: &[&str], expect: &str) {
    let Ended { code, stderr, .. } = project.run(&[&["build", "-t=a"], arguments].concat());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains(expect), "{stderr}");
}

#[test]
fn the_same_files_make_the_same_image_wherever_they_lie() {
    let one = project();
    let first = build(&one, &["-t=a:v1", "-o=a.tar"]);

    // A copy of another age, with other rights, and with files that a chart ignores.
    let two = project();
    let script = "umask 077; mkdir copy; cp -r charts watches.yaml program copy/; \
                  find copy -exec touch -d '2001-02-03' {} +; chmod 777 copy/charts/web/Chart.yaml";
    assert!(
        Command::new("sh")
            .args(["-c", script])
            .current_dir(two.path())
            .status()
            .unwrap()
            .success()
    );
    let copy = two.path().join("copy");
    let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["build", "--binary=program", "-t=a:v1", "-o=a.tar"])
        .env_clear()
        .current_dir(&copy)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), first);
    let read = |path: PathBuf| fs::read(path).unwrap();
    assert_eq!(read(one.path().join("a.tar")), read(copy.join("a.tar")));

    let dated = project().with_variable("SOURCE_DATE_EPOCH", "1700000000");
    assert_ne!(build(&dated, &["-t=a:v1"]), first);
    let dated = project().with_variable("SOURCE_DATE_EPOCH", "yesterday");
    check_refusal(
        &dated,
        &["--binary=program"],
        "SOURCE_DATE_EPOCH is \"yesterday\"",
    );
}

#[test]
fn an_image_has_the_program_and_what_makes_the_charts() {
    let project = project();
    project.write("charts/web/.helmignore", "*.bak\n");
    project.write("charts/web/old.bak", "canary");
    project.write("secret.txt", "canary");
    build(
        &project,
        &["-t=a", "-o=a.tar", "--label=org.opencontainers.image.source=here"],
    );
    let image = Unpacked::read(&project.path().join("a.tar"));
    assert_eq!(
        image.files,
        [
            "d 755 opt/",
            "d 755 opt/helm/",
            "d 755 usr/",
            "d 755 usr/local/",
            "d 755 usr/local/bin/",
            "- 755 usr/local/bin/steersman",
            "h 755 usr/local/bin/helm-operator -> usr/local/bin/steersman",
            "d 755 opt/",
            "d 755 opt/helm/",
            "d 755 opt/helm/charts/",
            "d 755 opt/helm/charts/web/",
            "- 644 opt/helm/charts/web/.helmignore",
            "- 644 opt/helm/charts/web/Chart.yaml",
            "- 644 opt/helm/watches.yaml",
        ]
    );
    let config = &image.config["config"];
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["WorkingDir"], "/opt/helm");
    assert_eq!(
        config["Entrypoint"],
        serde_json::json!(["/usr/local/bin/steersman", "run", "--watches-file=./watches.yaml"])
    );
    let environment = config["Env"].as_array().unwrap();
    for variable in ["HOME=/opt/helm", "MALLOC_ARENA_MAX=1"] {
        assert!(environment.contains(&variable.into()), "{variable}");
    }
    assert_eq!(config["Labels"]["org.opencontainers.image.source"], "here");

    build(&project, &["-t=a", "-o=base.tar", "--base"]);
    assert_eq!(Unpacked::read(&project.path().join("base.tar")).files.len(), 7);
    project.write("bundle.pem", "-----BEGIN CERTIFICATE-----\n");
    build(
        &project,
        &["-t=a", "-o=base.tar", "--base", "--ca-certificates=bundle.pem"],
    );
    let files = Unpacked::read(&project.path().join("base.tar")).files;
    assert!(
        files.contains(&"- 644 etc/ssl/certs/ca-certificates.crt".to_owned()),
        "{files:?}"
    );
}

#[test]
fn a_new_chart_leaves_the_layer_with_the_program_as_it_is() {
    let project = project();
    let layers = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("  layer "));
        lines.map(str::to_owned).collect()
    };
    let before = layers(&build(&project, &["-t=a:v1"]));
    project.write("charts/web/templates/a.yaml", "a: b\n");
    let after = layers(&build(&project, &["-t=a:v2"]));
    assert_eq!((before.len(), after.len()), (2, 2));
    assert_eq!(before[0], after[0]);
    assert_ne!(before[1], after[1]);
}

#[test]
fn what_makes_no_image_is_refused_with_the_reason() {
    let project = project();
    let own = env!("CARGO_BIN_EXE_steersman");
    if !cfg!(target_feature = "crt-static") {
        check_refusal(&project, &[], "it is linked dynamically");
        check_refusal(&project, &["--binary", own], "`make build-static`");
    }
    check_refusal(&project, &["--binary=watches.yaml"], "it is no program of Linux");
    check_refusal(
        &project,
        &["--binary=linux/arm64=program"],
        "`program` is for linux/amd64",
    );
    check_refusal(
        &project,
        &["--binary=program", "--platform=linux/amd64,linux/arm64"],
        "make build-static TARGET=aarch64-unknown-linux-gnu",
    );
    check_refusal(
        &project,
        &["--binary=program", "--ca-certificates=watches.yaml"],
        "`watches.yaml` has no certificate in it",
    );
    write_program(&project, "arm", ARM);
    check_refusal(
        &project,
        &["--binary=program", "--binary=arm", "--format=docker-archive"],
        "an archive for docker has one platform, and there are 2",
    );
    project.write("full/file", "");
    let ended = project.run(&[
        "build",
        "-t=a",
        "--binary=program",
        "--format=oci-layout",
        "-o=full",
    ]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("neither empty nor a layout"),
        "{}",
        ended.stderr
    );

    let watch = |chart: &str| format!("- {{version: v1, group: example.com, kind: Web, chart: {chart}}}\n");
    for chart in [
        format!("{}/charts/web", project.path().display()),
        "inner/../charts/web".to_owned(),
    ] {
        project.write("inner/watches.yaml", &watch(&chart));
        check_refusal(
            &project,
            &["--binary=program", "--watches-file=inner/watches.yaml"],
            "is not in the working directory",
        );
    }
    project.write("watches.yaml", &watch("charts/none"));
    check_refusal(&project, &["--binary=program"], "watches.yaml");
}

#[test]
fn files_of_values_lie_beside_the_watches_as_in_the_project() {
    let project = project();
    project.write("inner/production.yaml", "a: b\n");
    project.write("inner/more/values.yaml", "a: c\n");
    project.write("charts/web/of-chart.yaml", "a: d\n");
    let watch = |files: &str| {
        let entry = "- {version: v1, group: example.com, kind: Web, chart: charts/web, valueFiles:";
        project.write("inner/watches.yaml", &format!("{entry} {files}}}\n"));
    };
    watch("[production.yaml, ./more/values.yaml, of-chart.yaml]");
    build(
        &project,
        &["-t=a", "-o=a.tar", "--watches-file=inner/watches.yaml"],
    );
    let image = Unpacked::read(&project.path().join("a.tar"));
    for file in [
        "- 644 opt/helm/production.yaml",
        "- 644 opt/helm/more/values.yaml",
        "- 644 opt/helm/charts/web/of-chart.yaml",
        "- 644 opt/helm/watches.yaml",
    ] {
        assert!(
            image.files.iter().any(|line| line == file),
            "{file}: {:?}",
            image.files
        );
    }
    assert!(
        !image
            .files
            .iter()
            .any(|line| line.ends_with("opt/helm/of-chart.yaml"))
    );

    project.write("outside.yaml", "a: e\n");
    watch("[../outside.yaml]");
    check_refusal(
        &project,
        &["--binary=program", "--watches-file=inner/watches.yaml"],
        "does not lie beside watches.yaml or below",
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let (project, other) = (project(), Project::new());
    fs::remove_dir_all(project.path().join("charts/web")).unwrap();
    std::os::unix::fs::symlink(other.path().join("charts/web"), project.path().join("charts/web")).unwrap();
    check_refusal(&project, &["--binary=program"], "is not in the working directory");
}

#[test]
fn crane_and_a_registry_take_the_images() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = project();
    write_program(&project, "arm", ARM);
    build(&project, &["-t=a:v1", "-o=a.tar"]);
    crane.run(&project, &["validate", "--tarball=a.tar"]);

    let registry = crane.serve(&project);
    let name = |tag: &str| format!("{}/team/operator:{tag}", registry.address);
    let first = build(&project, &["--push", "-t", &name("v1")]);
    let pushed = first.lines().last().unwrap().to_owned();
    let digest = crane.run(&project, &["digest", &name("v1")]);
    assert_eq!(pushed, format!("pushed {}@{}", name("v1"), digest.trim()));
    crane.run(&project, &["validate", "--remote", &name("v1")]);
    assert!(!project.path().join("operator.tar").exists());

    // What crane makes of the archive is the image that was pushed.
    build(&project, &["-t", &name("v1"), "-o=again.tar"]);
    crane.run(&project, &["push", "again.tar", &name("again")]);
    assert_eq!(
        layers(&crane, &project, &name("again")),
        layers(&crane, &project, &name("v1"))
    );

    // Only what is new goes there.
    project.write("charts/web/values.yaml", "a: b\n");
    let ended = project.run(&["build", "--binary=program", "--push", "-t", &name("v2")]);
    let known = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("there already: "))
        .count();
    assert_eq!(known, 1, "{}", ended.stderr);

    let both = build(&project, &["--binary=arm", "--push", "-t", &name("both")]);
    crane.run(&project, &["validate", "--remote", &name("both")]);
    let index: Value = serde_json::from_str(&crane.run(&project, &["manifest", &name("both")])).unwrap();
    let platforms: Vec<_> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["platform"])
        .collect();
    assert_eq!(platforms[0]["architecture"], "amd64");
    assert_eq!(platforms[1]["architecture"], "arm64");
    let digest = crane.run(&project, &["digest", &name("both")]);
    assert!(
        both.contains(&format!("index                   {}", digest.trim())),
        "{both}"
    );

    build(
        &project,
        &[
            "--binary=arm",
            "-t",
            &name("both"),
            "--format=oci-layout",
            "-o=layout",
        ],
    );
    crane.run(&project, &["push", "--index", "layout", &name("copy")]);
    let copied: Value = serde_json::from_str(&crane.run(&project, &["manifest", &name("copy")])).unwrap();
    assert_eq!(copied["manifests"][0]["digest"], digest.trim());
}

#[test]
fn a_push_logs_in_as_the_user_that_docker_stored() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = project();
    let registry = crane.serve(&project);
    let gate = Gate::before(&registry.address, "Basic bWU6c2VjcmV0");
    let name = format!("{}/team/operator:v1", gate.address);

    let ended = project.run(&["build", "--binary=program", "--push", "-t", &name]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("403 Forbidden"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("hint: `docker login 127.0.0.1:"),
        "{}",
        ended.stderr
    );

    let auths =
        serde_json::json!({"auths": {gate.address.as_str(): {"username": "me", "password": "secret"}}});
    let file = project.write("docker/config.json", &auths.to_string());
    let project = project.with_variable("DOCKER_CONFIG", file.parent().unwrap().to_str().unwrap());
    let pushed = build(&project, &["--push", "-t", &name]);
    let behind = format!("{}/team/operator:v1", registry.address);
    let digest = crane.run(&project, &["digest", &behind]);
    assert!(pushed.ends_with(&format!("pushed {name}@{digest}")), "{pushed}");
    crane.run(&project, &["validate", "--remote", &behind]);
    let asked = "GET /token?scope=repository%3Ateam%2Foperator%3Apull%2Cpush&service=test HTTP/1.1";
    assert_eq!(gate.stopped().last().map(String::as_str), Some(asked));
}

#[test]
fn a_registry_that_is_not_there_is_named() {
    let project = project();
    let ended = project.run(&["build", "--binary=program", "--push", "-t=127.0.0.1:9/a/b:c"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("error: failed to push 127.0.0.1:9/a/b:c: "),
        "{}",
        ended.stderr
    );
}

/// The layers of an image in a registry, as its manifest has them.
pub(crate) fn layers(crane: &Crane, project: &Project, name: &str) -> Value {
    let manifest: Value = serde_json::from_str(&crane.run(project, &["manifest", name])).unwrap();
    let digests = manifest["layers"].as_array().unwrap().iter();
    digests.map(|layer| layer["digest"].clone()).collect()
}

/// What is in an archive, by docker's way of reading it.
pub(crate) struct Unpacked {
    pub(crate) config: Value,
    /// Type, rights and name of each file, the lowest layer first.
    pub(crate) files: Vec<String>,
}

impl Unpacked {
    pub(crate) fn read(archive: &Path) -> Self {
        let blob = |name: &str| {
            let output = Command::new("tar")
                .arg("xOf")
                .arg(archive)
                .arg(name)
                .output()
                .unwrap();
            assert!(output.status.success(), "{name}");
            output.stdout
        };
        let json = |name: &str| -> Value { serde_json::from_slice(&blob(name)).unwrap() };
        let manifest = &json("manifest.json")[0];
        let mut files = Vec::new();
        for layer in manifest["Layers"].as_array().unwrap() {
            let content = blob(layer.as_str().unwrap());
            let unzipped = flate2::read::GzDecoder::new(content.as_slice());
            let mut archive = tar::Archive::new(unzipped);
            for entry in archive.entries().unwrap() {
                files.push(describe(&entry.unwrap()));
            }
        }
        Self {
            config: json(manifest["Config"].as_str().unwrap()),
            files,
        }
    }
}

fn describe(entry: &tar::Entry<'_, impl std::io::Read>) -> String {
    let header = entry.header();
    assert_eq!(
        (
            header.uid().unwrap(),
            header.gid().unwrap(),
            header.mtime().unwrap()
        ),
        (0, 0, 0)
    );
    let kind = match header.entry_type() {
        tar::EntryType::Directory => 'd',
        tar::EntryType::Link => 'h',
        _ => '-',
    };
    let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
    let target = match entry.link_name().unwrap() {
        Some(target) => format!(" -> {}", target.display()),
        None => String::new(),
    };
    format!("{kind} {:o} {path}{target}", header.mode().unwrap())
}

/// The judge of images.
pub(crate) struct Crane(PathBuf);

/// A registry on this machine; killed when dropped.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: String,
}

impl Crane {
    pub(crate) fn find_or_skip() -> Option<Self> {
        match program::find("registry", "crane") {
            Ok(path) => Some(Self(path)),
            Err(error) => {
                skipped("images judged by crane", error);
                None
            }
        }
    }

    #[track_caller]
    pub(crate) fn run(&self, project: &Project, arguments: &[&str]) -> String {
        let ended = project
            .start_program(&self.0, arguments)
            .wait(Duration::from_mins(1));
        assert_eq!(ended.code, Some(0), "crane {arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    pub(crate) fn serve(&self, project: &Project) -> Registry {
        let mut child = Command::new(&self.0)
            .args(["registry", "serve", "--address=127.0.0.1:0"])
            .current_dir(project.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let line = lines.find(|line| line.contains("serving on port")).unwrap();
        std::thread::spawn(move || lines.count());
        let port = line.rsplit(' ').next().unwrap();
        Registry {
            address: format!("127.0.0.1:{port}"),
            child,
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
