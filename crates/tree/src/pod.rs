//! How a pod and its containers are.

use std::fmt::Write as _;

use kube::api::DynamicObject;
use serde_json::Value;
use steersman_model::harmless;

use crate::view::{ObjectView, PodView, WaitingView};

/// Reads a pod, all of it but its metadata.
fn read(pod: &Value) -> PodView {
    let list = |pointer: &str| {
        let items = pod.pointer(pointer).and_then(Value::as_array);
        items.into_iter().flatten()
    };
    // Init containers that go on beside the others count as kubectl counts them.
    let sidecars: Vec<&Value> = list("/spec/initContainers")
        .filter(|container| container["restartPolicy"] == "Always")
        .collect();
    let statuses = || list("/status/initContainerStatuses").chain(list("/status/containerStatuses"));
    let runs_on = |status: &Value| {
        sidecars
            .iter()
            .any(|container| container["name"] == status["name"])
    };
    let ready = list("/status/containerStatuses")
        .chain(list("/status/initContainerStatuses").filter(|status| runs_on(status)))
        .filter(|status| status["ready"] == true);
    PodView {
        phase: text(&pod["status"]["phase"]),
        containers: list("/spec/containers").count() + sidecars.len(),
        ready_containers: ready.count(),
        restarts: statuses()
            .filter_map(|status| status["restartCount"].as_u64())
            .sum(),
        waiting: unscheduled(pod)
            .into_iter()
            .chain(statuses().filter_map(stopped))
            .collect(),
    }
}

/// A pod without a node has no container that could say why it waits.
fn unscheduled(pod: &Value) -> Option<WaitingView> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
    Some(WaitingView {
        container: String::new(),
        reason: text(&condition["reason"]),
        message: text(&condition["message"]),
    })
}

/// Why a container does not run, if it should.
fn stopped(status: &Value) -> Option<WaitingView> {
    let state = &status["state"];
    let (reason, message) = if let Some(waiting) = state.get("waiting") {
        (text(&waiting["reason"]), text(&waiting["message"]))
    } else {
        let ended = state.get("terminated").filter(|ended| ended["exitCode"] != 0)?;
        (ending(ended), String::new())
    };
    let last = status.pointer("/lastState/terminated").map(ending);
    let message = match (message.as_str(), last) {
        (_, None) => message,
        ("", Some(last)) => format!("it ended before with {last}"),
        (_, Some(last)) => format!("{message}; it ended before with {last}"),
    };
    Some(WaitingView {
        container: text(&status["name"]),
        reason,
        message,
    })
}

/// How a container has ended.
pub(crate) fn ending(terminated: &Value) -> String {
    let code = &terminated["exitCode"];
    match harmless(&text(&terminated["reason"])).as_str() {
        "" => format!("exit code {code}"),
        reason => format!("{reason}, exit code {code}"),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The same for people.
fn describe(pod: &PodView) -> String {
    let phase = if pod.phase.is_empty() {
        "no phase yet"
    } else {
        pod.phase.as_str()
    };
    let mut line = format!("{phase}, {}/{} ready", pod.ready_containers, pod.containers);
    match pod.restarts {
        0 => {}
        1 => line.push_str(", 1 restart"),
        many => {
            let _ = write!(line, ", {many} restarts");
        }
    }
    for waiting in &pod.waiting {
        line.push_str("; ");
        let words = [&waiting.container, &waiting.reason, &waiting.message];
        let words: Vec<&str> = words
            .into_iter()
            .map(String::as_str)
            .filter(|word| !word.is_empty())
            .collect();
        line.push_str(&words.join(": "));
    }
    line
}

/// Adds what there is to say of a pod.
pub(crate) fn describe_pod(view: &mut ObjectView, live: &DynamicObject) {
    let read = read(&live.data);
    let said = describe(&read);
    view.message = if live.metadata.deletion_timestamp.is_some() {
        format!("{}; {said}", view.message)
    } else {
        said
    };
    view.pod = Some(read);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pod: &Value, expect: &str) {
        assert_eq!(describe(&read(pod)), expect, "{pod}");
    }

    #[test]
    fn a_pod_tells_its_phase_its_containers_and_what_they_wait_for() {
        check(&json!({}), "no phase yet, 0/0 ready");
        let spec = json!({"containers": [{"name": "web"}, {"name": "log"}],
            "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}]});
        let with = |status: Value| json!({"spec": spec, "status": status});
        check(
            &with(json!({"phase": "Running",
                "initContainerStatuses": [{"name": "setup", "ready": true, "restartCount": 1,
                    "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                    {"name": "proxy", "ready": true, "restartCount": 0, "state": {"running": {}}}],
                "containerStatuses": [{"name": "web", "ready": true, "restartCount": 0, "state": {"running": {}}},
                    {"name": "log", "ready": true, "state": {"running": {}}}]})),
            "Running, 3/3 ready, 1 restart",
        );
        check(
            &with(
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/3 nodes are available"}]}),
            ),
            "Pending, 0/3 ready; Unschedulable: 0/3 nodes are available",
        );
        check(
            &with(json!({"phase": "Running", "containerStatuses": [
                {"name": "web", "ready": false, "restartCount": 7,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
                    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
                {"name": "log", "ready": false, "restartCount": 2, "state": {"terminated": {"exitCode": 1}}}]})),
            "Running, 0/3 ready, 9 restarts; web: CrashLoopBackOff: back-off 5m0s; it ended before with \
             OOMKilled, exit code 137; log: exit code 1",
        );
    }
}
