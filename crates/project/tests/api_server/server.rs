//! The requests of the tests.

use std::time::{Duration, Instant};

use kube::Client;
use serde_json::Value;
use steersman_project::CustomKind;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long the server may take to serve a new kind.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

pub(crate) struct Server(Client);

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    /// Creates a definition, and returns when its resources can be asked for.
    pub(crate) async fn define(&self, name: &str, definition: &Value) -> Result<(), String> {
        let created = self
            .send(
                "POST",
                &format!("{DEFINITIONS}?fieldValidation=Strict"),
                Some(definition),
            )
            .await;
        created.map_err(|error| text(&error))?;
        let begun = Instant::now();
        loop {
            let found = self
                .send("GET", &format!("{DEFINITIONS}/{name}"), None)
                .await
                .map_err(|error| text(&error))?;
            let holds = |kind: &str| {
                let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
                conditions
                    .into_iter()
                    .find(|known| known["type"] == kind && known["status"] == "True")
            };
            if let Some(condition) = holds("NonStructuralSchema") {
                return Err(format!("not structural: {}", condition["message"]));
            }
            if holds("Established").is_some() {
                return Ok(());
            }
            if begun.elapsed() > SERVED_WITHIN {
                return Err("never established".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the server would say of a definition; nothing is stored.
    pub(crate) async fn try_define(&self, definition: &Value) -> Result<(), String> {
        let path = format!("{DEFINITIONS}?dryRun=All");
        let answer = self.send("POST", &path, Some(definition)).await;
        answer.map(|_| ()).map_err(|error| text(&error))
    }

    /// What the server would make of a resource; nothing is stored.
    pub(crate) async fn try_create(&self, kind: &CustomKind, resource: &Value) -> Result<Value, String> {
        let path = format!(
            "/apis/{}/namespaces/default/{}?dryRun=All&fieldValidation=Strict",
            kind.api_version(),
            kind.plural
        );
        let begun = Instant::now();
        loop {
            match self.send("POST", &path, Some(resource)).await {
                // Established a moment ago, and not served yet.
                Err(kube::Error::Api(status)) if status.code == 404 && begun.elapsed() < SERVED_WITHIN => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer.map_err(|error| text(&error)),
            }
        }
    }

    /// Creates something in a collection.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Value, String> {
        let answer = self.send("POST", path, Some(object)).await;
        answer.map_err(|error| text(&error))
    }

    /// Puts something in the place of what is at a path.
    pub(crate) async fn replace(&self, path: &str, object: &Value) -> Result<Value, String> {
        let answer = self.send("PUT", path, Some(object)).await;
        answer.map_err(|error| text(&error))
    }

    /// What is at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        self.send("GET", path, None).await.map_err(|error| text(&error))
    }

    /// Deletes a definition.
    pub(crate) async fn forget(&self, name: &str) {
        let _ = self.send("DELETE", &format!("{DEFINITIONS}/{name}"), None).await;
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, kube::Error> {
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(body)
            .map_err(kube::Error::HttpError)?;
        self.0.request(request).await
    }
}

fn text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
