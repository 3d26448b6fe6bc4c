//! `check` for entries with a role or playbook.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use steersman_testkit::ansible::Ansible;

use crate::program::Project;

const NOT_CHECKED: &str =
    "note: the syntax of roles and playbooks was not checked: ansible-playbook is not on PATH\n";

fn project(tasks: &str) -> Project {
    let project = Project::new();
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Cache, role: cache}\n",
    );
    project.write("roles/cache/tasks/main.yml", tasks);
    let definition = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.example.com}
spec:
  group: example.com
  names: {kind: Cache, plural: caches}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";
    project.write("config/crd/bases/caches.yaml", definition);
    project
}

/// What is printed, with this exit code, where there is no Ansible.
fn found(project: &Project, code: i32) -> String {
    let ended = project.run(&["check"]);
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr, NOT_CHECKED);
    ended.stdout
}

#[test]
fn nothing_is_wrong_with_a_role_and_its_definition() {
    let project = project("- k8s: {kind: ConfigMap, name: a}\n");
    assert_eq!(found(&project, 0), "nothing is wrong\n");
    project.write(
        "config/samples/cache.yaml",
        "apiVersion: example.com/v1\nkind: Cache\nmetadata: {name: a}\nspec: {size: big}\n",
    );
    assert!(found(&project, 1).contains("config/samples/cache.yaml:4: error: spec.size: want"));
}

