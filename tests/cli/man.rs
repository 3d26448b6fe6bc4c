//! `man`.

use std::fs;

use crate::program::Project;

#[test]
fn a_page_has_the_flags_and_the_examples() {
    let ended = Project::new().run(&["man", "dependency", "build"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = ended.stdout;
    assert!(page.contains(".TH steersman-dependency-build 1"), "{page}");
    assert!(page.contains("\\fB\\-\\-skip\\-refresh\\fR"), "{page}");
    let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    assert!(examples.contains("\n  steersman dependency build "), "{examples}");
}

#[test]
fn all_pages_are_written() {
    let project = Project::new();
    let folder = project.path().join("pages");
    let ended = project.run(&["man", "--output-dir", folder.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut written: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    written.sort();
    let mut said: Vec<_> = ended.stdout.lines().map(std::path::PathBuf::from).collect();
    said.sort();
    assert_eq!(written, said);
    for page in ["steersman.1", "steersman-run.1", "steersman-dependency-update.1"] {
        assert!(folder.join(page).is_file(), "{page} is missing among {written:?}");
    }
}

#[test]
fn an_unknown_command_has_no_page() {
    let ended = Project::new().run(&["man", "dependency", "bild"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("`steersman dependency` has no command `bild`"),
        "{}",
        ended.stderr
    );
}
