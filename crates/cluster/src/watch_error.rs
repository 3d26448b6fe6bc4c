//! What a watch says when it fails.

use kube::runtime::watcher;
use steersman_model::chain;

/// What a watch says when it fails, without kube's repetitions.
pub fn watch_error(error: &watcher::Error) -> String {
    match error {
        watcher::Error::WatchError(status) => status.message.clone(),
        other => {
            let mut innermost: &dyn std::error::Error = other;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            chain(innermost)
        }
    }
}

/// The HTTP code with which a watch was refused; `None` where it has failed in another way.
pub fn watch_refusal(error: &watcher::Error) -> Option<u16> {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status))
        | WatchError(status) => Some(status.code),
        _ => None,
    }
}
