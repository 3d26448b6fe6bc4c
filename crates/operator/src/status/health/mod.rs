//! Whether an object does what it is there for.
//!
//! The rules are kstatus': an object is ready when its controller has seen its last change and
//! says that all of it is in place. Beyond kstatus, an Ingress and a load balancer need an address, and what Gateway API, Cluster
//! API and snapshots of volumes say counts (`apis`). A kind that an entry of watches.yaml has a health check for is judged by
//! that alone (`checked`).

mod apis;
mod checked;
mod others;
mod summary;
mod words;
mod workloads;

use apis::is_foreign;
pub use checked::checked;
use serde_json::Value;
pub use summary::{HealthSummary, NotReady};
pub use words::shown_words;

/// What an object's own status says of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It does what it is there for.
    Ready,
    /// It is a custom resource without a status: nobody has said anything of it, be it that nobody has seen it yet, or that its
    /// kind has no status. Nothing waits for it as a rule; who has to be sure that it is in place does not know it.
    Unsaid,
    /// Its controller has not seen its last change.
    Unseen,
    /// It is on the way, or waits for something.
    Progressing(String),
    /// It does not go on by itself, for this reason, such as a Job's `BackoffLimitExceeded`.
    Failed(String),
}

/// What people read of [`Health::Unseen`].
pub const UNSEEN: &str = "its controller has not seen the last change";

/// Whether objects of this kind say how they are, so that their status is worth reading. Kinds
/// that Kubernetes does not bring belong to an operator, which may say so.
pub fn has_health(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
            | ("batch", "Job")
            | ("", "Pod" | "PersistentVolumeClaim" | "Service")
            | ("networking.k8s.io", "Ingress")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    ) || is_foreign(group)
}

/// The verdict on an object, from all of it but its metadata. `None` for kinds without health.
///
/// ```
/// use serde_json::json;
/// use steersman_operator::status::{Health, health};
///
/// let pod = |phase: &str| health("", "Pod", None, &json!({"status": {"phase": phase}}));
/// assert_eq!(pod("Succeeded"), Some(Health::Ready));
/// assert_eq!(
///     health("", "PersistentVolumeClaim", None, &json!({"status": {"phase": "Pending"}})),
///     Some(Health::Progressing("it is not bound".to_owned()))
/// );
/// let behind = json!({"status": {"observedGeneration": 1}});
/// assert_eq!(health("apps", "Deployment", Some(2), &behind), Some(Health::Unseen));
/// assert_eq!(health("", "ConfigMap", None, &json!({})), None);
/// ```
pub fn health(group: &str, kind: &str, generation: Option<i64>, object: &Value) -> Option<Health> {
    let view = View {
        generation: generation.unwrap_or_default(),
        object,
    };
    match (group, kind) {
        ("apps", "Deployment") => Some(view.deployment()),
        ("apps", "StatefulSet") => Some(view.stateful_set()),
        ("apps", "DaemonSet") => Some(view.daemon_set()),
        ("apps", "ReplicaSet") => Some(view.replica_set()),
        ("batch", "Job") => Some(view.job()),
        ("", "Pod") => Some(view.pod()),
        ("", "PersistentVolumeClaim") => Some(view.claim()),
        ("", "Service") => Some(view.service()),
        ("networking.k8s.io", "Ingress") => Some(view.ingress()),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(view.definition()),
        (group, kind) if is_foreign(group) => Some(view.custom(group, kind)),
        _ => None,
    }
}

/// Whether an object of a kind that comes to an end, a Job or a Pod, has done so.
pub fn has_ended(group: &str, kind: &str, object: &Value) -> bool {
    let view = View {
        generation: 0,
        object,
    };
    let is_met = |name| view.condition(name, "True").is_some();
    match (group, kind) {
        ("batch", "Job") => is_met("Complete") || is_met("Failed"),
        ("", "Pod") => matches!(view.phase(), "Succeeded" | "Failed"),
        _ => false,
    }
}

