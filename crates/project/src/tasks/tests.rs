use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use super::{Content, Search, TaskSurvey, UseScope};

/// What is found from `roles/web` or, where there is one, from `site.yml`.
fn survey(files: &[(&str, &str)]) -> TaskSurvey {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let playbook = root.join("site.yml");
    let content = if playbook.is_file() {
        Content::Playbook(playbook)
    } else {
        Content::Role(root.join("roles/web"))
    };
    TaskSurvey::of(&[content], &Search::below(root))
}

fn shown(survey: &TaskSurvey) -> String {
    let mut text = String::new();
    for one in &survey.uses {
        let scope = match &one.scope {
            UseScope::Own => "own",
            UseScope::Named(name) => name,
            UseScope::All => "all",
        };
        let subresource = one.subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let made = if one.is_made { " made" } else { "" };
        let verbs = one.verbs.join(",");
        let _ = writeln!(
            text,
            "{} {}{subresource} {verbs} in {scope}{made} at {}",
            one.api_version, one.kind, one.place
        );
    }
    for one in &survey.undetermined {
        let _ = writeln!(text, "? {}: {}", one.place, one.message);
    }
    for one in &survey.problems {
        let _ = writeln!(text, "! {}: {}", one.place, one.message);
    }
    text
}

fn check(files: &[(&str, &str)], expect: &Expect) {
    expect.assert_eq(&shown(&survey(files)));
}

fn check_tasks(tasks: &str, expect: &Expect) {
    check(&[("roles/web/tasks/main.yml", tasks)], expect);
}

