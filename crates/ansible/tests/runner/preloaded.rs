//! Modules that are forked do the same as modules that get an interpreter.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use steersman_testkit::processes::{self, words};

use super::set::Set;

/// What modules have told in a run, which leaves nothing.
async fn told(set: &Set, ident: &str) -> Value {
    let mut spec = set.spec(ident, Set::playbook("telling.yml"));
    let library = Set::source().join("library").display().to_string();
    spec.environment.insert("ANSIBLE_LIBRARY".to_owned(), library);
    spec.environment
        .insert("KUBECONFIG".to_owned(), "/of/the/run".to_owned());
    let (outcome, _) = super::run(set, &spec).await;
    let outcome = outcome.expect("an outcome");
    let printed = fs::read_to_string(set.folder().join("artifacts").join(ident).join("stdout"));
    assert!(outcome.is_successful(), "{:?}\n{printed:?}", outcome.failed);
    let left = fs::read_to_string(set.out().join("left")).expect("a number");
    assert!(!Path::new("/proc").join(left).exists(), "a process is left");
    let text = fs::read_to_string(set.out().join("told")).expect("written by the playbook");
    serde_json::from_str(&text).expect("JSON")
}

fn is_loaded(told: &Value) -> [&Value; 4] {
    ["plain", "own", "seeded", "background"].map(|task| &told[task]["is_loaded"])
}

/// The processes that have the libraries.
fn preloaded(set: &Set) -> usize {
    let folder = set.runner.preload.as_ref().expect("preloaded").interpreter();
    let folder = folder.as_deref().and_then(Path::parent).expect("a folder");
    let folder = folder.display().to_string();
    let program = format!("{folder}/preloaded.py");
    processes::all()
        .filter(|id| words(*id).contains(&program))
        .count()
}

#[tokio::test]
async fn a_forked_module_finds_what_it_finds_in_an_interpreter() {
    let Some(mut set) = Set::new("a_forked_module_finds_what_it_finds_in_an_interpreter") else {
        return;
    };
    let by_interpreters = told(&set, "1").await;
    assert_eq!(is_loaded(&by_interpreters), [false; 4]);
    set.preload();
    assert_eq!(preloaded(&set), 0, "nothing is loaded before a run");
    let forked = told(&set, "2").await;
    assert_eq!(is_loaded(&forked), [true, false, false, true]);
    assert_eq!(preloaded(&set), 1, "what belongs to a run has gone with it");
    assert_eq!(by_interpreters["plain"]["is_compiled"], false);
    assert_eq!(forked["plain"]["is_compiled"], true);
    assert_eq!(forked["plain"]["found"]["code"], "ansible/module_utils/basic.py");
    for task in ["plain", "own", "seeded", "background"] {
        let (expected, found) = (&by_interpreters[task]["found"], &forked[task]["found"]);
        assert!(expected.is_object());
        for (name, expected) in expected.as_object().expect("a map") {
            assert_eq!(
                without_folders(&found[name]),
                without_folders(expected),
                "{name} of {task}"
            );
        }
    }
    assert_eq!(forked["plain"]["found"]["kubeconfig"], "/of/the/run");

    // Folders for temporary files are cleaned by others.
    let script = set.runner.preload.as_ref().expect("preloaded").interpreter();
    let folder = script.as_deref().and_then(Path::parent).expect("a folder");
    fs::remove_dir_all(folder).expect("removed");
    let forked = told(&set, "3").await;
    // Another operator starts.
    set.runner.tidy().expect("tidied");
    assert!(folder.exists() && preloaded(&set) > 0);
    assert_eq!(is_loaded(&forked), [true, false, false, true]);
    for task in ["raised", "exited", "killed"] {
        let (expected, found) = (&by_interpreters[task], &forked[task]);
        assert_eq!(found["rc"], expected["rc"], "{task}");
        assert_eq!(found["msg"], expected["msg"], "{task}");
        assert_eq!(found["module_stdout"], expected["module_stdout"], "{task}");
    }
    let trace = forked["raised"].to_string();
    assert!(
        trace.contains("it is raised") && !trace.contains("preloaded.py"),
        "{trace}"
    );
}

/// Without the names of folders that each run has of its own.
fn without_folders(value: &Value) -> String {
    let text = value.to_string().replace("/artifacts/2", "/artifacts/1");
    let mut words = text.split("/.scratch-");
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let rest = word.find('/').map_or("", |end| &word[end..]);
        format!("{text}/.scratch{rest}")
    })
}

#[tokio::test]
async fn a_run_goes_on_where_the_preloaded_process_was_killed() {
    let Some(mut set) = Set::new("a_run_goes_on_where_the_preloaded_process_was_killed") else {
        return;
    };
    // An interpreter that is none: the script runs modules by it, so nothing would run without the check at the start.
    let words = ["/no/such/program".into(), "run-module".into()];
    let none = steersman_ansible::Preload::new(
        set.runner.scratch().expect("a folder"),
        Path::new("/no/such/python"),
        &set.environment(),
        &words,
    );
    let error = none.expect_err("no interpreter").to_string();
    assert!(error.starts_with("failed to run `"), "{error}");
    // A program that ends at once, where Python should be.
    let words = ["/no/such/program".into(), "run-module".into()];
    let none = steersman_ansible::Preload::new(
        set.runner.scratch().expect("a folder"),
        Path::new("true"),
        &set.environment(),
        &words,
    );
    set.runner.preload = Some(none.expect("a script that runs"));
    let spec = set.spec("1", Set::playbook("endless.yml"));
    let begun = Instant::now();
    let (run, _events) = set.runner.start(&spec).await.expect("a run without");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(run);
}
