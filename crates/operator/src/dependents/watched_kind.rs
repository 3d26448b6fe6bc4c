//! Which watch an owner is of.

use kube::core::GroupVersionKind;

/// The kind of custom resources that a watch is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WatchedKind {
    group: String,
    version: String,
    kind: String,
}

impl WatchedKind {
    pub(super) fn of(watch: &GroupVersionKind) -> Self {
        Self {
            group: watch.group.clone(),
            version: watch.version.clone(),
            kind: watch.kind.clone(),
        }
    }
}
