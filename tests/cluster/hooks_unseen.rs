//! Hooks whose requests are refused or have no answer.

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::wait_until;
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::hooks_made::{making, written_and_deleted};
use crate::hooks_under_way::{wait_started, wait_started_anew};
use crate::while_waiting::{JOBS, wait_awaited};

/// It was made, and then the client has repeated the request.
#[tokio::test]
async fn one_that_was_made_without_an_answer_is_not_in_its_own_way() {
    let Some(lane) = Lane::new("made_without_an_answer").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template("jobs.yaml", JOBS);
    lane.start_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let busy = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 503, "reason": "ServiceUnavailable"}"#;
    let lost = lane.proxy.inject(
        Fault::on("patch", "jobs")
            .name("shop-up-job")
            .replace_answer(503, busy),
    );
    bench
        .apply_web("shop", json!({"jobs": [{"name": "up", "on": "pre-upgrade"}]}))
        .await;
    wait_awaited(bench, "shop-up").await;
    assert_eq!(lane.proxy.struck(lost), 1);
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 2).await;
    lane.stop().await;
}

/// One of the next event, and one that has run, are looked at, too.
#[tokio::test]
async fn one_that_has_failed_runs_again_although_others_may_not_be_looked_at() {
    let Some(lane) = making("others_may_not_be_looked_at").await else {
        return;
    };
    let bench = &lane.bench;
    let job = |name: &str, on: &str, weight: u8| json!({"name": name, "on": on, "weight": weight});
    let jobs = [
        job("a", "pre-install", 0),
        job("b", "pre-install", 1),
        job("c", "post-install", 0),
    ];
    for name in ["shop-a-job", "shop-c-job"] {
        // Once the first one has run, nobody may look at it or at the last one.
        let skip = usize::from(name == "shop-a-job") * 4;
        lane.proxy.inject(
            Fault::on("get", "jobs")
                .name(name)
                .nth(skip + 1)
                .always()
                .refuse(403),
        );
    }
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    finish_job_of(bench, "shop-a", "Complete").await;
    let first = wait_started(bench, "shop-b").await;
    finish_job_of(bench, "shop-b", "Failed").await;
    wait_started_anew(bench, "shop-b", &first).await;
    lane.stop().await;
}

/// Nobody knows whether it runs.
#[tokio::test]
async fn what_a_job_reads_stays_while_that_may_not_be_looked_at_after_a_restart() {
    let Some(lane) = making("may_not_be_looked_at_after_a_restart").await else {
        return;
    };
    let bench = &lane.bench;
    let read = json!({"name": "read", "on": "pre-install", "policy": "hook-succeeded"});
    let up = json!({"name": "up", "on": "pre-install", "weight": 1});
    bench
        .apply_web("shop", json!({"made": [read], "jobs": [up]}))
        .await;
    wait_awaited(bench, "shop-up").await;
    lane.kill().await;
    let hidden = Fault::on("get", "jobs").name("shop-up-job").always().refuse(403);
    let hidden = lane.proxy.inject(hidden);
    lane.start().await;
    let told = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions.contains("failed to look whether").then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", told).await;
    assert_eq!(written_and_deleted(&lane, "shop-read"), (1, 0));
    lane.proxy.take_back(hidden);
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(written_and_deleted(&lane, "shop-read"), (1, 1));
    lane.stop().await;
}

/// Both are of one template.
#[tokio::test]
async fn another_spec_counts_where_the_hook_after_the_awaited_one_can_t_be_made() {
    let Some(lane) = making("another_spec_after_an_awaited_hook").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let up = |name: &str, weight: u8| json!({"name": name, "on": "pre-upgrade", "weight": weight});
    bench
        .apply_web("shop", json!({"jobs": [up("a", 0), up("b", 1)]}))
        .await;
    wait_awaited(bench, "shop-a").await;
    lane.proxy
        .inject(Fault::on("patch", "jobs").name("shop-b-job").always().refuse(500));
    finish_job_of(bench, "shop-a", "Complete").await;
    let failed = |web: &Value| {
        web.pointer("/status/conditions")?
            .to_string()
            .contains("shop-b-job")
            .then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", failed).await;
    bench.apply_web("shop", json!({"message": "plain"})).await;
    bench.wait_revision("shop", 3).await;
    lane.stop().await;
}

/// A hook's Job with this time to live is deleted before anybody looks at it: nothing is watched yet of which it is, so that nothing
/// tells of its end.
async fn deleted_unseen(test: &str, time_to_live: Value) {
    let Some(lane) = Lane::new(test).await else {
        return;
    };
    let bench = &lane.bench;
    let template = JOBS.replace(
        "backoffLimit: 0",
        "backoffLimit: 0\n  ttlSecondsAfterFinished: {{ .ttl }}",
    );
    bench.add_template("jobs.yaml", &template);
    // The first look is whether it is there already.
    let look = Fault::on("get", "jobs").name("shop-up-job").nth(2).hold();
    let look = lane.proxy.inject(look);
    lane.start().await;
    let up = json!({"name": "up", "on": "pre-install", "ttl": time_to_live});
    bench.apply_web("shop", json!({"jobs": [up]})).await;
    wait_until("the look", || lane.proxy.struck(look) == 1).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let at_once = DeleteParams::background();
    jobs.delete("shop-up-job", &at_once).await.unwrap();
    bench.wait_gone(&jobs, "shop-up-job").await;
    lane.proxy.take_back(look);
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("it was deleted before its end was seen"),
        "{message}"
    );
    let config = bench.config_maps().get_opt("shop-config").await.unwrap();
    assert!(config.is_none(), "nothing comes behind it");
    lane.stop().await;
}

#[tokio::test]
async fn one_that_is_deleted_before_anybody_looks_has_failed() {
    // A time to live that is left empty is none.
    deleted_unseen("deleted_before_anybody_looks", json!(null)).await;
}

#[tokio::test]
async fn one_that_is_deleted_before_its_time_to_live_is_over_has_failed() {
    deleted_unseen("deleted_before_its_time", json!(600)).await;
}
