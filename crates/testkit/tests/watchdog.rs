//! However a process ends that started a control plane, no process and no file of it stays.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world should panic"
)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use steersman_testkit::cluster::{Assets, OperatorCommand, OperatorProcess, TestCluster};
use steersman_testkit::skip::skipped;

const HOW_IT_ENDS: &str = "STEERSMAN_OWNER_ENDS";

/// What the other tests start in a process of its own: a test that uses the shared control plane.
#[tokio::test]
#[ignore = "the other tests run it"]
async fn an_owner() {
    let Some(ends) = std::env::var_os(HOW_IT_ENDS) else {
        return;
    };
    let Some(cluster) = TestCluster::shared_or_skip("an_owner") else {
        return;
    };
    let program = cluster.folder().join("operator");
    fs::write(&program, "#!/bin/sh\nexec sleep 300\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = OperatorCommand {
        binary: &program,
        folder: cluster.folder(),
        kubeconfig: cluster.admin().kubeconfig(),
        arguments: &[],
        environment: &[],
        log: &cluster.folder().join("operator.log"),
    };
    // Forgotten, as by a test that is killed before it can drop it.
    std::mem::forget(OperatorProcess::start(&command).unwrap());
    writeln!(std::io::stdout(), "\nfolder {}", cluster.folder().display()).unwrap();
    assert!(ends != "by itself", "as planned");
    std::thread::sleep(Duration::from_mins(5));
}

const PARENT: usize = 1;
const STARTED: usize = 19;

struct Owner {
    process: Child,
    folder: PathBuf,
    /// Supervisor and components, with the time of their start: a number alone may be given again.
    owned: Vec<(String, String)>,
}

impl Drop for Owner {
    /// A test that failed leaves the owner running.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts the owner; none where the control plane is not built.
fn start(ends: &str) -> Option<Owner> {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "an_owner", "--ignored", "--nocapture"])
        .env(HOW_IT_ENDS, ends)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let Some(folder) = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("folder ").map(PathBuf::from))
    else {
        process.wait().unwrap();
        // It says why, and fails where nothing may be skipped.
        assert!(
            TestCluster::start_or_skip("the watchdog").is_none(),
            "the owner did not start a control plane"
        );
        return None;
    };
    let owned = owned_processes(&folder);
    Some(Owner {
        process,
        folder,
        owned,
    })
}

fn owned_processes(folder: &Path) -> Vec<(String, String)> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|id| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == folder))
        .filter_map(|id| started(&id).map(|time| (id, time)))
        .collect()
}

fn started(id: &str) -> Option<String> {
    stat_field(id, STARTED)
}

/// A field of `/proc/ID/stat`, counted from the one after the name.
fn stat_field(id: &str, position: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(position).map(str::to_owned)
}

fn send(signal: &str, to: &str) {
    assert!(
        Command::new("kill")
            .args(["-s", signal, "--", to])
            .status()
            .unwrap()
            .success()
    );
}

fn check_nothing_stays(owner: &Owner, folder_too: bool) {
    let begun = Instant::now();
    loop {
        let left: Vec<_> = owner
            .owned
            .iter()
            .filter(|(id, time)| started(id).as_ref() == Some(time))
            .map(|(id, _)| id)
            .collect();
        if left.is_empty() && !(folder_too && owner.folder.exists()) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "still there: {left:?}, {}",
            owner.folder.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn check_signal(signal: &str) {
    let Some(mut owner) = start("by a signal") else {
        return;
    };
    assert_eq!(
        owner.owned.len(),
        5,
        "operator, supervisor, etcd, kube-apiserver, kube-controller-manager"
    );
    // To the whole group, as a terminal does with Ctrl-C.
    send(signal, &format!("-{}", owner.process.id()));
    owner.process.wait().unwrap();
    check_nothing_stays(&owner, true);
}

#[test]
fn nothing_stays_when_the_owner_is_killed() {
    check_signal("KILL");
}

#[test]
fn nothing_stays_when_the_owner_is_interrupted() {
    check_signal("INT");
}

#[test]
fn nothing_stays_when_a_test_panics() {
    let Some(mut owner) = start("by itself") else {
        return;
    };
    assert!(!owner.process.wait().unwrap().success());
    check_nothing_stays(&owner, true);
}

#[test]
fn no_component_stays_when_the_supervisor_itself_is_killed() {
    let tied = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .status();
    if !tied.is_ok_and(|status| status.success()) {
        return skipped(
            "no_component_stays_when_the_supervisor_itself_is_killed",
            "setpriv has no --pdeathsig",
        );
    }
    let Some(mut owner) = start("by a signal") else {
        return;
    };
    let supervisor = owner.owned.iter().map(|(id, _)| id.clone()).find(|id| {
        fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("supervise.sh"))
    });
    let supervisor = supervisor.unwrap();
    // The supervisor itself stays a zombie until its parent ends.
    owner
        .owned
        .retain(|(id, _)| stat_field(id, PARENT).as_ref() == Some(&supervisor));
    assert_eq!(owner.owned.len(), 3, "the components");
    send("KILL", &supervisor);
    check_nothing_stays(&owner, false);
    owner.process.kill().unwrap();
    owner.process.wait().unwrap();
    fs::remove_dir_all(&owner.folder).unwrap();
}

#[test]
fn a_command_runs_with_a_control_plane_that_ends_with_it() {
    if let Err(missing) = Assets::find() {
        return skipped("a_command_runs_with_a_control_plane", missing);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_steersman-testkit"))
        .args([
            "run",
            "--",
            "sh",
            "-c",
            "kubectl get namespace default -o name; echo $KUBECONFIG; exit 7",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(7),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (first, kubeconfig) = text.trim().split_once('\n').unwrap();
    assert_eq!(first, "namespace/default");
    assert!(
        !Path::new(kubeconfig).parent().unwrap().exists(),
        "{kubeconfig} is still there"
    );
}
