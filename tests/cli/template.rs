//! `template` on the chart of the example.

use std::path::Path;

use crate::helm::Helm;
use crate::program::Project;

fn chart() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("helm-charts/visitors")
        .display()
        .to_string()
}

#[test]
fn the_example_is_rendered_to_standard_output() {
    let ended = Project::new().run(&["template", "demo", &chart(), "--namespace", "shop"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with("---\n# Source: visitors/"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("kind: Deployment"), "{}", ended.stdout);
}

#[test]
fn documents_can_be_written_into_files() {
    let project = Project::new();
    let folder = project.path().join("out");
    let folder_text = folder.display().to_string();
    let ended = project.run(&["template", "demo", &chart(), "--output-dir", &folder_text]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let line = ended.stdout.lines().next().unwrap_or_default();
    let file = line.strip_prefix("wrote ").unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with("---\n# Source: visitors/"), "{text}");
}

#[test]
fn what_cannot_be_rendered_is_named_on_standard_error() {
    for (arguments, expect) in [
        (
            vec!["template", "demo", "/nowhere"],
            "Error: path \"/nowhere\" not found\n",
        ),
        (
            vec!["template", "demo", &chart(), "--set", "a"],
            "Error: failed parsing --set data: key \"a\" has no value\n",
        ),
        (
            vec!["template", "demo", &chart(), "--unknown"],
            "Error: unknown flag: --unknown\n",
        ),
        (
            vec!["template", "demo", &chart(), "--post-renderer", "x"],
            "Error: --post-renderer is not supported\n\nhint: post-renderers are plugins of Helm; pipe the output \
             through the program instead\n",
        ),
    ] {
        let ended = Project::new().run(&arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        assert_eq!(ended.stderr, expect, "{arguments:?}");
        assert_eq!(ended.stdout, "");
    }
}

/// A chart with everything that Helm has something to say about.
fn project_with_a_talkative_chart() -> Project {
    let project = Project::new();
    for (path, text) in [
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: talk\nversion: 1.0.0\ndeprecated: true\nkubeVersion: '>=1.20.0-0'\ndependencies:\n\
             - {name: inner, version: 1.0.0, repository: '', condition: inner.on, tags: [some]}\n",
        ),
        ("chart/requirements.lock", "dependencies: []\n"),
        (
            "chart/values.yaml",
            "inner: {on: not-a-bool, table: {a: b}, text: x}\n",
        ),
        ("chart/crds/crd.yaml", "kind: CustomResourceDefinition\n"),
        (
            "chart/charts/inner/Chart.yaml",
            "apiVersion: v2\nname: inner\nversion: 1.0.0\n",
        ),
        ("chart/charts/inner/values.yaml", "table: text\ntext: {a: b}\n"),
        (
            "chart/templates/a.yaml",
            "kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\n\
             data: {upgrade: {{ .Release.IsUpgrade | quote }}, version: {{ .Capabilities.KubeVersion }}, quoted: \
             {{ .Capabilities.KubeVersion | quote }}, \
             apis: {{ .Capabilities.APIVersions.Has \"x/v1\" | quote }}}\n",
        ),
        (
            "chart/templates/hook.yaml",
            "kind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
        ),
        (
            "chart/templates/old-hook.yaml",
            "kind: Pod\nmetadata: {name: old, annotations: {helm.sh/hook: crd-install}}\n",
        ),
        (
            "chart/templates/fail.yaml",
            "{{ if .Values.fail }}{{ fail .Values.fail }}{{ end }}{{ if .Values.broken }}a: [{{ end }}\n",
        ),
        ("values.yaml", "some: value\n"),
        (
            "kubeconfig",
            "current-context: c\ncontexts: [{name: c, context: {cluster: k, namespace: of-context}}]\n",
        ),
    ] {
        project.write(path, text);
    }
    project
}

#[test]
fn flags_do_and_say_what_they_do_and_say_in_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project_with_a_talkative_chart();
    for arguments in [
        "",
        "chart",
        "demo chart",
        "demo chart extra more",
        "Demo chart",
        "demo /nowhere",
        "demo ./nowhere",
        "-g chart",
        "-g demo chart",
        "--generate-name=false chart",
        "--name-template {{\"a\"|upper|lower}} chart",
        "--name-template {{ chart",
        "--name-template x demo chart",
        "demo chart -n shop",
        "demo chart --namespace=shop --namespace other",
        "demo chart --namespace=",
        "demo chart --kubeconfig kubeconfig",
        "demo chart --kubeconfig kubeconfig --kube-context gone",
        "demo chart -f values.yaml,values.yaml",
        "demo chart -f nowhere.yaml",
        "demo chart -f chart",
        "demo chart -f",
        "demo chart --set",
        "demo chart --set a",
        "demo chart --set -a=-1",
        "demo chart --set-json a",
        "demo chart --set-file a=nowhere",
        "demo chart --unknown",
        "demo chart -z",
        "demo chart --no-hooks",
        "demo chart --no-hooks=maybe",
        "demo chart --skip-tests=true --include-crds",
        "demo chart --is-upgrade --kube-version 1.31 -a x/v1,y/v1",
        "demo chart --kube-version 1.19",
        "demo chart --kube-version one",
        "demo chart --show-only templates/a.yaml",
        "demo chart -s templates/*.yaml -s crds/crd.yaml --include-crds",
        "demo chart -s nowhere.yaml",
        "demo chart --dry-run",
        "demo chart --dry-run=true",
        "demo chart --dry-run=none",
        "demo chart --dry-run=maybe",
        "demo chart --dry-run=client --validate",
        "demo chart --wait --timeout 5m --atomic --force",
        "demo chart --wait=true",
        "demo chart --wait=maybe",
        "demo chart --timeout 60",
        "demo chart --timeout soon",
        "demo chart --force-replace --force-conflicts",
        "demo chart --hide-notes --render-subchart-notes --description x --skip-crds --replace",
        "demo chart --labels a=b,c=d",
        "demo chart --labels a",
        "demo chart --color=loud",
        "demo chart --qps few",
        "demo chart --burst-limit few",
        "demo chart --set fail=no",
        "demo chart --set broken=true",
        "demo chart --set tags.some=text",
        "demo chart --set inner=text",
        "demo chart --output-dir out --release-name --include-crds",
        "demo chart --output-dir out --release-name --include-crds",
        "demo chart --output-dir out -s templates/a.yaml",
    ] {
        let arguments: Vec<&str> = arguments
            .split(' ')
            .filter(|argument| !argument.is_empty())
            .collect();
        helm.compare(&project, &[&["template"], arguments.as_slice()].concat());
    }
    // Helm looks at labels before it looks at hooks, of which it has something to say, too.
    helm.compare_output(&project, &["template", "demo", "chart", "-l", "name=x"]);
}

#[test]
fn what_there_is_of_a_chart_that_fails_is_shown_for_debugging() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project_with_a_talkative_chart();
    for arguments in [
        ["template", "demo", "chart", "--debug", "--set", "fail=no"],
        ["template", "demo", "chart", "--debug", "--set", "inner=text"],
    ] {
        helm.compare_output(&project, &arguments);
    }
    // Helm writes what it cannot sort in a random order.
    let ended = project.run(&["template", "demo", "chart", "--debug", "--set", "broken=true"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stdout
            .contains("# Source: talk/templates/fail.yaml\na: [\n"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("# Source: talk/templates/a.yaml\n"),
        "{}",
        ended.stdout
    );
}

#[test]
fn an_entry_renders_a_resource_as_the_operator_does() {
    let project = Project::new();
    project.write("web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    let chart = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n  \
                 annotations: {helm.sh/depends-on/resource-groups: '[\"a\"]'}\ndata: {{ .Values | toJson }}\n";
    project.write("web/templates/map.yaml", chart);
    project.write("low.yaml", "{a: file, b: file, c: file}\n");
    project.write(
        "watches.yaml",
        "- group: example.com\n  version: v1\n  kind: Web\n  chart: web\n  order: helm\n  valueFiles: [low.yaml]\n  overrides: {c: \
         entry}\n  postRender:\n  - {target: {}, merge: {metadata: {labels: {team: shop}}}}\n",
    );
    let resource =
        "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: site, namespace: shop}\nspec: {b: spec}\n";
    project.write("site.yaml", resource);
    let ended = project.run(&["template", "--watch", "Web", "-f", "site.yaml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expect = "---\n# Source: web/templates/map.yaml\napiVersion: v1\ndata:\n  a: file\n  b: spec\n  c: entry\nkind: \
                  ConfigMap\nmetadata:\n  labels:\n    team: shop\n  name: site\n  namespace: shop\n";
    assert_eq!(ended.stdout, expect);
    for (arguments, message) in [
        (
            ["--watch", "Site", "-f", "site.yaml"].as_slice(),
            "no entry with a chart is for Site",
        ),
        (&["--watch", "Web"], "-f is to have one Web, and has 0 documents"),
        (
            &["--watch", "Web", "-f", "low.yaml"],
            "the resource in -f is not a Web in example.com/v1",
        ),
        (
            &["--watch", "Web", "-f", "site.yaml", "--set", "a=b"],
            "with --watch there is no --set",
        ),
        (
            &["a", "web", "--watch", "Web", "-f", "site.yaml"],
            "the entry names the chart",
        ),
    ] {
        let ended = project.run(&[&["template"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}
