//! Where the release of a custom resource without a namespace is.

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;
use steersman_model::ReleaseName;

/// The namespace in which the custom resource with this UID has the release; `None` if it has none. A namespaced
/// resource has it in its own namespace.
///
/// # Errors
/// Secrets can't be listed in all namespaces.
pub async fn namespace_of(
    client: Client,
    release: &ReleaseName,
    uid: &str,
) -> Result<Option<String>, RequestError> {
    let secrets: Api<Secret> = Api::all(client);
    let revisions = ListParams::default().labels(&format!("owner=helm,name={release}"));
    let found = secrets.list_metadata(&revisions).await?;
    let theirs = found.items.into_iter().find(|secret| {
        let owners = secret.metadata.owner_references.iter().flatten();
        owners.into_iter().any(|owner| owner.uid == uid)
    });
    Ok(theirs.and_then(|secret| secret.metadata.namespace))
}
