//! `diff`, `status` and `migrate` where there is nothing to ask, or nobody who answers.

use crate::program::Project;

fn check(project: &Project, arguments: &[&str], parts: &[&str]) {
    let ended = project.run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "no `{part}` in:\n{}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_asked_ends_with_two() {
    let project = Project::new().with_server("127.0.0.1:1");
    let nothing = "error: there is nothing to compare";
    check(
        &project,
        &["diff"],
        &[nothing, "hint: name resources of the cluster"],
    );
    check(
        &project,
        &["diff", "web"],
        &["error: `web` does not name a resource", "hint: write KIND/NAME"],
    );
    check(
        &project,
        &["diff", "-f", "none.yaml"],
        &["failed to read `none.yaml`: No such file"],
    );
    project.write("broken.yaml", "a: [");
    check(
        &project,
        &["diff", "-f", "broken.yaml"],
        &["`broken.yaml` is not valid YAML"],
    );
    check(&project, &["status"], &["<RESOURCE>"]);
    check(
        &project,
        &["migrate"],
        &["error: there is nothing to do but --check"],
    );
}

#[test]
fn a_cluster_that_is_not_reached_is_named_and_ends_with_two() {
    let project = Project::new().with_server("127.0.0.1:1");
    let away = "error: failed to reach the API server at http://127.0.0.1:1";
    for arguments in [
        ["diff", "web/shop"].as_slice(),
        &["status", "web/shop"],
        &["migrate", "--check"],
    ] {
        check(&project, arguments, &[away, "hint: is the cluster running"]);
    }
}
