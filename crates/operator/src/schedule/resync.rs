//! Watches that list again from time to time.
//!
//! A watch delivers every event, unless a server, a proxy or a load balancer on the way has a fault of its
//! own. What was left out is then found by the next list.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use steersman_cluster::is_too_large;
use tokio::sync::Notify;

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
        in_pages(api.clone(), config.clone())
            .take_until(Box::pin(tokio::time::sleep(round)))
            .boxed()
    });
    rounds.flatten()
}

/// The events of a watch. Where a page of its list is too large for an answer, the list begins anew with shorter ones.
pub fn in_pages<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = Result<Event<K>, watcher::Error>> + Send
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let size = Arc::new(AtomicU32::new(config.page_size.unwrap_or(u32::MAX)));
    let tries = stream::repeat_with(move || {
        let page = size.load(Ordering::Relaxed);
        let config = watcher::Config {
            page_size: Some(page),
            ..config.clone()
        };
        let (size, shorter) = (Arc::clone(&size), Arc::new(Notify::new()));
        let begin_anew = Arc::clone(&shorter);
        watcher::watcher(api.clone(), config)
            .default_backoff()
            .filter_map(move |event| {
                let is_event = !event.as_ref().is_err_and(|error| page > 1 && is_too_large(error));
                if !is_event {
                    size.store(shorter_page(page), Ordering::Relaxed);
                    shorter.notify_one();
                }
                std::future::ready(is_event.then_some(event))
            })
            .take_until(Box::pin(async move { begin_anew.notified().await }))
            .boxed()
    });
    tries.flatten()
}

/// How many objects the next page has where one of so many is too large.
fn shorter_page(page: u32) -> u32 {
    (page.min(500) / 5).max(1)
}

#[cfg(test)]
mod tests {
    use super::shorter_page;

    #[test]
    fn a_few_tries_lead_to_single_objects() {
        let pages: Vec<u32> = std::iter::successors(Some(250), |page| Some(shorter_page(*page)))
            .take(5)
            .collect();
        assert_eq!(pages, [250, 50, 10, 2, 1]);
        assert_eq!(shorter_page(1), 1);
        assert_eq!(shorter_page(u32::MAX), 100);
    }
}
