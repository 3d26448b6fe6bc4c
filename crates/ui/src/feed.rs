//! What is known of all resources: a row of each, kept up to date by watches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, DefaultBackoff, Event};
use steersman_cluster::discovery::Resource;
use steersman_cluster::{watch_error, watch_refusal};
use steersman_operator::schedule::in_pages;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::rows::{Key, Row};
use crate::scope::{Scope, may_list};

/// So many resources are in one answer of the server, or fewer where that is too large.
const PAGE: u32 = 500;
/// So often it is asked whether a list that is watched may still be listed.
const CHECK: Duration = Duration::from_secs(30);
/// So many rows are kept: what is beyond is said, and not shown.
const MOST: usize = 100_000;
/// A watch that has lasted so long was a good one: after its end it is not waited for long.
const GOOD: Duration = Duration::from_secs(30);

/// A list: the place of its kind, and the namespace that it is of alone.
type Part = (usize, Option<String>);

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
    pub(crate) problems: BTreeMap<usize, Problems>,
    /// Lists that have not come to their end yet.
    pub(crate) open: usize,
    pub(crate) is_full: bool,
}

/// Why lists of a kind can't be looked at, by their namespaces.
#[derive(Debug, Default)]
pub(crate) struct Problems(BTreeMap<Option<String>, String>);

impl fmt::Display for Problems {
    /// One stands for all: mostly they say the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.values().next().map_or("", String::as_str))?;
        match self.0.len() {
            0 | 1 => Ok(()),
            number => write!(f, "; nor in other namespaces: {}", number - 1),
        }
    }
}

impl State {
    fn fail(&mut self, (place, namespace): &Part, why: String) {
        let problems = self.problems.entry(*place).or_default();
        problems.0.insert(namespace.clone(), why);
    }

    fn mend(&mut self, (place, namespace): &Part) {
        if let Some(problems) = self.problems.get_mut(place) {
            problems.0.remove(namespace);
            if problems.0.is_empty() {
                self.problems.remove(place);
            }
        }
    }

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
            let look = async move { feed.look(place, (&client, &kind, &scope)).await };
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(look).await });
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

    /// Follows the lists of the kind at `place`, as soon as the server says which ones there are for who looks.
    async fn look(&self, place: usize, (client, kind, scope): (&Client, &Resource, &Scope)) {
        let whole = (place, None);
        let mut backoff = DefaultBackoff::default();
        let (lists, is_cut) = loop {
            match scope.lists(client, kind).await {
                Ok(found) => break found,
                Err(error) => self.change(|state| state.fail(&whole, error.to_string())),
            }
            pause(&mut backoff).await;
        };
        self.change(|state| {
            state.mend(&whole);
            state.open = state.open + lists.len() - 1;
            state.is_full |= is_cut;
        });
        let follow = lists
            .into_iter()
            .map(|(namespace, api)| self.follow((place, namespace), api));
        futures::future::join_all(follow).await;
    }

    /// Keeps the rows of one list. After an error it is listed anew: a watch that is resumed says neither that it is well again, nor what
    /// was there before.
    async fn follow(&self, part: Part, api: Api<DynamicObject>) {
        let mut backoff = DefaultBackoff::default();
        let mut is_open = true;
        loop {
            let begun = Instant::now();
            let Err(error) = self.keep(&part, &api, &mut is_open).await else {
                continue;
            };
            // Who looks may not look any longer. Where a watch alone is refused, the list says next what they may.
            let is_forbidden = matches!(error, watcher::Error::InitialListFailed(_))
                && matches!(watch_refusal(&error), Some(401 | 403));
            let was_open = std::mem::take(&mut is_open);
            self.change(|state| {
                if is_forbidden {
                    state.rows.retain(|key, _| !is_of(key, &part));
                }
                state.fail(&part, watch_error(&error));
                state.open -= usize::from(was_open);
            });
            if begun.elapsed() >= GOOD {
                backoff = DefaultBackoff::default();
            }
            pause(&mut backoff).await;
        }
    }

    /// Lists and watches until there is an error, or who looks may not list any longer: a watch that has begun goes on for minutes
    /// then.
    async fn keep(
        &self,
        part: &Part,
        api: &Api<DynamicObject>,
        is_open: &mut bool,
    ) -> Result<(), watcher::Error> {
        let mut check = tokio::time::interval_at(Instant::now() + CHECK, CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let events = in_pages(api.clone(), watcher::Config::default().page_size(PAGE));
        let mut events = std::pin::pin!(events);
        let mut listed: BTreeSet<Key> = BTreeSet::new();
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = check.tick() => match may_list(api).await {
                    Ok(false) => return Ok(()),
                    // An error that passes says nothing of it.
                    Ok(true) | Err(_) => continue,
                },
            };
            let Some(event) = event else { return Ok(()) };
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    if let Some(key) = key(part.0, &object) {
                        listed.insert(key.clone());
                        self.change(|state| state.put(key, Row::of(&object)));
                    }
                }
                Ok(Event::InitDone) => {
                    let listed = std::mem::take(&mut listed);
                    let was_open = std::mem::take(is_open);
                    self.change(|state| {
                        state
                            .rows
                            .retain(|key, _| !is_of(key, part) || listed.contains(key));
                        state.mend(part);
                        state.open -= usize::from(was_open);
                    });
                }
                Ok(Event::Apply(object)) => {
                    if let Some(key) = key(part.0, &object) {
                        self.change(|state| state.put(key, Row::of(&object)));
                    }
                }
                Ok(Event::Delete(object)) => {
                    if let Some(key) = key(part.0, &object) {
                        self.change(|state| drop(state.rows.remove(&key)));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits before another try.
async fn pause(backoff: &mut DefaultBackoff) {
    tokio::time::sleep(backoff.next().unwrap_or(GOOD)).await;
}

fn is_of((kind, of, _): &Key, (place, namespace): &Part) -> bool {
    kind == place && namespace.as_ref().is_none_or(|namespace| **of == **namespace)
}

fn key(place: usize, object: &DynamicObject) -> Option<Key> {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    Some((place, namespace.into(), object.metadata.name.as_deref()?.into()))
}
