//! The pods of a Job: what they say, and whether one is left. Not each pod that has its labels is one.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;

/// So many are looked at for words: others may have given many the labels of a Job.
const MOST: u32 = 50;
/// So many times as many are looked through for one that goes on.
const MOST_PAGES: usize = 200;

/// The pods of the Job with this UID that are there. What has its labels, and another owner or none, is not one of them.
///
/// # Errors
/// Pods can't be listed.
pub(crate) async fn pods_of(
    client: &Client,
    namespace: &str,
    job_uid: &str,
) -> Result<Vec<Pod>, RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut found = pods.list(&selected(job_uid)).await?.items;
    found.retain(|pod| is_of(&pod.metadata, job_uid));
    Ok(found)
}

/// What is left of the pods of a Job that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodsLeft {
    /// Nothing.
    None,
    /// All that are there were told to end.
    Ending,
    /// One was not, or nobody knows.
    Some,
}

/// Looks for pods of the Job with this UID, however many others have its labels.
///
/// # Errors
/// Pods can't be listed.
pub(crate) async fn pods_left(
    client: &Client,
    namespace: &str,
    job_uid: &str,
) -> Result<PodsLeft, RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let (mut left, mut selected) = (PodsLeft::None, selected(job_uid));
    for _ in 0..MOST_PAGES {
        let page = pods.list_metadata(&selected).await?;
        for pod in page.items.iter().filter(|pod| is_of(&pod.metadata, job_uid)) {
            if pod.metadata.deletion_timestamp.is_none() {
                return Ok(PodsLeft::Some);
            }
            left = PodsLeft::Ending;
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => selected = selected.continue_token(&next),
            None => return Ok(left),
        }
    }
    Ok(PodsLeft::Some)
}

fn selected(job_uid: &str) -> ListParams {
    let selector = format!("batch.kubernetes.io/controller-uid={job_uid}");
    ListParams::default().labels(&selector).limit(MOST)
}

fn is_of(pod: &ObjectMeta, job_uid: &str) -> bool {
    let mut owners = pod.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == job_uid)
}
