//! Secrets that a chart looks up are masked in whatever becomes of its release, however long that takes.

use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::undoing::try_again;
use crate::while_waiting::{JOBS, job, wait_awaited};

pub(crate) const CANARY: &str = "hunter2canary";
const NOTES: &str =
    "{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"existing\").data.canary | b64dec }}, it says\n";
/// An object that the server is made to refuse.
const MESSAGE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: labelled}\ndata: {of: {{ .Values.message | default \"a\" }}}\n";

pub(crate) async fn set_secret(bench: &Bench, canary: &str, filler: usize) {
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "existing", "namespace": bench.namespace},
        "stringData": {"filler": "x".repeat(filler), "canary": canary}});
    bench.cluster.apply_object(&object).await.unwrap();
}

/// An operator behind a proxy, whose release has looked up a Secret and waits for a Job.
async fn waiting(test: &str, filler: usize) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    let bench = &lane.bench;
    set_secret(bench, CANARY, filler).await;
    bench.add_template("jobs.yaml", JOBS);
    bench.add_template("NOTES.txt", NOTES);
    lane.start().await;
    let spec = json!({"jobs": [{"name": "up", "on": "pre-install"}]});
    bench.apply_web("shop", spec).await;
    wait_awaited(bench, "shop-up").await;
    Some(lane)
}

/// What the status says once the release is deployed.
async fn notes(bench: &Bench) -> String {
    let web = bench.wait_revision("shop", 1).await;
    let (_, _, message) = condition(&web, "Deployed").unwrap();
    assert!(!web.to_string().contains(CANARY), "{web}");
    message
}

/// More than is remembered of secrets.
#[tokio::test]
async fn what_was_looked_up_before_a_wait_is_masked_after_it() {
    let Some(lane) = waiting("looked_up_before_a_wait", 30_000).await else {
        return;
    };
    finish_job_of(&lane.bench, "shop-up", "Complete").await;
    let notes = notes(&lane.bench).await;
    assert!(notes.contains("********, it says"), "{notes}");
    lane.stop().await;
}

