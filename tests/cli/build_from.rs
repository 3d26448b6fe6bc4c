//! Images upon a base: what `build --from` makes, judged by crane and a registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::build::{Crane, Registry, build, layers, project, write_program};
use crate::neighbour::Neighbour;
use crate::program::Project;

const ARM: u8 = 183;

/// A project with a role and a playbook, a program in it, and the layers of a base.
pub(crate) fn roles() -> Project {
    let project = project();
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: web}\n\
         - {version: v1, group: example.com, kind: Job, playbook: playbooks/job.yml}\n",
    );
    project.write("roles/web/tasks/main.yml", "- debug: {msg: web}\n");
    project.write("playbooks/job.yml", "- hosts: localhost\n");
    project.write("requirements.yml", "collections: []\n");
    project
}

/// Pushes a base of two layers, for a processor, under a name.
fn push_base(crane: &Crane, project: &Project, name: &str, processor: &str) {
    let script = "mkdir -p root/usr/bin root/opt/ansible root/srv; \
                  echo python > root/usr/bin/python3; chmod 755 root/usr/bin/python3; \
                  tar cf one.tar --owner=0 --group=0 -C root usr opt; tar cf two.tar --owner=0 --group=0 -C root srv";
    let status = Command::new("sh")
        .args(["-c", script])
        .current_dir(project.path())
        .status();
    assert!(status.unwrap().success());
    let plain = format!("{name}-plain");
    crane.run(
        project,
        &["append", "-f", "one.tar", "-f", "two.tar", "-t", &plain],
    );
    let platform = format!("linux/{processor}");
    let settings = [
        ["--set-platform", &platform],
        ["--user", "1001"],
        ["--workdir", "/srv"],
        ["--env", "PATH=/opt/venv/bin:/usr/bin"],
        ["--env", "HOME=/root"],
        ["--label", "vendor=example"],
        ["--entrypoint", "/bin/sh"],
        ["--cmd", "-c"],
        ["--exposed-ports", "80/tcp"],
    ];
    let arguments = [&["mutate", &plain, "--tag", name][..], settings.as_flattened()].concat();
    crane.run(project, &arguments);
}

fn json_of(crane: &Crane, project: &Project, arguments: &[&str]) -> Value {
    serde_json::from_str(&crane.run(project, arguments)).unwrap()
}

/// The files of an image in a registry, as a container has them: rights and owner by path.
fn files(crane: &Crane, project: &Project, name: &str) -> BTreeMap<String, String> {
    let path = project.path().join("export.tar");
    crane.run(project, &["export", name, "export.tar"]);
    let mut archive = tar::Archive::new(fs::File::open(path).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        let (user, group) = (header.uid().unwrap(), header.gid().unwrap());
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let path = path.trim_start_matches('/').trim_end_matches('/').to_owned();
        (
            path,
            format!("{:o} {user}:{group}", header.mode().unwrap() & 0o777),
        )
    });
    entries.collect()
}

/// A registry with a base in it.
fn served() -> Option<(Crane, Project, Registry)> {
    let crane = Crane::find_or_skip()?;
    let project = roles();
    let registry = crane.serve(&project);
    push_base(
        &crane,
        &project,
        &format!("{}/team/python:1", registry.address),
        "amd64",
    );
    Some((crane, project, registry))
}

#[test]
fn the_image_has_the_layers_of_the_base_and_what_it_says_of_containers() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let name = |name: &str| format!("{}/team/{name}", registry.address);
    project.write("collections/ansible_collections/a/b/galaxy.yml", "name: b\n");
    build(
        &project,
        &["--push", "-t", &name("operator:v1"), "--from", &name("python:1")],
    );
    crane.run(&project, &["validate", "--remote", &name("operator:v1")]);

    let below = layers(&crane, &project, &name("python:1"));
    let all = layers(&crane, &project, &name("operator:v1"));
    assert_eq!(all.as_array().unwrap()[..2], below.as_array().unwrap()[..]);
    assert_eq!(all.as_array().unwrap().len(), 5);

    let config = json_of(&crane, &project, &["config", &name("operator:v1")]);
    let base = json_of(&crane, &project, &["config", &name("python:1")]);
    let digest = crane.run(&project, &["digest", &name("python:1")]);
    assert_eq!(
        config["config"],
        json!({
            "User": "1001",
            "WorkingDir": "/opt/ansible",
            "Entrypoint": ["/usr/local/bin/steersman", "run", "--watches-file=./watches.yaml"],
            "Env": [
                "PATH=/opt/venv/bin:/usr/bin",
                "HOME=/opt/ansible",
                "ANSIBLE_ROLES_PATH=/opt/ansible/roles:/opt/ansible/.ansible/roles:/usr/share/ansible/roles:\
                 /etc/ansible/roles",
                "MALLOC_ARENA_MAX=1",
            ],
            "Labels": {
                "org.opencontainers.image.base.digest": digest.trim(),
                "org.opencontainers.image.title": "operator",
                "org.opencontainers.image.version": "v1",
                "vendor": "example",
            },
        })
    );
    let steps = config["history"].as_array().unwrap();
    let given = base["history"].as_array().unwrap();
    assert_eq!(steps[..given.len()], given[..]);
    assert_eq!(
        steps.last().unwrap()["comment"],
        "watches.yaml, roles and playbooks"
    );

    let files = files(&crane, &project, &name("operator:v1"));
    for (path, expect) in [
        ("usr/bin/python3", "755 0:0"),
        ("usr/local/bin/steersman", "755 0:0"),
        ("usr/local/bin/ansible-operator", "755 0:0"),
        ("opt/ansible", "775 1001:0"),
        ("opt/ansible/.ansible/tmp", "775 1001:0"),
        (
            "opt/ansible/.ansible/collections/ansible_collections/a/b/galaxy.yml",
            "644 0:0",
        ),
        ("opt/ansible/watches.yaml", "644 0:0"),
        ("opt/ansible/requirements.yml", "644 0:0"),
        ("opt/ansible/roles/web/tasks/main.yml", "644 0:0"),
        ("opt/ansible/playbooks/job.yml", "644 0:0"),
    ] {
        assert_eq!(
            files.get(path).map(String::as_str),
            Some(expect),
            "{path}: {files:?}"
        );
    }
    assert!(!files.contains_key("opt/ansible/program"), "{files:?}");
}

