//! Which files of a project with roles and playbooks go into its image.

use std::fs;
use std::process::Command;

use crate::base::Base;
use crate::build_from::roles;
use crate::program::{Ended, Project};

/// A project with roles, and a base in it.
fn project() -> Project {
    let project = roles();
    Base::new().lay_out_folder(&project.path().join("base"));
    project
}

fn build(project: &Project, more: &[&str]) -> Ended {
    let arguments = [
        "build",
        "--binary=program",
        "-t=a",
        "-o=a",
        "--format=oci-layout",
        "--from=oci:base",
    ];
    project.run(&[&arguments[..], more].concat())
}

/// The files of the layer with this purpose, below the home folder.
fn files(project: &Project, purpose: &str) -> Vec<String> {
    let ended = build(project, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let line = ended.stdout.lines().find(|line| line.ends_with(purpose)).unwrap();
    let digest = line
        .split_whitespace()
        .find(|word| word.starts_with("sha256:"))
        .unwrap();
    let blob = project.path().join("a/blobs").join(digest.replace(':', "/"));
    let unzipped = flate2::read::GzDecoder::new(fs::File::open(blob).unwrap());
    let mut archive = tar::Archive::new(unzipped);
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        format!("{:o} {path}", entry.header().mode().unwrap())
    });
    let entries = entries.filter(|entry| !entry.ends_with('/'));
    entries.map(|entry| entry.replace("opt/ansible/", "")).collect()
}

#[track_caller]
fn check_refusal(project: &Project, expect: &str) {
    let ended = build(project, &[]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(expect),
        "no `{expect}` in: {}",
        ended.stderr
    );
}

#[test]
fn a_project_with_roles_needs_a_base() {
    let project = project();
    for arguments in [
        &["build", "--binary=program", "-t=a"][..],
        &["build", "--binary=program", "-t=a", "--push"],
    ] {
        let ended = project.run(arguments);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        for expect in [
            "`./watches.yaml` names a role or playbook in line 1",
            "has no Python",
            "hint: --from REF",
            "the Dockerfile of the project",
        ] {
            assert!(
                ended.stderr.contains(expect),
                "no `{expect}` in: {}",
                ended.stderr
            );
        }
    }
    // A base for Dockerfiles has no project.
    let ended = project.run(&["build", "--binary=program", "-t=a", "--base"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn roles_playbooks_and_what_entries_name_besides_are_in_it() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let project = project();
    project.write("molecule/default/converge.yml", "canary");
    project.write(".git/config", "canary");
    project.write("roles/web/library/__pycache__/web.pyc", "canary");
    project.write("roles/web/.git/config", "canary");
    let script = project.write("roles/web/files/run.sh", "#!/bin/sh\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o700)).unwrap();
    project.write("shared/main.yml", "a: b\n");
    symlink("../../shared", project.path().join("roles/web/vars")).unwrap();
    project.write("finish.yml", "- hosts: localhost\n");
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Shop, chart: charts/web}\n\
         - version: v1\n  group: example.com\n  kind: Web\n  role: web\n  \
           finalizer: {name: example.com/web, playbook: finish.yml}\n",
    );
    assert_eq!(
        files(&project, "watches.yaml, roles and playbooks"),
        [
            "644 charts/web/Chart.yaml",
            "644 finish.yml",
            "644 playbooks/job.yml",
            "644 requirements.yml",
            "755 roles/web/files/run.sh",
            "644 roles/web/tasks/main.yml",
            "644 roles/web/vars/main.yml",
            "644 watches.yaml",
        ]
    );
}

#[test]
fn collections_of_the_project_are_where_ansible_looks_for_them() {
    let project = project();
    let ended = build(&project, &[]);
    assert!(
        ended
            .stderr
            .contains("note: nothing of requirements.yml is installed"),
        "{}",
        ended.stderr
    );
    project.write(
        "collections/ansible_collections/a/b/roles/c/tasks/main.yml",
        "[]\n",
    );
    project.write("collections/a.b.info/GALAXY.yml", "canary");
    assert_eq!(
        files(&project, "collections of Ansible"),
        ["644 .ansible/collections/ansible_collections/a/b/roles/c/tasks/main.yml"]
    );
    assert!(!build(&project, &[]).stderr.contains("note:"));

    // A role of a collection that is elsewhere on this machine is expected in the base.
    let other = Project::new();
    other.write("ansible_collections/x/y/roles/z/tasks/main.yml", "[]\n");
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: x.y.z}\n",
    );
    let project = project.with_variable("ANSIBLE_COLLECTIONS_PATH", other.path().to_str().unwrap());
    let ended = build(&project, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("note: the base has to have the collection"),
        "{}",
        ended.stderr
    );
}

#[cfg(unix)]
#[test]
fn what_would_not_be_found_in_the_image_is_refused() {
    use std::os::unix::fs::symlink;

    let other = Project::new();
    other.write("roles/far/tasks/main.yml", "[]\n");
    let far = other.path().join("roles");

    let linked = project();
    symlink(far.join("far"), linked.path().join("roles/far")).unwrap();
    check_refusal(&linked, "the link `roles/far` leads out of the project");

    let circle = project();
    symlink("..", circle.path().join("roles/web/up")).unwrap();
    check_refusal(&circle, "or a link leads around in a circle");

    let outside = project().with_variable("ANSIBLE_ROLES_PATH", far.to_str().unwrap());
    outside.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: far}\n",
    );
    check_refusal(&outside, "is not in the working directory");

    let elsewhere = project().with_variable("ANSIBLE_ROLES_PATH", "custom");
    elsewhere.write("custom/own/tasks/main.yml", "[]\n");
    elsewhere.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: own}\n",
    );
    check_refusal(
        &elsewhere,
        "the role in `custom/own` would not be found in the image",
    );

    let absolute = project();
    let path = fs::canonicalize(absolute.path())
        .unwrap()
        .join("playbooks/job.yml");
    let entry = format!(
        "- {{version: v1, group: example.com, kind: Job, playbook: {}}}\n",
        path.display()
    );
    absolute.write("watches.yaml", &entry);
    check_refusal(&absolute, "hint: roles are named without a path");
}

#[test]
fn the_same_roles_make_the_same_image_wherever_they_lie() {
    let project = project();
    let first = build(&project, &[]).stdout;
    let script = "umask 077; mkdir copy; cp -r roles playbooks requirements.yml watches.yaml program base copy/; \
                  find copy -exec touch -d '2001-02-03' {} +";
    let status = Command::new("sh")
        .args(["-c", script])
        .current_dir(project.path())
        .status();
    assert!(status.unwrap().success());
    let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args([
            "build",
            "--binary=program",
            "-t=a",
            "-o=a",
            "--format=oci-layout",
            "--from=oci:base",
        ])
        .env_clear()
        .current_dir(project.path().join("copy"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), first);
}
