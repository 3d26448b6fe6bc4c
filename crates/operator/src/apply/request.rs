//! The requests that write or delete one object, and the one that looks for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;
use steersman_watches::ConflictPolicy;

/// A resource version that no object has which anybody applies: the server compares it with that of the object
/// where there is one, and leaves it out of consideration where there is none.
const ABSENT: &str = "1";

/// An object that is there, under the UID that it had when it was found.
#[derive(Clone, Copy)]
pub(super) struct Existing<'a> {
    pub(super) api: &'a Api<DynamicObject>,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

impl Existing<'_> {
    /// Applies `value` to this object; one that has taken its name meanwhile has another UID, and the request is refused.
    pub(super) async fn apply(
        self,
        value: &Value,
        conflicts: ConflictPolicy,
    ) -> Result<ObjectMeta, RequestError> {
        let mut value = value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("uid".to_owned(), self.uid.into());
        }
        let mut parameters = PatchParams::apply(FIELD_MANAGER);
        parameters.force = conflicts == ConflictPolicy::Overwrite;
        let patch = Patch::Apply(&value);
        let answer = self.api.patch_metadata(self.name, &parameters, &patch).await;
        of_object(answer?.metadata)
    }
}

/// Applies `value` as a new object. Should there be one of this name, it stays as it is and the
/// request is refused as a conflict.
pub(crate) async fn apply_new(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
) -> Result<ObjectMeta, RequestError> {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), ABSENT.into());
    }
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let answer = api.patch_metadata(name, &parameters, &Patch::Apply(&value)).await;
    of_object(answer?.metadata)
}

/// The metadata of the object of this name, if there is one. Where the kind is gone, so is the
/// object.
pub(crate) async fn find(api: &Api<DynamicObject>, name: &str) -> Result<Option<ObjectMeta>, RequestError> {
    match api.get_metadata_opt(name).await.map_err(RequestError::from) {
        Ok(object) => Ok(object.map(|object| object.metadata)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Asks for the deletion of the object of this name, as it was when somebody looked: `preconditions` say its UID, and the
/// version in which nothing spoke against it.
pub(crate) async fn delete(
    api: &Api<DynamicObject>,
    name: &str,
    preconditions: Preconditions,
    policy: PropagationPolicy,
) -> Result<(), RequestError> {
    let parameters = DeleteParams {
        propagation_policy: Some(policy),
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    api.delete(name, &parameters).await?;
    Ok(())
}

/// The metadata, if it is that of an object: whatever stands between us and the server may answer, too.
fn of_object(metadata: ObjectMeta) -> Result<ObjectMeta, RequestError> {
    if metadata.uid.is_none() {
        return Err(RequestError::local("the server's answer is no object"));
    }
    Ok(metadata)
}
