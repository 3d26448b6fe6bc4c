//! Kinds that wait for somebody else: for a volume, an address, the API server, or an operator.

use serde_json::Value;

use super::{Health, View, is_of_another};

impl View<'_> {
    pub(super) fn claim(&self) -> Health {
        match self.phase() {
            "Bound" => Health::Ready,
            "Lost" => Health::Failed("its volume is lost".to_owned()),
            _ => Health::Progressing("it is not bound".to_owned()),
        }
    }

    /// A load balancer works once it has an address. Who brings addresses needs none.
    pub(super) fn service(&self) -> Health {
        let kind = self.object.pointer("/spec/type").and_then(Value::as_str);
        let has_own = self
            .object
            .pointer("/spec/externalIPs")
            .and_then(Value::as_array)
            .is_some_and(|addresses| !addresses.is_empty());
        if kind != Some("LoadBalancer") || has_own || self.has_address() {
            return Health::Ready;
        }
        Health::Progressing("its load balancer has no address".to_owned())
    }

    pub(super) fn ingress(&self) -> Health {
        if self.has_address() {
            return Health::Ready;
        }
        Health::Progressing("it has no address".to_owned())
    }

    fn has_address(&self) -> bool {
        self.object
            .pointer("/status/loadBalancer/ingress")
            .and_then(Value::as_array)
            .is_some_and(|addresses| !addresses.is_empty())
    }

    /// A definition whose names another one has never gets into effect.
    pub(super) fn definition(&self) -> Health {
        if let Some(reason) = self.condition("NamesAccepted", "False") {
            return Health::Failed(reason);
        }
        if self.condition("Established", "True").is_some() {
            return Health::Ready;
        }
        Health::Progressing("it is not established".to_owned())
    }

    /// What kstatus makes of an object of any kind. One without a status has nothing to wait for, as far as it says.
    pub(super) fn any(&self) -> Health {
        let status = self.object.get("status").and_then(Value::as_object);
        if status.is_none_or(serde_json::Map::is_empty) {
            return Health::Unsaid;
        }
        if is_of_another(self.object.pointer("/status/observedGeneration"), self.generation) {
            return Health::Unseen;
        }
        if let Some(reason) = self.condition("Stalled", "True") {
            return Health::Failed(reason);
        }
        let waits = self
            .condition("Reconciling", "True")
            .or_else(|| self.condition("Ready", "False"))
            .or_else(|| self.condition("Ready", "Unknown"));
        match waits {
            Some(reason) if reason.is_empty() => Health::Progressing("it is not ready".to_owned()),
            Some(reason) => Health::Progressing(reason),
            None => Health::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Health, has_health, health};

    fn check(group: &str, kind: &str, object: Value, expect: Health) {
        assert!(has_health(group, kind), "{group} {kind}");
        assert_eq!(health(group, kind, Some(2), &object), Some(expect), "{object}");
    }

    fn progressing(text: &str) -> Health {
        Health::Progressing(text.to_owned())
    }

    #[test]
    fn what_needs_an_address_waits_for_it() {
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let service = |kind: &str, status: &Value| json!({"spec": {"type": kind}, "status": status});
        for kind in ["ClusterIP", "NodePort", "ExternalName"] {
            check("", "Service", service(kind, &json!({})), Health::Ready);
        }
        let waiting = progressing("its load balancer has no address");
        let none = json!({"loadBalancer": {}});
        check("", "Service", service("LoadBalancer", &none), waiting);
        check("", "Service", service("LoadBalancer", &address), Health::Ready);
        let own = json!({"spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]}});
        check("", "Service", own, Health::Ready);
        let group = "networking.k8s.io";
        check(
            group,
            "Ingress",
            json!({"status": none}),
            progressing("it has no address"),
        );
        check(group, "Ingress", json!({"status": address}), Health::Ready);
    }

    #[test]
    fn a_definition_is_ready_when_the_server_acts_on_it() {
        let with = |conditions: Value| json!({"status": {"conditions": conditions}});
        let check = |conditions, expect| {
            let kind = "CustomResourceDefinition";
            check("apiextensions.k8s.io", kind, with(conditions), expect);
        };
        check(json!([]), progressing("it is not established"));
        check(json!([{"type": "Established", "status": "True"}]), Health::Ready);
        check(
            json!([{"type": "NamesAccepted", "status": "False", "reason": "MultipleNamesAccepted"}]),
            Health::Failed("MultipleNamesAccepted".to_owned()),
        );
    }

    #[test]
    fn objects_of_other_operators_are_judged_by_the_words_of_kstatus() {
        let check = |status: Value, expect| {
            check("acme.com", "Widget", json!({"status": status}), expect);
        };
        let with = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "Because", "message": "of it"}]});
        check(Value::Null, Health::Unsaid);
        check(json!({}), Health::Unsaid);
        check(json!({"phase": "Running"}), Health::Ready);
        for observed in [json!(1), json!(3), json!("2")] {
            check(json!({"observedGeneration": observed}), Health::Unseen);
        }
        check(with("Ready", "True"), Health::Ready);
        check(with("Ready", "False"), progressing("Because: of it"));
        check(with("Ready", "Unknown"), progressing("Because: of it"));
        check(with("Reconciling", "True"), progressing("Because: of it"));
        check(
            with("Stalled", "True"),
            Health::Failed("Because: of it".to_owned()),
        );
        check(with("Healthy", "False"), Health::Ready);
        check(
            json!({"conditions": [{"type": "Ready", "status": "False"}]}),
            progressing("it is not ready"),
        );
    }
}