#[test]
fn the_same_base_by_another_name_makes_the_same_image() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let name = |name: &str| format!("{}/team/{name}", registry.address);
    let digest = crane.run(&project, &["digest", &name("python:1")]);
    let pinned = format!("{}@{}", name("python"), digest.trim());
    let made = |tag: &str, from: &str| {
        build(
            &project,
            &[
                "--push",
                "-t",
                &name(tag),
                "--from",
                from,
                "--label=org.opencontainers.image.version=1",
            ],
        );
        crane.run(&project, &["digest", &name(tag)])
    };
    let first = made("operator:a", &name("python:1"));
    assert_eq!(made("operator:b", &pinned), first);

    crane.run(&project, &["pull", "--format=oci", &name("python:1"), "layout"]);
    assert_eq!(made("operator:c", "oci:layout"), first);
}

#[test]
fn layers_of_a_base_in_the_same_registry_are_taken_from_there() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let door = Neighbour::before(&registry.address, "team/operator");
    let name = |name: &str| format!("{}/team/{name}", door.address);
    let from = name("python:1");
    let push = |tag: &str| {
        let tag = name(tag);
        let ended = project.run(&["build", "--binary=program", "--push", "-t", &tag, "--from", &from]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let count = |start: &str| {
            ended
                .stderr
                .lines()
                .filter(|line| line.starts_with(start))
                .count()
        };
        assert_eq!(count("fetching"), 0, "{}", ended.stderr);
        (
            count("taken from the base's repository: "),
            count("there already: "),
            count("pushing "),
        )
    };
    // The program, the project, and the configuration are sent.
    assert_eq!(push("operator:v1"), (2, 0, 3));
    let digest = layers(&crane, &project, &format!("{}/team/python:1", registry.address));
    let asked = door.requests();
    for layer in digest.as_array().unwrap() {
        let digest = layer.as_str().unwrap().replace(':', "%3A");
        let mount = format!("/v2/team/operator/blobs/uploads/?mount={digest}&from=team%2Fpython ");
        assert!(
            asked.iter().any(|line| line.contains(&mount)),
            "{mount}: {asked:?}"
        );
        let blob = format!("GET /v2/team/python/blobs/{} ", layer.as_str().unwrap());
        assert!(!asked.iter().any(|line| line.starts_with(&blob)), "{asked:?}");
    }
    crane.run(
        &project,
        &[
            "validate",
            "--remote",
            &format!("{}/team/operator:v1", registry.address),
        ],
    );

    assert_eq!(push("operator:v1"), (0, 5, 0));
    project.write("roles/web/defaults/main.yml", "a: b\n");
    assert_eq!(push("operator:v2"), (0, 3, 2));
}

#[test]
fn layers_of_a_base_elsewhere_are_fetched_when_they_are_missing() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let other = crane.serve(&project);
    let (tag, from) = (
        format!("{}/team/operator:v1", other.address),
        format!("{}/team/python:1", registry.address),
    );
    let push = || {
        let ended = project.run(&["build", "--binary=program", "--push", "-t", &tag, "--from", &from]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("fetching "))
            .count()
    };
    assert_eq!(push(), 2);
    crane.run(&project, &["validate", "--remote", &tag]);
    assert_eq!(push(), 0);
    assert!(files(&crane, &project, &tag).contains_key("usr/bin/python3"));
}

