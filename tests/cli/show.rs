//! `show`, beside Helm's.

use crate::helm::Helm;
use crate::program::Project;

fn project() -> Project {
    let project = Project::new();
    for (path, text) in [
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: shown\nversion: 1.0.0\nappVersion: 1.10\nunknown: x\nhome: 'yes'\ndescription: |\n  two\n  lines\n\
             keywords: [a]\nannotations: {b: c}\ndeprecated: true\nkubeVersion: '>=1.20.0-0'\nmaintainers: [{name: a}]\ndependencies:\n\
             - {name: inner, version: 1, repository: '', import-values: [a, {child: b, parent: c}], tags: [t]}\n",
        ),
        ("chart/values.yaml", "# kept\na: {b: [1, 2]}\n\n"),
        ("chart/ReadMe.MD", "# Title"),
        ("chart/crds/a.yaml", "kind: CustomResourceDefinition\n"),
        ("chart/crds/b.yaml", "---\nkind: CustomResourceDefinition"),
        (
            "chart/charts/inner/Chart.yaml",
            "apiVersion: v1\nname: inner\nversion: 1.0.0\n",
        ),
        (
            "chart/charts/inner/crds/c.yaml",
            "kind: CustomResourceDefinition\n",
        ),
        ("bare/Chart.yaml", "apiVersion: v3\nname: bare\nversion: 1.0.0\n"),
        ("broken/Chart.yaml", "name: broken\n"),
    ] {
        project.write(path, text);
    }
    project
}

#[test]
fn the_parts_of_a_chart_are_shown_as_by_helm() {
    let Some(helm) = Helm::find_or_skip() else { return };
    let project = project();
    for part in ["all", "chart", "values", "readme", "crds"] {
        for chart in ["chart", "bare", "broken", "./nowhere", "nowhere"] {
            helm.compare(&project, &["show", part, chart]);
        }
    }
    for arguments in [
        vec!["show", "values", "chart", "--jsonpath", "{.a.b[1]}"],
        vec![
            "show",
            "values",
            "chart",
            "--jsonpath",
            "{.a}{range .a.b[*]} {@}{end}{.a.c}",
        ],
        vec!["show", "values", "chart", "--jsonpath", "{.a.b"],
        vec!["show", "values", "bare", "--jsonpath", "{.a}"],
        vec!["inspect", "chart", "chart"],
        vec!["show", "chart"],
        vec!["show", "chart", "chart", "bare"],
        vec!["show", "chart", "chart", "--devel", "--version", "1.0.0"],
        vec!["show", "values", "unknown/chart"],
        vec!["show", "values", "chart", "--unknown"],
    ] {
        helm.compare(&project, &arguments);
    }
}

#[test]
fn a_part_that_is_missing_or_unknown_is_answered_with_help() {
    for arguments in [vec!["show"], vec!["show", "nothing"], vec!["dependency"]] {
        let ended = Project::new().run(&arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}");
        assert!(ended.stdout.contains("Usage: steersman"), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    }
}
