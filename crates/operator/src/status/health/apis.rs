//! Kinds of Kubernetes' own projects that say how they are in words of their own.

use serde_json::Value;

use super::{Health, View, is_of_another, words};

/// Groups in which Kubernetes itself serves its kinds. Others in `k8s.io` belong to projects that come as custom resources.
const KUBERNETES: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "custom.metrics.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "external.metrics.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "metrics.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether a group is not one of Kubernetes' own, so that its kinds are custom resources as a rule.
pub(super) fn is_foreign(group: &str) -> bool {
    group.contains('.') && !KUBERNETES.contains(&group)
}

impl View<'_> {
    /// An object of a group that is not one of Kubernetes' own: by the words of its project, or else those of kstatus.
    pub(super) fn custom(&self, group: &str, kind: &str) -> Health {
        let said = match (group, kind) {
            ("gateway.networking.k8s.io", _) => self.gateway(),
            ("snapshot.storage.k8s.io", "VolumeSnapshot" | "VolumeSnapshotContent") => self.snapshot(),
            (group, _) if group == "cluster.x-k8s.io" || group.ends_with(".cluster.x-k8s.io") => {
                self.cluster_api()
            }
            _ => None,
        };
        match self.any() {
            any @ (Health::Ready | Health::Unsaid) => said.unwrap_or(any),
            other => other,
        }
    }

    /// Gateway API: a class is accepted, a gateway programmed besides, a route accepted by each parent, which knows what it
    /// refers to.
    fn gateway(&self) -> Option<Health> {
        let own = self.object.pointer("/status/conditions");
        let parents = self.object.pointer("/status/parents").and_then(Value::as_array);
        let of_parents = parents.into_iter().flatten();
        let of_parents = of_parents.filter_map(|parent| parent.get("conditions"));
        let conditions = own.into_iter().chain(of_parents).filter_map(Value::as_array);
        let waits = conditions.flatten().find_map(|condition| {
            let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
            let counts = matches!(text("type"), "Accepted" | "Programmed" | "ResolvedRefs");
            let is_former = is_of_another(condition.get("observedGeneration"), self.generation);
            match text("status") {
                "True" if counts && is_former => Some(Health::Unseen),
                "True" => None,
                _ if counts => Some(Health::Progressing(words::of_condition(condition))),
                _ => None,
            }
        });
        waits.or_else(|| {
            // A route that no parent has spoken of waits for one.
            parents
                .filter(|parents| parents.is_empty())
                .map(|_| Health::Progressing("no parent has accepted it".to_owned()))
        })
    }

    /// A snapshot can be used once its driver says so. An error may pass.
    fn snapshot(&self) -> Option<Health> {
        let status = self.object.get("status")?.as_object()?;
        if status.get("readyToUse") == Some(&Value::Bool(true)) {
            return Some(Health::Ready);
        }
        let error = status
            .get("error")
            .and_then(|error| error.get("message")?.as_str());
        let words = error.unwrap_or("it is not ready to use").to_owned();
        Some(Health::Progressing(words::kept(words)))
    }

    /// Cluster API says `Available` since its v1beta2, and `Ready` before.
    fn cluster_api(&self) -> Option<Health> {
        let waits = self
            .condition("Available", "False")
            .or_else(|| self.condition("Available", "Unknown"))?;
        Some(Health::Progressing(waits))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Health, has_health, health};
    use super::is_foreign;

    fn check(group: &str, kind: &str, status: Value, expect: Health) {
        assert!(has_health(group, kind), "{group} {kind}");
        let object = json!({ "status": status });
        assert_eq!(health(group, kind, Some(2), &object), Some(expect), "{object}");
    }

    fn progressing(text: &str) -> Health {
        Health::Progressing(text.to_owned())
    }

    fn condition(kind: &str, status: &str) -> Value {
        json!({"type": kind, "status": status, "reason": "Because", "message": "of it"})
    }

    #[test]
    fn groups_of_projects_are_not_those_of_kubernetes() {
        for group in [
            "gateway.networking.k8s.io",
            "cluster.x-k8s.io",
            "snapshot.storage.k8s.io",
            "acme.com",
        ] {
            assert!(is_foreign(group), "{group}");
        }
        for group in ["", "apps", "networking.k8s.io", "storage.k8s.io"] {
            assert!(!is_foreign(group), "{group}");
        }
    }

    #[test]
    fn gateways_and_routes_wait_for_who_implements_them() {
        let check = |kind, status, expect| check("gateway.networking.k8s.io", kind, status, expect);
        check("Gateway", Value::Null, Health::Unsaid);
        let with = |conditions: &[Value]| json!({ "conditions": conditions });
        let accepted = condition("Accepted", "True");
        check(
            "Gateway",
            with(&[condition("Accepted", "Unknown")]),
            progressing("Because: of it"),
        );
        check(
            "Gateway",
            with(&[accepted.clone(), condition("Programmed", "False")]),
            progressing("Because: of it"),
        );
        check(
            "Gateway",
            with(&[accepted.clone(), condition("Programmed", "True")]),
            Health::Ready,
        );
        for observed in [json!(1), json!(3), json!("2")] {
            let other = json!({"type": "Accepted", "status": "True", "observedGeneration": observed});
            check("GatewayClass", with(&[other]), Health::Unseen);
        }
        let route = |conditions: &[Value]| json!({"parents": [{"conditions": [accepted]}, {"conditions": conditions}]});
        check(
            "HTTPRoute",
            route(&[condition("ResolvedRefs", "False")]),
            progressing("Because: of it"),
        );
        check(
            "HTTPRoute",
            route(&[condition("ResolvedRefs", "True")]),
            Health::Ready,
        );
        check(
            "HTTPRoute",
            json!({"parents": []}),
            progressing("no parent has accepted it"),
        );
    }

    #[test]
    fn a_snapshot_is_ready_when_it_can_be_used() {
        let check = |status, expect| check("snapshot.storage.k8s.io", "VolumeSnapshot", status, expect);
        check(Value::Null, Health::Unsaid);
        check(
            json!({"readyToUse": false}),
            progressing("it is not ready to use"),
        );
        check(
            json!({"error": {"message": "no driver"}}),
            progressing("no driver"),
        );
        check(json!({"readyToUse": true}), Health::Ready);
    }

    #[test]
    fn clusters_are_available_or_ready() {
        let check = |conditions: &[Value], expect| {
            check(
                "cluster.x-k8s.io",
                "Cluster",
                json!({ "conditions": conditions }),
                expect,
            );
        };
        check(&[condition("Available", "False")], progressing("Because: of it"));
        check(&[condition("Ready", "False")], progressing("Because: of it"));
        check(&[condition("Available", "True")], Health::Ready);
    }
}
