//! The objects of a project, sorted by what they are to a bundle.

use serde_json::Value;

use super::BundleError;
use super::value::{group_version, list, name, text};

/// Objects of a project by kind, each once, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifests {
    pub(super) service_versions: Vec<Value>,
    pub(super) roles: Vec<Value>,
    pub(super) cluster_roles: Vec<Value>,
    pub(super) role_bindings: Vec<Value>,
    pub(super) cluster_role_bindings: Vec<Value>,
    pub(super) deployments: Vec<Value>,
    pub(super) service_accounts: Vec<Value>,
    pub(super) services: Vec<Value>,
    pub(super) definitions: Vec<Value>,
    pub(super) custom_resources: Vec<Value>,
    pub(super) scorecard: Option<Value>,
    pub(super) others: Vec<Value>,
}

impl Manifests {
    /// Sorts objects. What has no kind is left out, and `List`s are taken apart.
    ///
    /// # Errors
    ///
    /// There are two scorecard configurations.
    pub fn collect(objects: impl IntoIterator<Item = Value>) -> Result<Self, BundleError> {
        let mut manifests = Self::default();
        for object in objects {
            manifests.add(object)?;
        }
        let kinds: Vec<(String, String, String)> = manifests.definitions.iter().flat_map(kinds_of).collect();
        let (custom, others) = manifests.others.drain(..).partition(|object| {
            let (group, version) = group_version(object);
            let kind = text(object, "/kind");
            kinds
                .iter()
                .any(|known| known.0 == group && known.1 == version && known.2 == kind)
        });
        manifests.custom_resources = custom;
        manifests.others = others;
        Ok(manifests)
    }

    /// How many objects there are.
    pub(super) fn count(&self) -> usize {
        [
            &self.service_versions,
            &self.roles,
            &self.cluster_roles,
            &self.role_bindings,
            &self.cluster_role_bindings,
            &self.deployments,
            &self.service_accounts,
            &self.services,
            &self.definitions,
            &self.custom_resources,
            &self.others,
        ]
        .iter()
        .map(|objects| objects.len())
        .sum()
    }

    /// What the operator is called where there is just one Deployment; `None` where there are several, or none.
    pub fn deployment_name(&self) -> Option<&str> {
        match self.deployments.as_slice() {
            [only] => Some(name(only)),
            _ => None,
        }
    }

    /// The `ClusterServiceVersion` whose name starts with the package's.
    pub fn service_version(&self, package: &str) -> Option<&Value> {
        let prefix = format!("{package}.");
        self.service_versions
            .iter()
            .find(|object| name(object).starts_with(&prefix))
    }

    /// `PLURAL.GROUP`, as the manifest has it; `None` where no definition is among the manifests.
    pub fn definition_name(&self, group: &str, kind: &str) -> Option<&str> {
        let defines = |definition: &&Value| {
            text(definition, "/spec/group") == group && text(definition, "/spec/names/kind") == kind
        };
        self.definitions.iter().find(defines).map(name)
    }

    /// The kinds that the definitions define: group, version and kind.
    pub fn kinds(&self) -> Vec<(String, String, String)> {
        self.definitions.iter().flat_map(kinds_of).collect()
    }

    fn add(&mut self, object: Value) -> Result<(), BundleError> {
        let (group, _) = group_version(&object);
        let place = match (group, text(&object, "/kind")) {
            (_, "") => return Ok(()),
            ("", "List") => {
                for item in list(&object, "/items") {
                    self.add(item.clone())?;
                }
                return Ok(());
            }
            ("scorecard.operatorframework.io", "Configuration") => return self.add_scorecard(object),
            ("operators.coreos.com", "ClusterServiceVersion") => &mut self.service_versions,
            ("rbac.authorization.k8s.io", "Role") => &mut self.roles,
            ("rbac.authorization.k8s.io", "ClusterRole") => &mut self.cluster_roles,
            ("rbac.authorization.k8s.io", "RoleBinding") => &mut self.role_bindings,
            ("rbac.authorization.k8s.io", "ClusterRoleBinding") => &mut self.cluster_role_bindings,
            ("apps", "Deployment") => &mut self.deployments,
            ("", "ServiceAccount") => &mut self.service_accounts,
            ("", "Service") => &mut self.services,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => &mut self.definitions,
            _ => &mut self.others,
        };
        if !place.contains(&object) {
            place.push(object);
        }
        Ok(())
    }

    fn add_scorecard(&mut self, object: Value) -> Result<(), BundleError> {
        match &self.scorecard {
            Some(first) if *first != object => Err(BundleError::TwoScorecards {
                first: name(first).to_owned(),
                second: name(&object).to_owned(),
            }),
            _ => {
                self.scorecard = Some(object);
                Ok(())
            }
        }
    }
}

/// Group, version and kind of each version of a definition.
fn kinds_of(definition: &Value) -> Vec<(String, String, String)> {
    let group = text(definition, "/spec/group");
    let kind = text(definition, "/spec/names/kind");
    list(definition, "/spec/versions")
        .iter()
        .map(|version| {
            (
                group.to_owned(),
                text(version, "/name").to_owned(),
                kind.to_owned(),
            )
        })
        .collect()
}
