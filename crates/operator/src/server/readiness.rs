//! Whether the operator is ready, and what it waits for if not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::core::GroupVersionKind;

/// Which watches are ready. Clones share the state.
///
/// ```
/// use kube::core::GroupVersionKind;
/// use steersman_operator::server::Readiness;
///
/// let site = GroupVersionKind::gvk("example.com", "v1", "Site");
/// let readiness = Readiness::default();
/// readiness.waiting(&site, "its CustomResourceDefinition is not there yet");
/// assert!(!readiness.is_ready());
/// readiness.ready(&site);
/// assert!(readiness.is_ready());
/// ```
///
/// A process that waits for its lease is ready: if it were not, a rolling update would wait for the new process to
/// lead, and the new process for the old one to end.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    waiting: Arc<Mutex<BTreeMap<String, Option<String>>>>,
}

pub(super) struct ReadyzReport {
    pub(super) is_ready: bool,
    pub(super) text: String,
}

impl Readiness {
    /// Notes that a watch is not ready, and why: `its CustomResourceDefinition is not there yet`.
    pub fn waiting(&self, gvk: &GroupVersionKind, reason: impl Into<String>) {
        self.lock().insert(check_name(gvk), Some(reason.into()));
    }

    /// Notes that a watch is ready.
    pub fn ready(&self, gvk: &GroupVersionKind) {
        self.lock().insert(check_name(gvk), None);
    }

    /// Forgets a watch that is no longer wanted.
    pub fn forget(&self, gvk: &GroupVersionKind) {
        self.lock().remove(&check_name(gvk));
    }

    /// Whether every watch that was noted is ready.
    pub fn is_ready(&self) -> bool {
        self.lock().values().all(Option::is_none)
    }

    /// What `/readyz` says, in the form of the API server's: only `ok` where nothing is wrong and no details are
    /// asked for.
    pub(super) fn report(&self, verbose: bool) -> ReadyzReport {
        let waiting = self.lock();
        let is_ready = waiting.values().all(Option::is_none);
        if is_ready && !verbose {
            return ReadyzReport {
                is_ready,
                text: "ok".to_owned(),
            };
        }
        let mut text = String::new();
        for (name, reason) in waiting.iter() {
            let _ = match reason {
                None => writeln!(text, "[+]{name} ok"),
                Some(reason) => writeln!(text, "[-]{name} failed: {reason}"),
            };
        }
        let verdict = if is_ready { "passed" } else { "failed" };
        let _ = writeln!(text, "[+]ping ok\nreadyz check {verdict}");
        ReadyzReport { is_ready, text }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_name(gvk: &GroupVersionKind) -> String {
    [gvk.kind.as_str(), &gvk.version, &gvk.group]
        .join(".")
        .trim_end_matches('.')
        .to_owned()
}
