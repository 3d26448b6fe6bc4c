//! The world of a rendering in the operator: the clock, the system's randomness, the cluster.

use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use steersman_chart::{Failure, LookupQuery, Timestamp, World};
use steersman_gotemplate::{Map, MapType, Value};
use tokio::runtime::Handle;

use crate::apply::{ApiKind, RequestError};
use crate::discovery::Discovery;

/// Lists are read in pages of this size.
const PAGE: u32 = 500;

/// Answers templates from the cluster. To be used on a thread that may block.
pub struct ClusterWorld {
    client: Client,
    discovery: Arc<Discovery>,
    runtime: Handle,
}

impl std::fmt::Debug for ClusterWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").finish_non_exhaustive()
    }
}

impl ClusterWorld {
    /// A world that asks `client`; requests run on `runtime`.
    pub fn new(client: Client, discovery: Arc<Discovery>, runtime: Handle) -> Self {
        Self {
            client,
            discovery,
            runtime,
        }
    }

    async fn find(&self, query: LookupQuery<'_>) -> Result<serde_json::Value, String> {
        let kind = ApiKind::new(query.api_version, query.kind);
        let served = self
            .discovery
            .served_with([&kind])
            .await
            .map_err(|error| error.to_string())?;
        let Some(resource) = served.resource(&kind) else {
            return Err(format!("unable to get apiresource from unstructured: {kind}"));
        };
        let api: Api<DynamicObject> = if resource.namespaced && !query.namespace.is_empty() {
            Api::namespaced_with(self.client.clone(), query.namespace, &resource.api)
        } else {
            Api::all_with(self.client.clone(), &resource.api)
        };
        if query.name.is_empty() {
            return self
                .list(&api, query)
                .await
                .map_err(|error| RequestError::from(error).to_string());
        }
        if resource.namespaced && query.namespace.is_empty() {
            return Err("an empty namespace may not be set when a resource name is provided".to_owned());
        }
        match api.get_opt(query.name).await {
            Ok(Some(object)) => Ok(serde_json::to_value(object).unwrap_or_default()),
            Ok(None) => Ok(serde_json::json!({})),
            Err(error) => Err(RequestError::from(error).to_string()),
        }
    }

    async fn list(
        &self,
        api: &Api<DynamicObject>,
        query: LookupQuery<'_>,
    ) -> Result<serde_json::Value, kube::Error> {
        let mut parameters = ListParams::default().limit(PAGE);
        let mut items = Vec::new();
        loop {
            let page = api.list(&parameters).await?;
            let token = page.metadata.continue_.clone().filter(|token| !token.is_empty());
            items.extend(page.items.into_iter().map(|mut object| {
                // Items of a list name no type; Helm's do.
                object.types.get_or_insert_with(|| kube::core::TypeMeta {
                    api_version: query.api_version.to_owned(),
                    kind: query.kind.to_owned(),
                });
                serde_json::to_value(object).unwrap_or_default()
            }));
            match token {
                Some(token) => parameters.continue_token = Some(token),
                None => break,
            }
        }
        Ok(serde_json::json!({
            "apiVersion": query.api_version, "kind": format!("{}List", query.kind), "metadata": {}, "items": items,
        }))
    }
}

impl World for ClusterWorld {
    fn now(&self) -> Timestamp {
        let now = jiff::Timestamp::now();
        Timestamp {
            seconds: now.as_second(),
            nanoseconds: now.subsec_nanosecond().unsigned_abs(),
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        // The system's source does not fail once it is seeded, which is before any process of ours.
        if getrandom::fill(buffer).is_err() {
            tracing::error!("the system has no randomness");
        }
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        let found = self.runtime.block_on(self.find(query)).map_err(Failure::new)?;
        Ok(to_value(&found))
    }
}

/// JSON of the server as templates see it: integers are `int64`, as client-go reads them.
fn to_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Int64),
        serde_json::Value::String(text) => Value::string(text.as_str()),
        serde_json::Value::Array(items) => Value::list(items.iter().map(to_value).collect()),
        serde_json::Value::Object(map) => Value::Map(Map::from_entries(
            MapType::Any,
            map.iter().map(|(key, value)| (key.as_str(), to_value(value))),
        )),
    }
}
