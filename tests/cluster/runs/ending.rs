//! Operators that end while runs are under way.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use steersman_testkit::cluster::OperatorProcess;
use steersman_testkit::processes::{self, parent, words};

use super::{MAP, Roles, says};
use crate::bench::{condition, wait_until};

/// Makes the map, then waits until a file is there.
const SLOW: &str = "
- ansible.builtin.shell: until test -e {{ runs_file }}.go; do sleep 0.1; done
";

#[tokio::test]
async fn a_killed_operator_leaves_no_process_and_runs_again() {
    let test = "a_killed_operator_leaves_no_process_and_runs_again";
    let told = "- ansible.builtin.shell: |
    for path in $K8S_AUTH_KUBECONFIG $TMPDIR ${PYTHONPATH##*:}; do echo $path >> {{ runs_file }}.paths; done
";
    let Some(roles) = Roles::new(test, &format!("{told}{MAP}{SLOW}"), "").await else {
        return;
    };
    let paths = || std::fs::read_to_string(roles.path("runs.paths")).unwrap();
    let are_gone = |paths: &str| !paths.lines().any(|path| Path::new(path).exists());
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_map("shop", "one").await;
    operator.kill().await.unwrap();
    wait_until("the end of the run", || roles.processes().is_empty()).await;
    let of_killed = paths();
    let operator = roles.operator().await;
    // Another operator that starts at this moment may be at it.
    wait_until("the end of what is left", || are_gone(&of_killed)).await;
    roles.wait_runs(2).await;
    roles.write("runs.go", "");
    roles.wait_done("shop").await;
    roles.stays_at(2).await;
    operator.stop().await.unwrap();
    let of_both = paths();
    assert!(of_both.lines().count() == 6 && are_gone(&of_both), "{of_both}");
    // kubernetes.core keeps there what a server has, by its address and user.
    let left: Vec<_> = std::fs::read_dir(roles.temporary()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whoever is killed with the operator: what guards its run ends it, and where nobody is left the next operator does.
#[tokio::test]
async fn nothing_is_left_of_a_run_whose_guards_are_killed_with_the_operator() {
    let test = "nothing_is_left_of_a_run_whose_guards_are_killed_with_the_operator";
    let Some(roles) = Roles::new(test, &format!("{MAP}{SLOW}"), "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_map("shop", "one").await;
    let [supervisor, preloaded] = guards(&roles);
    let ids = below(supervisor);
    end_at_once(operator, &[supervisor]).await;
    wait_until("the end of all", || ids.iter().all(|id| !exists(*id))).await;
    wait_until("the end of the run", || roles.processes().is_empty()).await;
    wait_until("the end of its guard", || !exists(preloaded)).await;

    let operator = roles.operator().await;
    roles.wait_runs(2).await;
    let [supervisor, preloaded] = guards(&roles);
    let ids = below(supervisor);
    end_at_once(operator, &[preloaded, supervisor]).await;
    let left = roles.processes();
    assert!(
        left.iter().any(|line| line.contains("ansible-runner")),
        "{left:?}"
    );
    let operator = roles.operator().await;
    wait_until("the end of what is left", || ids.iter().all(|id| !exists(*id))).await;
    roles.write("runs.go", "");
    roles.wait_done("shop").await;
    roles.stays_at(3).await;
    operator.stop().await.unwrap();
}

/// The supervisor of the run that is under way, and the process that has started it.
fn guards(roles: &Roles) -> [u32; 2] {
    let mut ids = roles.process_ids().into_iter();
    let supervisor = ids.find(|id| words(*id).contains("supervise-run")).unwrap();
    [supervisor, parent(supervisor)]
}

/// A process and all that it and its children have started.
fn below(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let all: Vec<u32> = processes::all().collect();
    for at in 0.. {
        let Some(&next) = found.get(at) else { break };
        found.extend(all.iter().filter(|id| parent(**id) == next));
    }
    found
}

fn exists(process: u32) -> bool {
    !words(process).is_empty()
}

/// Kills an operator with others; it sees none of them end.
async fn end_at_once(operator: OperatorProcess, others: &[u32]) {
    let id = operator.id().await.unwrap();
    send(id, Signal::STOP);
    for process in others {
        send(*process, Signal::KILL);
    }
    operator.kill().await.unwrap();
}

fn send(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn an_operator_that_stops_ends_its_runs() {
    let test = "an_operator_that_stops_ends_its_runs";
    let Some(roles) = Roles::new(test, SLOW, "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_runs(1).await;
    operator.stop().await.unwrap();
    assert_eq!(roles.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_killed_runner_is_a_failure_that_is_tried_again() {
    let test = "a_killed_runner_is_a_failure_that_is_tried_again";
    // The shell's parent is the module, and the ansible-runner of this run has its folder among its words.
    let tasks = "
- ansible.builtin.shell: |
    test $(wc -l < {{ runs_file }}) -gt 1 && exit
    for process in /proc/[0-9]*; do
      words=$(tr '\\0' ' ' < $process/cmdline)
      case \"$words\" in
        *supervise-run*) ;;
        *ansible-runner*run*/{{ ansible_operator_meta.namespace }}/*) kill -9 ${process#/proc/} ;;
      esac
    done
    sleep 100
";
    let Some(roles) = Roles::new(test, tasks, "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_runs(2).await;
    let web: Value = roles.wait_done("shop").await;
    assert!(condition(&web, "Stalled").is_none());
    operator.stop().await.unwrap();
}
