//! Waiting for the kind of a watch.

use std::time::Duration;

use kube::core::GroupVersionKind;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Resource;

use crate::context::Context;
use crate::dependents::ExpectedResources;

/// How often a kind that is not served is looked for.
const KIND_POLL: Duration = Duration::from_secs(2);

/// Looks for the kind until the server serves it. Nothing of it is expected any longer where it does not do so yet.
pub(super) async fn wait_for_kind(
    context: &Context,
    gvk: &GroupVersionKind,
    expected: &mut Option<ExpectedResources>,
) -> Option<Resource> {
    let mut logged_reason = String::new();
    loop {
        let reason = match kube::discovery::pinned_kind(&context.client, gvk).await {
            Ok((api, capabilities)) => {
                let namespaced = capabilities.scope == kube::discovery::Scope::Namespaced;
                let mut parts = capabilities.subresources.iter();
                let has_status = parts.any(|(part, _)| part.plural == "status");
                return Some(Resource {
                    api,
                    namespaced,
                    has_status,
                });
            }
            Err(kube::Error::Discovery(_)) => not_served(),
            Err(error) => match RequestError::from(error) {
                error if error.is_not_found() => not_served(),
                error => error.to_string(),
            },
        };
        *expected = None;
        context.readiness.waiting(gvk, reason.clone());
        if logged_reason != reason {
            tracing::warn!(group = %gvk.group, version = %gvk.version, kind = %gvk.kind, reason, "resource can't be watched yet");
            logged_reason = reason;
        }
        tokio::time::sleep(KIND_POLL).await;
    }
}

fn not_served() -> String {
    "the API server does not serve it; waiting for its CustomResourceDefinition".to_owned()
}
