//! Those who are known by a token of the cluster: each sees it with the rights of that token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steersman_cluster::client::{ConnectError, SharedMemory, connect_by_token};
use steersman_model::chain;
use steersman_operator::budget::Shares;
use steersman_tree::who;
use steersman_watches::Watches;
use tokio::time::Instant;

use super::secret::{Kept, kept, make_room, make_room_among_all, secret};
use super::sessions::Session;
use crate::scope::Scope;
use crate::site::{Common, Site};

/// How long what is known for a token is kept that nobody uses.
const IDLE: Duration = Duration::from_mins(10);
/// For so many tokens at a time.
const MOST: usize = 64;
/// For so many of one user.
const MOST_OF_ONE: usize = 8;
/// How long the server may take to say at a login whether it takes a token.
const ANSWER: Duration = Duration::from_secs(10);
/// A token is at most so long, in bytes.
const LONGEST: usize = 16 * 1024;

const UNANSWERED: &str = "the API server does not answer";

/// The cluster for each token. Tokens themselves are kept by their clients alone.
pub(crate) struct Tokens {
    base: kube::Config,
    /// For all answers of the server.
    answers: SharedMemory,
    /// For what is read of releases, and who is told of changes.
    common: Arc<Common>,
    /// Nobody else knows it.
    secret: String,
    known: Mutex<BTreeMap<Kept, (Instant, Arc<Site>)>>,
}

impl Tokens {
    /// For who is at this cluster; whom the configuration names does not count.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn new(base: kube::Config, shares: Shares) -> Result<Self, getrandom::Error> {
        Ok(Self {
            base,
            answers: SharedMemory::new(shares.answers),
            common: Arc::new(Common::new(shares)),
            secret: secret()?,
            known: Mutex::default(),
        })
    }

    /// The session of who sends a token with each request. A proxy sends another one from time to time: a form of somebody is theirs
    /// still.
    pub(crate) fn session(&self, site: Arc<Site>, token: &str) -> Session<Arc<Site>> {
        let own = site.user.as_ref().map(|user| format!("{} {user}", self.secret));
        let form = own.unwrap_or_else(|| token.to_owned());
        Session::new(site, &form)
    }

    /// The cluster for a session that begins by a token, which the server takes now. What is known for one that nobody uses is looked at
    /// anew, as rights may have come since.
    ///
    /// # Errors
    /// As [`Tokens::site`].
    pub(crate) async fn begin(
        &self,
        token: &str,
        watches: &Watches,
        scope: &Scope,
    ) -> Result<Arc<Site>, String> {
        let key = kept(token.trim());
        self.lock()
            .retain(|known, (_, site)| *known != key || Arc::strong_count(site) > 1);
        let site = self.site(token, watches, scope).await?;
        match site.ask(ANSWER).await {
            Some(true) => Ok(site),
            Some(false) => Err("401 Unauthorized".to_owned()),
            None => Err(UNANSWERED.to_owned()),
        }
    }

    /// The cluster for a token. Whoever has it shares what is watched.
    ///
    /// # Errors
    /// The server does not take it; why, for people.
    pub(crate) async fn site(
        &self,
        token: &str,
        watches: &Watches,
        scope: &Scope,
    ) -> Result<Arc<Site>, String> {
        let token = token.trim();
        if token.is_empty() || token.len() > LONGEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it is no token".to_owned());
        }
        let key = kept(token);
        if let Some(site) = self.known(&key) {
            return Ok(site);
        }
        let client = connect_by_token(&self.base, token.to_owned(), &self.answers).await;
        let client = client.map_err(|error| refusal(&error))?;
        let user = who(&client).await.ok().flatten();
        let site = Site::start(client, watches, scope, &self.common).await;
        let mut site = site.map_err(|error| chain(&error))?;
        site.user = user;
        let mut known = self.lock();
        let mut others = known.values().map(|(_, other)| other);
        if let Some(other) = others.find(|other| site.is_of_same(other)) {
            site.count_with(other);
        }
        let site = Arc::new(site);
        make_room(&mut known, MOST_OF_ONE, |other| site.is_of_same(other));
        make_room_among_all(&mut known, MOST, |one, other| one.is_of_same(other));
        let (_, site) = known.entry(key).or_insert((Instant::now(), site));
        Ok(Arc::clone(site))
    }

    fn known(&self, key: &Kept) -> Option<Arc<Site>> {
        let mut known = self.lock();
        // Sessions and streams hold what they look at.
        known.retain(|_, (used, site)| Arc::strong_count(site) > 1 || used.elapsed() < IDLE);
        let (used, site) = known.get_mut(key)?;
        *used = Instant::now();
        Some(Arc::clone(site))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Kept, (Instant, Arc<Site>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a token does not count, for who has no session: where the API server is, is not theirs to know.
fn refusal(error: &ConnectError) -> String {
    if let ConnectError::Refused { reason, .. } = error {
        return reason.clone();
    }
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "failed to ask the API server about a token"
    );
    UNANSWERED.to_owned()
}
