//! The Secrets of releases by their names, learnt from a watch on the metadata of Helm's Secrets.
//!
//! A resource that nobody has dealt with has no revisions as a rule, and asking for them would cost a request for each.
//! It may have some nevertheless: Helm's, those of a resource of its name that was orphaned, or forged ones. And what has
//! revisions is read by name: a list would cost the server all Secrets of the namespace, for each release in it.
//!
//! The watch may lag behind what others write, never behind what this process has written or listed: that is noted here
//! with the answer. Who must not miss anything asks the server, too ([`super::History::load_readable`]).

mod known;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use steersman_cluster::watch_error;
use steersman_model::ReleaseName;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use watched::{Answer, SecretEvent, Watched};

pub use known::Written;

use crate::schedule::in_pages;

/// How many Secrets a page of the list has. It is of metadata, so that more fit into memory than of whole objects.
const INDEX_PAGE: u32 = 250;

/// Which releases have revisions, and in which Secrets. Nothing is watched before somebody asks.
pub struct ReleaseIndex {
    client: Client,
    namespaces: BTreeSet<String>,
    stop: CancellationToken,
    scopes: Mutex<BTreeMap<Scope, Watched>>,
    /// A list has arrived, or a watch has failed.
    changed: Notify,
}

/// The namespace of a watch; `None` for one of them all.
type Scope = Option<String>;

impl std::fmt::Debug for ReleaseIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleaseIndex").finish_non_exhaustive()
    }
}

impl ReleaseIndex {
    /// No watch runs yet. With `namespaces` empty, Secrets are watched in all of them; `stop` ends the watches.
    pub fn new(client: Client, namespaces: BTreeSet<String>, stop: CancellationToken) -> Self {
        Self {
            client,
            namespaces,
            stop,
            scopes: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Whether `release` in `namespace` may have revisions: `true` where that can't be known.
    pub async fn may_have(self: &Arc<Self>, namespace: &str, release: &ReleaseName) -> bool {
        let names = self.secrets_of(namespace, release).await;
        names.is_none_or(|names| !names.is_empty())
    }

    /// The names of the Secrets of `release` in `namespace`, as soon as a list has named them all. `None` where that
    /// can't be known: in namespaces that are not watched, while the watch fails, and where there are too many.
    pub async fn secrets_of(self: &Arc<Self>, namespace: &str, release: &ReleaseName) -> Option<Vec<String>> {
        let scope = self.scope(namespace)?;
        loop {
            let changed = self.changed.notified();
            match self.ask(&scope, namespace, release) {
                Answer::Names(names) => return Some(names),
                Answer::Unknown => return None,
                Answer::Later => self.stop.run_until_cancelled(changed).await?,
            }
        }
    }

    /// What was written of `release` in `namespace`, if the watch has told of all by now.
    pub fn written(&self, namespace: &str, release: &ReleaseName) -> Option<Written> {
        let scope = self.scope(namespace)?;
        self.lock().get(&scope)?.written(namespace, release)
    }

    /// Other namespaces in which a release of this name has Secrets, as far as they are watched, and so many at most.
    pub(super) async fn namespaces_beside(
        self: &Arc<Self>,
        namespace: &str,
        release: &ReleaseName,
        most: usize,
    ) -> Vec<String> {
        // As soon as lists have named them all.
        let mut found = Vec::new();
        if self.namespaces.is_empty() {
            self.secrets_of(namespace, release).await;
            let scopes = self.lock();
            let watched = scopes.get(&None);
            found.extend(
                watched
                    .into_iter()
                    .flat_map(|watched| watched.namespaces_of(release, most)),
            );
        } else {
            for other in &self.namespaces {
                let names = self.secrets_of(other, release).await;
                if names.is_some_and(|names| !names.is_empty()) {
                    found.push(other.clone());
                }
            }
        }
        found.retain(|other| other != namespace);
        found.truncate(most);
        found
    }

    /// Notes that the Secret `name` is there, as an answer has told with its UID; or that it may be, where there was none.
    pub(super) fn note(&self, namespace: &str, release: &ReleaseName, name: &str, uid: Option<&str>) {
        let Some(scope) = self.scope(namespace) else {
            return;
        };
        if let Some(watched) = self.lock().get_mut(&scope) {
            watched.note(namespace, release, name, uid);
        }
    }

    /// The watch that tells of a namespace; `None` where none does.
    fn scope(&self, namespace: &str) -> Option<Scope> {
        if self.namespaces.is_empty() {
            return Some(None);
        }
        self.namespaces
            .contains(namespace)
            .then(|| Some(namespace.to_owned()))
    }

    fn ask(self: &Arc<Self>, scope: &Scope, namespace: &str, release: &ReleaseName) -> Answer {
        let mut scopes = self.lock();
        let Some(watched) = scopes.get(scope) else {
            scopes.insert(scope.clone(), Watched::default());
            tokio::spawn(Arc::clone(self).run(scope.clone()));
            return Answer::Later;
        };
        watched.answer(namespace, release)
    }

    async fn run(self: Arc<Self>, scope: Scope) {
        let stop = self.stop.clone();
        let api: Api<PartialObjectMeta<Secret>> = match &scope {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let config = watcher::Config::default()
            .labels("owner=helm")
            .page_size(INDEX_PAGE);
        let work = in_pages(api, config).for_each(|event| {
            let event = event.map_or_else(
                |error| {
                    // Nothing is lost by it but a list for each release that is read meanwhile.
                    tracing::debug!(
                        error = watch_error(&error),
                        "watch on the Secrets of releases failed"
                    );
                    SecretEvent::Failed
                },
                SecretEvent::from,
            );
            self.observe(&scope, event);
            std::future::ready(())
        });
        stop.run_until_cancelled(work).await;
    }

    fn observe(&self, scope: &Scope, event: SecretEvent) {
        let is_news = self.lock().entry(scope.clone()).or_default().observe(event);
        if is_news {
            self.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Scope, Watched>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
