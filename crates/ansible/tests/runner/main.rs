//! Runs with the real ansible-runner. Each takes seconds of the processor, so few runs have many things in them.

mod preloaded;
mod set;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use steersman_ansible::{
    AnsibleEnvironment, Content, Detail, Event, EventKind, ExtraVars, Outcome, RunError, Runner, Supervisor,
};

use set::Set;

/// The outcome of a run, and its events.
async fn run(set: &Set, spec: &steersman_ansible::RunSpec) -> (Result<Outcome, RunError>, Vec<Event>) {
    let (run, mut events) = set.runner.start(spec).await.expect("the run starts");
    let mut all = Vec::new();
    let read = async {
        while let Some(event) = events.next().await {
            all.push(event);
        }
    };
    let (outcome, ()) = tokio::join!(run.wait(), read);
    (outcome, all)
}

#[tokio::test]
async fn a_run_does_what_its_playbook_says_and_leaves_only_artifacts() {
    let Some(set) = Set::new("a_run_does_what_its_playbook_says") else {
        return;
    };
    let mut spec = set.spec("1", Set::playbook("everything.yml"));
    spec.extra_vars = {
        let mut vars = ExtraVars::new("example.com", "Web");
        vars.mark_unsafe = true;
        vars.of(&json!({
            "metadata": {"name": "site", "namespace": "shop"},
            "spec": {"replicaCount": 3, "matchLabels": {"partOf": "x"}, "text": "{{ 1 + 1 }}"},
        }))
        .expect("variables")
    };
    spec.environment
        .insert("K8S_AUTH_KUBECONFIG".to_owned(), "/tmp/kubeconfig".to_owned());
    spec.command_line = "'-e from_command_line=yes'".to_owned();
    spec.kept_artifacts = 1;
    let (outcome, events) = run(&set, &spec).await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(set.left(), [""; 0], "an async job goes with its run");

    assert!(outcome.is_successful(), "{:?}", outcome.failed);
    let result = &outcome.result;
    let numbers = (result.ok, result.changed, result.skipped, result.failures);
    assert_eq!(numbers, (8, 2, 1, 0), "{:?}", outcome.stats);
    let host = outcome.stats["localhost"];
    assert_eq!((host.rescued, host.ignored), (1, 1));
    assert!(result.completion.ends_with("+00:00"), "{}", result.completion);
    assert_eq!(outcome.requeue_after, Some(Ok(Duration::from_secs(90))));
    assert_eq!(
        (outcome.exit_status, outcome.unreadable, outcome.unlogged),
        (Some(0), 0, 0)
    );
    let text = fs::read_to_string(set.out().join("text")).expect("written by the playbook");
    assert_eq!(text, "{{ 1 + 1 }}");

    let of = |task: &str, kind: EventKind| {
        let mut found = events
            .iter()
            .filter(move |event| event.kind == kind && event.task.as_deref() == Some(task));
        found.next().cloned().expect("an event of the task")
    };
    let ignored = of("a failure that is ignored", EventKind::Failed);
    assert!(ignored.ignores_errors);
    let place = ignored.place.expect("a place");
    assert_eq!((place.file.ends_with("/everything.yml"), place.line), (true, 20));
    let bytes = of("what prints bytes that are no text", EventKind::Ok);
    assert_eq!(bytes.host.as_deref(), Some("localhost"));
    let requeue = of("what looks again", EventKind::Ok);
    assert_eq!(requeue.action.as_deref(), Some("operator_sdk.util.requeue_after"));
    assert_eq!(events.last().map(|event| event.kind), Some(EventKind::Stats));
    assert!(events.iter().all(|event| event.data.is_none()));

    second_run_of_the_resource(&set).await;
}

