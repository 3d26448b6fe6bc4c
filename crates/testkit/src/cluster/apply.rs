//! Applying an object as kubectl does, by a client.

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use serde_json::Value;

use super::error::ControlPlaneError;

/// Whom kubectl names as the manager of fields.
const MANAGER: &str = "kubectl";

/// Applies an object, or those of a `List`.
pub(super) async fn apply(client: &Client, object: &Value) -> Result<(), ControlPlaneError> {
    if object["kind"] != "List" {
        return apply_one(client, object).await;
    }
    for item in object["items"].as_array().into_iter().flatten() {
        apply_one(client, item).await?;
    }
    Ok(())
}

async fn apply_one(client: &Client, object: &Value) -> Result<(), ControlPlaneError> {
    let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let failed = |source| ControlPlaneError::Request {
        attempt: format!("apply {kind} {name}"),
        source: Box::new(source),
    };
    let (group, version) = text("/apiVersion")
        .split_once('/')
        .unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, kind);
    let (resource, capabilities) = pinned_kind(client, &kind).await.map_err(failed)?;
    let api: Api<DynamicObject> = match (capabilities.scope, text("/metadata/namespace")) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
        (Scope::Namespaced, "") => Api::default_namespaced_with(client.clone(), &resource),
        (Scope::Namespaced, namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let parameters = PatchParams::apply(MANAGER).force();
    let applied = api.patch(name, &parameters, &Patch::Apply(object)).await;
    applied.map(drop).map_err(failed)
}
