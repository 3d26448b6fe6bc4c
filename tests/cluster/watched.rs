//! Objects as they change, without asking again and again.

use std::pin::Pin;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;

/// The objects that are selected, each as it is and after each of its changes but its end; without an end.
pub(crate) fn changes(
    api: &Api<DynamicObject>,
    selected: watcher::Config,
) -> Pin<Box<impl Stream<Item = DynamicObject> + use<>>> {
    let events = watcher(api.clone(), selected).default_backoff();
    Box::pin(events.applied_objects().filter_map(async |object| object.ok()))
}

/// An object as it changes.
pub(crate) struct Watched<'a> {
    api: &'a Api<DynamicObject>,
    field: String,
    seen: Value,
    /// From where its changes are to be told.
    from: Option<String>,
    changes: Option<BoxStream<'a, kube::Result<WatchEvent<DynamicObject>>>>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(api: &'a Api<DynamicObject>, name: &str) -> Self {
        Self {
            api,
            field: format!("metadata.name={name}"),
            seen: Value::Null,
            from: None,
            changes: None,
        }
    }

    /// The object as it is, at first at once, and then after its next change, or `within` this time without one; null where it
    /// is not there.
    pub(crate) async fn look(&mut self, within: Duration) -> &Value {
        if self.from.is_none() {
            self.list().await;
            return &self.seen;
        }
        let changes = match (&mut self.changes, &self.from) {
            (Some(changes), _) => changes,
            (none, from) => {
                let parameters = WatchParams::default().fields(&self.field).disable_bookmarks();
                let changes = self.api.watch(&parameters, from.as_deref().unwrap_or("0")).await;
                none.insert(changes.unwrap().boxed())
            }
        };
        match tokio::time::timeout(within, changes.next()).await {
            Err(_) => {}
            Ok(Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)))) => {
                self.seen = serde_json::to_value(object).unwrap();
            }
            Ok(Some(Ok(WatchEvent::Deleted(_)))) => self.seen = Value::Null,
            // The watch has ended, or broken.
            Ok(_) => {
                (self.changes, self.from) = (None, None);
                self.list().await;
            }
        }
        &self.seen
    }

    async fn list(&mut self) {
        let found = self.api.list(&ListParams::default().fields(&self.field)).await;
        let found = match found {
            Ok(list) => {
                self.from = list.metadata.resource_version;
                list.items.into_iter().next()
            }
            // The kind is not defined.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                None
            }
            Err(error) => panic!("{error}"),
        };
        self.seen = found.map_or(Value::Null, |object| serde_json::to_value(object).unwrap());
    }
}
