//! Jobs of procedures, as the account of releases and within the bounds of their watch.

use serde_json::json;

use super::{By, Tenants};
use crate::procedures::{begin, define_runs, end_pod, wait_job, wait_phase};

/// A Job, where somebody's word decides its namespace.
const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata:
  name: job
  namespace: {{ .Procedure.parameters.place | default .Release.Namespace }}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none}]
";

#[tokio::test]
async fn jobs_of_procedures_are_made_by_the_account_and_within_its_bounds() {
    let Some(tenants) = Tenants::new("jobs_of_procedures_are_made_by", By::Both).await else {
        return;
    };
    let bench = &tenants.bench;
    let folder = bench.folder.path().join("web/procedures");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("job.yaml"), JOB).unwrap();
    let entry = |kinds: serde_json::Value| {
        json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
            "serviceAccountName": "deployer", "confine": {"kinds": kinds},
            "procedures": [{"name": "backup", "job": "procedures/job.yaml", "parameters": {"place": {}}}]}])
    };
    bench.watches(&entry(json!({})).to_string());
    define_runs(bench, &["WebBackup"]).await;
    tenants.generate_roles().await;
    let operator = tenants.operator(&[]).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;

    let mark = bench.cluster.audit_mark().await.unwrap();
    begin(bench, "WebBackup", "own", json!({})).await;
    let job = wait_job(bench, "WebBackup", "own", "job", 1).await;
    end_pod(bench, &job, "Succeeded", "done").await;
    let run = wait_phase(bench, "WebBackup", "own", "Succeeded").await;
    assert_eq!(run["status"]["result"], "done");
    let sent = tenants.sent_since(mark).await;
    let of_job = sent.filter(|request| request.resource == "jobs" && request.name == job);
    assert!(!of_job.requests.is_empty(), "it was made");
    let account = Tenants::account(&bench.namespace);
    for request in &of_job.requests {
        let sent_as = (&request.user, &request.namespace);
        assert_eq!(sent_as, (&account, &bench.namespace), "{request:?}");
    }

    begin(bench, "WebBackup", "elsewhere", json!({"place": tenants.other})).await;
    let run = wait_phase(bench, "WebBackup", "elsewhere", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("its Job is not in namespace"), "{message}");

    operator.stop().await.unwrap();
    bench.watches(&entry(json!({"deny": ["Job.batch"]})).to_string());
    let operator = tenants.operator(&[]).await;
    begin(bench, "WebBackup", "denied", json!({})).await;
    let run = wait_phase(bench, "WebBackup", "denied", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("may not be part of the release"), "{message}");
    operator.stop().await.unwrap();
}
