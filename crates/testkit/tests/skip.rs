//! What a test does where something it needs is not on the machine.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world should panic"
)]

use std::process::{Command, Output};

use steersman_testkit::cluster::TestCluster;
use steersman_testkit::{corpus, functions};

/// A test that needs everything there is.
#[test]
#[ignore = "the other tests run it, in a process of its own"]
fn a_needy_test() {
    assert!(corpus::root_or_skip().is_none());
    assert!(functions::cases_or_skip().is_none());
    assert!(TestCluster::shared_or_skip("a_needy_test").is_none());
}

/// Runs it where there is nothing.
fn run(ci: &str) -> Output {
    let empty = tempfile::tempdir().unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_needy_test", "--ignored"])
        .env("STEERSMAN_CORPUS", empty.path().join("corpus"))
        .env("STEERSMAN_FUNCTIONS", empty.path().join("cases.jsonl"))
        .env("XDG_CACHE_HOME", empty.path())
        .env_remove("KUBEBUILDER_ASSETS")
        .env_remove("STEERSMAN_TEST_KUBECONFIG")
        .env("CI", ci)
        .output()
        .unwrap()
}

#[test]
fn each_skip_is_said_on_one_line_with_its_reason() {
    let output = run("");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, (what, reason)) in lines.iter().zip([
        ("the chart corpus", "corpus is not there"),
        ("the snippet cases", "cases.jsonl is not there"),
        ("a_needy_test", "run build/control-plane.sh"),
    ]) {
        assert!(
            line.starts_with(&format!("skipped: {what}, because ")) && line.contains(reason),
            "{line}"
        );
    }
}

#[test]
fn in_ci_nothing_may_be_skipped() {
    let output = run("true");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("CI=true: nothing may be skipped"), "{text}");
}
