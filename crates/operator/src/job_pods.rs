//! Whose words are those of a Job: not of each pod that has its labels.

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;

/// So many are looked at: others may have given many the labels of a Job.
const MOST: u32 = 50;

/// The pods of the Job with this UID that are there. What has its labels, and another owner or none, is not one of them.
///
/// # Errors
/// Pods can't be listed.
pub(crate) async fn pods_of(
    client: &Client,
    namespace: &str,
    job_uid: &str,
) -> Result<Vec<Pod>, RequestError> {
    let selector = format!("batch.kubernetes.io/controller-uid={job_uid}");
    let selected = ListParams::default().labels(&selector).limit(MOST);
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut found = pods.list(&selected).await?.items;
    found.retain(|pod| {
        let mut owners = pod.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == job_uid)
    });
    Ok(found)
}
