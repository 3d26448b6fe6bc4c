//! Waiting until an operator runs.

use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use steersman_model::{ObjectId, RenderedObject};
use steersman_operator::status::{Health, UNSEEN};
use tokio::time::Instant;

use super::deployer::{DeployError, Deployer, POLL_INTERVAL, Step, request_failed, text, verdict};
use super::plan::Plan;

/// The operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// A Deployment can't be looked at.
    #[error(transparent)]
    Deploy(#[from] DeployError),
    /// A Deployment is not available in time.
    #[error("{object} is not available after {} s: {reason}", limit.as_secs())]
    NotAvailable {
        /// The Deployment.
        object: ObjectId,
        /// How long it had.
        limit: Duration,
        /// What it, or a pod of it, waits for.
        reason: String,
    },
}

impl Deployer<'_> {
    /// Waits until the Deployments of the plan are available.
    ///
    /// # Errors
    /// One is not within `limit`, or gives up before; the error says what its pods wait for.
    pub async fn wait(&self, plan: &Plan, limit: Duration) -> Result<(), RolloutError> {
        let deadline = Instant::now() + limit;
        for deployment in plan.deployments() {
            self.wait_for(deployment, deadline, limit).await?;
        }
        Ok(())
    }

    async fn wait_for(
        &self,
        deployment: &RenderedObject,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), RolloutError> {
        let (api, id) = self.address(deployment).await?;
        let mut told = String::new();
        loop {
            let live = api.get(&deployment.name).await;
            let live = live.map_err(|error| request_failed("read", &id)(error.into()))?;
            let reason = match verdict(deployment, &live) {
                Some(Health::Ready | Health::Unsaid) | None => {
                    (self.on_step)(Step::Ready(&id));
                    return Ok(());
                }
                Some(Health::Unseen) => UNSEEN.to_owned(),
                Some(Health::Progressing(reason) | Health::Failed(reason)) => reason,
            };
            if Instant::now() >= deadline {
                let reason = self.reason_of_pods(&live).await.unwrap_or(reason);
                return Err(RolloutError::NotAvailable {
                    object: id,
                    limit,
                    reason,
                });
            }
            if told != reason {
                (self.on_step)(Step::WaitingFor(&id, &reason));
                told = reason;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// What the first pod of a Deployment that waits says of it. Nothing where pods can't be read: the Deployment's own
    /// words have to do.
    async fn reason_of_pods(&self, deployment: &DynamicObject) -> Option<String> {
        let labels = deployment
            .data
            .pointer("/spec/selector/matchLabels")?
            .as_object()?;
        let selector: Vec<String> = labels
            .iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
            .collect();
        let namespace = deployment.metadata.namespace.as_deref()?;
        let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), namespace);
        let parameters = ListParams::default().labels(&selector.join(",")).limit(10);
        let pods = pods.list(&parameters).await.ok()?;
        pods.items.iter().find_map(|pod| {
            let name = pod.metadata.name.as_deref()?;
            let reason = waiting(&serde_json::to_value(pod).ok()?)?;
            Some(format!("pod {name}: {reason}"))
        })
    }
}

/// What a pod waits for, if it does.
fn waiting(pod: &Value) -> Option<String> {
    let list = |pointer: &str| {
        pod.pointer(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let statuses = list("/status/initContainerStatuses").chain(list("/status/containerStatuses"));
    let of_containers = statuses.filter_map(|status| {
        let state = status
            .pointer("/state/waiting")
            .or(status.pointer("/lastState/terminated"))?;
        Some((text(state, "/reason"), text(state, "/message")))
    });
    let of_pod = list("/status/conditions")
        .filter(|condition| condition["status"] == "False")
        .map(|condition| (text(condition, "/reason"), text(condition, "/message")));
    let (reason, message) = of_containers
        .chain(of_pod)
        .find(|(reason, message)| !reason.is_empty() || !message.is_empty())?;
    Some(match message {
        "" => reason.to_owned(),
        message => format!("{reason}: {message}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::waiting;

    fn check(status: Value, expect: Option<&str>) {
        let pod = json!({ "status": status });
        assert_eq!(waiting(&pod).as_deref(), expect, "{pod}");
    }

    #[test]
    fn a_pod_says_what_it_waits_for() {
        check(json!({}), None);
        check(
            json!({"containerStatuses": [
                {"state": {"running": {}}},
                {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "back-off pulling image"}}},
            ]}),
            Some("ImagePullBackOff: back-off pulling image"),
        );
        check(
            json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "no nodes available"}]}),
            Some("Unschedulable: no nodes available"),
        );
        check(
            json!({"containerStatuses": [{"state": {"running": {}}, "lastState": {"terminated": {"reason": "OOMKilled"}}}]}),
            Some("OOMKilled"),
        );
    }
}
