//! `lint`, beside Helm's.

use crate::helm::Helm;
use crate::program::Project;

/// Charts with everything that the rules look for.
fn project() -> Project {
    let project = Project::new();
    for (path, text) in [
        (
            "good/Chart.yaml",
            "apiVersion: v2\nname: good\nversion: 1.0.0\nicon: https://example.com/x.png\n",
        ),
        ("good/values.yaml", "a: b\n"),
        ("good/templates/a.yaml", "kind: ConfigMap\nmetadata: {name: a}\n"),
        ("plain/Chart.yaml", "name: plain\nversion: v1\nappVersion: 1.10\n"),
        (
            "bad/Chart.yaml",
            "apiVersion: v3\nname: ../bad\nversion: 1.0.0.0\nversion: 0.0.0-0\nunknown: x\nsources: [nowhere]\nicon: none\n\
             type: library\nmaintainers: [{name: a, email: b}, {nick: c}]\ndependencies: [{name: gone}]\n",
        ),
        ("bad/values.yaml", "- a\n"),
        ("bad/templates", "a file\n"),
        ("bad/crds", "a file\n"),
        (
            "mail/Chart.yaml",
            "apiVersion: v2\nname: mail\nversion: 1.0.0\nmaintainers: [{name: a, url: 'ht tp'}]\n",
        ),
        (
            "null/Chart.yaml",
            "apiVersion: v2\nname: null\nversion: {a: b}\nmaintainers: [null]\n",
        ),
        (
            "objects/Chart.yaml",
            "apiVersion: v2\nname: objects\nversion: 1.0.0\ndependencies:\n- {name: gone, version: 1.0.0}\n",
        ),
        ("objects/values.yaml", "number: 1\n"),
        (
            "objects/values.schema.json",
            r#"{"type": "object", "properties": {"number": {"type": "integer"}}}"#,
        ),
        (
            "objects/charts/extra/Chart.yaml",
            "apiVersion: v1\nname: extra\nversion: 1.0.0\n",
        ),
        (
            "objects/crds/a.yaml",
            "apiVersion: v1\nkind: Pod\n---\nkind: {{ no template }}\n",
        ),
        (
            "objects/templates/a.yaml",
            "{{ required \"give a value\" .Values.missing }}{{ fail \"never\" }}\n  apiVersion: policy/v1beta1\n  kind: \
             PodDisruptionBudget\n  metadata: {name: A_b}\n---\napiVersion: apps/v1beta2\nkind: Deployment\nmetadata: \
             {name: x}\n---\nkind: Service\nmetadata: {name: 1a}\n---\nkind: Namespace\nmetadata: {name: a.b}\n---\nkind: \
             Role\nmetadata: {name: a/b%}\n---\n# nothing\n---\nkind: Secret\n",
        ),
        (
            "objects/templates/list.yaml",
            "kind: List\nmetadata: {name: l}\nitems: [{metadata: {annotations: {helm.sh/resource-policy: keep}}}]\n",
        ),
        ("objects/templates/notes.md", "text\n"),
        ("objects/templates/z.yaml", "kind: [\n"),
        (
            "broken/Chart.yaml",
            "apiVersion: v2\nname: broken\nversion: 1.0.0\n",
        ),
        ("broken/templates/a.yaml", "{{ .Values.a.b }}{{ if }}\n"),
        ("unreadable/Chart.yaml", "a: [\n"),
    ] {
        project.write(path, text);
    }
    project
}

#[test]
fn charts_are_judged_as_by_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    for arguments in [
        "",
        "good",
        "good --quiet",
        "good --quiet --strict",
        "plain",
        "plain --strict",
        "bad",
        "bad --quiet",
        "mail",
        "null",
        "objects",
        "objects --with-subcharts",
        "objects --set number=text",
        "objects --set number=text --skip-schema-validation",
        "objects --kube-version 1.20",
        "objects --kube-version none",
        "objects -n shop --set missing=x",
        "broken",
        "unreadable",
        "nowhere",
        "nowhere.tgz",
        "good plain broken nowhere",
        "good --strict=maybe",
        "good --unknown",
        "good -f nowhere.yaml",
    ] {
        let arguments: Vec<&str> = arguments
            .split(' ')
            .filter(|argument| !argument.is_empty())
            .collect();
        helm.compare(&project, &[&["lint"], arguments.as_slice()].concat());
    }
}

#[test]
fn an_archive_is_judged_as_its_folder() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    let packed = helm.run(&project, &["package", "good", "-d", "packed"]);
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    helm.compare(&project, &["lint", "packed/good-1.0.0.tgz"]);
}
