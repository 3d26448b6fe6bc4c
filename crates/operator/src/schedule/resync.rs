//! Watches that list again from time to time.
//!
//! A watch delivers every event, unless a server, a proxy or a load balancer on the way has a fault of its
//! own. What was left out is then found by the next list.

use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;

use crate::schedule::{jitter, spread};

/// How long a change goes unnoticed at most whose event was never delivered.
pub const RESYNC_PERIOD: Duration = Duration::from_hours(1);

/// The events of a watch that begins anew, with a list, after each `period`. A list that is cut short by that is
/// followed by a whole one.
pub fn resynced<K>(
    api: Api<K>,
    config: watcher::Config,
    period: Duration,
) -> impl Stream<Item = Result<Event<K>, watcher::Error>> + Send
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let rounds = stream::repeat_with(move || {
        let round = spread(period, jitter());
        watcher::watcher(api.clone(), config.clone())
            .default_backoff()
            .take_until(Box::pin(tokio::time::sleep(round)))
            .boxed()
    });
    rounds.flatten()
}
