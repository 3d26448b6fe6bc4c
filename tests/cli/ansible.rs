//! `run` with an entry that names a role, where there is no Ansible for it.

use std::os::unix::fs::PermissionsExt as _;

use expect_test::{Expect, expect};

use crate::program::Project;

const ARGUMENTS: [&str; 3] = ["run", "--metrics-bind-address=0", "--health-probe-bind-address=0"];

fn with_role() -> Project {
    let project = Project::new();
    project.write("roles/web/tasks/main.yml", "[]\n");
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: web}\n",
    );
    project
}

/// A program that is a script.
fn write_program(project: &Project, name: &str, text: &str) {
    let path = project.write(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The exit code and what is said besides the log, with the project's folder as `DIR`.
fn check(project: &Project, arguments: &[&str], expect: &Expect) {
    let ended = project.run(&[&ARGUMENTS, arguments].concat());
    let lines = ended.stderr.lines().filter(|line| !line.starts_with('{'));
    let said: String = lines.flat_map(|line| [line, "\n"]).collect();
    let said = format!("exit {}\n{said}", ended.code.unwrap_or(-1));
    expect.assert_eq(&said.replace(project.path().to_str().unwrap(), "DIR"));
}

#[test]
fn without_python_it_is_said_what_is_needed() {
    let project = with_role().with_variable("PATH", "/nowhere");
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: failed to run `python3`: No such file or directory (os error 2)

        hint: roles and playbooks are run by Python 3.9 or newer with ansible-core, ansible-runner and ansible-runner-http
    "]],
    );
}

#[test]
fn what_is_missing_is_named_for_the_python_of_ansible_runner() {
    let project = with_role();
    let bin = project.path().join("bin");
    write_program(
        &project,
        "bin/python3",
        "#!/bin/sh\necho '{\"python\": \"3.8.1\", \"packages\": {\"ansible-core\": \"2.18.1\"}, \"collections\": {}, \
         \"programs\": {}}'\n",
    );
    let head = format!("#!{}\n", bin.join("python3").display());
    write_program(&project, "bin/ansible-runner", &head);
    let project = project.with_variable("PATH", bin.to_str().unwrap());
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error:
        failed to find what runs the roles and playbooks of watches.yaml, with `DIR/bin/python3`:
          Python is 3.8.1, and 3.9 or newer is needed: install a newer one
          ansible-runner is missing (it runs ansible-core): pip install 'ansible-runner>=2.3'
          ansible-runner-http is missing (without it nothing is known of a run): pip install 'ansible-runner-http>=1.0'
          requests-unixsocket is missing (ansible-runner-http sends events by it): pip install 'requests-unixsocket>=0.4'
          kubernetes is missing (modules reach the API server by it): pip install 'kubernetes>=24.2'
          the program ansible-runner is missing (runs are made with it): put the folder of its package's programs on PATH
          the program ansible-playbook is missing (runs are made with it): put the folder of its package's programs on PATH
    "]],
    );
}

#[test]
fn a_role_is_found_where_the_flag_says_and_not_where_the_environment_does() {
    let project = with_role()
        .with_variable("PATH", "/nowhere")
        .with_variable("ANSIBLE_ROLES_PATH", "/nowhere");
    project.write("elsewhere/shop/tasks/main.yml", "[]\n");
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, role: shop}\n",
    );
    check(
        &project,
        &[],
        &expect![[r"
        exit 2
        error: ./watches.yaml:1:54: [0].role: role `shop` was not found

        hint: it was looked for at /nowhere/shop, /nowhere/roles/shop, DIR/roles/shop
    "]],
    );
    // It goes on, and misses Python.
    check(
        &project,
        &["--ansible-roles-path=elsewhere"],
        &expect![[r"
        exit 2
        error: failed to run `python3`: No such file or directory (os error 2)

        hint: roles and playbooks are run by Python 3.9 or newer with ansible-core, ansible-runner and ansible-runner-http
    "]],
    );
}

#[test]
fn charts_need_no_ansible() {
    let project = Project::new()
        .with_server("127.0.0.1:1")
        .with_variable("PATH", "/nowhere");
    let ended = project.run(&ARGUMENTS);
    assert!(
        ended.stderr.contains("failed to reach the API server"),
        "{}",
        ended.stderr
    );
}