#[test]
fn definitions_are_read_wherever_they_are() {
    let files = [
        (
            "roles/web/tasks/main.yml",
            r"
- kubernetes.core.k8s:
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: a, namespace: '{{ ansible_operator_meta.namespace }}'}
- k8s:
    resource_definition: |
      apiVersion: v1
      kind: Service
      metadata: {name: '{{ x }}', namespace: far}
- k8s: {src: job.yml, apply: true}
- k8s: {template: pod.yml.j2}
- k8s: {template: [{path: pod.yml.j2}, more.yml.j2]}
- k8s:
    definition: '{{ lookup(''template'', ''more.yml.j2'') | from_yaml }}'
- k8s: {kind: Secret, name: a, namespace: b}
- k8s: {definition: '{{ from_elsewhere }}'}
- k8s: {src: '{{ role_path }}/files/job.yml'}
",
        ),
        ("roles/web/files/job.yml", "apiVersion: batch/v1\nkind: Job\n"),
        (
            "roles/web/templates/pod.yml.j2",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ name }}\n{% for x in y %}\n---\napiVersion: v1\nkind: ConfigMap\n{% endfor %}\n",
        ),
        (
            "roles/web/templates/more.yml.j2",
            "apiVersion: v1\nkind: {{ kind }}\n# {{ lookup('k8s', kind='Secret', namespace=n, resource_name='a') }}\n",
        ),
    ];
    check(
        &files,
        &expect![[r"
        apps/v1 Deployment get,create,patch in own made at roles/web/tasks/main.yml:5
        v1 Service get,create,patch in far made at roles/web/tasks/main.yml:10
        batch/v1 Job get,create,patch in own made at roles/web/files/job.yml:2
        v1 Pod get,create,patch in own made at roles/web/templates/pod.yml.j2:2
        v1 ConfigMap get,create,patch in own made at roles/web/templates/pod.yml.j2:8
        v1 Secret get in own at roles/web/templates/more.yml.j2
        v1 Pod get,create,patch in own made at roles/web/templates/pod.yml.j2:2
        v1 ConfigMap get,create,patch in own made at roles/web/templates/pod.yml.j2:8
        v1 Secret get in own at roles/web/templates/more.yml.j2
        v1 Secret get,create,patch in b made at roles/web/tasks/main.yml:17
        batch/v1 Job get,create,patch in own made at roles/web/files/job.yml:2
        ? roles/web/tasks/main.yml:18: the definition is the template `{{ from_elsewhere }}`
        ? roles/web/templates/more.yml.j2:2: a template decides the kind of an object
    "]],
    );
}

#[test]
fn verbs_follow_from_modules_and_states() {
    check_tasks(
        r"
- k8s: {kind: Pod, name: a, state: absent}
- k8s: {kind: Pod, name: a, state: patched}
- k8s: {kind: Pod, name: a, force: true}
- k8s: {kind: Pod, name: a, state: '{{ s }}'}
- k8s: {kind: Pod, label_selectors: [a=b], state: absent, delete_all: true}
- kubernetes.core.k8s_info: {kind: Secret, name: a, namespace: b}
- k8s_info: {kind: Secret, namespace: '{{ n }}'}
- k8s_info: {kind: Secret}
- k8s_info: {api_version: v1, kind: Secret, name: '{{ n | default(omit) }}', namespace: b}
- k8s_scale: {api_version: apps/v1, kind: Deployment, name: a, replicas: 1}
- k8s_scale: {api_version: batch/v1, kind: Job, name: a, replicas: 1}
- k8s_exec: {pod: a, command: b, namespace: c}
- k8s_log: {name: a}
- k8s_log: {api_version: apps/v1, kind: Deployment, name: a}
- k8s_cp: {pod: a}
",
        &expect![[r"
            v1 Pod get,delete in own at roles/web/tasks/main.yml:2
            v1 Pod get,patch in own at roles/web/tasks/main.yml:3
            v1 Pod get,create,patch,update in own made at roles/web/tasks/main.yml:4
            v1 Pod get,create,patch,delete in own made at roles/web/tasks/main.yml:5
            v1 Pod list,delete,get in own at roles/web/tasks/main.yml:6
            v1 Secret get in b at roles/web/tasks/main.yml:7
            v1 Secret list in own at roles/web/tasks/main.yml:8
            v1 Secret list in all at roles/web/tasks/main.yml:9
            v1 Secret get,list in b at roles/web/tasks/main.yml:10
            apps/v1 Deployment/scale patch in own at roles/web/tasks/main.yml:11
            apps/v1 Deployment get in own at roles/web/tasks/main.yml:11
            batch/v1 Job patch in own at roles/web/tasks/main.yml:12
            batch/v1 Job get in own at roles/web/tasks/main.yml:12
            v1 Pod get in c at roles/web/tasks/main.yml:13
            v1 Pod/exec get,create in c at roles/web/tasks/main.yml:13
            v1 Pod get,list in own at roles/web/tasks/main.yml:14
            v1 Pod/log get in own at roles/web/tasks/main.yml:14
            v1 Pod get,list in own at roles/web/tasks/main.yml:15
            v1 Pod/log get in own at roles/web/tasks/main.yml:15
            apps/v1 Deployment get in own at roles/web/tasks/main.yml:15
            v1 Pod get in own at roles/web/tasks/main.yml:16
            v1 Pod/exec get,create in own at roles/web/tasks/main.yml:16
            ? roles/web/tasks/main.yml:5: a template decides whether objects are made or deleted: taken for both
        "]],
    );
    check_tasks(
        r"
- k8s_drain: {name: a}
- k8s_drain: {name: a, state: cordon}
- k8s_json_patch: {kind: Node, name: a, patch: []}
- k8s_rollback: {api_version: apps/v1, kind: DaemonSet, name: a, namespace: b}
- k8s_service: {name: a, type: ClusterIP}
- k8s_taint: {name: a}
- k8s_cluster_info:
- operator_sdk.util.k8s_status: {api_version: example.com/v1, kind: Web, name: a, namespace: b}
- operator_sdk.util.k8s_event:
    name: a
    involvedObject: {apiVersion: example.com/v1, kind: Web, name: a}
- kubernetes.core.helm: {name: a}
- k8s: {kubeconfig: /elsewhere, kind: Pod, name: a}
- debug: {msg: nothing}
- shell: 'set -e; kubectl get pods'
- command: {argv: [/usr/bin/oc, whoami]}
- set_fact: {x: '{{ query(''kubernetes.core.k8s'', api_version=''v1'', kind=''Node'') }}'}
",
        &expect![[r"
            v1 Node get,patch in own at roles/web/tasks/main.yml:2
            v1 Pod get,list,delete in all at roles/web/tasks/main.yml:2
            v1 Pod/eviction create in all at roles/web/tasks/main.yml:2
            v1 Node get,patch in own at roles/web/tasks/main.yml:3
            v1 Node get,patch in own at roles/web/tasks/main.yml:4
            apps/v1 ControllerRevision list in b at roles/web/tasks/main.yml:5
            apps/v1 DaemonSet get,patch in b at roles/web/tasks/main.yml:5
            v1 Service get,create,patch in own made at roles/web/tasks/main.yml:6
            v1 Node get,patch in own at roles/web/tasks/main.yml:7
            example.com/v1 Web/status patch in b at roles/web/tasks/main.yml:9
            example.com/v1 Web get in b at roles/web/tasks/main.yml:9
            v1 Event get,create,patch in own at roles/web/tasks/main.yml:10
            example.com/v1 Web get in own at roles/web/tasks/main.yml:10
            v1 Node list in all at roles/web/tasks/main.yml:18
            ? roles/web/tasks/main.yml:13: releases a chart with Helm: what that asks for is in the chart, and not known here
            ? roles/web/tasks/main.yml:14: names its own way to an API server (`kubeconfig`): no rule
            ? roles/web/tasks/main.yml:16: runs `kubectl`: what that asks for is not known here
            ? roles/web/tasks/main.yml:17: runs `/usr/bin/oc`: what that asks for is not known here
        "]],
    );
}

#[test]
fn all_tasks_are_read_whatever_their_conditions() {
    let files = [
        (
            "site.yml",
            r"
- hosts: localhost
  roles: [web, {role: gone}]
  pre_tasks:
    - k8s: {kind: Pod, name: pre}
  tasks:
    - import_tasks: tasks/more.yml
- import_playbook: other.yml
",
        ),
        (
            "other.yml",
            "- hosts: all\n  tasks:\n    - include_role: {name: web, tasks_from: extra}\n",
        ),
        ("tasks/more.yml", "- k8s: {kind: Service, name: more}\n"),
        ("roles/web/meta/main.yml", "dependencies:\n  - role: base\n"),
        (
            "roles/base/tasks/main.yaml",
            "- k8s: {kind: ConfigMap, name: base}\n- include_role: {name: web}\n",
        ),
        (
            "roles/web/handlers/main.yml",
            "- k8s: {kind: Event, name: handler}\n",
        ),
        (
            "roles/web/tasks/main.yml",
            r"
- when: never
  block:
    - k8s: {kind: Secret, name: block}
  rescue:
    - k8s: {kind: Secret, name: rescue, state: absent}
  always:
    - include_tasks: '{{ item }}.yml'
      loop: [extra, missing]
- include_tasks: '{{ unknown }}.yml'
- include_role: {name: '{{ unknown }}'}
- ansible.builtin.import_role: {name: gone}
",
        ),
        (
            "roles/web/tasks/extra.yml",
            "- k8s: {api_version: apps/v1, kind: DaemonSet, name: extra}\n",
        ),
    ];
    check(
        &files,
        &expect![[r"
        v1 ConfigMap get,create,patch in own made at roles/base/tasks/main.yaml:1
        v1 Secret get,create,patch in own made at roles/web/tasks/main.yml:4
        v1 Secret get,delete in own at roles/web/tasks/main.yml:6
        apps/v1 DaemonSet get,create,patch in own made at roles/web/tasks/extra.yml:1
        v1 Event get,create,patch in own made at roles/web/handlers/main.yml:1
        v1 Pod get,create,patch in own made at site.yml:5
        v1 Service get,create,patch in own made at tasks/more.yml:1
        apps/v1 DaemonSet get,create,patch in own made at roles/web/tasks/extra.yml:1
        ? roles/web/tasks/main.yml:10: a template decides which tasks are included: `{{ unknown }}.yml`
        ? roles/web/tasks/main.yml:11: a template decides which role is included: `{{ unknown }}`
        ! roles/web/tasks/main.yml:8: tasks `missing.yml` were not found
        ! roles/web/tasks/main.yml:12: role `gone` was not found
        ! site.yml:3: role `gone` was not found
    "]],
    );
}

#[test]
fn loops_over_written_lists_are_followed_and_others_named() {
    check_tasks(
        r"
- k8s:
    definition: {apiVersion: '{{ item.version }}', kind: '{{ item.kind }}', metadata: {name: a}}
  loop:
    - {version: apps/v1, kind: Deployment}
    - {version: v1, kind: Service}
- k8s: {definition: '{{ item }}'}
  with_items:
    - {apiVersion: v1, kind: Pod}
- k8s: {kind: '{{ item }}', name: a}
  loop: '{{ kinds }}'
- k8s: {src: '{{ item }}'}
  loop: [https://example.com/a.yaml, gone.yml]
",
        &expect![[r"
            apps/v1 Deployment get,create,patch in own made at roles/web/tasks/main.yml:3
            v1 Service get,create,patch in own made at roles/web/tasks/main.yml:3
            v1 Pod get,create,patch in own made at roles/web/tasks/main.yml:9
            ? roles/web/tasks/main.yml:10: a template decides the kind of an object
            ? roles/web/tasks/main.yml:12: `gone.yml` was not found in files/
            ? roles/web/tasks/main.yml:12: the definition is at `https://example.com/a.yaml`, and was not fetched
        "]],
    );
}

#[test]
fn what_can_not_be_read_is_a_problem() {
    let files = [
        (
            "roles/web/tasks/main.yml",
            "- k8s: {template: gone.j2}\n- include_tasks: broken.yml\n",
        ),
        ("roles/web/tasks/broken.yml", "- a: [\n"),
    ];
    check(
        &files,
        &expect![[r"
            ! roles/web/tasks/broken.yml:2: not valid YAML: did not find expected node content
            ! roles/web/tasks/main.yml:1: `gone.j2` was not found in templates/
        "]],
    );
}

#[test]
fn roles_that_include_each_other_come_to_an_end() {
    let files = [
        (
            "roles/web/tasks/main.yml",
            "- include_role: {name: web}\n- include_tasks: main.yml\n",
        ),
        ("roles/web/meta/main.yml", "dependencies: [web]\n"),
    ];
    check(&files, &expect![[r""]]);
    // Each round of a loop knows something else, and no round ends here.
    let tasks = "- include_tasks: main.yml\n  loop: ['{{ item | default(0) }}', '{{ x }}{{ item }}']\n";
    let found = survey(&[("roles/web/tasks/main.yml", tasks)]);
    assert!(found.undetermined.len() <= 1, "{}", shown(&found));
}

#[test]
fn roles_bindings_and_definitions_are_known() {
    let found = survey(&[(
        "roles/web/tasks/main.yml",
        r"
- k8s:
    definition:
      - apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: '{{ x }}'}
        rules:
          - {apiGroups: [''], resources: [pods], verbs: [get]}
          - {apiGroups: [''], resources: '{{ y }}', verbs: [get]}
      - apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: a}
        roleRef: {kind: ClusterRole, name: view}
      - apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        spec: {group: a.example.com, names: {kind: Sheep, plural: sheep}, scope: Cluster}
",
    )]);
    let role = &found.roles[0];
    assert!(role.is_open && role.is_incomplete && !role.is_cluster_role);
    assert_eq!(role.rules.len(), 1);
    assert_eq!(found.bindings[0].names, ["view".to_owned()].into());
    assert_eq!(found.definitions[0].plural, "sheep");
    assert!(!found.definitions[0].is_namespaced);
}

#[test]
fn each_module_is_named_once() {
    let found = survey(&[(
        "roles/web/tasks/main.yml",
        "- a.b.c: {}\n- a.b.c: {}\n- ansible.builtin.debug: {}\n",
    )]);
    let names: Vec<String> = found
        .modules
        .iter()
        .map(|module| format!("{} {}", module.name, module.place))
        .collect();
    let expect = [
        "a.b.c roles/web/tasks/main.yml:1",
        "ansible.builtin.debug roles/web/tasks/main.yml:3",
    ];
    assert_eq!(names, expect);
    assert!(
        found
            .roles_read
            .iter()
            .any(|role| role.ends_with(Path::new("roles/web")))
    );
}
