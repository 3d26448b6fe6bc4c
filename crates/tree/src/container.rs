//! The containers of a pod, and how each is.

use kube::api::DynamicObject;
use serde_json::Value;

use crate::observe::text;
use crate::pod::ending;

/// A container of a pod, as its status tells of it.
///
/// ```
/// use serde_json::json;
/// use steersman_tree::containers;
///
/// let pod = json!({
///     "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
///     "spec": {"containers": [{"name": "web", "image": "web:1"}]},
///     "status": {"containerStatuses": [{"name": "web", "restartCount": 2,
///         "state": {"waiting": {"reason": "CrashLoopBackOff"}},
///         "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
/// });
/// let found = containers(&serde_json::from_value(pod)?);
/// assert_eq!(found[0].state, "Waiting: CrashLoopBackOff");
/// assert_eq!(found[0].former, "OOMKilled, exit code 137");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerView {
    /// As the pod has it.
    pub name: String,
    /// As the pod asks for it.
    pub image: String,
    /// Whether it runs, waits or has ended, and why or since when, such as `Running since 2026-01-01T00:00:00Z`.
    pub state: String,
    /// What is said of that; empty where nothing is.
    pub message: String,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was started anew.
    pub restarts: u64,
    /// How the one before has ended; empty where there was none.
    pub former: String,
}

/// The containers of a pod, those of its beginning first.
pub fn containers(pod: &DynamicObject) -> Vec<ContainerView> {
    let kinds = ["initContainer", "container", "ephemeralContainer"];
    let of_kind = |kind: &str| {
        let statuses = list(pod, &format!("/status/{kind}Statuses"));
        let containers = list(pod, &format!("/spec/{kind}s")).iter();
        let views = containers.map(|container| {
            let mut statuses = statuses.iter();
            let status = statuses.find(|status| status["name"] == container["name"]);
            view(container, status.unwrap_or(&Value::Null))
        });
        views.collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn list<'a>(pod: &'a DynamicObject, pointer: &str) -> &'a [Value] {
    let found = pod.data.pointer(pointer).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

fn view(container: &Value, status: &Value) -> ContainerView {
    let (state, message) = state(&status["state"]);
    let former = status.pointer("/lastState/terminated");
    ContainerView {
        name: text(container, "name"),
        image: text(container, "image"),
        state,
        message,
        ready: status["ready"] == true,
        restarts: status["restartCount"].as_u64().unwrap_or_default(),
        former: former.map(ending).unwrap_or_default(),
    }
}

fn state(state: &Value) -> (String, String) {
    if let Some(running) = state.get("running") {
        return (
            format!("Running since {}", text(running, "startedAt")),
            String::new(),
        );
    }
    if let Some(waiting) = state.get("waiting") {
        let said = format!("Waiting: {}", text(waiting, "reason"));
        return (said, text(waiting, "message"));
    }
    if let Some(ended) = state.get("terminated") {
        let said = format!("Ended at {}: {}", text(ended, "finishedAt"), ending(ended));
        return (said, text(ended, "message"));
    }
    ("Not started".to_owned(), String::new())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_container_tells_how_it_is_and_what_was_before() {
        let pod = json!({"metadata": {}, "spec": {
            "initContainers": [{"name": "setup", "image": "a"}],
            "containers": [{"name": "web", "image": "b"}, {"name": "log", "image": "c"}],
            "ephemeralContainers": [{"name": "shell", "image": "d"}]},
            "status": {
                "initContainerStatuses": [{"name": "setup", "ready": true, "state": {"terminated":
                    {"exitCode": 0, "reason": "Completed", "finishedAt": "T1", "message": "done\u{1b}[2J"}}}],
                "containerStatuses": [{"name": "log", "state": {"waiting": {"reason": "ErrImagePull", "message": "no c"}}},
                    {"name": "web", "ready": true, "restartCount": 3, "state": {"running": {"startedAt": "T2"}},
                        "lastState": {"terminated": {"exitCode": 1}}}]}});
        let found = containers(&serde_json::from_value(pod).unwrap());
        let told: Vec<_> = found
            .iter()
            .map(|one| [&one.name, &one.image, &one.state, &one.message, &one.former].map(String::as_str))
            .collect();
        assert_eq!(
            told,
            [
                [
                    "setup",
                    "a",
                    "Ended at T1: Completed, exit code 0",
                    "done\u{fffd}[2J",
                    ""
                ],
                ["web", "b", "Running since T2", "", "exit code 1"],
                ["log", "c", "Waiting: ErrImagePull", "no c", ""],
                ["shell", "d", "Not started", "", ""],
            ]
        );
        assert_eq!((found[1].ready, found[1].restarts), (true, 3));
        let odd = json!({"metadata": {}, "spec": {"containers": 3}});
        assert!(containers(&serde_json::from_value(odd).unwrap()).is_empty());
    }
}
