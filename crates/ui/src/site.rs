//! The cluster as somebody sees it: with whose rights, which kinds, and what is known of their resources.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::{Discovery, DiscoveryError, Resource, Served};
use steersman_model::ApiKind;
use steersman_operator::budget::{Budget, Share, Shares};
use steersman_operator::release::Stored;
use steersman_tree::{ReleaseView, Resources, TreeError};
use steersman_watches::{HealthCheck, Watches};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::address::{Kind, Place};
use crate::feed::Feed;
use crate::rows::Row;
use crate::scope::Scope;

/// What all who look share.
#[derive(Debug)]
pub(crate) struct Common {
    memory: Arc<Budget>,
    streams: Arc<Semaphore>,
}

impl Common {
    /// Nothing of it is taken yet.
    pub(crate) fn new(shares: Shares) -> Self {
        Self {
            memory: Arc::new(Budget::new(shares)),
            streams: Arc::new(Semaphore::new(MOST_STREAMS_OF_ALL)),
        }
    }
}

/// The cluster with the rights of somebody. What is watched for it ends with it.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// What the server calls who looks, where that was asked.
    pub(crate) user: Option<String>,
    pub(crate) discovery: Discovery,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) feed: Arc<Feed>,
    common: Arc<Common>,
    /// Who looks at a release takes one of these.
    looks: Arc<Semaphore>,
    /// Who is told of changes takes one of these.
    streams: Arc<Semaphore>,
    taken: Arc<Mutex<Taken>>,
    /// Held by who asks the server that.
    turn: tokio::sync::Mutex<()>,
    _stop: DropGuard,
}

/// So many looks at releases by one user go on at a time.
const MOST_LOOKS: usize = 4;
/// How long one may take.
pub(crate) const LOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// So many tabs of browsers of one user are told of changes at a time.
const MOST_STREAMS: usize = 32;
/// So many of all: half of the connections are for all else.
const MOST_STREAMS_OF_ALL: usize = 256;
/// So often the server is asked whether it takes who looks.
const CHECK: Duration = Duration::from_secs(20);
/// So often where it has refused them, or does not answer.
const CHECK_ANEW: Duration = Duration::from_secs(4);
/// So long a request waits for the answer.
const WAIT: Duration = Duration::from_secs(2);
/// So long an answer counts.
const SILENCE: Duration = Duration::from_mins(1);

/// Whether the server takes who looks, by its last word.
struct Taken {
    asked: Instant,
    answered: Instant,
    /// When the question was put that was answered.
    answered_of: Instant,
    is_refused: bool,
}

impl Taken {
    fn is_silent(&self) -> bool {
        self.answered.elapsed() >= SILENCE
    }

    fn is_known(&self) -> bool {
        !self.is_refused && !self.is_silent()
    }

    fn is_due(&self) -> bool {
        self.asked.elapsed() >= if self.is_known() { CHECK } else { CHECK_ANEW }
    }
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site")
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

/// A resource with the revisions of its release.
pub(crate) struct Found {
    pub(crate) object: DynamicObject,
    pub(crate) revisions: Vec<Stored>,
    /// Why whoever looks may not read the revisions; none is there then.
    pub(crate) denied: Option<TreeError>,
    pub(crate) served: Arc<Served>,
    /// The memory that the revisions take.
    share: Arc<Share>,
}

impl Found {
    /// Gives back the memory that the revisions take.
    pub(crate) fn forget_revisions(&mut self) {
        self.revisions = Vec::new();
        self.share.keep(0);
    }
}

impl Site {
    /// Begins to look at the resources of the kinds of `watches`.
    ///
    /// # Errors
    /// The server does not say which kinds it has, as where it does not know who asks.
    pub(crate) async fn start(
        client: Client,
        watches: &Watches,
        scope: &Scope,
        common: &Arc<Common>,
    ) -> Result<Self, DiscoveryError> {
        let discovery = Discovery::new(client.clone());
        let served = discovery.served().await?;
        let mut kinds = Vec::new();
        for gvk in kinds_of(watches) {
            let api = ApiKind {
                group: gvk.group.clone(),
                version: gvk.version.clone(),
                kind: gvk.kind.clone(),
            };
            if let Some(resource) = served.resource(&api) {
                let name = format!("{}.{}", resource.api.plural, api.group);
                let resource = resource.clone();
                kinds.push(Kind { api, resource, name });
            }
        }
        let stop = CancellationToken::new();
        let resources: Vec<Resource> = kinds.iter().map(|kind| kind.resource.clone()).collect();
        let feed = Feed::start(&client, &resources, scope, &stop);
        Ok(Self {
            client,
            user: None,
            discovery,
            kinds,
            feed,
            common: Arc::clone(common),
            looks: Arc::new(Semaphore::new(MOST_LOOKS)),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            taken: Arc::new(Mutex::new(Taken {
                asked: Instant::now(),
                answered: Instant::now(),
                answered_of: Instant::now(),
                is_refused: false,
            })),
            turn: tokio::sync::Mutex::default(),
            _stop: stop.drop_guard(),
        })
    }

    /// Whether the server still takes who looks: what was seen before stays nobody's who has lost the right to it. A server that does not
    /// answer says nothing about that, and keeps nobody waiting: its last word counts, and for how long [`Site::is_silent`] says.
    pub(crate) async fn is_taken(&self) -> bool {
        let is_settled = {
            let taken = lock(&self.taken);
            taken.is_known() && !taken.is_due()
        };
        if !is_settled {
            // Who comes meanwhile waits for the same answer.
            let _turn = self.turn.lock().await;
            let is_due = lock(&self.taken).is_due();
            if is_due {
                self.ask(WAIT).await;
            }
        }
        !lock(&self.taken).is_refused
    }