#[test]
fn what_tasks_name_has_to_be_there() {
    let project = project(
        "- include_role: {name: gone}\n- include_tasks: more.yml\n- k8s: {template: gone.j2}\n- a.b.c: {}\n- named.one.x: {}\n",
    );
    project.write("roles/cache/meta/main.yml", "dependencies:\n  - role: base\n");
    project.write(
        "requirements.yml",
        "collections:\n  - name: named.one\n    version: 1.0.0\n",
    );
    let text = found(&project, 1);
    for expect in [
        "roles/cache/meta/main.yml:2: error: role `base` was not found\n  hint: it was looked for at roles/roles/base, roles/base",
        "roles/cache/tasks/main.yml:1: error: role `gone` was not found\n",
        "roles/cache/tasks/main.yml:2: error: tasks `more.yml` were not found\n",
        "roles/cache/tasks/main.yml:3: error: `gone.j2` was not found in templates/\n",
        "roles/cache/tasks/main.yml:4: warning: a.b.c is of a.b, which requirements.yml does not name\n",
        "errors: 4, warnings: 1\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    project.write("requirements.yml", "collections: [1]\n");
    assert!(found(&project, 1).contains("requirements.yml:1: error: expected a collection"));
}

#[test]
fn an_entry_has_something_to_run() {
    let project = project("[]\n");
    fs::remove_dir_all(project.path().join("roles/cache/tasks")).unwrap();
    project.write("roles/cache/defaults/main.yml", "a: 1\n");
    let expect = "watches.yaml:1: error: role roles/cache has no tasks/main.yml: a run of it does nothing\n";
    assert!(found(&project, 1).contains(expect));
}

#[test]
fn specifications_of_arguments_fit_the_defaults() {
    let project = project("[]\n");
    let specifications = r"
argument_specs:
  main:
    options:
      size: {type: int, default: 2}
      mode: {choices: [small, large]}
      ports: {type: list, elements: int}
      limits: {type: dict, options: {cpu: {type: str}}}
      odd: {type: string}
      open: {type: int}
      bad: {type: bool, default: maybe}
  extra: {}
";
    project.write("roles/cache/meta/argument_specs.yml", specifications);
    let defaults = "size: 3\nmode: huge\nports: [80, web]\nlimits: {cpu: 1, memory: 2}\nopen: '{{ size }}'\n";
    project.write("roles/cache/defaults/main.yml", defaults);
    let text = found(&project, 1);
    let specifications = "roles/cache/meta/argument_specs.yml";
    for expect in [
        "defaults/main.yml:2: error: mode is `huge`, which is none of small, large, as ",
        "defaults/main.yml:3: error: ports has an item that is not of type int, as ",
        "defaults/main.yml:4: error: limits.memory is no option of ",
        "argument_specs.yml:5: warning: size: this default is another one than that of roles/cache/defaults/main.yml\n",
        "argument_specs.yml:9: error: odd: `string` is no type that Ansible knows\n",
        "argument_specs.yml:11: error: bad: the default is not of type bool\n",
        "argument_specs.yml:12: error: entry point extra has no tasks/extra.yml\n",
        "errors: 6, warnings: 1\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    project.write(specifications, "argument_specs: [\n");
    assert!(found(&project, 1).contains("argument_specs.yml:2: error: not valid YAML: "));
}

#[test]
fn roles_of_rbac_hold_what_tasks_need() {
    let project = project("- k8s: {kind: ConfigMap, name: a}\n");
    let role = project.run(&["rbac", "generate"]).stdout;
    project.write("config/rbac/role.yaml", &role);
    assert_eq!(found(&project, 0), "nothing is wrong\n");
    project.write(
        "config/rbac/role.yaml",
        &role.replace("  - configmaps\n", "  - endpoints\n"),
    );
    let expect = "error: manager-role may not create, get, list, patch, watch configmaps, which example.com/v1 Cache needs\n";
    assert!(found(&project, 1).contains(expect));
}

#[test]
fn ansible_playbook_looks_at_the_syntax() {
    let Some(ansible) = Ansible::find_or_skip("ansible_playbook_looks_at_the_syntax") else {
        return;
    };
    let project = project(
        "- k8s: {kind: ConfigMap, name: a}\n- operator_sdk.util.k8s_status: {kind: Cache, name: a}\n",
    )
    .with_variable("PATH", &ansible.path())
    .with_variable(
        "ANSIBLE_COLLECTIONS_PATH",
        ansible.collections().to_str().unwrap(),
    );
    let found = |code: i32| {
        let ended = project.run(&["check"]);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(code), ""),
            "{}",
            ended.stdout
        );
        ended.stdout
    };
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Cache, role: cache, finalizer: {name: example.com/f, playbook: site.yml}}\n",
    );
    project.write("site.yml", "- hosts: localhost\n  roles: [cache]\n");
    project.write(
        "requirements.yml",
        "collections: [kubernetes.core, operator_sdk.util]\n",
    );
    assert_eq!(found(0), "nothing is wrong\n");

    project.write(
        "requirements.yml",
        "collections:\n  - kubernetes.core\n  - name: example.gone\n",
    );
    let expect = "requirements.yml:3: warning: collection example.gone is not installed here\n";
    assert!(found(0).contains(expect));

    project.write(
        "roles/cache/tasks/main.yml",
        "- name: a\n  no_such_module:\n    x: 1\n",
    );
    let expect = "roles/cache/tasks/main.yml:1: error: couldn't resolve module/action 'no_such_module'";
    let text = found(1);
    assert!(text.contains(expect), "{text}");

    // What is wrong with a playbook that only deletions run is said of it.
    project.write("roles/cache/tasks/main.yml", "[]\n");
    project.write(
        "site.yml",
        "- hosts: localhost\n  tasks:\n    - import_tasks: gone.yml\n",
    );
    let text = found(1);
    assert!(
        text.contains("site.yml:3: error: tasks `gone.yml` were not found\n"),
        "{text}"
    );
    assert!(!text.contains("errors: 2"), "{text}");
}

#[test]
fn an_ansible_playbook_that_is_none_is_no_silence() {
    let project = project("[]\n");
    let program = project.write("bin/ansible-playbook", "#!/bin/sh\nexit 3\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = program.parent().unwrap().to_str().unwrap().to_owned();
    let project = project.with_variable("PATH", &path);
    let ended = project.run(&["check"]);
    let expect = "watches.yaml:1: error: ansible-playbook refuses it, and does not say why\n";
    assert!(ended.stdout.contains(expect), "{}{}", ended.stdout, ended.stderr);
}
