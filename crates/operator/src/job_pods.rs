//! The pods of a Job: what they say, and whether one is left. Not each pod that has its labels is one.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use steersman_cluster::RequestError;

/// So many are looked at for words: others may have given many the labels of a Job.
const MOST: u32 = 50;
/// So many times as many are looked through for one that goes on.
const MOST_PAGES: usize = 200;

/// Where the pods of a Job are, and by what they are found.
pub(crate) struct JobPods<'j> {
    namespace: &'j str,
    uid: &'j str,
    selector: String,
}

impl<'j> JobPods<'j> {
    /// Those of a Job as the server has it; `None` where it has no UID or no namespace.
    pub(crate) fn of(job: &'j DynamicObject) -> Option<Self> {
        let uid = job.metadata.uid.as_deref()?;
        Some(Self {
            namespace: job.metadata.namespace.as_deref()?,
            uid,
            selector: selector(&job.data, uid),
        })
    }

    /// The pods that are there. What has their labels, and another owner or none, is not one of them.
    ///
    /// # Errors
    /// Pods can't be listed.
    pub(crate) async fn list(&self, client: &Client) -> Result<Vec<Pod>, RequestError> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), self.namespace);
        let mut found = pods.list(&self.selected()).await?.items;
        found.retain(|pod| self.owns(&pod.metadata));
        Ok(found)
    }

    /// What is left of the pods, however many others have their labels.
    ///
    /// # Errors
    /// Pods can't be listed.
    pub(crate) async fn left(&self, client: &Client) -> Result<PodsLeft, RequestError> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), self.namespace);
        let (mut left, mut selected) = (PodsLeft::None, self.selected());
        for _ in 0..MOST_PAGES {
            let page = pods.list_metadata(&selected).await?;
            for pod in page.items.iter().filter(|pod| self.owns(&pod.metadata)) {
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

    fn selected(&self) -> ListParams {
        ListParams::default().labels(&self.selector).limit(MOST)
    }

    fn owns(&self, pod: &ObjectMeta) -> bool {
        let mut owners = pod.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == self.uid)
    }
}

/// The labels by which the Job's own controller finds its pods. A Job may choose them itself (`manualSelector`), and its pods have no
/// others then.
fn selector(job: &Value, uid: &str) -> String {
    let Some(selector) = job.pointer("/spec/selector") else {
        return format!("batch.kubernetes.io/controller-uid={uid}");
    };
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    // Without its expressions it selects too many, and whose a pod is is asked anyway.
    labels.collect::<Vec<_>>().join(",")
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_found_by_what_the_job_says_itself() {
        let check = |spec: Value, expect: &str| assert_eq!(selector(&json!({ "spec": spec }), "1"), expect);
        check(json!({}), "batch.kubernetes.io/controller-uid=1");
        check(
            json!({"selector": {"matchLabels": {"a": "b", "c": ""}}}),
            "a=b,c=",
        );
        check(
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
            "",
        );
    }
}
