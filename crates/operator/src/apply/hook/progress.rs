//! How far a hook is, and how it has ended.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use steersman_model::{CUT, CUT_OFF, one_line};

/// So much the kubelet takes of what a container says at its end, in bytes.
const MOST_OF_CONTAINER: usize = 4096;
/// So much of what all containers of a pod say, each of them an equal part.
const MOST_OF_POD: usize = 12 * 1024;
/// In bytes.
const LONGEST_CHARACTER: usize = 4;

/// How the first container of a pod that failed has ended. Nothing is cut here, as no secret is masked yet; but the kubelet keeps
/// the end of what was printed, and so may the container itself.
pub(crate) fn last_words(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let init = status.init_container_statuses.iter().flatten();
    let containers = init.chain(status.container_statuses.iter().flatten());
    let (container, end) = containers
        .filter_map(|container| Some((container, container.state.as_ref()?.terminated.as_ref()?)))
        .find(|(_, end)| end.exit_code != 0)?;
    let message = message_of(pod, end).or(end.reason.clone()).unwrap_or_default();
    let message = one_line(&message);
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    Some(format!(
        "container {} of pod {pod} ended with {}: {CUT}{message}",
        container.name, end.exit_code
    ))
}

/// What a container has said at its end, with a mark where the kubelet may have left out the rest: it takes so much of one
/// container, and so much of a pod.
pub(crate) fn message_of(pod: &Pod, end: &ContainerStateTerminated) -> Option<String> {
    let message = end.message.as_ref()?.replace([CUT, CUT_OFF], "");
    let spec = pod.spec.as_ref();
    let containers = spec.map_or(1, |spec| {
        let more = spec.init_containers.as_deref().map_or(0, <[_]>::len);
        spec.containers.len() + more
    });
    let most = MOST_OF_CONTAINER.min(MOST_OF_POD / containers.max(1));
    // What is cut within a character ends with that before it.
    let is_whole = message.len() + LONGEST_CHARACTER <= most;
    Some(if is_whole {
        message
    } else {
        format!("{message}{CUT_OFF}")
    })
}

/// How far a hook is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::apply) enum Progress {
    /// It has succeeded.
    Done,
    /// It goes on; the text says what it does.
    Running(String),
    /// It has failed; the text says why.
    Failed(String),
}

/// What the status of a Job or a Pod says.
pub(in crate::apply) fn progress(kind: &str, metadata: &ObjectMeta, object: &Value) -> Progress {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if kind == "Pod" {
        return match text("/status/phase") {
            "Succeeded" if has_ended_by_deletion(metadata, object) => {
                Progress::Failed("it was deleted before its end".to_owned())
            }
            "Succeeded" => Progress::Done,
            "Failed" => Progress::Failed(said([text("/status/reason"), text("/status/message")], ": ")),
            "" => Progress::Running("not started".to_owned()),
            phase => Progress::Running(phase.to_owned()),
        };
    }
    match end_of_job(object) {
        Some(Ok(())) => return Progress::Done,
        Some(Err(reason)) => return Progress::Failed(reason),
        None => {}
    }
    if metadata.deletion_timestamp.is_some() {
        return Progress::Failed("it is being deleted".to_owned());
    }
    let active = object
        .pointer("/status/active")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    Progress::Running(format!("{active} pods active"))
}

/// Whether a container of a pod has ended when somebody had asked for the pod's deletion: it need not have done its work.
fn has_ended_by_deletion(pod: &ObjectMeta, object: &Value) -> bool {
    let Some(deadline) = &pod.deletion_timestamp else {
        return false;
    };
    let grace = SignedDuration::from_secs(pod.deletion_grace_period_seconds.unwrap_or_default());
    let asked = deadline.0.checked_sub(grace).unwrap_or(deadline.0);
    let containers = object
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    let ends = containers.into_iter().flatten().filter_map(|container| {
        let finished = container.pointer("/state/terminated/finishedAt")?.as_str()?;
        finished.parse::<Timestamp>().ok()
    });
    // Where no end is told, nobody knows when it was.
    ends.max().is_none_or(|end| end >= asked)
}

