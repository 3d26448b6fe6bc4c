//! The examples that are projects of `init`, with what is written into them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steersman_testkit::ansible::Ansible;

use super::{Place, files};

/// What is not as `init` has written it: roles and charts are the example's own.
const EDITED: &[&str] = &[
    "config/crd/bases/",
    // It names the kinds of runs.
    "config/crd/kustomization.yaml",
    "config/rbac/role.yaml",
    "config/samples/",
    "requirements.yml",
    "roles/",
    "watches.yaml",
];

const VISITORS: &[&str] = &[
    "init",
    "--plugins=ansible",
    "--project-name=visitors-ansible",
    "--domain=example.com",
    "--kind=VisitorsSite",
    "--generate-role",
];

const PRAVEGA: &[&str] = &[
    "init",
    "--project-name=pravega",
    "--domain=example.com",
    "--group=pravega",
    "--kind=PravegaCluster",
    "--helm-chart",
];

/// Examples with procedures: their names, and what `init` is told.
const WITH_PROCEDURES: &[(&str, &str)] = &[("etcd", "EtcdCluster"), ("mysql", "MySQL")];

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(example)
}

/// A copy of an example, in the place of a project.
fn copied(example: &str) -> Place {
    let place = Place::new();
    for (path, text) in files(&folder(example)) {
        place.write(&format!("memcached-operator/{path}"), &text);
    }
    place
}

/// What a kustomization says besides the roles for runs, which come with procedures.
fn without_runs(text: &str, written: &BTreeMap<String, String>) -> String {
    let is_of_runs = |line: &&str| {
        let role = line
            .strip_prefix("- ")
            .filter(|file| file.ends_with("_role.yaml"));
        role.is_some_and(|file| !written.contains_key(&format!("config/rbac/{}", file.trim_end())))
    };
    text.split_inclusive('\n')
        .filter(|line| !is_of_runs(&line.trim_end()))
        .collect()
}

/// Holds an example against what `init`, `crd` and `rbac generate` write.
fn compare(example: &str, init: &[&str]) {
    let (place, written) = (copied(example), Place::new());
    written.succeed(init);
    let written = files(&written.project());
    place.succeed(&["crd", "--output-dir=config/crd/bases"]);
    place.succeed(&[
        "rbac",
        "generate",
        "--no-leader-election",
        "--output=config/rbac/role.yaml",
    ]);
    let (generated, ours) = (files(&place.project()), files(&folder(example)));
    let mut same = 0;
    for (path, text) in &ours {
        assert_eq!(
            &generated[path], text,
            "{path}: `steersman crd` or `rbac generate` writes it"
        );
        let is_ours = EDITED.iter().any(|edited| path.starts_with(edited));
        if let Some(text_of_init) = written.get(path).filter(|_| !is_ours) {
            let text = without_runs(text, &written);
            assert_eq!(&text, text_of_init, "{path}: `steersman init` writes it");
            same += 1;
        }
    }
    assert!(same > 20, "only {same} files are those of `init`");
}

#[test]
fn the_visitors_site_as_roles_is_as_init_and_generate_write_it() {
    compare("visitors-ansible", VISITORS);
}

#[test]
fn pravega_is_as_init_and_generate_write_it() {
    let chart = folder("pravega/helm-charts/pravega");
    let init = [PRAVEGA, &[chart.to_str().unwrap()]].concat();
    compare("pravega", &init);
    let said = copied("pravega").succeed(&["check", "--strict"]);
    assert_eq!(said.stdout, "nothing is wrong\n", "{}", said.stderr);
}

#[test]
fn examples_with_procedures_are_as_init_and_generate_write_them() {
    for (example, kind) in WITH_PROCEDURES {
        let chart = folder(&format!("{example}/helm-charts/{example}"));
        let (project, group, kind) = (
            format!("--project-name={example}"),
            format!("--group={example}"),
            format!("--kind={kind}"),
        );
        let chart = chart.to_str().unwrap();
        let init = [
            "init",
            &project,
            "--domain=example.com",
            &group,
            &kind,
            "--helm-chart",
            chart,
        ];
        compare(example, &init);
        let said = copied(example).succeed(&["check", "--strict"]);
        assert_eq!(said.stdout, "nothing is wrong\n", "{}", said.stderr);
    }
}

#[test]
fn nothing_is_wrong_with_the_visitors_site_as_roles() {
    let Some(ansible) = Ansible::find_or_skip("nothing_is_wrong_with_the_visitors_site_as_roles") else {
        return;
    };
    let place = copied("visitors-ansible");
    let check = || {
        let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args(["check", "--strict"])
            .current_dir(place.project())
            .env("PATH", ansible.path())
            .env("HOME", place.path("home"))
            .env("ANSIBLE_COLLECTIONS_PATH", ansible.collections())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(check(), ("nothing is wrong\n".to_owned(), String::new()));
    fs::remove_file(place.project().join("roles/mysql/templates/server.yaml.j2")).unwrap();
    let (said, _) = check();
    assert!(said.contains("`server.yaml.j2` was not found"), "{said}");
}
