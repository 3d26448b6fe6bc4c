//! How long an object is gone that somebody has deleted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, WatchEvent, WatchParams};

/// After so many objects that did not come back, no more are deleted.
pub(crate) const MOST_MISSING: usize = 3;

/// How long an object may take to come back.
pub(crate) const BACK_WITHIN: Duration = Duration::from_secs(20);

/// Deletes an object and returns after how many seconds the next of its name was there, or none if it did not come in time.
pub(crate) async fn delete(objects: &Api<DynamicObject>, name: &str) -> Result<Option<f64>> {
    match tokio::time::timeout(BACK_WITHIN, back(objects, name)).await {
        Ok(time) => {
            let time = time.with_context(|| format!("failed to delete {name}"))?;
            Ok(Some(time.as_secs_f64()))
        }
        Err(_) => Ok(None),
    }
}

async fn back(objects: &Api<DynamicObject>, name: &str) -> Result<Duration> {
    let name_is = format!("metadata.name={name}");
    // The object's own version may be too old for the server to remember what followed.
    let found = objects
        .list_metadata(&ListParams::default().fields(&name_is))
        .await?;
    let version = found.metadata.resource_version.unwrap_or_default();
    let selector = WatchParams::default().fields(&name_is);
    let mut events = objects.watch(&selector, &version).await?.boxed();
    let begun = Instant::now();
    objects.delete(name, &DeleteParams::default()).await?;
    while let Some(event) = events.try_next().await? {
        if matches!(event, WatchEvent::Added(_)) {
            return Ok(begun.elapsed());
        }
    }
    anyhow::bail!("the watch has ended")
}