/// How a Job has ended, as its conditions say: with success, or why not. `None` before that.
pub(crate) fn end_of_job(job: &Value) -> Option<Result<(), String>> {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find_map(|condition| {
        let field = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
        match (field("type"), field("status")) {
            ("Complete", "True") => Some(Ok(())),
            ("Failed", "True") => Some(Err(said([field("reason"), field("message")], ": "))),
            _ => None,
        }
    })
}

/// Those of these words that say something.
pub(super) fn said(words: [&str; 2], between: &str) -> String {
    let words = words.into_iter().filter(|words| !words.is_empty());
    words.collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_there_is_said_of_a_failure() {
        let pod = |status: Value| progress("Pod", &ObjectMeta::default(), &json!({ "status": status }));
        let failed = |why: &str| Progress::Failed(why.to_owned());
        assert_eq!(pod(json!({"phase": "Failed"})), failed(""));
        assert_eq!(
            pod(json!({"phase": "Failed", "reason": "Evicted"})),
            failed("Evicted")
        );
        let both = json!({"phase": "Failed", "reason": "Evicted", "message": "no room"});
        assert_eq!(pod(both), failed("Evicted: no room"));
        assert_eq!(said(["", "container a ended"], "; "), "container a ended");
        assert_eq!(said(["late", ""], "; "), "late");
    }

    #[test]
    fn a_pod_that_has_ended_as_it_was_deleted_has_not_done_its_work() {
        let deleted = ObjectMeta {
            deletion_timestamp: Some(Time("2026-01-01T00:00:30Z".parse().unwrap())),
            deletion_grace_period_seconds: Some(30),
            ..ObjectMeta::default()
        };
        let ended = |pod: &ObjectMeta, at: Value| {
            let containers = json!([{"state": {"terminated": {"exitCode": 0, "finishedAt": at}}}]);
            progress(
                "Pod",
                pod,
                &json!({"status": {"phase": "Succeeded", "containerStatuses": containers}}),
            )
        };
        let before = json!("2025-12-31T23:59:59Z");
        let after = json!("2026-01-01T00:00:01Z");
        let failed = Progress::Failed("it was deleted before its end".to_owned());
        assert_eq!(ended(&deleted, before), Progress::Done);
        assert_eq!(ended(&deleted, after.clone()), failed);
        assert_eq!(ended(&deleted, Value::Null), failed);
        assert_eq!(ended(&ObjectMeta::default(), after), Progress::Done);
    }

    #[test]
    fn jobs_and_pods_come_to_an_end() {
        let job = |status: Value| progress("Job", &ObjectMeta::default(), &json!({ "status": status }));
        assert_eq!(
            job(json!({"active": 1})),
            Progress::Running("1 pods active".to_owned())
        );
        assert_eq!(
            job(json!({"conditions": [{"type": "Complete", "status": "True"}]})),
            Progress::Done
        );
        assert_eq!(
            job(
                json!({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "late"}]})
            ),
            Progress::Failed("DeadlineExceeded: late".to_owned())
        );
        let pod = progress(
            "Pod",
            &ObjectMeta::default(),
            &json!({"status": {"phase": "Succeeded"}}),
        );
        assert_eq!(pod, Progress::Done);
    }

    #[test]
    fn words_that_the_kubelet_may_have_cut_say_so() {
        let said = |containers: usize, length: usize| {
            let container = json!({"name": "main", "image": "none"});
            let pod = json!({
                "metadata": {"name": "pod"},
                "spec": {"containers": vec![container; containers]},
                "status": {"containerStatuses": [{
                    "name": "main", "image": "none", "imageID": "none", "ready": false, "restartCount": 0,
                    "state": {"terminated": {"exitCode": 1, "message": "x".repeat(length)}},
                }]},
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            last_words(&pod).unwrap().ends_with(CUT_OFF)
        };
        assert!(!said(1, 4000) && said(1, 4096) && said(1, 4094));
        assert!(!said(4, 3000) && said(4, 3072));
    }
}
