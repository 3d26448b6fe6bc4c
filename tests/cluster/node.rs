//! What nodes and the controllers that wait for them would do, were there any.

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::watched::changes;

/// The status of a Job that has started and ended, by the condition that its end has.
pub(crate) fn ended(start: &Value, condition: &str) -> Value {
    let is_complete = condition == "Complete";
    let criterion = if is_complete {
        "SuccessCriteriaMet"
    } else {
        "FailureTarget"
    };
    let entry = |kind: &str| json!({"type": kind, "status": "True", "reason": "Told", "message": "by the test", "lastTransitionTime": start});
    let mut status = json!({"active": 0, "ready": 0, "conditions": [entry(criterion), entry(condition)],
        "uncountedTerminatedPods": {}});
    if is_complete {
        status["completionTime"] = start.clone();
        status["succeeded"] = json!(1);
    } else {
        status["failed"] = json!(1);
    }
    status
}

/// Lets each Job succeed that has started.
pub(crate) async fn finish_jobs(jobs: Api<DynamicObject>) {
    let mut changed = changes(&jobs, watcher::Config::default());
    while let Some(job) = changed.next().await {
        let status = &job.data["status"];
        if let Some(start) = status.get("startTime").filter(|_| status["conditions"].is_null()) {
            write_status(&jobs, &job, &ended(start, "Complete")).await;
        }
    }
}

/// Says of each pod with these labels that it runs.
pub(crate) async fn run_pods(pods: Api<DynamicObject>, labels: &str) {
    let mut changed = changes(&pods, watcher::Config::default().labels(labels));
    while let Some(pod) = changed.next().await {
        if pod.data["status"]["phase"] == "Pending" {
            let running = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
            write_status(&pods, &pod, &running).await;
        }
    }
}

async fn write_status(api: &Api<DynamicObject>, object: &DynamicObject, status: &Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    let name = object.metadata.name.as_deref().unwrap();
    // It may be gone; where somebody else has written it, that is told, too.
    let _ = api.patch_status(name, &PatchParams::default(), &patch).await;
}