#[test]
fn the_base_is_the_one_for_the_platform_of_the_program() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let name = |name: &str| format!("{}/team/{name}", registry.address);
    push_base(&crane, &project, &name("python:arm"), "arm64");
    crane.run(
        &project,
        &[
            "index",
            "append",
            "-m",
            &name("python:1"),
            "-m",
            &name("python:arm"),
            "-t",
            &name("python:both"),
        ],
    );
    write_program(&project, "arm", ARM);
    build(
        &project,
        &[
            "--binary=arm",
            "--push",
            "-t",
            &name("operator:v1"),
            "--from",
            &name("python:both"),
        ],
    );
    crane.run(&project, &["validate", "--remote", &name("operator:v1")]);
    for (platform, base) in [("linux/amd64", "python:1"), ("linux/arm64", "python:arm")] {
        let config = json_of(
            &crane,
            &project,
            &["config", "--platform", platform, &name("operator:v1")],
        );
        let digest = crane.run(&project, &["digest", &name(base)]);
        let label = &config["config"]["Labels"]["org.opencontainers.image.base.digest"];
        assert_eq!(label, digest.trim(), "{platform}");
    }

    for (from, found) in [("python:1", "linux/amd64"), ("python:arm", "linux/arm64")] {
        let ended = project.run(&[
            "build",
            "--binary=program",
            "--binary=arm",
            "-t=a",
            "--from",
            &name(from),
        ]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let expect = format!(", only for {found}");
        assert!(ended.stderr.contains(&expect), "{}", ended.stderr);
        assert!(
            ended
                .stderr
                .contains("hint: the base has to be for the processors"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn archives_and_layouts_are_bases_too() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let name = format!("{}/team/python:1", registry.address);
    for (format, path) in [("tarball", "a.tar"), ("legacy", "b.tar"), ("oci", "layout")] {
        crane.run(&project, &["pull", &format!("--format={format}"), &name, path]);
    }
    // What this has written itself, too.
    build(&project, &["-t=python:1", "--base", "--from", &name, "-o=c.tar"]);
    for from in [
        "docker-archive:a.tar",
        "docker-archive:b.tar",
        "docker-archive:c.tar",
        "oci-archive:c.tar",
        "oci:layout",
    ] {
        build(&project, &["-t=a", "-o=out.tar", "--from", from]);
        let tag = format!("{}/team/operator:v1", registry.address);
        build(&project, &["--push", "-t", &tag, "--from", from]);
        // To validate, crane takes all layers for compressed. Of docker's older archives, none is, and ours are.
        if from != "docker-archive:b.tar" {
            crane.run(&project, &["validate", "--tarball=out.tar"]);
            crane.run(&project, &["validate", "--remote", &tag]);
        }
        let files = files(&crane, &project, &tag);
        assert!(files.contains_key("usr/bin/python3"), "{from}: {files:?}");
        let config = json_of(&crane, &project, &["config", &tag]);
        assert_eq!(config["config"]["Labels"]["vendor"], "example", "{from}");
    }
    build(
        &project,
        &["-t=a", "--format=oci-layout", "-o=layout", "--from=oci:layout"],
    );
    assert!(Path::new(&project.path().join("layout/index.json")).is_file());
}

#[test]
fn an_image_does_not_run_as_root_because_its_base_does() {
    let Some((crane, project, registry)) = served() else {
        return;
    };
    let name = |name: &str| format!("{}/team/{name}", registry.address);
    for (user, expect, note) in [
        (
            "root",
            "1001:0",
            Some("note: the base runs as root: the image runs as user 1001:0"),
        ),
        ("0:7", "1001:0", Some("note: the base runs as root")),
        (
            "python",
            "1001:0",
            Some("note: the base runs as `python`, and Kubernetes can't tell of a name that it is not root"),
        ),
        ("7:8", "7:8", None),
    ] {
        crane.run(
            &project,
            &[
                "mutate",
                &name("python:1"),
                "--user",
                user,
                "--tag",
                &name("python:user"),
            ],
        );
        let ended = project.run(&[
            "build",
            "--binary=program",
            "--push",
            "-t",
            &name("operator:v1"),
            "--from",
            &name("python:user"),
        ]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let config = json_of(&crane, &project, &["config", &name("operator:v1")]);
        assert_eq!(config["config"]["User"], expect);
        let notes: Vec<&str> = ended
            .stderr
            .lines()
            .filter(|line| line.contains("the base runs"))
            .collect();
        assert_eq!(notes.len(), usize::from(note.is_some()), "{notes:?}");
        assert!(
            notes.iter().all(|line| line.starts_with(note.unwrap())),
            "{notes:?}"
        );
        let owner = files(&crane, &project, &name("operator:v1"))["opt/ansible"].clone();
        let number = expect.split(':').next().unwrap();
        assert_eq!(owner, format!("775 {number}:0"));
    }
}
