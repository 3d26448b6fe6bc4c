//! Whether an object is ready for those who depend on it. Pure.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::client::weight_of_cut;
use steersman_expressions::{Expression, Variables};
use steersman_model::{ApiKind, in_words};

use crate::status::{Health, UNSEEN, health};

/// Why an object is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unready {
    /// In our words.
    For(String),
    /// In the words of its controller, which may be about anything.
    Said(String),
}

/// What says whether a dependency is ready.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    /// An expression; without one the health of the object, whose kind may have none and is ready then as soon as it is there.
    pub(crate) expression: Option<Expression>,
    /// The resource that depends on it.
    pub(crate) own: Arc<Value>,
}

impl Judge {
    /// Whether an object is ready.
    ///
    /// # Errors
    /// Why it is not.
    ///
    /// # Blocking
    /// An expression takes its time, within its budget.
    pub(crate) fn ready(&self, api: &ApiKind, object: &DynamicObject) -> Result<(), Unready> {
        let Some(expression) = &self.expression else {
            return ready(api, object);
        };
        is_whole(object)?;
        let object = serde_json::to_value(object).unwrap_or_default();
        let variables = Variables::of_fields(&object);
        let variables = variables.with("dep", &object).with("self", &self.own);
        match expression.holds(&variables) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Unready::For("readyExpr does not hold".to_owned())),
            Err(error) => Err(Unready::For(format!("readyExpr: {error}"))),
        }
    }
}

/// Refuses one that is being deleted, or was too large to be read.
fn is_whole(object: &DynamicObject) -> Result<(), Unready> {
    if object.metadata.deletion_timestamp.is_some() {
        return Err(Unready::For("it is being deleted".to_owned()));
    }
    match weight_of_cut(&object.data) {
        Some(weight) => Err(Unready::For(format!(
            "it takes {} of memory, which is too much to be looked at",
            in_words(weight)
        ))),
        None => Ok(()),
    }
}

fn ready(api: &ApiKind, object: &DynamicObject) -> Result<(), Unready> {
    is_whole(object)?;
    let unready = |text: &str| Err(Unready::For(text.to_owned()));
    match health(&api.group, &api.kind, object.metadata.generation, &object.data) {
        Some(Health::Unsaid) => unready("its status says nothing yet"),
        None | Some(Health::Ready) => Ok(()),
        Some(Health::Unseen) => unready(UNSEEN),
        Some(Health::Progressing(words) | Health::Failed(words)) => Err(Unready::Said(words)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(api_version: &str, kind: &str, object: Value) -> Result<(), String> {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        ready(&ApiKind::new(api_version, kind), &object).map_err(|unready| match unready {
            Unready::For(text) | Unready::Said(text) => text,
        })
    }

    #[test]
    fn health_says_whether_an_object_is_ready() {
        let claim = |phase: &str| json!({"metadata": {}, "status": {"phase": phase}});
        assert_eq!(check("v1", "PersistentVolumeClaim", claim("Bound")), Ok(()));
        assert!(check("v1", "PersistentVolumeClaim", claim("Pending")).is_err());
        assert_eq!(check("v1", "ConfigMap", json!({"metadata": {}})), Ok(()));
        let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let error = check("v1", "ConfigMap", going).unwrap_err();
        assert_eq!(error, "it is being deleted");
    }

    #[test]
    fn an_expression_takes_the_place_of_health_in_both_dialects_of_flux() {
        let check = |expression: &str, status: Value| {
            let judge = Judge {
                expression: Some(Expression::parse(expression).unwrap()),
                own: Arc::new(json!({"spec": {"size": 2}})),
            };
            let object = json!({"metadata": {"name": "zk"}, "status": status});
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            judge.ready(&ApiKind::new("acme.com/v1", "Widget"), &object)
        };
        for expression in [
            "status.readyReplicas >= 2",
            "dep.status.readyReplicas >= self.spec.size",
        ] {
            assert_eq!(
                check(expression, json!({"readyReplicas": 2})),
                Ok(()),
                "{expression}"
            );
            let unready = check(expression, json!({"readyReplicas": 1}));
            assert_eq!(unready, Err(Unready::For("readyExpr does not hold".to_owned())));
        }
        let Err(Unready::For(error)) = check("status.readyReplicas >= 2", json!({})) else {
            panic!("ready without a word");
        };
        assert!(error.starts_with("readyExpr: there is no"), "{error}");
    }

    #[test]
    fn a_custom_resource_without_a_status_is_not_ready() {
        let (api_version, kind) = ("acme.com/v1", "Widget");
        let error = check(api_version, kind, json!({"metadata": {}})).unwrap_err();
        assert_eq!(error, "its status says nothing yet");
        assert!(check(api_version, kind, json!({"metadata": {}, "status": {}})).is_err());
        let ready = json!({"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(check(api_version, kind, ready), Ok(()));
        let unseen = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}});
        assert_eq!(check(api_version, kind, unseen).unwrap_err(), UNSEEN);
    }
}
