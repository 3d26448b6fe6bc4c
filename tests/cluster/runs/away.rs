//! API servers that go while there is something to run.

use std::time::Instant;

use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::{Component, OperatorProcess};

use super::{MAP, RECONCILE_PERIOD, Roles, says};
use crate::bench::{Bench, PATIENCE, condition};

/// Says how many runs of its resource there are, and waits for a file before and after its request.
const TASKS: &str = "
- ansible.builtin.shell: |
    count=0
    for process in /proc/[0-9]*; do
      words=$(tr '\\0' ' ' < $process/cmdline) || continue
      case \"$words\" in
        *supervise-run*/{{ ansible_operator_meta.namespace }}/{{ ansible_operator_meta.name }}\\ *) count=$((count + 1)) ;;
      esac
    done
    echo $count >> {{ runs_file }}.at-once
- ansible.builtin.shell: until test -e {{ runs_file }}.go; do sleep 0.1; done
";
const AFTER: &str = "
- ansible.builtin.shell: until test -e {{ runs_file }}.end; do sleep 0.1; done
";

impl Roles {
    /// Ends the API server, lets something happen, and starts it when the operator has said this.
    async fn without_server(&self, operator: &OperatorProcess, happens: impl FnOnce(), line: &str) {
        let cluster = self.bench.cluster;
        cluster.kill_component(Component::ApiServer).unwrap();
        let said = operator.log_text().len();
        happens();
        let begun = Instant::now();
        while !operator.log_text()[said..].contains(line) {
            let log = operator.log_text();
            assert!(begun.elapsed() < PATIENCE, "no `{line}` in:\n{log}");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        cluster.start_component(Component::ApiServer).unwrap();
    }
}

/// In the middle of a run, at its end, and when one is due.
#[tokio::test]
async fn an_api_server_that_is_away_doubles_no_run_and_loses_none() {
    let test = "an_api_server_that_is_away_doubles_no_run_and_loses_none";
    let Some(ansible) = Ansible::find_or_skip(test) else {
        return;
    };
    let Some(bench) = Bench::alone(test).await else {
        return;
    };
    bench.define_kind().await;
    let roles = Roles::on(bench, ansible, &format!("{TASKS}{MAP}{AFTER}"), "");
    let bench = &roles.bench;
    let operator = roles.operator().await;
    bench.apply_web("shop", says("one")).await;
    roles.wait_runs(1).await;

    // The next task asks for something that is away.
    let go = || roles.write("runs.go", "");
    roles.without_server(&operator, go, "Reconcile failed").await;
    roles.wait_runs(2).await;
    roles.wait_map("shop", "one").await;
    let web = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    let (ready, ..) = condition(&web, "Ready").unwrap();
    assert_eq!(ready, "False", "{web:#}");
    let (_, _, failure) = condition(&web, "Failure").unwrap();
    assert!(failure.contains("failed to reach the API server"), "{failure}");

    // It is over, and nobody can be told.
    let end = || roles.write("runs.end", "");
    let untold = "failed to write the status of the resource";
    roles.without_server(&operator, end, untold).await;
    roles.wait_done("shop").await;
    roles.stays_at(2).await;

    // The period is over. That it has begun is known by what was said with it.
    let period = json!({RECONCILE_PERIOD: "20s"});
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": period}, "spec": says("two")}),
        )
        .await;
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    assert_eq!(roles.runs(), 3);
    roles.without_server(&operator, || {}, untold).await;
    roles.wait_runs(4).await;
    let web: Value = roles.wait_done("shop").await;
    assert!(condition(&web, "Stalled").is_none(), "{web:#}");
    operator.stop().await.unwrap();
    assert_eq!(roles.processes(), Vec::<String>::new());
    let at_once = std::fs::read_to_string(roles.path("runs.at-once")).unwrap();
    assert!(at_once.lines().all(|count| count == "1"), "{at_once}");
}
