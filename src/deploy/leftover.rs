//! What keeps a namespace from being deleted with the operator in it.

use kube::api::{Api, DynamicObject, ListParams};
use steersman_cluster::RequestError;
use steersman_model::ObjectId;

use super::deployer::{DeployError, Deployer};

/// How many objects of a kind are named.
const NAMED: usize = 3;

/// Kinds whose objects report on others, or are kept for them by controllers.
const ACCOMPANYING: &[&str] = &[
    "Event",
    "Lease",
    "Endpoints",
    "EndpointSlice",
    "PodMetrics",
    "ControllerRevision",
];

/// Objects that every namespace has.
const OF_EVERY_NAMESPACE: &[(&str, &str)] = &[
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
];

impl Deployer<'_> {
    /// Objects in a namespace that neither belong to another one nor are on their way out: a few of each kind. What we
    /// may not list is not seen.
    pub(super) async fn leftovers(&self, namespace: &str) -> Result<Vec<String>, DeployError> {
        let served = self.discovery.served().await?;
        let mut found = Vec::new();
        for resource in served.kinds().filter(|resource| resource.namespaced) {
            if ACCOMPANYING.contains(&resource.api.kind.as_str()) {
                continue;
            }
            let api: Api<DynamicObject> = resource.objects(&self.client, Some(namespace));
            let parameters = ListParams::default().limit(500);
            let page = match api.list_metadata(&parameters).await.map_err(RequestError::from) {
                Ok(page) => page,
                // Not all kinds can be listed, and not by everybody.
                Err(error) if matches!(error.code, 403..=406) => continue,
                Err(source) => {
                    return Err(DeployError::Request {
                        attempt: "look into",
                        object: Box::new(id_of_namespace(namespace)),
                        source,
                    });
                }
            };
            let names = page.items.into_iter().filter_map(|object| {
                let metadata = object.metadata;
                let name = metadata.name.unwrap_or_default();
                let is_common = OF_EVERY_NAMESPACE.contains(&(resource.api.kind.as_str(), name.as_str()));
                let belongs = metadata.owner_references.is_some_and(|owners| !owners.is_empty());
                let is_going = metadata.deletion_timestamp.is_some();
                (!is_common && !belongs && !is_going).then(|| format!("{} {name}", resource.api.kind))
            });
            found.extend(names.take(NAMED));
        }
        Ok(found)
    }
}

fn id_of_namespace(name: &str) -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}
