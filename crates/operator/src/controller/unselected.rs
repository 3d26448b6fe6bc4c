//! Custom resources that stopped matching the selector while nobody watched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::SelectorExt;
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use tokio::sync::mpsc;

use super::adapter::Followed;
use crate::reconcile::SELECTOR_ANNOTATION;
use crate::schedule::{backoff, jitter};

/// Under which selectors an operator adds its finalizer to the custom resources of a kind.
pub(super) struct SelectorHistory {
    pub(super) followed: Followed,
    /// Those that the watch had before, as far as this process and the lease remember them.
    pub(super) former: BTreeSet<String>,
}

/// Sends every custom resource of `api` that has this operator's finalizer and that its selector does not match.
/// Nothing but metadata is read, a page at a time. A server that refuses is asked again.
pub(super) async fn find_unselected(
    api: Api<DynamicObject>,
    selectors: SelectorHistory,
    found: mpsc::UnboundedSender<ObjectMeta>,
) {
    let mut failures = 0;
    let from_the_start = || Pages::of(&api, ListParams::default());
    let mut pages = from_the_start();
    loop {
        match pages.next_metadata().await {
            Ok(Some(page)) => {
                failures = 0;
                let all = page.into_iter();
                for metadata in all.filter(|metadata| is_unselected(metadata, &selectors)) {
                    // The receiver is gone when the controller stops.
                    let _ = found.send(metadata);
                }
            }
            Ok(None) => return,
            Err(error) => {
                failures += 1;
                // The continuation may have expired.
                pages = from_the_start();
                let error = RequestError::from(error);
                tracing::warn!(%error, "failed to look for resources that no longer match the selector, trying again");
                tokio::time::sleep(backoff(failures, jitter()).max(Duration::from_secs(1))).await;
            }
        }
    }
}

fn is_unselected(metadata: &ObjectMeta, SelectorHistory { followed, former }: &SelectorHistory) -> bool {
    let selector = &followed.selector;
    let nothing = BTreeMap::new();
    let annotations = metadata.annotations.as_ref().unwrap_or(&nothing);
    let added_under = annotations
        .get(SELECTOR_ANNOTATION)
        .map(String::as_str)
        .unwrap_or_default();
    followed.has_finalizer(metadata)
        && (added_under == selector.to_string() || former.contains(added_under))
        && !selector.matches(metadata.labels.as_ref().unwrap_or(&nothing))
}

#[cfg(test)]
mod tests {
    use kube::core::Selector;
    use serde_json::json;

    use super::*;
    use crate::reconcile::FINALIZER;

    #[test]
    fn only_a_finalizer_of_the_operator_makes_a_resource_unselected() {
        let selector = Selector::from_iter([("team".to_owned(), "a".to_owned())]);
        let check_with =
            |former: &[&str], finalizer: &str, held_under: Option<&str>, team: &str, expect: bool| {
                let selectors = SelectorHistory {
                    followed: Followed {
                        selector: selector.clone(),
                        ..Followed::of_test()
                    },
                    former: former.iter().map(|&selector| selector.to_owned()).collect(),
                };
                let annotations: BTreeMap<_, _> = held_under
                    .map(|held| (SELECTOR_ANNOTATION, held))
                    .into_iter()
                    .collect();
                let metadata = json!({"finalizers": [finalizer], "labels": {"team": team},
                "annotations": annotations});
                let metadata = serde_json::from_value(metadata).unwrap();
                assert_eq!(is_unselected(&metadata, &selectors), expect, "{metadata:?}");
            };
        let check = |finalizer: &str, held_under: &str, team: &str, expect: bool| {
            check_with(&[], finalizer, Some(held_under), team, expect);
        };
        check(FINALIZER, "team=a", "b", true);
        check(FINALIZER, "team=a", "a", false);
        check(FINALIZER, "team=b", "b", false);
        check("example.com/other", "team=a", "b", false);
        check_with(&["team=b"], FINALIZER, Some("team=b"), "b", true);
        check_with(&["team=b"], FINALIZER, Some("team=b"), "a", false);
        check_with(&["team=b"], FINALIZER, Some("team=c"), "b", false);
        check_with(&["team=b"], FINALIZER, None, "b", false);
        check_with(&[""], FINALIZER, None, "b", true);
        check_with(&[""], "example.com/other", None, "b", false);
    }
}
