use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Inputs, Inventory, ResourceId, RunFolder};

fn resource(namespace: &str, name: &str) -> ResourceId {
    ResourceId {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Web".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Everything in a folder: path, mode, and text, or where a link leads.
fn listed(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").display().to_string();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            let mode = metadata.permissions().mode() & 0o777;
            if metadata.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                lines.push(format!("{name} -> {}", target.display()));
            } else if metadata.is_dir() {
                lines.push(format!("{name}/ {mode:o}"));
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("text");
                lines.push(format!("{name} {mode:o} {text}"));
            }
        }
    }
    lines.sort();
    lines
}

fn write(folder: &RunFolder, command_line: &str, inventory: &Inventory, playbook: Option<&Path>) {
    let inputs = Inputs {
        extra_vars: &object(json!({"size": 3})),
        environment: &object(json!({"KUBECONFIG": "/k"})),
        settings: &object(json!({"runner_http_path": "/events/"})),
        command_line,
        inventory,
        playbook,
    };
    folder.write(&inputs).expect("written");
}

const LOCALHOST: &str =
    "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}";

#[test]
fn a_run_finds_its_own_inputs_and_nothing_of_others() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::of(root.path(), &resource("shop", "site")).expect("a name");
    assert_eq!(folder.path(), root.path().join("example.com/v1/Web/shop/site"));
    let playbook = root.path().join("site.yml");
    fs::write(&playbook, "- hosts: all").expect("written");
    write(&folder, "'--tags a'", &Inventory::default(), Some(&playbook));
    assert_eq!(
        listed(folder.path()),
        [
            "env/ 700",
            "env/cmdline 600 --tags a",
            "env/envvars 600 {\"KUBECONFIG\":\"/k\"}",
            "env/extravars 600 \t\n{\"size\":3\n}",
            "env/settings 600 {\"runner_http_path\":\"/events/\"}",
            "inventory/ 700",
            &format!("inventory/hosts 600 {LOCALHOST}"),
            "project/ 700",
            "project/playbook.yaml 600 - hosts: all",
        ]
    );

    // What a former run has left: files, a link in the place of a folder, an unfinished folder, artifacts.
    fs::write(folder.path().join("env/passwords"), "secret").expect("written");
    fs::remove_dir_all(folder.path().join("project")).expect("removed");
    symlink(root.path(), folder.path().join("project")).expect("a link");
    fs::create_dir_all(folder.path().join(".next-1/env")).expect("a folder");
    fs::create_dir_all(folder.path().join("artifacts/1")).expect("a folder");
    folder.link_latest("1").expect("linked");
    write(&folder, "", &Inventory::default(), None);
    let names: Vec<String> = listed(folder.path())
        .iter()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    assert_eq!(
        names,
        [
            "artifacts/",
            "artifacts/1/",
            "env/",
            "env/envvars",
            "env/extravars",
            "env/settings",
            "inventory/",
            "inventory/hosts",
            "project/",
        ]
    );
    assert!(playbook.exists(), "what a link leads to is not removed");
}

#[test]
fn names_do_not_lead_out_of_the_root() {
    let root = Path::new("/root");
    for name in ["", ".", "..", "a/b", "../x", "/", "a\0b"] {
        assert!(RunFolder::of(root, &resource("ns", name)).is_err(), "{name:?}");
        let folder = RunFolder::of(root, &resource("ns", "a")).expect("a name");
        assert!(folder.artifacts(name).is_err(), "{name:?}");
    }
    assert!(RunFolder::of(root, &resource("..", "a")).is_err());
    let odd = RunFolder::of(root, &resource("", "system:a b")).expect("a name");
    assert_eq!(odd.path(), Path::new("/root/example.com/v1/Web/system:a b"));
}

#[test]
fn the_last_run_that_has_left_something_is_linked() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::of(root.path(), &resource("a", "b")).expect("a name");
    folder.link_latest("1").expect("nothing to link");
    for ident in ["1", "2"] {
        fs::create_dir_all(folder.artifacts(ident).expect("a name")).expect("a folder");
        folder.link_latest(ident).expect("linked");
    }
    let link = fs::read_link(folder.path().join("artifacts/latest")).expect("a link");
    assert_eq!(link, Path::new("2"));
}

#[test]
fn inventories_are_copied() {
    let root = tempfile::tempdir().expect("a folder");
    let source = root.path().join("inventory");
    // As a ConfigMap is mounted.
    fs::create_dir_all(source.join("..data/sub")).expect("a folder");
    fs::write(source.join("..data/hosts"), "a").expect("written");
    fs::write(source.join("..data/sub/program"), "#!/bin/sh").expect("written");
    fs::set_permissions(
        source.join("..data/sub/program"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("a file");
    symlink("..data/hosts", source.join("hosts")).expect("a link");
    symlink("..data/sub", source.join("sub")).expect("a link");
    let folder = RunFolder::of(root.path(), &resource("a", "b")).expect("a name");
    write(&folder, "", &Inventory::At(source.clone()), None);
    assert_eq!(
        listed(&folder.path().join("inventory")),
        ["hosts 600 a", "sub/ 700", "sub/program 700 #!/bin/sh"]
    );
    write(&folder, "", &Inventory::At(source.join("hosts")), None);
    assert_eq!(listed(&folder.path().join("inventory")), ["hosts 600 a"]);

    symlink(".", source.join("circle")).expect("a link");
    let inventory = Inventory::At(source);
    let error = inventory.write(&root.path().join("copy")).expect_err("a circle");
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn arguments_lose_one_pair_of_quotes() {
    for (text, expected) in [
        ("'--tags a'", "--tags a"),
        ("--tags 'a'", "--tags 'a'"),
        ("'", "'"),
        ("''", ""),
        ("\"--check\"", "\"--check\""),
    ] {
        assert_eq!(super::write::unquoted(text), expected);
    }
}
