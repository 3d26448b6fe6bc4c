//! Following the watches: which change wakes whom.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use steersman_cluster::discovery::Resource;
use steersman_cluster::watch_error;
use tokio_util::sync::CancellationToken;

use super::References;
use super::awaited::{Purpose, Scope, Waiter};
use crate::schedule::{RESYNC_PERIOD, resynced};

/// A list has so many objects on a page, of each of which there is the metadata alone.
const PAGE: u32 = 100;
/// A change of what is to get ready is often followed by others: they are looked at together.
const PAUSE: Duration = Duration::from_millis(500);
/// The same of values, which come at once.
const PAUSE_OF_VALUES: Duration = Duration::from_millis(100);
/// How often an object is looked at that can't be watched.
pub(crate) const UNWATCHED: Duration = Duration::from_secs(30);

impl References {
    /// Tells who waits for what `scope` shows of its changes, until `stop`.
    pub(super) async fn follow(self: Arc<Self>, scope: Scope, resource: Resource, stop: CancellationToken) {
        let client = match &scope.account {
            Some(account) => account.client(&self.client),
            None => self.client.clone(),
        };
        let api: Api<PartialObjectMeta<DynamicObject>> =
            resource.objects(&client, Some(scope.namespace.as_str()));
        let mut config = watcher::Config::default().page_size(PAGE);
        if let Some(name) = &scope.name {
            config = config.fields(&format!("metadata.name={name}"));
        }
        let mut events = Box::pin(resynced(api, config, RESYNC_PERIOD));
        let mut list = BTreeSet::new();
        let mut is_failing = false;
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                event = events.next() => event,
            };
            let Some(event) = event else { return };
            match event {
                Ok(event) => {
                    if std::mem::take(&mut is_failing) {
                        self.lock().awaited.note_failing(&scope, false);
                    }
                    self.take_in(&scope, event, &mut list);
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
                        let error = watch_error(&error);
                        tracing::warn!(
                            kind = %scope.api.kind,
                            namespace = scope.namespace,
                            name = scope.name,
                            error,
                            "what is referred to can't be watched, and is looked at from time to time"
                        );
                    }
                    let mut state = self.lock();
                    state.awaited.note_failing(&scope, true);
                    let waiting = state.awaited.waiting(&scope);
                    drop(state);
                    for waiter in waiting {
                        self.dependents.rouse(&waiter.uid, UNWATCHED);
                    }
                }
            }
        }
    }

    fn take_in(
        &self,
        scope: &Scope,
        event: Event<PartialObjectMeta<DynamicObject>>,
        list: &mut BTreeSet<String>,
    ) {
        let mut state = self.lock();
        let woken = match event {
            Event::Init => {
                list.clear();
                Vec::new()
            }
            Event::InitApply(object) => {
                let name = object.metadata.name.unwrap_or_default();
                let woken = state
                    .awaited
                    .show(scope, &name, &object.metadata.resource_version);
                if state.awaited.is_awaited(scope, &name) {
                    list.insert(name);
                }
                woken
            }
            Event::InitDone => state.awaited.list(scope, &std::mem::take(list)),
            Event::Apply(object) => {
                let name = object.metadata.name.unwrap_or_default();
                state
                    .awaited
                    .show(scope, &name, &object.metadata.resource_version)
            }
            Event::Delete(object) => {
                let name = object.metadata.name.unwrap_or_default();
                state.awaited.show(scope, &name, &None)
            }
        };
        drop(state);
        for Waiter { uid, purpose } in woken {
            let pause = match purpose {
                Purpose::Dependency => PAUSE,
                Purpose::Values => PAUSE_OF_VALUES,
            };
            self.dependents.rouse(&uid, pause);
        }
    }
}
