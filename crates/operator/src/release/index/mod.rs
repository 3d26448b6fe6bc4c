//! Which releases have revisions, learnt from a watch on the metadata of Helm's Secrets.
//!
//! A resource that nobody has dealt with has no revisions as a rule, and asking for them would cost a request for each.
//! It may have some nevertheless: Helm's, those of a resource of its name that was orphaned, or forged ones.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use steersman_cluster::client::PAGE;
use steersman_cluster::watch_error;
use steersman_model::ReleaseName;
use tokio_util::sync::CancellationToken;

/// Which releases have revisions. Nothing is watched before somebody asks.
pub struct ReleaseIndex {
    client: Client,
    namespaces: BTreeSet<String>,
    stop: CancellationToken,
    scopes: Mutex<BTreeMap<Scope, Found>>,
}

/// The namespace of a watch; `None` for one of them all.
type Scope = Option<String>;

/// A release's namespace and name, as a number. Two of the same number cost a request, no more.
type Key = u64;

#[derive(Default)]
struct Found {
    /// Absent until the first list has arrived.
    releases: Option<BTreeSet<Key>>,
    /// What the list that is arriving has named so far.
    arriving: BTreeSet<Key>,
}

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
        }
    }

    /// Whether `release` in `namespace` may have revisions. `true` as long as that is not known: until the watch has
    /// listed all Secrets, where it may not, and in namespaces that are not watched.
    pub fn may_have(self: &Arc<Self>, namespace: &str, release: &ReleaseName) -> bool {
        let scope = if self.namespaces.is_empty() {
            None
        } else if self.namespaces.contains(namespace) {
            Some(namespace.to_owned())
        } else {
            return true;
        };
        let mut scopes = self.lock();
        let Some(found) = scopes.get(&scope) else {
            scopes.insert(scope.clone(), Found::default());
            tokio::spawn(Arc::clone(self).run(scope));
            return true;
        };
        let key = key(namespace, release.as_str());
        found
            .releases
            .as_ref()
            .is_none_or(|releases| releases.contains(&key))
    }

    async fn run(self: Arc<Self>, scope: Scope) {
        let stop = self.stop.clone();
        let api: Api<PartialObjectMeta<Secret>> = match &scope {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let config = watcher::Config::default().labels("owner=helm").page_size(PAGE);
        let events = watcher::watcher(api, config).default_backoff();
        let work = events.for_each(|event| {
            match event {
                Ok(event) => self.observe(&scope, event.into()),
                Err(error) => {
                    // Nothing is lost by it but a request for each new resource.
                    tracing::debug!(
                        error = watch_error(&error),
                        "watch on the Secrets of releases failed"
                    );
                }
            }
            std::future::ready(())
        });
        stop.run_until_cancelled(work).await;
    }

    fn observe(&self, scope: &Scope, event: SecretEvent) {
        let mut scopes = self.lock();
        let found = scopes.entry(scope.clone()).or_default();
        match event {
            SecretEvent::ListBegins => found.arriving.clear(),
            SecretEvent::Listed(key) => found.arriving.extend(key),
            SecretEvent::ListEnds => found.releases = Some(std::mem::take(&mut found.arriving)),
            // One that is deleted may not have been the last.
            SecretEvent::Written(key) => {
                if let Some(releases) = &mut found.releases {
                    releases.extend(key);
                }
            }
            SecretEvent::Deleted => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Scope, Found>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an event of the watch says.
enum SecretEvent {
    ListBegins,
    Listed(Option<Key>),
    ListEnds,
    Written(Option<Key>),
    Deleted,
}

impl From<Event<PartialObjectMeta<Secret>>> for SecretEvent {
    fn from(event: Event<PartialObjectMeta<Secret>>) -> Self {
        match event {
            Event::Init => Self::ListBegins,
            Event::InitApply(secret) => Self::Listed(key_of(&secret.metadata)),
            Event::InitDone => Self::ListEnds,
            Event::Apply(secret) => Self::Written(key_of(&secret.metadata)),
            Event::Delete(_) => Self::Deleted,
        }
    }
}

/// The release whose Secret has these labels.
fn key_of(metadata: &ObjectMeta) -> Option<Key> {
    let release = metadata.labels.as_ref()?.get("name")?;
    Some(key(metadata.namespace.as_deref()?, release))
}

fn key(namespace: &str, release: &str) -> Key {
    let mut hasher = DefaultHasher::new();
    (namespace, release).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(namespace: &str, release: &str) -> ObjectMeta {
        ObjectMeta {
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([("name".to_owned(), release.to_owned())])),
            ..ObjectMeta::default()
        }
    }

    #[tokio::test]
    async fn a_release_is_known_to_have_none_once_all_are_listed() {
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let stop = CancellationToken::new();
        let index = Arc::new(ReleaseIndex::new(client, BTreeSet::new(), stop.clone()));
        let may_have = |namespace: &str, release: &str| {
            let release = ReleaseName::new(release.to_owned()).unwrap();
            index.may_have(namespace, &release)
        };
        let listed = |release: &str| SecretEvent::Listed(key_of(&metadata("a", release)));
        assert!(may_have("a", "shop"));
        index.observe(&None, SecretEvent::ListBegins);
        index.observe(&None, listed("shop"));
        assert!(may_have("a", "other"), "the list is not complete");
        index.observe(&None, SecretEvent::ListEnds);
        assert!(may_have("a", "shop") && !may_have("b", "shop") && !may_have("a", "other"));
        index.observe(&None, SecretEvent::Written(key_of(&metadata("b", "shop"))));
        index.observe(&None, SecretEvent::Deleted);
        assert!(may_have("b", "shop"));
        // The watch begins anew.
        index.observe(&None, SecretEvent::ListBegins);
        index.observe(&None, listed("other"));
        assert!(may_have("a", "shop"));
        index.observe(&None, SecretEvent::ListEnds);
        assert!(may_have("a", "other") && !may_have("a", "shop"));
        stop.cancel();
    }

    #[tokio::test]
    async fn nothing_is_known_of_namespaces_that_are_not_watched() {
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let stop = CancellationToken::new();
        let watched = BTreeSet::from(["a".to_owned()]);
        let index = Arc::new(ReleaseIndex::new(client, watched, stop.clone()));
        let release = ReleaseName::new("shop".to_owned()).unwrap();
        assert!(index.may_have("a", &release));
        let scope = Some("a".to_owned());
        index.observe(&scope, SecretEvent::ListBegins);
        index.observe(&scope, SecretEvent::ListEnds);
        assert!(!index.may_have("a", &release));
        assert!(index.may_have("b", &release));
        stop.cancel();
    }
}
