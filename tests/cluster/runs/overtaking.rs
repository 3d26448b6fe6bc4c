//! Resources that change while they wait for a run, or while it is under way; and who waits for whom.

use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, FaultProxy};

use super::{MAP, Roles, says};
use crate::bench::{condition, wait_until};

/// Makes the map, then waits until somebody lets it go on: by name and spec.
const HELD: &str = "
- ansible.builtin.shell: |
    touch {{ runs_file }}.{{ ansible_operator_meta.name }}.{{ message_text }}
    until test -e {{ runs_file }}.go.{{ ansible_operator_meta.name }}.{{ message_text }}; do sleep 0.1; done
";

impl Roles {
    async fn wait_held(&self, run: &str) {
        let file = self.path(&format!("runs.{run}"));
        wait_until(run, || file.exists()).await;
    }

    fn let_go(&self, run: &str) {
        self.write(&format!("runs.go.{run}"), "");
    }

    async fn wait_waiting(&self, name: &str) {
        let waits = |web: &Value| {
            let (status, _, message) = condition(web, "Ready")?;
            (status == "False" && message.contains("waits for its turn")).then_some(())
        };
        let bench = &self.bench;
        bench.wait("the wait", &bench.webs(), name, waits).await;
    }
}

/// It waits with one spec, runs with another, and has the first one again before that has ended.
#[tokio::test]
async fn a_run_is_recorded_for_the_spec_that_it_has_seen() {
    let test = "a_run_is_recorded_for_the_spec_that_it_has_seen";
    let Some(roles) = Roles::new(test, &format!("{MAP}{HELD}"), "").await else {
        return;
    };
    let flags = ["--max-concurrent-runs=1", "--max-concurrent-reconciles=2"];
    let operator = roles.operator_with(&flags).await;
    let bench = &roles.bench;
    bench.apply_web("first", says("x")).await;
    roles.wait_held("first.x").await;
    bench.apply_web("shop", says("a")).await;
    roles.wait_waiting("shop").await;
    bench.apply_web("shop", says("b")).await;
    roles.let_go("first.x");
    roles.wait_held("shop.b").await;
    bench.apply_web("shop", says("a")).await;
    roles.let_go("shop.b");
    roles.let_go("shop.a");
    roles.wait_map("shop", "a").await;
    roles.wait_done("shop").await;
    assert_eq!(roles.runs(), 3);
    operator.stop().await.unwrap();
}

/// The status can't be written when the run has ended, and the resource has another spec by then.
#[tokio::test]
async fn a_success_is_said_of_the_generation_that_it_is_about() {
    let test = "a_success_is_said_of_the_generation_that_it_is_about";
    let Some(mut roles) = Roles::new(test, HELD, "").await else {
        return;
    };
    let proxy = FaultProxy::start(roles.bench.cluster, &roles.bench.user)
        .await
        .unwrap();
    roles.bench.user = proxy.user().clone();
    let bench = &roles.bench;
    let operator = roles.operator().await;
    let status = || Fault::on("patch", "webs/status").name("shop");
    let refused = proxy.inject(status().nth(2).refuse(500));
    // The announcement of the next run comes after what could not be said.
    let held = proxy.inject(status().nth(4).hold());
    bench.apply_web("shop", says("a")).await;
    roles.wait_held("shop.a").await;
    bench.apply_web("shop", says("b")).await;
    roles.let_go("shop.a");
    wait_until("the announcement", || proxy.struck(held) > 0).await;
    assert_eq!(proxy.struck(refused), 1);
    let web = bench.webs().get("shop").await.unwrap();
    let (status, ..) = condition(&web.data, "Ready").unwrap();
    let seen = &web.data["status"]["observedGeneration"];
    assert_eq!((status.as_str(), seen), ("True", &json!(1)), "{web:?}");
    proxy.take_back(held);
    roles.let_go("shop.b");
    roles.wait_done("shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn runs_that_hang_hold_up_neither_other_kinds_nor_deletions() {
    let test = "runs_that_hang_hold_up_neither_other_kinds_nor_deletions";
    let Some(roles) = Roles::new(test, HELD, "").await else {
        return;
    };
    let bench = &roles.bench;
    bench.define("Site", "sites").await;
    let webs = std::fs::read_to_string(roles.path("watches.yaml")).unwrap();
    let end = ", finalizer: {name: example.com/end, vars: {message_text: end}}";
    let sites = webs.replace("kind: Web", &format!("kind: Site{end}"));
    bench.watches(&format!("{webs}{sites}"));
    roles.let_go("other.x");
    roles.let_go("other.end");
    let flags = ["--max-concurrent-runs=2", "--max-concurrent-reconciles=4"];
    let operator = roles.operator_with(&flags).await;
    bench.apply_web("first", says("x")).await;
    roles.wait_held("first.x").await;
    bench.apply_web("second", says("x")).await;
    roles.wait_waiting("second").await;
    bench.apply_cr("Site", "sites", "other", says("x")).await;
    let sites = bench.kind_api("Site", "sites");
    let done = |site: &Value| condition(site, "Ready").filter(|(status, ..)| status == "True");
    bench.wait("the success", &sites, "other", done).await;
    // Now nobody else gets a turn.
    bench.apply_cr("Site", "sites", "third", says("x")).await;
    roles.wait_held("third.x").await;
    sites
        .delete("other", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    bench.wait_gone(&sites, "other").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_deletion_has_a_worker_where_all_others_hang() {
    let test = "a_deletion_has_a_worker_where_all_others_hang";
    let fields = ", finalizer: {name: example.com/end, vars: {message_text: end}}";
    let Some(roles) = Roles::new(test, HELD, fields).await else {
        return;
    };
    let bench = &roles.bench;
    for run in ["shop.x", "shop.end"] {
        roles.let_go(run);
    }
    let operator = roles.operator_with(&["--max-concurrent-reconciles=2"]).await;
    bench.apply_web("shop", says("x")).await;
    roles.wait_done("shop").await;
    for name in ["first", "second"] {
        bench.apply_web(name, says("x")).await;
        roles.wait_held(&format!("{name}.x")).await;
    }
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

/// Its role changes it, so a run is due after each run.
#[tokio::test]
async fn a_resource_that_changes_all_the_time_leaves_others_their_turn() {
    let test = "a_resource_that_changes_all_the_time_leaves_others_their_turn";
    let changes = "
- kubernetes.core.k8s:
    definition:
      apiVersion: \"{{ api }}\"
      kind: Web
      metadata: {name: restless, namespace: \"{{ ansible_operator_meta.namespace }}\"}
      spec: {messageText: \"{{ 999999999 | random }}\"}
  when: ansible_operator_meta.name == 'restless'
";
    let Some(roles) = Roles::new(test, changes, "").await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator_with(&["--max-concurrent-reconciles=1"]).await;
    let api = format!("{}/v1", bench.group);
    bench
        .apply_web("restless", json!({"messageText": "first", "api": api}))
        .await;
    roles.wait_runs(2).await;
    for text in ["one", "two"] {
        bench.apply_web("shop", says(text)).await;
        let seen = |web: &Value| {
            (web["status"]["observedGeneration"] == web["metadata"]["generation"]).then_some(())
        };
        bench.wait("the run", &bench.webs(), "shop", seen).await;
        roles.wait_done("shop").await;
    }
    let runs = roles.runs();
    roles.wait_runs(runs + 1).await;
    operator.stop().await.unwrap();
}
