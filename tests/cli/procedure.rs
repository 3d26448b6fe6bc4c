//! `procedure` where its words are wrong, or nobody answers.

use crate::program::Project;

fn check(arguments: &[&str], code: i32, parts: &[&str]) {
    let project = Project::new().with_server("127.0.0.1:1");
    let arguments: Vec<&str> = ["procedure"].iter().chain(arguments).copied().collect();
    let ended = project.run(&arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "no `{part}` in:\n{}", ended.stderr);
    }
}

#[test]
fn parameters_are_read_before_anybody_is_asked() {
    let run = |more: &[&str], parts: &[&str]| {
        let arguments = [["run", "backup", "web/shop"].as_slice(), more].concat();
        check(&arguments, 2, parts);
    };
    run(
        &["--set", "depth"],
        &[
            "error: `--set depth` gives no parameter",
            "hint: write --set NAME=VALUE",
        ],
    );
    run(&["--set-string", "=1"], &["hint: write --set-string NAME=VALUE"]);
    run(
        &["--set", "depth=1", "--set-string", "depth=2"],
        &["error: parameter `depth` is given twice"],
    );
    run(
        &["--set", "resource=other"],
        &["error: `resource` is no parameter"],
    );
    run(&["--timeout", "5m"], &["--wait"]);
    run(&["--wait", "--timeout", "soon"], &["--timeout"]);
}

#[test]
fn what_is_missing_or_no_resource_is_named() {
    check(&["run", "backup"], 2, &["<RESOURCE>"]);
    check(&["list"], 2, &["<RESOURCE>"]);
    check(&["logs"], 2, &["<RUN>"]);
    check(&["list", "shop", "-o", "wide"], 2, &["table, json, yaml"]);
}

#[test]
fn where_nobody_answers_it_is_said_and_only_run_ends_with_two() {
    let away = "error: failed to reach the API server at http://127.0.0.1:1";
    check(&["run", "backup", "web/shop"], 2, &[away]);
    for arguments in [
        ["list", "web/shop"].as_slice(),
        &["logs", "webbackup/shop-1"],
        &["cancel", "webbackup/shop-1"],
        &["suspend", "web/shop"],
        &["resume", "web/shop", "backup"],
    ] {
        check(arguments, 1, &[away]);
    }
}
