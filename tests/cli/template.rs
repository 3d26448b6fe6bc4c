//! `template` on the chart of the example.

use std::path::Path;

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
    for (arguments, code, expect) in [
        (
            vec!["template", "demo", "/nowhere"],
            1,
            "path \"/nowhere\" not found",
        ),
        (
            vec!["template", "Demo", &chart()],
            1,
            "release name \"Demo\": invalid release name",
        ),
        (
            vec!["template", "demo", &chart(), "--set", "a"],
            1,
            "failed parsing --set data: key \"a\" has no value",
        ),
        (
            vec!["template", "demo", &chart(), "--validate"],
            2,
            "--validate is not supported",
        ),
    ] {
        let ended = Project::new().run(&arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}");
        assert!(ended.stderr.contains(expect), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}