struct View<'a> {
    generation: i64,
    object: &'a Value,
}

impl View<'_> {
    fn number(&self, pointer: &str) -> i64 {
        self.object
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    fn replicas(&self) -> i64 {
        self.object
            .pointer("/spec/replicas")
            .and_then(Value::as_i64)
            .unwrap_or(1)
    }

    fn phase(&self) -> &str {
        self.object
            .pointer("/status/phase")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Reason and message of a condition that has this status, as others have written them.
    fn condition(&self, name: &str, status: &str) -> Option<String> {
        let conditions = self
            .object
            .pointer("/status/conditions")
            .and_then(Value::as_array)?;
        conditions.iter().find_map(|condition| {
            let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
            (text("type") == name && text("status") == status).then(|| words::of_condition(condition))
        })
    }

    /// Not ready while the controller has not seen the last change: any other generation than that of now is not it.
    fn unseen(&self) -> Option<Health> {
        (self.number("/status/observedGeneration") != self.generation).then_some(Health::Unseen)
    }
}

/// Whether what an `observedGeneration` stands beside was said of another generation than that of now. Where there is none, it may
/// be of any.
fn is_of_another(observed: Option<&Value>, generation: i64) -> bool {
    let observed = observed.filter(|observed| !observed.is_null());
    observed.is_some_and(|observed| observed.as_i64() != Some(generation))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(group: &str, kind: &str, object: Value, expect: Health) {
        assert_eq!(health(group, kind, Some(2), &object), Some(expect), "{object}");
    }

    fn progressing(text: &str) -> Health {
        Health::Progressing(text.to_owned())
    }

    #[test]
    fn a_deployment_is_ready_when_its_new_pods_are_available_and_the_old_ones_gone() {
        let with = |status: Value| json!({"spec": {"replicas": 2}, "status": status});
        let check = |status, expect| check("apps", "Deployment", with(status), expect);
        check(json!({"observedGeneration": 1}), Health::Unseen);
        check(
            json!({"observedGeneration": 2}),
            progressing("0 of 2 pods updated"),
        );
        check(
            json!({"observedGeneration": 2, "conditions": [{"type": "ReplicaFailure", "status": "True",
                "reason": "FailedCreate", "message": "exceeded quota"}]}),
            progressing("0 of 2 pods updated; FailedCreate: exceeded quota"),
        );
        check(
            json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}),
            progressing("1 of 2 pods available"),
        );
        check(
            json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 3, "availableReplicas": 3}),
            progressing("old pods are still there"),
        );
        check(
            json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}),
            Health::Ready,
        );
        check(
            json!({"observedGeneration": 2, "conditions": [{"type": "Progressing", "status": "False",
                "reason": "ProgressDeadlineExceeded", "message": "timed out"}]}),
            Health::Failed("ProgressDeadlineExceeded: timed out".to_owned()),
        );
    }

    #[test]
    fn other_workloads_count_their_pods() {
        check(
            "apps",
            "StatefulSet",
            json!({"spec": {"replicas": 1}, "status": {"observedGeneration": 2}}),
            progressing("0 of 1 pods ready"),
        );
        check(
            "apps",
            "DaemonSet",
            json!({"status": {"observedGeneration": 2}}),
            Health::Ready,
        );
        check(
            "batch",
            "Job",
            json!({"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}}),
            Health::Failed("BackoffLimitExceeded".to_owned()),
        );
        check("batch", "Job", json!({"status": {"active": 1}}), Health::Ready);
        check("batch", "Job", json!({"spec": {"suspend": true}}), Health::Ready);
        check(
            "",
            "PersistentVolumeClaim",
            json!({"status": {"phase": "Pending"}}),
            progressing("it is not bound"),
        );
        check(
            "",
            "Pod",
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
            Health::Ready,
        );
        assert_eq!(health("", "ConfigMap", None, &json!({})), None);
    }
}
