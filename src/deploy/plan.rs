//! What comes first when an operator is deployed.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::manifest::install_order;
use steersman_model::{ApiKind, DocumentError, RenderedObject, kinds_defined_by};

/// The objects of a project are not such that they could be deployed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// One of them is no object.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There are none.
    #[error("{origin} has no objects")]
    Empty {
        /// Where they come from.
        origin: String,
    },
}

/// The objects that make up an operator, in the order in which they come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// First, as others are created in them.
    pub namespaces: Vec<RenderedObject>,
    /// Definitions of kinds.
    pub definitions: Vec<RenderedObject>,
    /// All others, in Helm's order of installation.
    pub others: Vec<RenderedObject>,
}

impl Plan {
    /// Orders the objects that `origin` gives.
    ///
    /// # Errors
    /// There are none, or one lacks `apiVersion`, `kind` or `metadata.name`.
    pub fn new(origin: &str, objects: &[Value]) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        for document in objects {
            for object in RenderedObject::from_document(origin, document)? {
                let stage = match (object.api.group.as_str(), object.api.kind.as_str()) {
                    ("", "Namespace") => &mut plan.namespaces,
                    ("apiextensions.k8s.io", "CustomResourceDefinition") => &mut plan.definitions,
                    _ => &mut plan.others,
                };
                stage.push(object);
            }
        }
        plan.others
            .sort_by(|a, b| install_order(&a.api.kind, &b.api.kind));
        if plan.objects().next().is_none() {
            return Err(PlanError::Empty {
                origin: origin.to_owned(),
            });
        }
        Ok(plan)
    }

    /// All objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = &RenderedObject> {
        let stages = [&self.namespaces, &self.definitions, &self.others];
        stages.into_iter().flatten()
    }

    /// The kinds that its definitions define, each in every version.
    pub fn custom_kinds(&self) -> BTreeSet<ApiKind> {
        kinds_defined_by(&self.definitions)
    }

    /// The Deployments, which are waited for.
    pub fn deployments(&self) -> impl Iterator<Item = &RenderedObject> {
        self.others
            .iter()
            .filter(|object| object.api.group == "apps" && object.api.kind == "Deployment")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steersman_model::ApiKind;

    use super::Plan;

    fn object(api_version: &str, kind: &str, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
    }

    #[test]
    fn namespaces_and_definitions_come_first() {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "webs.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Web"}, "versions": [{"name": "v1"}, {"name": "v2"}]},
        });
        let objects = [
            object("apps/v1", "Deployment", "manager"),
            object("rbac.authorization.k8s.io/v1", "ClusterRole", "manager"),
            definition,
            object("v1", "Namespace", "system"),
            object("v1", "ServiceAccount", "manager"),
        ];
        let plan = Plan::new("config/default", &objects).unwrap();
        let kinds: Vec<&str> = plan.objects().map(|object| object.api.kind.as_str()).collect();
        let expect = [
            "Namespace",
            "CustomResourceDefinition",
            "ServiceAccount",
            "ClusterRole",
            "Deployment",
        ];
        assert_eq!(kinds, expect);
        let custom: Vec<String> = plan.custom_kinds().iter().map(ApiKind::api_version).collect();
        assert_eq!(custom, ["example.com/v1", "example.com/v2"]);
        assert_eq!(plan.deployments().count(), 1);
    }

    #[test]
    fn a_project_without_objects_is_a_mistake() {
        let error = Plan::new("config/default", &[]).unwrap_err();
        assert_eq!(error.to_string(), "config/default has no objects");
        let error = Plan::new("config/default", &[json!({"kind": "Service"})]).unwrap_err();
        assert!(error.to_string().contains("apiVersion"), "{error}");
    }
}
