//! What is known of all resources: a row of each, kept up to date by watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use futures::StreamExt as _;
use kube::Client;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use steersman_cluster::discovery::Resource;
use steersman_cluster::{watch_error, watch_refusal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::rows::{Key, Row};
use crate::scope::{Listed, Scope};

/// So many resources are in one answer of the server.
const PAGE: u32 = 100;
/// So many rows are kept: what is beyond is said, and not shown.
const MOST: usize = 100_000;

/// Rows of the resources of some kinds.
#[derive(Debug)]
pub(crate) struct Feed {
    state: RwLock<State>,
    /// How often something has changed.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) rows: BTreeMap<Key, Row>,
    /// Of a kind, by its place: why it can't be looked at.
    pub(crate) problems: BTreeMap<usize, String>,
    /// Lists that have not come to their end yet.
    pub(crate) open: usize,
    pub(crate) is_full: bool,
}

impl State {
    fn put(&mut self, key: Key, row: Row) {
        if self.rows.len() >= MOST && !self.rows.contains_key(&key) {
            self.is_full = true;
            return;
        }
        self.rows.insert(key, row);
    }
}

impl Feed {
    /// Watches the resources of some kinds where they may be seen, until `stop`.
    pub(crate) fn start(
        client: &Client,
        kinds: &[Resource],
        scope: &Scope,
        stop: &CancellationToken,
    ) -> Arc<Self> {
        let feed = Arc::new(Self {
            state: RwLock::default(),
            changes: watch::Sender::new(0),
        });
        for (place, kind) in kinds.iter().enumerate() {
            feed.change(|state| state.open += 1);
            let (feed, client, kind) = (Arc::clone(&feed), client.clone(), kind.clone());
            let scope = scope.clone();
            let follow = async move {
                let (lists, is_cut) = scope.lists(&client, &kind).await;
                feed.change(|state| {
                    state.open = state.open + lists.len() - 1;
                    state.is_full |= is_cut;
                });
                let follow = lists.into_iter().map(|list| feed.follow(place, list));
                futures::future::join_all(follow).await;
            };
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(follow).await });
        }
        feed
    }

    /// What is known now.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
        self.changes
            .send_modify(|number| *number = number.wrapping_add(1));
    }

    /// Keeps the rows of one list, of the kind at `place`.
    async fn follow(&self, place: usize, (namespace, api): Listed) {
        let events = watcher(api, watcher::Config::default().page_size(PAGE)).default_backoff();
        let mut events = std::pin::pin!(events);
        let is_of_list = |(kind, of, _): &Key| {
            *kind == place && namespace.as_ref().is_none_or(|namespace| **of == **namespace)
        };
        let mut listed: Option<BTreeSet<Key>> = None;
        let mut is_open = true;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed = Some(BTreeSet::new()),
                Ok(Event::InitApply(object)) => {
                    if let Some(key) = key(place, &object) {
                        listed.get_or_insert_default().insert(key.clone());
                        self.change(|state| state.put(key, Row::of(&object)));
                    }
                }
                Ok(Event::InitDone) => {
                    let listed = listed.take().unwrap_or_default();
                    let was_open = std::mem::take(&mut is_open);
                    self.change(|state| {
                        state
                            .rows
                            .retain(|key, _| !is_of_list(key) || listed.contains(key));
                        state.problems.remove(&place);
                        state.open -= usize::from(was_open);
                    });
                }
                Ok(Event::Apply(object)) => {
                    if let Some(key) = key(place, &object) {
                        self.change(|state| state.put(key, Row::of(&object)));
                    }
                }
                Ok(Event::Delete(object)) => {
                    if let Some(key) = key(place, &object) {
                        self.change(|state| drop(state.rows.remove(&key)));
                    }
                }
                Err(error) => {
                    // Who looks may not look any longer.
                    let is_forbidden = matches!(watch_refusal(&error), Some(401 | 403));
                    let error = watch_error(&error);
                    let was_open = std::mem::take(&mut is_open);
                    self.change(|state| {
                        if is_forbidden {
                            state.rows.retain(|key, _| !is_of_list(key));
                        }
                        state.problems.insert(place, error);
                        state.open -= usize::from(was_open);
                    });
                }
            }
        }
    }
}

fn key(place: usize, object: &DynamicObject) -> Option<Key> {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    Some((place, namespace.into(), object.metadata.name.as_deref()?.into()))
}