/// The role of a watch, after its playbook: another run of the same resource.
async fn second_run_of_the_resource(set: &Set) {
    let mut spec = set.spec("2", Content::Role(Set::source().join("roles/web")));
    spec.gathers_facts = false;
    spec.kept_artifacts = 1;
    spec.verbosity = 1;
    spec.detail = Detail::Everything;
    spec.extra_vars
        .insert("password".to_owned(), Value::from("hunter2"));
    let (outcome, events) = run(set, &spec).await;
    let outcome = outcome.expect("an outcome");
    let failed: Vec<String> = outcome.failed.iter().map(ToString::to_string).collect();
    let file = Set::source().join("roles/web/tasks/main.yml");
    assert_eq!(
        failed,
        [format!(
            "task \"some items\" of role web ({}:12): bad: it is bad",
            file.display()
        )]
    );
    assert_eq!(
        outcome.failed[0].action.as_deref(),
        Some("ansible.builtin.assert")
    );
    assert_eq!((outcome.result.failures, outcome.exit_status), (1, Some(2)));
    let hidden = events
        .iter()
        .find(|event| {
            event.kind == EventKind::Failed
                && event.task.as_deref() == Some("a secret that is not to be seen")
        })
        .and_then(|event| event.result.as_ref()?.message.clone());
    assert!(hidden.is_some_and(|message| message.contains("no_log")));
    assert!(!format!("{events:?} {outcome:?}").contains("hunter2"));
    assert!(
        events
            .iter()
            .any(|event| event.data.as_ref().is_some_and(|data| data["res"].is_object()))
    );

    let folder = set.folder();
    let latest = fs::read_link(folder.join("artifacts/latest")).expect("a link");
    assert_eq!(latest.to_str(), Some("2"));
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&folder.join("artifacts")),
        ["2", "latest"],
        "one run is kept"
    );
    assert!(
        !folder.join("env/cmdline").exists(),
        "nothing of the run before is left"
    );
    assert_eq!(
        names(&set.runner.root),
        ["example.com"],
        "what goes with a run is gone"
    );
    let mode = fs::metadata(folder.join("artifacts/2/stdout"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}

#[tokio::test]
async fn a_playbook_that_can_not_be_read_has_no_outcome() {
    let Some(set) = Set::new("a_playbook_that_can_not_be_read_has_no_outcome") else {
        return;
    };
    let (outcome, events) = run(&set, &set.spec("1", Set::playbook("unreadable.yml"))).await;
    let error = outcome.expect_err("no outcome");
    let text = error.to_string();
    assert!(matches!(error, RunError::Unfinished { status: 4, .. }), "{text}");
    assert!(
        text.contains("couldn't resolve module/action 'no.such.module'"),
        "{text}"
    );
    assert!(
        events
            .iter()
            .any(|event| event.kind == EventKind::Verbose && event.stdout.contains("ERROR"))
    );
}

/// As JSON Ansible can't read them, and as YAML the mark of the text would be a field.
#[tokio::test]
async fn variables_that_can_not_be_read_lose_no_marks() {
    let Some(set) = Set::new("variables_that_can_not_be_read_lose_no_marks") else {
        return;
    };
    let owned = set.out().join("owned");
    let template = format!("{{{{ lookup('pipe', 'touch {}') }}}}", owned.display());
    let mut spec = set.spec("1", Set::playbook("text.yml"));
    spec.extra_vars
        .insert("text".to_owned(), json!({"__ansible_unsafe": template}));
    let (outcome, _) = run(&set, &spec).await;
    assert!(outcome.expect("an outcome").is_successful());

    let encrypted = json!({"__ansible_vault": {"x": {"__ansible_vault": "abc"}}});
    spec.extra_vars.insert("x".to_owned(), encrypted);
    spec.ident = "2".to_owned();
    let (outcome, _) = run(&set, &spec).await;
    let text = outcome.expect_err("no outcome").to_string();
    assert!(
        text.contains("unable to read") && !text.contains("touch"),
        "{text}"
    );
    assert!(!owned.exists());
}

/// Ansible goes on when it can't start a process for a task, and ends with the status 0.
#[tokio::test]
async fn a_task_for_which_no_process_starts_has_failed() {
    let Some(set) = Set::new("a_task_for_which_no_process_starts_has_failed") else {
        return;
    };
    let site = "import os, sys\nfork = os.fork\ncount = [0]\ndef failing():\n    count[0] += 1\n    \
        if count[0] == 2: raise OSError(11, 'Resource temporarily unavailable')\n    return fork()\n\
        if any(word.endswith('ansible-playbook') for word in sys.orig_argv[:3]): os.fork = failing\n";
    fs::write(set.out().join("sitecustomize.py"), site).expect("written");
    let mut spec = set.spec("1", Set::playbook("three.yml"));
    spec.environment
        .insert("PYTHONPATH".to_owned(), set.out().display().to_string());
    let (outcome, _) = run(&set, &spec).await;
    let outcome = outcome.expect("an outcome");
    let failed: Vec<&str> = outcome
        .failed
        .iter()
        .filter_map(|failed| failed.task.as_deref())
        .collect();
    assert_eq!(failed, ["two"], "{outcome:?}");
    assert_eq!(outcome.exit_status, Some(0));

    spec.environment.remove("PYTHONPATH");
    spec.ident = "2".to_owned();
    let (outcome, _) = run(&set, &spec).await;
    assert!(outcome.expect("an outcome").is_successful());
}

#[tokio::test]
async fn nothing_of_a_run_is_left_that_is_ended() {
    let Some(set) = Set::new("nothing_of_a_run_is_left_that_is_ended") else {
        return;
    };
    // By its time limit.
    let mut spec = set.spec("1", Set::playbook("endless.yml"));
    spec.time_limit = Some(Duration::from_secs(4));
    let begun = Instant::now();
    let (outcome, _) = run(&set, &spec).await;
    let error = outcome.expect_err("no outcome");
    assert!(matches!(error, RunError::TimedOut { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(4) + set.runner.grace + Duration::from_secs(5));
    assert_eq!(set.left(), [""; 0]);

    // By its canceller, in the middle of a task.
    let _ = fs::remove_file(set.out().join("started"));
    spec.time_limit = None;
    let (run, events) = set.runner.start(&spec).await.expect("the run starts");
    drop(events);
    let canceller = run.canceller();
    let waited = tokio::spawn(run.wait());
    set.until_started().await;
    canceller.cancel();
    let error = waited.await.expect("no panic").expect_err("no outcome");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(set.left(), [""; 0]);
    let status = fs::read_to_string(set.folder().join("artifacts/1/status")).unwrap_or_default();
    assert_eq!(status, "canceled", "ansible-runner has had its grace");

    // By dropping it, which is what the end of its process does, too.
    let _ = fs::remove_file(set.out().join("started"));
    let (run, _events) = set.runner.start(&spec).await.expect("the run starts");
    set.until_started().await;
    drop(run);
    let begun = Instant::now();
    while !set.left().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", set.left());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(
        !set.out().join("rescued").exists(),
        "no task has been failed by the end"
    );
}

/// A server of cloud.common lives for seconds after the last module that it has run.
#[tokio::test]
async fn a_server_of_turbo_mode_goes_with_its_run() {
    let Some(mut set) = Set::new("a_server_of_turbo_mode_goes_with_its_run") else {
        return;
    };
    set.preload();
    let (outcome, _) = run(&set, &set.spec("1", Set::playbook("turbo.yml"))).await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(set.left_of_run(), [""; 0]);
    assert!(outcome.is_successful(), "{:?}", outcome.failed);
    let said = fs::read_to_string(set.out().join("turbo")).expect("written by the playbook");
    assert!(said.starts_with("1 2 "), "one process has counted both: {said}");
}

#[tokio::test]
async fn nothing_of_a_run_is_left_whose_supervisor_is_killed() {
    let Some(mut set) = Set::new("nothing_of_a_run_is_left_whose_supervisor_is_killed") else {
        return;
    };
    set.runner.tidy().expect("tidied");
    set.preload();
    let (run, _events) = set
        .runner
        .start(&set.spec("1", Set::playbook("endless.yml")))
        .await
        .expect("it starts");
    let waited = tokio::spawn(run.wait());
    set.until_started().await;
    let [supervisor, _] = set.supervisor();
    kill_process(supervisor, Signal::KILL).expect("it runs");
    let error = waited.await.expect("no panic").expect_err("no outcome");
    assert!(matches!(error, RunError::Supervisor(_)), "{error}");
    assert_eq!(set.left_of_run(), [""; 0]);
    assert!(
        !set.out().join("rescued").exists(),
        "no task has been failed by the end"
    );
}

#[tokio::test]
async fn a_run_ends_whole_where_the_preloaded_process_is_killed() {
    let Some(mut set) = Set::new("a_run_ends_whole_where_the_preloaded_process_is_killed") else {
        return;
    };
    set.runner.tidy().expect("tidied");
    set.preload();
    let spec = set.spec("1", Set::playbook("endless.yml"));
    let (run, _events) = set.runner.start(&spec).await.expect("it starts");
    let canceller = run.canceller();
    let waited = tokio::spawn(run.wait());
    set.until_started().await;
    let [supervisor, preloaded] = set.supervisor();
    kill_process(preloaded, Signal::KILL).expect("it runs");
    canceller.cancel();
    let error = waited.await.expect("no panic").expect_err("no outcome");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(set.left(), [""; 0]);
    let status = format!("/proc/{}/status", supervisor.as_raw_nonzero());
    assert!(!Path::new(&status).exists(), "not even its number is left");
}

#[tokio::test]
async fn what_does_not_start_is_told() {
    let Some(set) = Set::new("what_does_not_start_is_told") else {
        return;
    };
    let spec = set.spec("1", Set::playbook("endless.yml"));
    let mut runner = set.runner.clone();
    runner.program = "/no/such/ansible-runner".into();
    let (run, _) = runner.start(&spec).await.expect("its supervisor starts");
    let error = run.wait().await.expect_err("no outcome");
    let expected =
        "failed to supervise a run: failed to run `/no/such/ansible-runner`: No such file or directory";
    assert!(error.to_string().starts_with(expected), "{error}");

    runner.supervisor = Supervisor::new("/no/such/supervisor", [""; 0]);
    let error = runner.start(&spec).await.expect_err("no supervisor");
    assert_eq!(
        error.to_string(),
        "failed to start a run with `/no/such/supervisor`"
    );
    let missing = set.spec("1", Set::playbook("missing.yml"));
    let error = set.runner.start(&missing).await.expect_err("no playbook");
    assert!(error.to_string().ends_with("missing.yml`"), "{error}");
    let outside = set.spec("../1", Set::playbook("endless.yml"));
    let error = set.runner.start(&outside).await.expect_err("no such name");
    assert!(matches!(error, RunError::Inputs(_)), "{error}");
    let far = Runner {
        root: set.out().join("x".repeat(90)),
        ..set.runner.clone()
    };
    let error = far.start(&spec).await.expect_err("too long");
    assert!(matches!(error, RunError::Events { .. }), "{error}");

    set.runner.tidy().expect("tidied");
    let environment = AnsibleEnvironment::find(&set.ansible.program("python3"), &set.environment());
    assert_eq!(environment.expect("an answer").missing(), []);
}
