//! What the API server lets its client do.

mod missing;

use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use steersman_project::rbac::Rule;

use crate::apply::RequestError;
pub(crate) use missing::tell_missing;

/// What a client may do is not known.
#[derive(Debug, thiserror::Error)]
pub enum PermissionsError {
    /// The server does not answer.
    #[error("failed to ask the API server for the permissions")]
    Request(#[source] RequestError),
    /// There are other authorizers than RBAC, which can't be asked.
    #[error("the API server does not know all permissions{}", detail(.0))]
    Incomplete(String),
}

fn detail(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

/// All rules that hold for the client in a namespace, those for the whole cluster among them. One request.
///
/// # Errors
/// The server does not answer, or says that it does not know all of them.
pub async fn of_self(client: &Client, namespace: &str) -> Result<Vec<Rule>, PermissionsError> {
    let api: Api<SelfSubjectRulesReview> = Api::all(client.clone());
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec {
            namespace: Some(namespace.to_owned()),
        },
        ..SelfSubjectRulesReview::default()
    };
    let answer = api.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(|error| PermissionsError::Request(error.into()))?;
    let status = answer.status.unwrap_or_default();
    if status.incomplete {
        return Err(PermissionsError::Incomplete(
            status.evaluation_error.unwrap_or_default(),
        ));
    }
    let rule = |rule: k8s_openapi::api::authorization::v1::ResourceRule| Rule {
        api_groups: rule.api_groups.unwrap_or_default(),
        resources: rule.resources.unwrap_or_default(),
        resource_names: rule.resource_names.unwrap_or_default(),
        verbs: rule.verbs,
        ..Rule::default()
    };
    Ok(status.resource_rules.into_iter().map(rule).collect())
}