#[tokio::test]
async fn nothing_goes_on_before_what_was_looked_up_is_known_again() {
    let Some(lane) = waiting("looked_up_before_a_restart", 0).await else {
        return;
    };
    let bench = &lane.bench;
    lane.kill().await;
    let silence = Fault::on("get", "secrets").name("existing").always().refuse(500);
    let silence = lane.proxy.inject(silence);
    finish_job_of(bench, "shop-up", "Complete").await;
    lane.start().await;
    let is_told = |web: &Value| {
        condition(web, "Ready")?
            .2
            .contains("is looked up again")
            .then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", is_told).await;
    assert_eq!(bench.revisions().await, ["1 pending-install"]);
    lane.proxy.take_back(silence);
    let notes = notes(bench).await;
    assert!(notes.contains("********, it says"), "{notes}");
    lane.stop().await;
}

#[tokio::test]
async fn nothing_is_shown_where_what_was_looked_up_is_gone() {
    let Some(lane) = waiting("looked_up_and_gone", 0).await else {
        return;
    };
    let bench = &lane.bench;
    lane.kill().await;
    set_secret(bench, "another one", 0).await;
    finish_job_of(bench, "shop-up", "Complete").await;
    lane.start().await;
    let notes = notes(bench).await;
    assert!(notes.contains("(not shown: "), "{notes}");
    lane.stop().await;
}

/// The API server refuses a label, and quotes it.
#[tokio::test]
async fn a_revision_that_failed_with_what_was_looked_up_is_made_anew_when_that_is_another() {
    let Some(lane) = Lane::new("failed_with_what_was_looked_up").await else {
        return;
    };
    let bench = &lane.bench;
    let refused = format!("{CANARY}!");
    set_secret(bench, &refused, 0).await;
    let label = NOTES.replace("| b64dec }}, it says", "| b64dec | quote }}");
    let map =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labelled\n  labels:\n    app: {label}");
    bench.add_template("labelled.yaml", &map);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    let refusal = async || {
        let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
        assert!(message.contains("labels: Invalid value"), "{message}");
        assert!(!message.contains(CANARY), "{message}");
    };
    refusal().await;
    lane.kill().await;
    lane.start().await;
    refusal().await;
    assert_eq!(bench.revisions().await, ["1 failed"]);
    set_secret(bench, CANARY, 0).await;
    try_again(bench, "now").await;
    bench.wait_revision("shop", 2).await;
    lane.stop().await;
}

/// Revision 1 is brought into effect again after a restart, with what was looked up for it.
#[tokio::test]
async fn a_rollback_masks_what_was_looked_up_for_its_target() {
    let Some(lane) = Lane::new("looked_up_for_a_rollback").await else {
        return;
    };
    let bench = &lane.bench;
    set_secret(bench, CANARY, 0).await;
    let map = format!(
        "{{{{ if not .Values.bad }}}}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labelled\n  labels:\n    app: \
         {NOTES}{{{{ end }}}}"
    );
    bench.add_template("labelled.yaml", &map.replace(", it says", ""));
    bench.add_template("jobs.yaml", JOBS);
    let flags = ["--rollback-on-failure"];
    lane.start_with(&flags).await;
    let back = json!({"name": "back", "on": "pre-rollback"});
    bench.apply_web("shop", json!({"jobs": [back]})).await;
    bench.wait_revision("shop", 1).await;
    let up = json!({"name": "up", "on": "pre-upgrade"});
    bench
        .apply_web("shop", json!({"bad": true, "jobs": [back, up]}))
        .await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Failed").await;
    wait_awaited(bench, "shop-back").await;
    lane.kill().await;
    lane.proxy
        .inject(quoting(Fault::on("patch", "configmaps").name("labelled")));
    finish_job_of(bench, "shop-back", "Complete").await;
    lane.start_with(&flags).await;
    let is_told = |web: &Value| {
        let (_, _, message) = condition(web, "ReleaseFailed")?;
        message.contains("it can't be undone").then_some(message)
    };
    let message = bench.wait("the failure", &bench.webs(), "shop", is_told).await;
    assert!(message.contains("Invalid value: ********"), "{message}");
    lane.stop().await;
}

/// An answer of the server that speaks of a secret.
pub(crate) fn quoting(fault: Fault) -> Fault {
    let words = format!("Invalid value: {CANARY}");
    let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422,
        "message": words});
    fault.always().answer(422, &refusal.to_string())
}

/// An operator behind a proxy that was killed, whose release has looked up a Secret that is another one now.
async fn rotated(test: &str, jobs: Value) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    let bench = &lane.bench;
    set_secret(bench, CANARY, 0).await;
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: labelled}}\ndata:\n  of: {NOTES}");
    bench.add_template("labelled.yaml", &map);
    bench.add_template("jobs.yaml", JOBS);
    lane.start().await;
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    bench.wait_revision("shop", 1).await;
    lane.kill().await;
    set_secret(bench, "another one", 0).await;
    Some(lane)
}

/// Waits until the failure is told without the words of the server.
pub(crate) async fn wait_untold(lane: &Lane) {
    let bench = &lane.bench;
    let is_told = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions.contains("(not shown: ").then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", is_told).await;
    let web = bench.webs().get("shop").await.unwrap();
    assert!(!web.data.to_string().contains(CANARY), "{}", web.data);
    let log = lane.log().await;
    let leak = log.lines().find(|line| line.contains(CANARY));
    assert_eq!(leak, None);
    assert!(!bench.events().await.contains(CANARY));
}

