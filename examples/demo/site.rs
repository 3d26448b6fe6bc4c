//! The custom resource of the demo, and what the operator says about it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::screen::Screen;

/// How often the status is looked at.
const EVERY: Duration = Duration::from_millis(200);

/// One VisitorsSite.
pub(crate) struct Site {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Site {
    pub(crate) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("example.com", "v1alpha1", "VisitorsSite");
        let resource = ApiResource::from_gvk_with_plural(&kind, "visitorssites");
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(crate) async fn get(&self) -> Result<DynamicObject> {
        Ok(self.api().get(&self.name).await?)
    }

    /// Waits for the condition Deployed, and shows on the way what Ready says.
    pub(crate) async fn wait_until_deployed(&self, within: Duration, screen: &Screen) -> Result<()> {
        let begun = Instant::now();
        let mut said = String::new();
        loop {
            let site = self.get().await?;
            let now = summary(&site);
            if !now.is_empty() && now != said {
                screen.waiting("release", &now);
                said = now;
            }
            if is_true(&site, "Deployed") && observed(&site) {
                return Ok(());
            }
            if begun.elapsed() > within {
                bail!("the release is not deployed after {within:?}: {said}");
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Whether the condition of this type is True.
pub(crate) fn is_true(object: &DynamicObject, condition: &str) -> bool {
    find(object, condition).is_some_and(|found| found["status"] == "True")
}

/// The condition Ready as a line.
pub(crate) fn summary(object: &DynamicObject) -> String {
    let Some(ready) = find(object, "Ready") else {
        return String::new();
    };
    let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
    format!("Ready={} {}: {}", text("status"), text("reason"), text("message"))
}

/// Whether the status speaks of the newest spec.
fn observed(object: &DynamicObject) -> bool {
    object.data["status"]["observedGeneration"].as_i64() == object.metadata.generation
}

fn find<'a>(object: &'a DynamicObject, condition: &str) -> Option<&'a Value> {
    object.data["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|found| found["type"] == condition)
}
