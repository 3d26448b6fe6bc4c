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

/// A project with its generated role in `role.yaml`.
fn project_with_role() -> Project {
    let project = project();
    let written = project.run(&["rbac", "generate", "--output", "role.yaml"]);
    assert_eq!(
        (written.code, written.stdout.as_str()),
        (Some(0), ""),
        "{}",
        written.stderr
    );
    project
}

/// What `rbac check` says of `role.yaml`, with which exit code; spaces between columns count as one.
fn check(project: &Project, flags: &[&str], code: i32, expect: &[&str]) {
    let flags = [&["rbac", "check", "--role", "role.yaml"], flags].concat();
    let found = project.run(&flags);
    let lines: Vec<String> = found
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        (found.code, lines),
        (Some(code), expect.iter().map(|line| (*line).to_owned()).collect()),
        "{}",
        found.stderr
    );
}

const FINE: &str = "The role is what the operator needs.";
const HEAD: &str = "RESOURCE WHERE VERBS WHY";

#[test]
fn a_role_is_checked_against_what_the_charts_need() {
    let project = project_with_role();
    check(&project, &[], 0, &[FINE]);
    let text = fs::read_to_string(project.path().join("role.yaml")).unwrap();
    let other = text.replace("  - deployments\n", "  - daemonsets\n");
    project.write("role.yaml", &other);
    let differences = [
        HEAD,
        "missing deployments.apps everywhere create,delete,get,list,patch,watch deployments: web/templates/a.yaml:2",
        "unused daemonsets.apps everywhere create,delete,get,list,patch,watch",
    ];
    check(&project, &[], 1, &differences);
    project.write("role.yaml", "not: a role\n");
    check(&project, &[], 2, &[]);
}

#[test]
fn the_roles_of_namespaces_are_checked_in_each() {
    let project = project();
    let namespaces = ["--watch-namespace", "a,b"];
    let text = project
        .run(&[&["rbac", "generate", "--no-leader-election"], &namespaces[..]].concat())
        .stdout;
    project.write("role.yaml", &text);
    check(&project, &namespaces, 0, &[FINE]);
    let in_one = text.split("---\n").next().unwrap();
    project.write(
        "role.yaml",
        &in_one.replace("  - services\n", "  - services\n  - pods\n"),
    );
    let found = project.run(&[&["rbac", "check", "--role", "role.yaml"], &namespaces[..]].concat());
    let sides = found.stdout.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {} {}", words[0], words[1], words[2])
    });
    let sides: Vec<String> = sides.collect();
    let expect = [
        "missing deployments.apps b",
        "missing events b",
        "missing secrets b",
        "missing services b",
        "missing webs.example.com b",
        "missing webs.example.com/finalizers b",
        "missing webs.example.com/status b",
        "unused pods a",
    ];
    assert_eq!(sides, expect);
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
            "Role manager-role-signing-keys system",
            "RoleBinding manager-role-signing-keys system",
        ]
    );
}

#[test]
fn an_audit_log_says_what_was_used_and_refused() {
    let project = project_with_role();
    let event = |verb: &str, group: &str, resource: &str, code: u16| {
        format!(
            r#"{{"verb":"{verb}","user":{{"username":"me"}},"objectRef":{{"apiGroup":"{group}","resource":"{resource}","namespace":"n","name":"x"}},"responseStatus":{{"code":{code}}}}}"#
        ) + "\n"
    };
    let log = event("patch", "apps", "deployments", 201) + &event("get", "", "nodes", 403);
    project.write("audit.log", &log);
    let flags = |user| ["--audit-log", "audit.log", "--user", user];
    let found = project.run(&[&["rbac", "check", "--role", "role.yaml"], &flags("me")[..]].concat());
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    let said = found.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("missing nodes n/x get unused"), "{said}");
    assert!(
        said.contains("unused deployments.apps everywhere delete,get,list,watch"),
        "{said}"
    );
    let nobody = project.run(&[&["rbac", "check", "--role", "role.yaml"], &flags("you")[..]].concat());
    assert_eq!(nobody.code, Some(2));
    assert!(
        nobody.stderr.contains("has no request of the user you"),
        "{}",
        nobody.stderr
    );
}

#[test]
fn what_to_do_about_missing_watches_is_told() {
    let project = project_with_role();
    for command in [&["generate"][..], &["check", "--role", "role.yaml"]] {
        let ended = project.run(&[&["rbac"], command, &["--watches-file", "other.yaml"]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("\nhint: `other.yaml` is looked for"),
            "{}",
            ended.stderr
        );
    }
}