#[tokio::test]
async fn what_the_server_says_of_a_former_revision_s_secrets_is_not_shown() {
    let Some(lane) = rotated("looked_up_for_a_former_revision", json!([])).await else {
        return;
    };
    let quoting = lane
        .proxy
        .inject(quoting(Fault::on("patch", "configmaps").name("labelled")));
    lane.start().await;
    wait_untold(&lane).await;
    lane.proxy.take_back(quoting);
    try_again(&lane.bench, "now").await;
    let web = lane.bench.wait_revision("shop", 2).await;
    let (_, _, notes) = condition(&web, "Deployed").unwrap();
    assert!(!notes.contains("(not shown: "), "{notes}");
    lane.stop().await;
}

#[tokio::test]
async fn what_is_said_of_a_release_that_goes_has_no_secret_that_is_gone() {
    let jobs = json!([{"name": "down", "on": "pre-delete"}]);
    let Some(lane) = rotated("looked_up_and_going", jobs).await else {
        return;
    };
    let bench = &lane.bench;
    bench
        .secrets()
        .delete("existing", &DeleteParams::default())
        .await
        .unwrap();
    let policy = async |policy: &str| {
        let said = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": policy}}});
        bench.patch_web("shop", said).await;
    };
    policy("orphans").await;
    bench.delete_web("shop").await;
    lane.start().await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(message.contains("steersman.dev/deletion-policy"), "{message}");
    lane.kill().await;
    policy("delete").await;
    let quoting = lane
        .proxy
        .inject(quoting(Fault::on("write", "jobs").name("shop-down-job")));
    lane.start().await;
    wait_untold(&lane).await;
    lane.proxy.take_back(quoting);
    finish_job_of(bench, "shop-down", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.stop().await;
}

/// Its object has a name that was looked up.
#[tokio::test]
async fn the_name_of_a_hook_that_is_waited_for_is_masked_after_a_restart_and_in_the_log() {
    let Some(lane) = Lane::new("looked_up_name").await else {
        return;
    };
    let bench = &lane.bench;
    set_secret(bench, CANARY, 0).await;
    let looked_up = NOTES.replace(", it says\n", "");
    bench.add_template(
        "jobs.yaml",
        &JOBS.replace(
            "{{ $.Release.Name }}-{{ .name }}-job",
            &format!("{looked_up}-job").replace(".Release", "$.Release"),
        ),
    );
    lane.start().await;
    bench
        .apply_web("shop", json!({"jobs": [{"name": "up", "on": "pre-install"}]}))
        .await;
    let is_told = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        message.contains("Job").then_some(message)
    };
    let message = bench.wait("the wait", &bench.webs(), "shop", is_told).await;
    assert!(message.contains("********"), "{message}");
    lane.kill().await;
    lane.start().await;
    finish_job_of(bench, CANARY, "Complete").await;
    let notes = bench.wait_revision("shop", 1).await;
    assert!(!notes.to_string().contains(CANARY), "{notes}");
    assert!(!lane.log().await.contains(CANARY));
    lane.stop().await;
}

