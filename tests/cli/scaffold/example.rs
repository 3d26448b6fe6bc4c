//! The Visitors Site as roles: a project of `init`, with what is written into it.

use std::fs;
use std::path::Path;
use std::process::Command;

use steersman_testkit::ansible::Ansible;

use super::{Place, files};

/// What is not as `init` has written it.
const EDITED: &[&str] = &[
    "config/crd/bases/",
    "config/rbac/role.yaml",
    "config/samples/v1alpha1_visitorssite.yaml",
    "requirements.yml",
    "roles/",
    "watches.yaml",
];

const INIT: &[&str] = &[
    "init",
    "--plugins=ansible",
    "--project-name=visitors-ansible",
    "--domain=example.com",
    "--kind=VisitorsSite",
    "--generate-role",
];

/// A copy of the example, in the place of a project.
fn example() -> Place {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/visitors-ansible");
    for (path, text) in files(&folder) {
        place.write(&format!("memcached-operator/{path}"), &text);
    }
    place
}

#[test]
fn the_visitors_site_as_roles_is_as_init_and_generate_write_it() {
    let (place, written) = (example(), Place::new());
    written.succeed(INIT);
    let written = files(&written.project());
    place.succeed(&["crd", "--output-dir=config/crd/bases"]);
    place.succeed(&[
        "rbac",
        "generate",
        "--no-leader-election",
        "--output=config/rbac/role.yaml",
    ]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/visitors-ansible");
    let (generated, ours) = (files(&place.project()), files(&folder));
    let mut same = 0;
    for (path, text) in &ours {
        assert_eq!(
            &generated[path], text,
            "{path}: `steersman crd` or `rbac generate` writes it"
        );
        let is_ours = EDITED.iter().any(|edited| path.starts_with(edited));
        if let Some(written) = written.get(path).filter(|_| !is_ours) {
            assert_eq!(text, written, "{path}: `steersman init` writes it");
            same += 1;
        }
    }
    assert!(same > 20, "only {same} files are those of `init`");
}

#[test]
fn nothing_is_wrong_with_the_visitors_site_as_roles() {
    let Some(ansible) = Ansible::find_or_skip("nothing_is_wrong_with_the_visitors_site_as_roles") else {
        return;
    };
    let place = example();
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
