//! `version`, and the program's three names.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::program::Project;

#[test]
fn the_line_is_that_of_helm_operator() {
    let ended = Project::new().run(&["version"]);
    assert_eq!(ended.code, Some(0));
    let start = format!(
        "steersman version: \"v{}\", commit: \"",
        env!("CARGO_PKG_VERSION")
    );
    assert!(ended.stdout.starts_with(&start), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("kubernetes version: \"v1."),
        "{}",
        ended.stdout
    );
}

#[test]
#[cfg(unix)]
fn the_program_answers_to_the_names_of_the_operators_whose_place_it_takes() {
    let project = Project::new();
    for name in ["helm-operator", "ansible-operator"] {
        let link = project.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_steersman"), &link).unwrap();
        let limit = Duration::from_secs(10);
        let ended = project.start_program(&link, &["version"]).wait(limit);
        let start = format!("{name} version: \"v");
        assert!(ended.stdout.starts_with(&start), "{}", ended.stdout);
        let ended = project.start_program(&link, &["run", "--help"]).wait(limit);
        let usage = format!("Usage: {name} run [OPTIONS]");
        assert!(ended.stdout.contains(&usage), "{}", ended.stdout);
        let ended = project
            .start_program(&link, &["run", "--watches-file=./nowhere.yaml"])
            .wait(limit);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    }
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .arg("version")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn every_help_has_examples() {
    let project = Project::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["template", "--help"]] {
        let ended = project.run(arguments);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("\nExamples:\n"), "{}", ended.stdout);
    }
}
