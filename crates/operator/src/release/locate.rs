//! Where the release of a custom resource without a namespace is.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
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
    let is_theirs = |metadata: &ObjectMeta| {
        let owners = metadata.owner_references.iter().flatten();
        owners.into_iter().any(|owner| owner.uid == uid)
    };
    let mut pages = Pages::of(&secrets, revisions);
    while let Some(page) = pages.next_metadata().await? {
        if let Some(theirs) = page.into_iter().find(is_theirs) {
            return Ok(theirs.namespace);
        }
    }
    Ok(None)
}