    /// Whether the server has said nothing for so long that its last word counts no longer.
    pub(crate) fn is_silent(&self) -> bool {
        lock(&self.taken).is_silent()
    }

    /// Whether what changes may still be told.
    pub(crate) async fn is_open(&self) -> bool {
        self.is_taken().await && !self.is_silent()
    }

    /// Asks the server now whether it takes who looks; `None` where it does not say within `wait`. What it says later counts then.
    pub(crate) async fn ask(&self, wait: Duration) -> Option<bool> {
        lock(&self.taken).asked = Instant::now();
        let (client, taken) = (self.client.clone(), Arc::clone(&self.taken));
        let asked = tokio::spawn(async move {
            let begun = Instant::now();
            let answer = client.apiserver_version().await;
            let mut taken = lock(&taken);
            let is_refused = match answer {
                Ok(_) => false,
                Err(kube::Error::Api(status)) if status.code == 401 => true,
                // Who may not ask is known, but nobody who was refused gets in by that.
                Err(kube::Error::Api(status)) if status.code == 403 => taken.is_refused,
                Err(_) => return None,
            };
            // The answer to a later question may have come before.
            if taken.answered_of <= begun {
                taken.answered_of = begun;
                taken.answered = Instant::now();
                taken.is_refused = is_refused;
            }
            Some(!taken.is_refused)
        });
        tokio::time::timeout(wait, asked).await.ok()?.ok()?
    }

    /// What comes of a look at a release, when it is its turn; `None` where it takes too long.
    pub(crate) async fn look<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let in_turn = async {
            let _turn = self.turn().await;
            work.await
        };
        tokio::time::timeout(LOOK_TIMEOUT, in_turn).await.ok()
    }

    /// Leave to tell somebody of changes, as long as it is held; `None` where too many are told.
    pub(crate) fn stream(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.common.streams).try_acquire_owned().ok()?;
        Some([own, of_all])
    }

    /// The memory for what is read of releases.
    pub(crate) fn memory(&self) -> Arc<Budget> {
        Arc::clone(&self.common.memory)
    }

    /// The kind of a place.
    pub(crate) fn kind(&self, place: &Place) -> Option<&Kind> {
        let mut kinds = self.kinds.iter().filter(|_| place.is_of_names());
        kinds.find(|kind| kind.name == place.kind)
    }

    /// What the list has of a resource now.
    pub(crate) fn row(&self, place: &Place) -> Option<Row> {
        let of = self.kinds.iter().position(|kind| kind.name == place.kind)?;
        let namespace = place.namespace().unwrap_or_default();
        let key = (of, namespace.into(), place.name.as_str().into());
        self.feed.state().rows.get(&key).cloned()
    }

    /// Counts what is under way with that of another one of the same user.
    pub(crate) fn count_with(&mut self, other: &Self) {
        self.looks = Arc::clone(&other.looks);
        self.streams = Arc::clone(&other.streams);
    }

    /// Leave to do something with a release, which is not given up halfway.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.looks.acquire().await.ok()
    }

    /// Whether it is of the same user, as far as that is known.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        self.user.is_some() && self.user == other.user
    }

    /// A resource as it is now.
    pub(crate) async fn object(
        &self,
        kind: &Kind,
        place: &Place,
    ) -> Result<Option<DynamicObject>, RequestError> {
        let resources = kind.resource.objects(&self.client, place.namespace());
        Ok(resources.get_opt(&place.name).await?)
    }

    /// A resource with its revisions; `None` where there is none.
    pub(crate) async fn find(&self, kind: &Kind, place: &Place) -> Result<Option<Found>, TreeError> {
        let Some(object) = self.object(kind, place).await? else {
            return Ok(None);
        };
        let served = self.discovery.served().await?;
        let tree = self.tree(&served);
        let share = Arc::new(self.common.memory.share(0));
        let (revisions, denied) = match tree.revisions(&kind.api, &object, &share).await {
            Ok(revisions) => (revisions, None),
            Err(error) if error.is_denied() => (Vec::new(), Some(error)),
            Err(error) => return Err(error),
        };
        Ok(Some(Found {
            object,
            revisions,
            denied,
            served,
            share,
        }))
    }

    /// What is to be said of a resource that was found.
    pub(crate) async fn view(
        &self,
        kind: &Kind,
        found: &Found,
        checks: &[HealthCheck],
    ) -> Result<ReleaseView, TreeError> {
        let tree = self.tree(&found.served);
        if found.denied.is_some() {
            return tree.judge_by_labels(&kind.api, &found.object, checks).await;
        }
        tree.judge(&kind.api, &found.object, &found.revisions, checks)
            .await
    }

    fn tree<'a>(&'a self, served: &'a Served) -> Resources<'a> {
        Resources {
            client: &self.client,
            served,
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds of entries, each once.
fn kinds_of(watches: &Watches) -> Vec<&GroupVersionKind> {
    let charts = watches.into_iter().map(|watch| &watch.gvk);
    let mut kinds: Vec<&GroupVersionKind> = charts
        .chain(watches.ansible().iter().map(|watch| &watch.gvk))
        .collect();
    kinds.sort_by_key(|gvk| (&gvk.group, &gvk.kind, &gvk.version));
    kinds.dedup();
    kinds
}
