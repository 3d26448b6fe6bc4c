//! Objects that the author of an operator judges: by the expressions of `healthChecks` in watches.yaml.

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use steersman_expressions::Variables;
use steersman_watches::{CheckVerdict, HealthCheck};

use super::{Health, is_of_another};

/// What a health check makes of an object, by the order and the rules of Flux: one whose controller has not seen its last change
/// is on the way whatever the expressions say. One of which an expression says nothing is on the way, too, and never failed.
///
/// The message has which expression it was, and no value of the object.
pub fn checked(check: &HealthCheck, api: &ApiResource, object: &DynamicObject) -> Health {
    let observed = object.data.pointer("/status/observedGeneration");
    let generation = object.metadata.generation;
    if generation.is_some_and(|generation| is_of_another(observed, generation)) {
        return Health::Unseen;
    }
    // What an expression does not look at is not copied.
    let metadata = check
        .names("metadata")
        .then(|| serde_json::to_value(&object.metadata).unwrap_or_default());
    let (version, kind) = (
        Value::from(api.api_version.as_str()),
        Value::from(api.kind.as_str()),
    );
    let mut variables = Variables::of_fields(&object.data)
        .with("apiVersion", &version)
        .with("kind", &kind);
    if let Some(metadata) = &metadata {
        variables = variables.with("metadata", metadata);
    }
    match check.verdict(&variables) {
        CheckVerdict::Current => Health::Ready,
        CheckVerdict::InProgress("current") => {
            Health::Progressing("`current` of its health check does not hold".to_owned())
        }
        CheckVerdict::InProgress(field) => {
            Health::Progressing(format!("`{field}` of its health check holds"))
        }
        CheckVerdict::Failed => Health::Failed("`failed` of its health check holds".to_owned()),
        CheckVerdict::NoResult { field, error } => {
            Health::Progressing(format!("`{field}` of its health check has no result: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use steersman_expressions::Expression;

    use super::*;

    fn check(current: &str, failed: &str, object: Value, expect: &Health) {
        let check = HealthCheck {
            group: "acme.com".to_owned(),
            kind: "Widget".to_owned(),
            current: Expression::parse(current).unwrap(),
            in_progress: None,
            failed: Some(Expression::parse(failed).unwrap()),
        };
        let api = ApiResource {
            group: "acme.com".to_owned(),
            version: "v1".to_owned(),
            api_version: "acme.com/v1".to_owned(),
            kind: "Widget".to_owned(),
            plural: "widgets".to_owned(),
        };
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        assert_eq!(&checked(&check, &api, &object), expect, "{current}");
    }

    #[test]
    fn the_fields_of_an_object_are_named_as_it_has_them() {
        let object = json!({"metadata": {"name": "w", "generation": 2, "labels": {"tier": "data"}},
            "spec": {"replicas": 2}, "status": {"readyReplicas": 2, "observedGeneration": 2}, "other": "field"});
        let current = "status.readyReplicas == spec.replicas && metadata.labels.tier == 'data' && \
                       apiVersion == 'acme.com/v1' && kind == 'Widget' && other == 'field' && metadata.generation == 2";
        check(current, "false", object, &Health::Ready);
    }

    #[test]
    fn what_an_expression_can_not_say_is_told_without_its_values() {
        let object = json!({"metadata": {"name": "w"}, "spec": {"password": "canary"}});
        let message = "`failed` of its health check has no result: there is no `status`";
        let unknown = Health::Progressing(message.to_owned());
        check("true", "status.failed", object.clone(), &unknown);
        let message = "`current` of its health check has no result: it gives string, not true or false";
        check(
            "spec.password",
            "false",
            object,
            &Health::Progressing(message.to_owned()),
        );
    }

    #[test]
    fn a_change_that_nobody_has_seen_is_on_the_way() {
        let object = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}});
        check("true", "true", object, &Health::Unseen);
    }
}
