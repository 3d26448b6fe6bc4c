//! `rbac`: the roles of an operator.

use std::fs;
use std::path::Path;

use crate::program::Project;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The flags behind `deploy/rbac/role.yaml`.
const EXAMPLE: &[&str] = &[
    "rbac",
    "generate",
    "--name",
    "visitors-operator",
    "--operator-namespace",
    "visitors-operator-system",
];

#[test]
fn the_role_of_the_example_is_the_generated_one() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(EXAMPLE)
        .current_dir(REPOSITORY)
        .output()
        .unwrap();
    assert!(output.status.success());
    let file = Path::new(REPOSITORY).join("deploy/rbac/role.yaml");
    let generated = String::from_utf8(output.stdout).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &generated).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        generated,
        "write it with: steersman {}",
        EXAMPLE.join(" ")
    );
}

/// A chart with a Deployment, and with a Service that a value switches on.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "charts/web/templates/a.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
    );
    project.write(
        "charts/web/templates/b.yaml",
        "{{ if .Values.b }}\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n{{ end }}\n",
    );
    project
}

#[test]
fn a_role_is_checked_against_what_the_charts_need() {
    let project = project();
    let role = project.path().join("role.yaml");
    let role = role.to_str().unwrap();
    let written = project.run(&["rbac", "generate", "--output", role]);
    assert_eq!(
        (written.code, written.stdout.as_str()),
        (Some(0), ""),
        "{}",
        written.stderr
    );
    let same = project.run(&["rbac", "check", "--role", role]);
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (Some(0), "The role is what the operator needs.\n"),
        "{}",
        same.stderr
    );

    let text = fs::read_to_string(role).unwrap();
    project.write(
        "role.yaml",
        &text.replace("  - deployments\n", "  - daemonsets\n"),
    );
    let differs = project.run(&["rbac", "check", "--role", role]);
    assert_eq!(differs.code, Some(1), "{}", differs.stderr);
    assert!(
        differs.stdout.contains("missing  create  deployments.apps"),
        "{}",
        differs.stdout
    );
    assert!(
        differs.stdout.contains("unused   create  daemonsets.apps"),
        "{}",
        differs.stdout
    );
    assert!(!differs.stdout.contains("services"), "{}", differs.stdout);

    project.write("role.yaml", "not: a role\n");
    let wrong = project.run(&["rbac", "check", "--role", role]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn roles_of_some_namespaces_are_in_these() {
    let project = project();
    let flags = [
        "rbac",
        "generate",
        "--watch-namespace",
        "a,b",
        "--service-account",
        "web",
    ];
    let text = project.run(&flags).stdout;
    let documents: Vec<&str> = text.split("---\n").collect();
    let heads: Vec<String> = documents
        .iter()
        .map(|document| {
            let of = |key: &str| {
                document
                    .lines()
                    .find_map(|line| line.strip_prefix(key))
                    .unwrap_or("-")
                    .to_owned()
            };
            format!("{} {} {}", of("kind: "), of("  name: "), of("  namespace: "))
        })
        .collect();
    assert_eq!(
        heads,
        [
            "Role manager-role a",
            "RoleBinding manager-role a",
            "Role manager-role b",
            "RoleBinding manager-role b",
            "Role manager-role-leader-election system",
            "RoleBinding manager-role-leader-election system",
        ]
    );
}

#[test]
fn an_audit_log_says_what_was_used_and_refused() {
    let project = project();
    let role = project.path().join("role.yaml");
    let role = role.to_str().unwrap();
    project.run(&["rbac", "generate", "--output", role]);
    let event = |verb: &str, group: &str, resource: &str, code: u16| {
        format!(
            r#"{{"verb":"{verb}","user":{{"username":"me"}},"objectRef":{{"apiGroup":"{group}","resource":"{resource}","namespace":"n","name":"x"}},"responseStatus":{{"code":{code}}}}}"#
        ) + "\n"
    };
    let log = event("patch", "apps", "deployments", 201) + &event("get", "", "nodes", 403);
    let log = project.write("audit.log", &log);
    let found = project.run(&[
        "rbac",
        "check",
        "--role",
        role,
        "--audit-log",
        log.to_str().unwrap(),
        "--user",
        "me",
    ]);
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    assert!(
        found.stdout.contains("missing  get     nodes"),
        "{}",
        found.stdout
    );
    assert!(
        found.stdout.contains("unused   delete  deployments.apps"),
        "{}",
        found.stdout
    );
    assert!(
        !found.stdout.contains("unused   patch   deployments.apps"),
        "{}",
        found.stdout
    );
    let nobody = project.run(&[
        "rbac",
        "check",
        "--role",
        role,
        "--audit-log",
        log.to_str().unwrap(),
        "--user",
        "you",
    ]);
    assert_eq!(nobody.code, Some(2));
    assert!(
        nobody.stderr.contains("has no request of the user you"),
        "{}",
        nobody.stderr
    );
}
