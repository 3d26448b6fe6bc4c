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