/// Charts keep what they have drawn once that way.
#[tokio::test]
async fn what_fails_is_told_after_a_restart_where_a_chart_looks_up_its_own_secret() {
    let Some(lane) = Lane::new("looked_up_what_is_its_own").await else {
        return;
    };
    let bench = &lane.bench;
    let own = "{{ $found := lookup \"v1\" \"Secret\" .Release.Namespace \"own\" }}\napiVersion: v1\nkind: Secret\n\
               metadata: {name: own}\ndata:\n  word: {{ if $found }}{{ $found.data.word }}{{ else }}{{ \
               printf \"hunter2canary-%s\" (randAlphaNum 9) | b64enc }}{{ end }}\n";
    bench.add_template("own.yaml", own);
    bench.add_template("labelled.yaml", MESSAGE);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    lane.kill().await;
    lane.proxy
        .inject(quoting(Fault::on("patch", "configmaps").name("labelled")));
    lane.start().await;
    bench.apply_web("shop", json!({"message": "b"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("Invalid value: "), "{message}");
    lane.stop().await;
}

/// A Secret of the release's own, to which others have added a key.
#[tokio::test]
async fn what_others_say_of_a_looked_up_secret_of_the_release_is_not_shown_once_it_is_another() {
    let Some(lane) = Lane::new("looked_up_own_secret").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template(
        "own.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: existing}\nstringData: {own: of the chart}\n",
    );
    let canary = "{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"existing\" | default dict).data | default dict | toJson }}";
    bench.add_template("NOTES.txt", canary);
    bench.add_template("labelled.yaml", MESSAGE);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let key = async |canary: &str| {
        let patch = Patch::Merge(json!({"stringData": {"canary": canary}}));
        let parameters = PatchParams::default();
        bench
            .secrets()
            .patch("existing", &parameters, &patch)
            .await
            .unwrap();
    };
    key(CANARY).await;
    bench.apply_web("shop", json!({"message": "b"})).await;
    bench.wait_revision("shop", 2).await;
    lane.kill().await;
    key("another one").await;
    lane.proxy
        .inject(quoting(Fault::on("patch", "configmaps").name("labelled")));
    lane.start().await;
    bench.apply_web("shop", json!({"message": "c"})).await;
    wait_untold(&lane).await;
    lane.stop().await;
}

/// More than is remembered of what a chart looks up.
#[tokio::test]
async fn the_last_of_many_lookups_is_masked_after_a_wait() {
    let Some(bench) = Bench::with_kind("many_lookups").await else {
        return;
    };
    set_secret(&bench, CANARY, 0).await;
    bench.add_template("jobs.yaml", JOBS);
    let others = "{{ range until 1000 }}{{ $_ := lookup \"v1\" \"ConfigMap\" $.Release.Namespace (printf \"c-%d\" .) }}{{ end }}";
    bench.add_template("NOTES.txt", &format!("{others}{NOTES}"));
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"jobs": [{"name": "up", "on": "pre-install"}]}))
        .await;
    wait_awaited(&bench, "shop-up").await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    // So many requests take their time where others are at work, too.
    let patience = Duration::from_mins(3);
    let released = |web: &Value| web.pointer("/status/revision").map(drop);
    let webs = bench.webs();
    bench
        .wait_within(patience, "the release", &webs, "shop", released)
        .await;
    let notes = notes(&bench).await;
    assert!(notes.contains("********, it says"), "{notes}");
    operator.stop().await.unwrap();
}

/// It is undone after a wait, in which nothing was rendered.
#[tokio::test]
async fn a_revision_that_was_undone_is_made_anew_when_what_it_looked_up_is_another() {
    let Some(bench) = Bench::with_kind("undone_with_what_was_looked_up").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, reconcilePeriod: 1s}}\n"
    ));
    set_secret(&bench, CANARY, 0).await;
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: labelled}}\ndata:\n  of: {NOTES}");
    bench.add_template("labelled.yaml", &map);
    bench.add_template("jobs.yaml", JOBS);
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    let back = json!({"name": "back", "on": "pre-rollback"});
    bench.apply_web("shop", json!({"jobs": [back]})).await;
    bench.wait_revision("shop", 1).await;
    let up = json!({"name": "up", "on": "pre-upgrade"});
    bench.apply_web("shop", json!({"jobs": [back, up]})).await;
    wait_awaited(&bench, "shop-up").await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    wait_awaited(&bench, "shop-back").await;
    finish_job_of(&bench, "shop-back", "Complete").await;
    bench.wait_stalled("shop").await;
    let failed = job(&bench, "shop-up").await.metadata.uid;
    for filler in 1..=3 {
        set_secret(&bench, CANARY, filler).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(job(&bench, "shop-up").await.metadata.uid, failed);
    set_secret(&bench, "another one", 0).await;
    // Whether it makes a difference is looked at before anything is tried again.
    let is_begun = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        (message.contains("to revision 3") && message.contains("runs")).then_some(())
    };
    bench.wait("the next one", &bench.webs(), "shop", is_begun).await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 3).await;
    operator.stop().await.unwrap();
}
