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

/// Whether a watch has failed as nobody lets us have it.
pub fn is_watch_forbidden(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.is_forbidden(),
        _ => false,
    }
}
