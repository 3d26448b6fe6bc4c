//! The definitions in a chart's `crds/` folder.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::applier::{Applier, kinds_defined_by};
use super::fields::FIELD_MANAGER;
use super::object::RenderedObject;
use super::request::RequestError;
use crate::discovery::DiscoveryError;

/// How long a definition may take to be in effect.
const ESTABLISH_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A definition could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The server refused a request.
    #[error("failed to {attempt} CustomResourceDefinition {name}")]
    Request {
        /// What was attempted.
        attempt: &'static str,
        /// The definition.
        name: String,
        /// What the server said.
        source: RequestError,
    },
    /// The definition is there but the server does not act on it.
    #[error("CustomResourceDefinition {name} is not established after {} s{}", ESTABLISH_TIMEOUT.as_secs(), detail(reason))]
    NotEstablished {
        /// The definition.
        name: String,
        /// What its conditions say.
        reason: String,
    },
}

fn detail(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

impl Applier {
    /// Creates the definitions that are not there yet, as Helm does at an installation, and
    /// waits until the server acts on all of them. Existing ones are left as they are.
    ///
    /// # Errors
    /// A definition is refused, or not in effect within a minute.
    pub async fn install_crds(&self, objects: &[RenderedObject]) -> Result<bool, CrdError> {
        let mut created = Vec::new();
        let served = self.discovery.served().await?;
        let is_served = |object: &&RenderedObject| {
            let kinds = kinds_defined_by(std::slice::from_ref(*object));
            !kinds.is_empty() && kinds.iter().all(|kind| served.resource(kind).is_some())
        };
        for object in objects.iter().filter(|object| !is_served(object)) {
            let name = object.name.clone();
            let failed = |attempt| {
                let name = name.clone();
                move |error: kube::Error| CrdError::Request {
                    attempt,
                    name,
                    source: error.into(),
                }
            };
            let api = self.definitions();
            if api
                .get_metadata_opt(&name)
                .await
                .map_err(failed("look for"))?
                .is_some()
            {
                continue;
            }
            let mut value = object.value.clone();
            if let Some(map) = value.as_object_mut() {
                map.remove("status");
            }
            let parameters = PatchParams::apply(FIELD_MANAGER);
            api.patch_metadata(&name, &parameters, &Patch::Apply(&value))
                .await
                .map_err(failed("create"))?;
            created.push(name);
        }
        self.wait_established(&created).await?;
        Ok(!created.is_empty())
    }

    /// Creates those of `definitions` again that objects need and the server no longer has.
    ///
    /// # Errors
    /// As [`Applier::install_crds`].
    pub async fn restore_crds(
        &self,
        definitions: &[RenderedObject],
        objects: &[RenderedObject],
    ) -> Result<(), CrdError> {
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let missing: Vec<_> = objects
            .iter()
            .map(|object| &object.api)
            .filter(|api| served.resource(api).is_none())
            .collect();
        let needed = |definition: &&RenderedObject| {
            let kinds = kinds_defined_by(std::slice::from_ref(*definition));
            missing.iter().any(|api| kinds.contains(api))
        };
        let needed: Vec<RenderedObject> = definitions.iter().filter(needed).cloned().collect();
        if self.install_crds(&needed).await? {
            self.discovery.refresh().await?;
        }
        Ok(())
    }

    /// Waits until the server acts on these definitions.
    pub(super) async fn wait_established(&self, names: &[String]) -> Result<(), CrdError> {
        let api = self.definitions();
        for name in names {
            let deadline = tokio::time::Instant::now() + ESTABLISH_TIMEOUT;
            loop {
                let definition = api.get(name).await.map_err(|error| CrdError::Request {
                    attempt: "read",
                    name: name.clone(),
                    source: error.into(),
                })?;
                match establishment(&definition.data) {
                    Ok(()) => break,
                    Err(reason) if tokio::time::Instant::now() >= deadline => {
                        return Err(CrdError::NotEstablished {
                            name: name.clone(),
                            reason,
                        });
                    }
                    Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
                }
            }
        }
        Ok(())
    }

    fn definitions(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let resource = ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions");
        Api::all_with(self.client.clone(), &resource)
    }
}

/// Whether the definition is in effect; else what its conditions say.
fn establishment(definition: &Value) -> Result<(), String> {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let mut reason = String::new();
    for condition in conditions.into_iter().flatten() {
        let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), text("status")) {
            ("Established", "True") => return Ok(()),
            ("NamesAccepted", "False") => text("message").clone_into(&mut reason),
            _ => {}
        }
    }
    Err(reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_in_effect_when_it_is_established() {
        let with = |conditions: Value| establishment(&json!({"status": {"conditions": conditions}}));
        assert_eq!(with(json!([{"type": "Established", "status": "True"}])), Ok(()));
        assert_eq!(
            with(json!([{"type": "NamesAccepted", "status": "False", "message": "taken"}])),
            Err("taken".to_owned())
        );
        assert_eq!(establishment(&json!({})), Err(String::new()));
    }
}
