//! The objects outside of releases that resources of ours refer to: what they depend on, and what has values of theirs.
//!
//! Who waits for an object is woken by its changes, and nobody else is: it is watched by its name, by metadata alone, as the
//! account that the release is made as. Above some thirty such watches those of a kind and namespace share one. A watch is a
//! sign, no proof: who is woken reads the object. What nobody waits for is not watched.
//!
//! Besides it is known which resources of ours depend on which objects, as far as these name them, so that a resource is not
//! deleted before those that depend on it, and who depends on itself is told so. A restart learns both anew.

mod awaited;
mod follow;
mod graph;
mod ready;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaited::{Awaited, Change, Scope, Waiter};
pub(crate) use awaited::{Purpose, Target, Version};
pub(crate) use follow::UNWATCHED;
use graph::{Graph, Node, is_meant};
use kube::Client;
pub(crate) use ready::{Judge, Unready};
use steersman_cluster::discovery::Resource;
use steersman_model::ObjectId;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::dependents::Dependents;

/// How soon somebody looks again who may have missed a change while a watch began.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What resources of ours refer to, shared by all controllers.
pub struct References {
    client: Client,
    dependents: Arc<Dependents>,
    stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The kinds, by group and name, that entries of watches.yaml depend on.
    depended_on: BTreeSet<(String, String)>,
    graph: Graph,
    /// Resources whose deletion waits for others, by UID.
    held: BTreeMap<String, ObjectId>,
    awaited: Awaited,
    /// What ends the watches.
    connections: BTreeMap<Scope, DropGuard>,
}

/// Who has to go before a resource does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NeededBy {
    /// Not all resources are known yet.
    Unknown,
    /// These; nobody as a rule.
    Known(Vec<ObjectId>),
}

/// An object that is waited for, as it was judged.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) target: Target,
    pub(crate) resource: Resource,
    pub(crate) version: Version,
}

impl std::fmt::Debug for References {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("References").finish_non_exhaustive()
    }
}

impl References {
    /// Nothing is watched yet. Who is to be woken is so by its route in `dependents`; `stop` is the end of all watches.
    pub fn new(client: Client, dependents: Arc<Dependents>, stop: CancellationToken) -> Self {
        Self {
            client,
            dependents,
            stop,
            state: Mutex::default(),
        }
    }

    /// Entries depend on objects of these kinds, by group and name, and of no others.
    pub fn note_kinds(&self, depended_on: BTreeSet<(String, String)>) {
        self.lock().depended_on = depended_on;
    }

    /// A resource of ours depends on these objects, and `has_release` if it carries our finalizer.
    pub(crate) fn know(&self, uid: &str, id: ObjectId, depends_on: BTreeSet<ObjectId>, has_release: bool) {
        let node = Node {
            id,
            depends_on,
            has_release,
        };
        let mut state = self.lock();
        let before = state.graph.put(uid, node.clone());
        let freed = before.filter(|before| *before != node);
        let woken = freed.map(|before| state.held_by(&before)).unwrap_or_default();
        drop(state);
        self.wake(woken);
    }

    /// A resource of ours is gone, or another's.
    pub(crate) fn forget(&self, uid: &str) {
        self.expect_nothing(uid, Purpose::Dependency);
        self.expect_nothing(uid, Purpose::Values);
        let mut state = self.lock();
        state.held.remove(uid);
        let gone = state.graph.remove(uid);
        let woken = gone.map(|gone| state.held_by(&gone)).unwrap_or_default();
        drop(state);
        self.wake(woken);
    }

    /// Who has to go before this resource, which is being deleted. It is woken when one of these has gone.
    pub(crate) fn needed_by(&self, uid: &str, id: &ObjectId) -> NeededBy {
        let mut state = self.lock();
        if !state.depended_on.contains(&(id.group.clone(), id.kind.clone())) {
            return NeededBy::Known(Vec::new());
        }
        if !self.dependents.knows_resources() {
            return NeededBy::Unknown;
        }
        let needed_by = state.graph.needed_by(id);
        if needed_by.is_empty() {
            state.held.remove(uid);
        } else {
            state.held.insert(uid.to_owned(), id.clone());
        }
        NeededBy::Known(needed_by)
    }

    /// The way on which a resource of ours depends on itself, if it does.
    pub(crate) fn cycle(&self, id: &ObjectId) -> Option<Vec<ObjectId>> {
        self.lock().graph.cycle(id)
    }

    /// Has the resource woken by the next change of any of these objects, and of no others.
    ///
    /// # Guarantees
    /// A change since an object was judged wakes it, whether it comes before this or after.
    pub(crate) fn expect(self: &Arc<Self>, uid: &str, purpose: Purpose, judged: Vec<Judged>) {
        let waiter = waiter(uid, purpose);
        let mut state = self.lock();
        let targets = judged.iter().map(|judged| judged.target.clone()).collect();
        let mut pause = None;
        for judged in judged {
            let mut change = Change::default();
            let begins = !state.awaited.is_known(&judged.target);
            if state
                .awaited
                .wait(&waiter, &judged.target, judged.version, &mut change)
            {
                let soon = if begins { LOOK_AGAIN } else { Duration::ZERO };
                pause = Some(pause.map_or(soon, |pause: Duration| pause.min(soon)));
            }
            for scope in change.end {
                state.connections.remove(&scope);
            }
            if let Some(scope) = change.begin {
                let stop = self.stop.child_token();
                let following = Arc::clone(self).follow(scope.clone(), judged.resource, stop.clone());
                state.connections.insert(scope, stop.drop_guard());
                tokio::spawn(following);
            }
        }
        for scope in state.awaited.keep(&waiter, &targets) {
            state.connections.remove(&scope);
        }
        drop(state);
        if let Some(pause) = pause {
            self.dependents.rouse(uid, pause);
        }
    }

    /// The resource waits for nothing of that sort.
    pub(crate) fn expect_nothing(&self, uid: &str, purpose: Purpose) {
        let mut state = self.lock();
        if state.connections.is_empty() {
            return;
        }
        for scope in state.awaited.keep(&waiter(uid, purpose), &BTreeSet::new()) {
            state.connections.remove(&scope);
        }
    }

    /// Whether an object is as the resource has judged it, as far as a watch shows it.
    pub(crate) fn is_as_judged(
        &self,
        uid: &str,
        purpose: Purpose,
        target: &Target,
        version: &Version,
    ) -> bool {
        let waiter = waiter(uid, purpose);
        self.lock().awaited.is_as_judged(&waiter, target, version)
    }

    /// Has the resource looked at again after a pause.
    pub(crate) fn look_again(&self, uid: &str, pause: Duration) {
        self.dependents.rouse(uid, pause);
    }

    fn wake(&self, woken: Vec<String>) {
        for uid in woken {
            self.dependents.rouse(&uid, Duration::ZERO);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waiter(uid: &str, purpose: Purpose) -> Waiter {
    Waiter {
        uid: uid.to_owned(),
        purpose,
    }
}

impl State {
    /// Whose deletion may have waited for this resource.
    fn held_by(&self, node: &Node) -> Vec<String> {
        let is_held = |id: &ObjectId| node.depends_on.iter().any(|named| is_meant(named, id));
        let held = self.held.iter().filter(|(_, id)| is_held(id));
        held.map(|(uid, _)| uid.clone()).collect()
    }
}
