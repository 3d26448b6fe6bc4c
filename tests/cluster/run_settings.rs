//! What flags and annotations say of runs, with the real ansible-runner.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, PATIENCE, RUN_PATIENCE, condition};

/// A task that counts itself, by a module of the collection that comes with the operator.
fn tasks(port: u16) -> String {
    format!(
        "- name: count the run
  operator_sdk.util.osdk_metric:
    name: runs_of_the_role_total
    description: Runs of the role.
    address: http://localhost:{port}/metrics
    counter: {{increment: true}}
- name: say it
  debug: {{msg: \"it was {{{{ 'count' + 'ed' }}}}\"}}
"
    )
}

async fn metrics_with(operator: &OperatorProcess, line: &str) -> String {
    let begun = Instant::now();
    loop {
        let page = operator.metrics().await.unwrap_or_default();
        if page.lines().any(|found| found == line) {
            return page;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "no line `{line}` in {page}{}",
            operator.log_text()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn runs_are_counted_by_the_operator_and_by_their_role() {
    let test = "runs_are_counted";
    let Some(ansible) = Ansible::find_or_skip(test) else {
        return;
    };
    let Some(mut bench) = Bench::with_kind(test).await else {
        return;
    };
    bench.patience = RUN_PATIENCE;
    // Free when it is asked for, which is soon enough.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = bench.folder.path();
    fs::create_dir_all(folder.join("roles/web/tasks")).unwrap();
    fs::write(folder.join("roles/web/tasks/main.yml"), tasks(port)).unwrap();
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, role: {}}}\n",
        bench.group,
        folder.join("roles/web").display()
    ));
    let (path, collections) = (ansible.path(), ansible.collections());
    let flags = [
        &format!("--role-metrics-port={port}"),
        &format!("--ansible-collections-path={}", collections.display()),
        "--max-concurrent-runs=1",
        "--ansible-verbosity=0",
        "--reconcile-period=0",
    ];
    let environment = [("PATH", path.as_str()), ("ANSIBLE_GATHERING", "explicit")];
    let operator = bench.start(folder, &flags, &environment);
    bench.apply_web("shop", json!({})).await;
    let done = |web: &Value| {
        condition(web, "Successful")
            .filter(|(status, ..)| status == "True")
            .map(drop)
    };
    bench.wait("the success", &bench.webs(), "shop", done).await;
    let page = metrics_with(&operator, "runs_of_the_role_total 1").await;
    let kind = format!("GVK=\"{}/v1, Kind=Web\"", bench.group);
    for line in [
        format!("ansible_operator_reconcile_result{{{kind},result=\"succeeded\"}} 1"),
        format!("ansible_operator_reconcile_result{{{kind},result=\"failed\"}} 0"),
        format!("ansible_operator_reconciles_count{{{kind}}} 1"),
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in {page}");
    }
    let log = operator.log_text();
    for words in ["[playbook task start]", "[playbook debug]", "it was counted"] {
        assert!(log.contains(words), "{words} is not in {log}");
    }

    // Nothing changes but the period, which makes the next run due.
    let annotation =
        json!({"metadata": {"annotations": {"ansible.sdk.operatorframework.io/reconcile-period": "1s"}}});
    let period = Patch::Merge(&annotation);
    bench
        .webs()
        .patch("shop", &PatchParams::default(), &period)
        .await
        .unwrap();
    metrics_with(&operator, "runs_of_the_role_total 2").await;
    operator.stop().await.unwrap();
}
