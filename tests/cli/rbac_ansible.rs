//! `rbac` for entries with a role or playbook.

use std::fs;

use crate::program::Project;

/// A role beside a chart.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "charts/web/templates/a.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    );
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, chart: charts/web}\n\
         - version: v1\n  group: example.com\n  kind: Cache\n  role: cache\n  finalizer: {name: example.com/f, playbook: gone.yml}\n",
    );
    project.write(
        "gone.yml",
        "- hosts: all\n  tasks:\n    - k8s: {kind: Pod, name: a, state: absent}\n",
    );
    project.write(
        "roles/cache/tasks/main.yml",
        "- kubernetes.core.k8s: {template: a.yml.j2}\n\
         - k8s: {definition: '{{ other }}'}\n",
    );
    project.write(
        "roles/cache/templates/a.yml.j2",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ ansible_operator_meta.name }}\n",
    );
    project
}

/// The rules of a kind in a role.
fn rules_of<'a>(text: &'a str, kind: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("Kind: {kind}\n##\n")).unwrap();
    rest.split("##\n").next().unwrap()
}

#[test]
fn the_rules_of_tasks_stand_beside_those_of_charts() {
    let project = project();
    let ended = project.run(&["rbac", "generate"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stderr,
        "note: Cache: roles/cache/tasks/main.yml:2: the definition is the template `{{ other }}`\n"
    );
    assert!(rules_of(&ended.stdout, "Web").contains("# services: web/templates/a.yaml:2\n"));
    let cache = rules_of(&ended.stdout, "Cache");
    for expect in [
        "# Not told by the tasks, so look at this:\n# - roles/cache/tasks/main.yml:2: the definition is",
        "# configmaps: roles/cache/templates/a.yml.j2:2\n- apiGroups:\n  - \"\"\n  resources:\n  - configmaps\n  verbs:\n  - get\n  - list\n  - watch\n  - create\n  - patch\n",
        "# pods: gone.yml:3\n- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - get\n  - delete\n",
        "# the custom resources, and the finalizer on them\n",
    ] {
        assert!(cache.contains(expect), "{expect}\n{cache}");
    }
}

#[test]
fn a_generated_role_is_what_tasks_need() {
    let project = project();
    let text = project.run(&["rbac", "generate"]).stdout;
    project.write("role.yaml", &text);
    let checked = project.run(&["rbac", "check", "--role", "role.yaml"]);
    assert_eq!(
        checked.stdout, "The role is what the operator needs.\n",
        "{}",
        checked.stderr
    );
    project.write("role.yaml", &text.replace("  - configmaps\n", "  - endpoints\n"));
    let checked = project.run(&["rbac", "check", "--role", "role.yaml"]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stdout.lines().any(|line| {
            line.starts_with("missing  configmaps")
                && line.ends_with("configmaps: roles/cache/templates/a.yml.j2:2")
        }),
        "{}",
        checked.stdout
    );
}

#[test]
fn what_runs_have_asked_for_is_added() {
    let project = project();
    let record = "kind: RecordedPermissions\nresources:\n- apiVersion: example.com/v1\n  kind: Cache\n  ownNamespace:\n  \
                  - {apiGroups: [apps], resources: [daemonsets], verbs: [get, patch]}\n\
                  - apiVersion: example.com/v1\n  kind: Other\n  cluster: [{apiGroups: [''], resources: [nodes], verbs: [get]}]\n";
    project.write("recorded.yaml", record);
    let ended = project.run(&["rbac", "generate", "--recorded", "recorded.yaml"]);
    let cache = rules_of(&ended.stdout, "Cache");
    assert!(cache.contains("# daemonsets: recorded\n"), "{cache}");
    assert!(!rules_of(&ended.stdout, "Web").contains("daemonsets"));
    let expect = "note: recorded: no entry of watches.yaml with a role or playbook is for example.com/v1, kind Other\n";
    assert!(ended.stderr.contains(expect), "{}", ended.stderr);

    project.write("recorded.yaml", "a: 1\n");
    let ended = project.run(&["rbac", "generate", "--recorded", "recorded.yaml"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("failed to read recorded.yaml"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_operator_of_roles_alone_has_no_rule_for_releases() {
    let project = project();
    let text = fs::read_to_string(project.path().join("watches.yaml")).unwrap();
    let (_, roles_alone) = text.split_once('\n').unwrap();
    project.write("watches.yaml", roles_alone);
    let text = project.run(&["rbac", "generate"]).stdout;
    let base = text.split("## Rules for").next().unwrap();
    assert!(
        base.contains("  - events\n") && !base.contains("  - secrets\n"),
        "{base}"
    );
}
