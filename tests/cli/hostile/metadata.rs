//! B8 to B10: what `Chart.yaml` says.

use std::fmt::Write as _;

use super::Hostile;

#[test]
fn what_is_no_metadata_is_refused() {
    Hostile::empty()
        .with("values.yaml", "")
        .render(&[])
        .says("Chart.yaml");
    for (text, expect) in [
        ("", "chart.metadata.name is required"),
        ("null\n", "chart.metadata.name is required"),
        ("[]\n", "cannot load Chart.yaml"),
        ("text\n", "cannot load Chart.yaml"),
        ("a: [\n", "cannot load Chart.yaml"),
        (
            "apiVersion: v2\nname: ..\nversion: 1.0.0\n",
            "chart.metadata.name \"..\" is not allowed",
        ),
        (
            "apiVersion: v2\nname: .\nversion: 1.0.0\n",
            "chart.metadata.name \".\" is not allowed",
        ),
        (
            "apiVersion: v2\nname: a/b\nversion: 1.0.0\n",
            "chart.metadata.name \"a/b\" is invalid",
        ),
        (
            "apiVersion: v2\nname: web\n",
            "chart.metadata.version is required",
        ),
        (
            "apiVersion: v2\nname: web\nversion: x\n",
            "chart.metadata.version \"x\" is invalid",
        ),
        (
            "apiVersion: v9\nname: web\nversion: 1.0.0\n",
            "unsupported chart version",
        ),
        (
            "apiVersion: v2\nname: web\nversion: 1.0.0\ntype: x\n",
            "chart.metadata.type must be application or library",
        ),
        (
            "apiVersion: v2\nname: [web]\nversion: 1.0.0\n",
            "cannot load Chart.yaml",
        ),
        (
            "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: \">= 99\"\n",
            "which is incompatible with Kubernetes",
        ),
    ] {
        let ended = Hostile::empty().with("Chart.yaml", text).render(&[]);
        assert_eq!(ended.code, Some(1), "{text}");
        ended.says(expect);
    }
}

#[test]
fn nulls_are_no_reason_to_panic() {
    for text in [
        "maintainers: [null]\n",
        "maintainers: null\nkeywords: [null]\nsources: null\n",
        "dependencies: [null]\n",
        "dependencies: [{name: null, version: null}]\n",
        "dependencies: [{name: a, version: '*', import-values: null}]\n",
        "dependencies: [{name: a, version: '*', import-values: [null]}]\n",
        "dependencies: [{name: a, version: '*', import-values: [{child: 1, parent: [x]}]}]\n",
        "dependencies: [{name: a, version: '*', import-values: [{child: null}]}]\n",
        "annotations: {a: null}\n",
    ] {
        let ended = Hostile::empty()
            .with(
                "Chart.yaml",
                format!("apiVersion: v2\nname: web\nversion: 1.0.0\n{text}"),
            )
            .with("charts/a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
            .with("charts/a/values.yaml", "x: {y: 1}\n")
            .render(&[]);
        assert!(matches!(ended.code, Some(0 | 1)), "{text}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{text}: {}", ended.stderr);
    }
}

#[test]
fn dependencies_are_checked() {
    let with = |text: &str| {
        Hostile::empty()
            .with(
                "Chart.yaml",
                format!("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: {text}\n"),
            )
            .with("charts/a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
            .with("charts/a/templates/t.yaml", "a: {{ .Chart.Name }}\n")
            .render(&[])
    };
    for alias in ["../x", "a/b", "{{x}}", "a b", "\u{1b}[2J"] {
        let alias = serde_json::Value::from(alias);
        with(&format!("[{{name: a, version: '*', alias: {alias}}}]"))
            .says("dependency \"a\" has disallowed characters in the alias");
    }
    with("[{name: b, version: '*'}]").says("found in Chart.yaml, but missing in charts/ directory: b");
    with("[{name: a, version: '*'}, {name: a, version: '*'}]")
        .says("more than one dependency with name or alias \"a\"");

    // Charts in charts, in a circle as far as files can be.
    let chart = Hostile::new();
    std::fs::create_dir(chart.chart().join("charts")).unwrap();
    std::os::unix::fs::symlink("..", chart.chart().join("charts/web")).unwrap();
    let ended = chart.render(&[]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let mut nested = Hostile::new();
    let mut path = String::new();
    for _ in 0..40 {
        let _ = write!(path, "charts/a/");
        nested = nested.with(
            &format!("{path}Chart.yaml"),
            "apiVersion: v2\nname: a\nversion: 1.0.0\n",
        );
    }
    nested.render(&[]).says("nested more than");
}
