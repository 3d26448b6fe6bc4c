//! `check`.

use std::fs;
use std::path::PathBuf;

use crate::program::Project;

fn project() -> Project {
    let project = Project::new();
    project.write("charts/web/values.yaml", "replicas: 1\nhost: web\n");
    project.write(
        "charts/web/values.schema.json",
        r#"{"type": "object", "additionalProperties": false, "properties": {"replicas": {"type": "integer"}, "host": {"type": "string"}}}"#,
    );
    project.write(
        "charts/web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {host: '{{ .Values.host }}'}\n",
    );
    project
}

/// What is printed, with this exit code.
fn found(project: &Project, arguments: &[&str], code: i32) -> String {
    let ended = project.run(&[&["check"], arguments].concat());
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn nothing_is_wrong_with_a_project_and_its_own_definition() {
    let project = project();
    assert!(found(&project, &[], 0).contains("the project has no definition of example.com/v1, kind Web"));
    assert_eq!(
        project.run(&["crd", "--output-dir", "config/crd/bases"]).code,
        Some(0)
    );
    project.write(
        "config/samples/web.yaml",
        "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: a}\nspec: {replicas: 2}\n",
    );
    assert_eq!(found(&project, &["--strict"], 0), "nothing is wrong\n");
    assert_eq!(found(&project, &["-o", "json"], 0), "[]\n");
}

#[test]
fn samples_are_judged_by_the_definition_and_by_the_chart() {
    let project = project();
    assert_eq!(
        project.run(&["crd", "--output-dir", "config/crd/bases"]).code,
        Some(0)
    );
    project.write(
        "config/samples/web.yaml",
        "apiVersion: example.com/v1\nkind: Web\nmetadata:\n  name: a\nspec:\n  replicas: two\n  hosts: x\n",
    );
    let text = found(&project, &[], 1);
    for expect in [
        "config/samples/web.yaml:5: error: the chart can't be rendered with it: values don't meet the specifications of the \
         schema(s) in the following chart(s):\n    web:\n",
        "    - at '': additional properties 'hosts' not allowed\n",
        "config/samples/web.yaml:6: error: spec.replicas: want null or integer, but got string\n",
        "config/samples/web.yaml:7: error: spec.hosts is unknown: the API server drops it\n  \
         hint: `kubectl explain webs` tells what there is\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    assert!(text.ends_with("errors: 3, warnings: 0\n"), "{text}");
}

#[test]
fn kinds_that_kubernetes_gave_up_are_named() {
    let project = project();
    project.write(
        "charts/web/templates/job.yaml",
        "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n",
    );
    let text = found(&project, &["--kube-version", "1.25"], 1);
    assert!(
        text.contains(
            "charts/web/templates/job.yaml: error: batch/v1beta1 CronJob is not served by Kubernetes 1.25 and later\n  \
             hint: use batch/v1 CronJob\n"
        ),
        "{text}"
    );
    let text = found(&project, &["--kube-version", "1.24"], 0);
    assert!(
        text.contains("warning: batch/v1beta1 CronJob is deprecated, and goes with Kubernetes 1.25\n"),
        "{text}"
    );
}

#[test]
fn definitions_have_to_take_what_the_chart_takes() {
    let project = project();
    project.write(
        "config/crd/bases/web.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: webs.example.com}\nspec:\n  \
         group: example.com\n  names: {kind: Web, plural: webs}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    \
         storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            \
         type: object\n            properties: {host: {type: integer}}\n",
    );
    let text = found(&project, &["--strict"], 1);
    for expect in [
        "web.yaml:1: warning: spec.host is refused, though it is a default of the chart: want integer, but got string\n",
        "web.yaml:1: warning: spec.replicas is dropped, though it is a default of the chart\n",
        "web.yaml:9: warning: there is no status subresource",
        "hint: `steersman crd` prints a definition that takes the chart's values\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
}

#[test]
fn schemas_have_to_be_structural() {
    let project = project();
    project.write(
        "config/crd/bases/web.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: webs.example.com}\nspec:\n  \
         group: example.com\n  names: {kind: Web, plural: webs}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    \
         storage: true\n    subresources: {status: {}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            \
         x-kubernetes-preserve-unknown-fields: true\n            properties:\n              host: {description: anything}\n",
    );
    let text = found(&project, &[], 1);
    let expect = "web.yaml:20: error: the API server refuses the schema: \
                  spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.host.type must be given\n";
    assert!(text.contains(expect), "{text}");
}

#[test]
fn roles_have_to_hold_what_the_chart_needs() {
    let project = project();
    project.write(
        "config/rbac/role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n\
         - apiGroups: [example.com]\n  resources: [webs, webs/status, webs/finalizers]\n  verbs: ['*']\n\
         - apiGroups: ['']\n  resources: [secrets, events]\n  verbs: ['*']\n\
         - apiGroups: [apiextensions.k8s.io]\n  resources: [customresourcedefinitions]\n  verbs: [get, list, watch]\n",
    );
    // No operator runs tests.
    project.write(
        "charts/web/templates/tests/test.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    \"helm.sh/hook\": test\n",
    );
    let text = found(&project, &[], 1);
    let expect = "config/rbac/role.yaml:4: error: manager-role may not create, delete, get, list, patch, watch configmaps, which \
                  example.com/v1 Web needs\n";
    assert!(text.contains(expect), "{text}");
    assert!(text.contains("errors: 1,"), "{text}");
}

#[test]
fn whoever_may_write_roles_needs_not_have_their_rules() {
    let project = project();
    project.write(
        "charts/web/templates/role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: web}\nrules:\n\
         - {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n",
    );
    let definition = project.run(&["crd", "--output-dir", "config/crd/bases"]);
    assert_eq!(definition.code, Some(0), "{}", definition.stderr);
    let generate = ["rbac", "generate", "--output", "config/rbac/role.yaml"];
    std::fs::create_dir_all(project.path().join("config/rbac")).unwrap();
    for flags in [&[][..], &["--allow-escalation"]] {
        assert_eq!(project.run(&[&generate[..], flags].concat()).code, Some(0));
        assert_eq!(found(&project, &[], 0), "nothing is wrong\n", "{flags:?}");
    }
    let role = std::fs::read_to_string(project.path().join("config/rbac/role.yaml")).unwrap();
    project.write("config/rbac/role.yaml", &role.replace("escalate", "get"));
    let text = found(&project, &[], 1);
    assert!(text.contains(" may not get pods, which "), "{text}");
}

#[test]
fn what_counts_is_what_is_deployed() {
    let project = Project::new();
    fs::remove_file(project.path().join("watches.yaml")).unwrap();
    let init = [
        "init",
        "--project-name=shop",
        "--domain=example.com",
        "--kind=Shop",
    ];
    assert_eq!(project.run(&init).code, Some(0));
    assert_eq!(found(&project, &["--strict"], 0), "nothing is wrong\n");

    // A definition that lies in its folder, and is commented out.
    let edit = |path: &str, from: &str, to: &str| {
        let before = fs::read_to_string(project.path().join(path)).unwrap();
        assert!(before.contains(from), "{path}: {from}");
        project.write(path, &before.replace(from, to));
        before
    };
    let path = "config/default/kustomization.yaml";
    let whole = edit(path, "\n- ../crd", "\n#- ../crd");
    let text = found(&project, &["--strict"], 1);
    let expect = "config/crd/bases/charts.example.com_shops.yaml:1: warning: config/default/kustomization.yaml leaves this \
                  definition out\n";
    assert!(text.contains(expect), "{text}");

    // A role that a patch makes too small is as bad as one that is written so.
    let smaller = "\n- target: {kind: ClusterRole, name: manager-role}\n  patch: '[{op: replace, path: /rules, value: \
                 [{apiGroups: [charts.example.com], resources: [shops], verbs: [get]}]}]'\n";
    project.write(path, &format!("{}{smaller}", whole.trim_end()));
    let text = found(&project, &[], 1);
    assert!(
        text.contains("config/rbac/role.yaml:") && text.contains("error: shop-manager-role may not create,"),
        "{text}"
    );

    // A role of another name in the place of the one that is bound.
    project.write(path, &whole);
    let role = "config/rbac/role.yaml";
    let before = fs::read_to_string(project.path().join(role)).unwrap();
    let generate = ["rbac", "generate", "--name=another", "--output", role];
    assert_eq!(project.run(&generate).code, Some(0));
    let text = found(&project, &["--strict"], 1);
    let expect = "gives the ClusterRole manager-role, which nothing here defines\n";
    assert!(
        text.contains("config/rbac/role_binding.yaml:") && text.contains(expect),
        "{text}"
    );
    project.write(role, &before);

    project.write(path, &whole.replace("- ../rbac", "- ../nowhere"));
    let text = found(&project, &[], 1);
    assert!(
        text.contains("config/default/kustomization.yaml: error: ") && text.contains("nowhere"),
        "{text}"
    );
}

#[test]
fn values_that_become_templates_are_warned_of_unless_releases_are_confined() {
    let project = project();
    project.write(
        "charts/web/templates/text.yaml",
        "{{- with .Values.text }}\n{{ tpl . $ }}\n{{- end }}\n",
    );
    let entry = "- group: example.com\n  version: v1\n  kind: Web\n  chart: charts/web\n";
    project.write("watches.yaml", entry);
    let text = found(&project, &["--strict"], 1);
    let warning = "watches.yaml:1: warning: the chart of example.com/v1 Web gives texts that values may have decided to tpl \
                   (web/templates/text.yaml:2): who may write such a resource can read and change whatever the operator can\n";
    assert!(
        text.contains(warning) && text.contains("hint: `confine: {}` keeps"),
        "{text}"
    );
    for limit in ["confine: {}", "serviceAccountName: deployer"] {
        project.write("watches.yaml", &format!("{entry}  {limit}\n"));
        let ended = project.run(&["check"]);
        assert!(!ended.stdout.contains(" to tpl "), "{limit}: {}", ended.stdout);
    }
}

#[test]
fn a_health_check_with_nothing_to_judge_is_warned_of_where_that_can_be_told() {
    let project = project();
    let check = |kind: &str| format!("  healthChecks: [{{{kind}, current: 'true'}}]\n");
    let entry = "- group: example.com\n  version: v1\n  kind: Web\n  chart: charts/web\n";
    let warning = "watches.yaml:1: warning: the health check for Db.acme.com judges nothing: the chart of example.com/v1 Web \
                   makes no such object\n";
    let other = check("apiVersion: acme.com/v1, kind: Db");
    project.write("watches.yaml", &format!("{entry}{other}"));
    assert!(found(&project, &["--strict"], 1).contains(warning));
    let made = check("apiVersion: v1, kind: ConfigMap");
    project.write("watches.yaml", &format!("{entry}{made}"));
    assert!(!project.run(&["check"]).stdout.contains("judges nothing"));
    // A chart whose kinds follow from values may make anything.
    project.write(
        "charts/web/templates/any.yaml",
        "{{- range .Values.extra }}\n---\n{{ toYaml . }}\n{{- end }}\n",
    );
    project.write("watches.yaml", &format!("{entry}{other}"));
    assert!(!project.run(&["check"]).stdout.contains("judges nothing"));
}

#[test]
fn what_is_wrong_with_watches_is_told_with_its_line() {
    let project = project();
    project.write(
        "watches.yaml",
        "- group: example.com\n  version: 1\n  kind: Web\n  chart: charts/web\n",
    );
    let text = found(&project, &[], 1);
    assert!(text.starts_with("watches.yaml:2: error: [0].version: "), "{text}");
    let ended = project.run(&["check", "-w", "nowhere.yaml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("nowhere.yaml"), "{}", ended.stderr);
}

#[test]
fn nothing_is_wrong_with_the_example() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["check", "--strict"])
        .current_dir(root)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing is wrong\n");
    assert!(output.status.success());
}

#[test]
fn patches_are_tried_on_what_charts_render() {
    let project = project();
    let entry = "- group: example.com\n  version: v1\n  kind: Web\n  chart: charts/web\n";
    assert_eq!(
        project.run(&["crd", "--output-dir", "config/crd/bases"]).code,
        Some(0)
    );
    project.write("values-production.yaml", "host: production\n");
    project.write(
        "config/samples/web.yaml",
        "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: a}\nspec: {replicas: 2}\n",
    );
    let watch = |patches: &str| {
        let lines = "  valueFiles: [values-production.yaml]\n  overrides: {replicas: 3}\n  postRender:\n";
        project.write("watches.yaml", &format!("{entry}{lines}{patches}"));
    };
    // The patch tests which values there are.
    watch("  - {target: {kind: ConfigMap}, patch: [{op: test, path: /data/host, value: production}]}\n");
    assert_eq!(found(&project, &["--strict"], 0), "nothing is wrong\n");
    watch(
        "  - {target: {kind: ConfigMap, name: a}, merge: {data: {a: b}}}\n  - {target: {kind: Deployment}, merge: {spec: {paused: true}}}\n",
    );
    assert_eq!(
        found(&project, &[], 0),
        "watches.yaml:9: warning: [0].postRender[1]: its target is no object of what the chart renders with the defaults and the \
         samples\nerrors: 0, warnings: 1\n"
    );
    watch("  - {target: {name: a}, patch: [{op: remove, path: /data/none}]}\n");
    let text = found(&project, &[], 1);
    let expect = "config/samples/web.yaml:4: error: the chart can't be rendered with it: web/templates/config.yaml: [0].postRender[0] on \
                  line 8 of watches.yaml can't be applied to ConfigMap default/a: operation 1, `remove /data/none`: path is invalid\n";
    assert!(text.contains(expect), "{text}");
}

#[test]
fn stages_are_tried_on_what_charts_render() {
    let project = project();
    assert_eq!(
        project.run(&["crd", "--output-dir", "config/crd/bases"]).code,
        Some(0)
    );
    project.write(
        "charts/web/templates/work.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: \
         {requests: {storage: 1Gi}}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: work}\nspec: {template: {spec: \
         {restartPolicy: Never, containers: [{name: a, image: a}], volumes: [{name: data, persistentVolumeClaim: {claimName: \
         data}}]}}}\n",
    );
    let watch = |stages: &str| {
        let entry = "- group: example.com\n  version: v1\n  kind: Web\n  chart: charts/web\n  stages:\n";
        project.write("watches.yaml", &format!("{entry}{stages}"));
    };
    watch(
        "  - {name: data, objects: [{kind: PersistentVolumeClaim}]}\n  - {name: work, objects: [{kind: Job}]}\n  - {name: none, \
         objects: [{kind: Deployment}]}\n",
    );
    let text = found(&project, &[], 0);
    for expect in [
        "watches.yaml:8: warning: stage none claims no object of what the chart renders with the defaults and the samples\n",
        "watches.yaml:7: warning: PersistentVolumeClaim data comes before stage work, which mounts it: where its class waits for \
         the first consumer, it is never bound\n",
        "watches.yaml:7: warning: the stage behind work does not wait until Job work is complete: `wait: {jobs: true}` does\n",
    ] {
        assert!(text.contains(expect), "{text}");
    }
    watch("  - {name: work, objects: [{kind: Job}, {kind: PersistentVolumeClaim}]}\n  wait: {jobs: true}\n");
    assert_eq!(found(&project, &["--strict"], 0), "nothing is wrong\n");
    watch("  - {name: work, objects: [{kind: Job}]}\n  - {name: all, objects: [{name: .*}]}\n");
    let text = found(&project, &["--strict"], 1);
    let expect = "stages work (line 6 of watches.yaml) and all (line 7) both claim Job default/work";
    assert!(text.contains(expect), "{text}");
}
