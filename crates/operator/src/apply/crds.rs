//! The definitions in a chart's `crds/` folder.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_model::{FIELD_MANAGER, RenderedObject};
use steersman_watches::CrdPolicy;

use super::applier::Applier;
use crate::apply::repair::schema::mend;

/// How long a definition may take to be in effect.
pub const ESTABLISH_TIMEOUT: Duration = Duration::from_mins(1);
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
        /// A verb: `look for`, `create`, `replace` or `read`.
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

/// What a dry run has shown of a definition that would be written.
#[derive(Debug)]
pub struct DryRunDefined {
    /// It as it is in the cluster, if it is there.
    pub live: Option<Value>,
    /// It as it would be, or why the server would not take it.
    pub result: Result<Value, CrdError>,
}

fn detail(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

impl Applier {
    /// Installs definitions, those that are there only where `policy` replaces them, and waits until the server acts on
    /// what was written. `true` when anything was.
    ///
    /// # Errors
    /// A definition is refused, or not in effect within a minute.
    pub async fn install_crds(
        &self,
        objects: &[&RenderedObject],
        policy: CrdPolicy,
    ) -> Result<bool, CrdError> {
        let mut written = Vec::new();
        for object in objects {
            if self.install_crd(object, policy).await? {
                written.push(object.name.clone());
            }
        }
        self.wait_established(&written).await?;
        Ok(!written.is_empty())
    }

    /// A definition as it is, and as writing it would leave it; `None` where the one that is there stays by `policy`.
    ///
    /// # Guarantees
    /// Nothing is written.
    ///
    /// # Errors
    /// The one that is there can't be read.
    pub async fn dry_run_crd(
        &self,
        object: &RenderedObject,
        policy: CrdPolicy,
    ) -> Result<Option<DryRunDefined>, CrdError> {
        let live = self.definitions().get_opt(&object.name).await;
        let live = live.map_err(|error| not_found_out(&object.name, error))?;
        let Some(parameters) = parameters(live.is_some(), policy) else {
            return Ok(None);
        };
        let written = self.write_crd(object, &parameters.dry_run()).await;
        Ok(Some(DryRunDefined {
            live: live.map(as_value),
            result: written.map(as_value),
        }))
    }

    /// Whether the definition was written.
    async fn install_crd(&self, object: &RenderedObject, policy: CrdPolicy) -> Result<bool, CrdError> {
        let found = self.definitions().get_metadata_opt(&object.name).await;
        let found = found.map_err(|error| not_found_out(&object.name, error))?;
        let Some(parameters) = parameters(found.is_some(), policy) else {
            return Ok(false);
        };
        let written = self.write_crd(object, &parameters).await?;
        Ok(found.is_none_or(|found| found.metadata.generation != written.metadata.generation))
    }

    /// Sends a definition until the server takes it, each time without what it finds fault with. The answer of a dry run is
    /// whole, and that of a write its metadata.
    async fn write_crd(
        &self,
        object: &RenderedObject,
        parameters: &PatchParams,
    ) -> Result<DynamicObject, CrdError> {
        let api = self.definitions();
        let mut value = without_status(object);
        loop {
            let patch = Patch::Apply(&value);
            let answer = if parameters.dry_run {
                api.patch(&object.name, parameters, &patch).await
            } else {
                let written = api.patch_metadata(&object.name, parameters, &patch).await;
                written.map(|written| DynamicObject {
                    types: written.types,
                    metadata: written.metadata,
                    data: Value::Null,
                })
            };
            let refusal = match answer {
                Ok(written) => return Ok(written),
                Err(error) => RequestError::from(error),
            };
            let mended = mend_definition(&api, &object.name, &value, refusal).await;
            value = mended.map_err(|source| CrdError::Request {
                attempt: if parameters.force { "replace" } else { "create" },
                name: object.name.clone(),
                source,
            })?;
        }
    }

    /// Waits until the server acts on these definitions.
    pub(super) async fn wait_established(&self, names: &[String]) -> Result<(), CrdError> {
        let api = self.definitions();
        for name in names {
            let reason = established(&api, name)
                .await
                .map_err(|source| CrdError::Request {
                    attempt: "read",
                    name: name.clone(),
                    source,
                })?;
            if let Err(reason) = reason {
                return Err(CrdError::NotEstablished {
                    name: name.clone(),
                    reason,
                });
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

/// How a definition is written; `None` where the one that is there stays.
fn parameters(is_there: bool, policy: CrdPolicy) -> Option<PatchParams> {
    let mut parameters = PatchParams::apply(FIELD_MANAGER);
    parameters.force = is_there;
    (!is_there || policy == CrdPolicy::CreateReplace).then_some(parameters)
}

fn not_found_out(name: &str, error: kube::Error) -> CrdError {
    CrdError::Request {
        attempt: "look for",
        name: name.to_owned(),
        source: error.into(),
    }
}

fn as_value(definition: DynamicObject) -> Value {
    serde_json::to_value(definition).unwrap_or_default()
}

fn without_status(definition: &RenderedObject) -> Value {
    let mut value = definition.value.clone();
    if let Some(map) = value.as_object_mut() {
        map.remove("status");
    }
    value
}

/// A definition without what the server finds fault with.
///
/// # Errors
/// `refusal`, if it is about something else.
async fn mend_definition(
    api: &Api<DynamicObject>,
    name: &str,
    value: &Value,
    refusal: RequestError,
) -> Result<Value, RequestError> {
    let mended = mend(api, value, refusal).await?;
    let notes = mended.notes.join("; ");
    tracing::warn!(definition = name, notes, "the chart's definition is mended");
    Ok(mended.value)
}

/// Waits until the server acts on a definition; where it does not within [`ESTABLISH_TIMEOUT`], what its conditions say.
///
/// # Errors
/// The definition can't be read.
pub async fn established(api: &Api<DynamicObject>, name: &str) -> Result<Result<(), String>, RequestError> {
    let deadline = tokio::time::Instant::now() + ESTABLISH_TIMEOUT;
    loop {
        match establishment(&api.get(name).await?.data) {
            Err(_) if tokio::time::Instant::now() < deadline => tokio::time::sleep(POLL_INTERVAL).await,
            end => return Ok(end),
        }
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
