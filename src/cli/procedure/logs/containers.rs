//! Which containers of a pod have something to say.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

/// The containers of a pod that have begun.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    /// Those that begin before the others first, and last those that go on beside them: they end with the pod.
    pub(super) begun: Vec<Container>,
    /// Whether the pod has more than one.
    pub(super) are_several: bool,
}

/// A container that runs, or has run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Container {
    pub(super) name: String,
    /// How often it was begun again: each time it has another log.
    pub(super) restarts: i32,
}

/// Those that run, or have run.
pub(super) fn begun(pod: &Pod) -> Begun {
    let (Some(spec), Some(status)) = (&pod.spec, &pod.status) else {
        return Begun::default();
    };
    let first = spec.init_containers.as_deref().unwrap_or_default();
    let is_beside = |name: &str| {
        let found = first.iter().find(|container| container.name == name);
        found.is_some_and(|container| container.restart_policy.as_deref() == Some("Always"))
    };
    let of_first = status.init_container_statuses.as_deref().unwrap_or_default();
    let of_others = status.container_statuses.as_deref().unwrap_or_default();
    let (beside, before): (Vec<_>, Vec<_>) = of_first.iter().partition(|one| is_beside(&one.name));
    let in_order = before.into_iter().chain(of_others).chain(beside);
    Begun {
        begun: in_order
            .filter(|one| has_begun(one))
            .map(|one| Container {
                name: one.name.clone(),
                restarts: one.restart_count,
            })
            .collect(),
        are_several: first.len() + spec.containers.len() > 1,
    }
}

/// Whether it runs now, and was not begun again since it was seen.
pub(super) fn runs(pod: &Pod, container: &Container) -> bool {
    let status = pod.status.as_ref();
    let of_first = status.and_then(|status| status.init_container_statuses.as_ref());
    let of_others = status.and_then(|status| status.container_statuses.as_ref());
    let mut all = of_first.into_iter().chain(of_others).flatten();
    all.any(|one| {
        let runs = one.state.as_ref().is_some_and(|state| state.running.is_some());
        one.name == container.name && one.restart_count == container.restarts && runs
    })
}

fn has_begun(status: &ContainerStatus) -> bool {
    let mut now_and_before = [&status.state, &status.last_state].into_iter().flatten();
    now_and_before.any(|state| state.running.is_some() || state.terminated.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn containers_are_in_the_order_in_which_they_end() {
        let status = |name: &str, state: Value| json!({"name": name, "state": state, "image": "", "imageID": "", "ready": false, "restartCount": 0});
        let running = json!({"running": {}});
        let pod = json!({
            "spec": {
                "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "fetch"}],
                "containers": [{"name": "dump"}, {"name": "send"}],
            },
            "status": {
                "initContainerStatuses": [status("proxy", running.clone()), status("fetch", json!({"terminated": {"exitCode": 0}}))],
                "containerStatuses": [status("dump", running), status("send", json!({"waiting": {}}))],
            },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let found = begun(&pod);
        let names: Vec<&str> = found.begun.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["fetch", "dump", "proxy"]);
        assert!(found.are_several);
        let running: Vec<bool> = found.begun.iter().map(|one| runs(&pod, one)).collect();
        assert_eq!(running, [false, true, true]);
        let other = Container {
            restarts: 1,
            ..found.begun[1].clone()
        };
        assert!(!runs(&pod, &other), "that one is not the same");
        assert_eq!(begun(&Pod::default()), Begun::default());
    }
}
