//! What somebody may do, by the word of the server.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Resource;

/// Whether who the client is may do this with a resource, or with any of the kind where no name is given.
///
/// # Errors
/// The server does not say.
pub async fn may(
    client: &Client,
    verb: &str,
    resource: &Resource,
    (namespace, name): (Option<&str>, Option<&str>),
) -> Result<bool, RequestError> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let asked = ResourceAttributes {
        group: Some(resource.api.group.clone()),
        version: Some(resource.api.version.clone()),
        resource: Some(resource.api.plural.clone()),
        verb: Some(verb.to_owned()),
        namespace: namespace.filter(|_| resource.namespaced).map(str::to_owned),
        name: name.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(asked),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let said = reviews.create(&PostParams::default(), &review).await?;
    Ok(said.status.is_some_and(|status| status.allowed))
}

/// Who the client is, as the server calls them; `None` where it does not say.
///
/// # Errors
/// The server does not answer.
pub async fn who(client: &Client) -> Result<Option<String>, RequestError> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let said = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let user = said.status.and_then(|status| status.user_info);
    Ok(user.and_then(|user| user.username))
}
