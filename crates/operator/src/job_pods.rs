//! The pods of a Job: what they say, and whether one is left. Not each pod that has its labels is one.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{Expression, Selector};
use serde::Deserialize;
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;

/// So many are asked for at once: others may have given many the labels of a Job, and each may be large.
const PAGE: u32 = 50;

/// Where the pods of a Job are, and by what they are found.
pub(crate) struct JobPods<'j> {
    namespace: &'j str,
    uid: &'j str,
    selector: Selector,
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

    /// The pod that was made last of those that have said something, and that, however many others have their labels.
    ///
    /// # Errors
    /// Pods can't be listed.
    pub(crate) async fn last<T>(
        &self,
        client: &Client,
        said: impl Fn(&Pod) -> Option<T>,
    ) -> Result<Option<(T, Pod)>, RequestError> {
        let pods = self.pods(client);
        let mut pages = Pages::of(&pods, selected(&self.selector));
        let mut last: Option<(T, Pod)> = None;
        while let Some(page) = pages.next().await? {
            for pod in page.into_iter().filter(|pod| self.owns(&pod.metadata)) {
                let is_later = last.as_ref().is_none_or(|(_, other)| made(other) <= made(&pod));
                if is_later && let Some(words) = said(&pod) {
                    last = Some((words, pod));
                }
            }
        }
        Ok(last)
    }

    /// What is left of the pods. Where none has their labels, all of the namespace are asked: somebody may have taken them off one.
    ///
    /// # Errors
    /// Pods can't be listed.
    pub(crate) async fn left(&self, client: &Client) -> Result<PodsLeft, RequestError> {
        match self.left_among(client, &self.selector).await? {
            PodsLeft::None => self.left_among(client, &Selector::default()).await,
            left => Ok(left),
        }
    }

    async fn left_among(&self, client: &Client, selector: &Selector) -> Result<PodsLeft, RequestError> {
        let pods = self.pods(client);
        let mut pages = Pages::of(&pods, selected(selector));
        let mut left = PodsLeft::None;
        while let Some(page) = pages.next_metadata().await? {
            for pod in page.iter().filter(|pod| self.owns(pod)) {
                if pod.deletion_timestamp.is_none() {
                    return Ok(PodsLeft::Some);
                }
                left = PodsLeft::Ending;
            }
        }
        Ok(left)
    }

    fn pods(&self, client: &Client) -> Api<Pod> {
        Api::namespaced(client.clone(), self.namespace)
    }

    fn owns(&self, pod: &ObjectMeta) -> bool {
        let mut owners = pod.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == self.uid)
    }
}

fn made(pod: &Pod) -> Option<&Time> {
    pod.metadata.creation_timestamp.as_ref()
}

fn selected(selector: &Selector) -> ListParams {
    ListParams::default().labels_from(selector).limit(PAGE)
}

/// That by which the Job's own controller finds its pods. A Job may choose it itself (`manualSelector`), and its pods have no other
/// labels then.
fn selector(job: &Value, uid: &str) -> Selector {
    let chosen = job.pointer("/spec/selector");
    let chosen = chosen.and_then(|selector| LabelSelector::deserialize(selector).ok());
    let chosen = chosen.and_then(|selector| Selector::try_from(selector).ok());
    chosen.unwrap_or_else(|| {
        Expression::Equal("batch.kubernetes.io/controller-uid".to_owned(), uid.to_owned()).into()
    })
}

/// What is left of the pods of a Job that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodsLeft {
    /// Nothing.
    None,
    /// All that are there were told to end.
    Ending,
    /// One was not told to end.
    Some,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_found_by_what_the_job_says_itself() {
        let check = |spec: Value, expect: &str| {
            let selector = selector(&json!({ "spec": spec }), "1");
            assert_eq!(selector.to_string(), expect);
        };
        check(json!({}), "batch.kubernetes.io/controller-uid=1");
        check(
            json!({"selector": {"matchLabels": {"a": "b", "c": ""}}}),
            "a=b,c=",
        );
        check(
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}}),
            "a in (b,c)",
        );
    }
}
